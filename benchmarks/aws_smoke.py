"""The demo on the real Lambda: deployed, asked, measured beside this machine's figures, and taken away again.

make aws-smoke REGION=eu-west-1 CAP=0.10

It needs an account. What it makes has a name of its own and the tag coldpress=smoke, and is deleted at the end,
whatever happens before. It does not begin if it could cost more than the cap, in dollars.
"""

import argparse
import json
import math
import secrets
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

import coldpress
from coldpress.artifact import Artifact
from coldpress.bench.inputs import typical
from coldpress.bench.remote import Remote, run_remote
from coldpress.bench.result import Bench
from coldpress.cli.bench_remote import remote_table
from coldpress.cost.bill import LambdaUse, lambda_bill
from coldpress.cost.book import price_book, regions
from coldpress.deploy.aws import Aws, connect
from coldpress.deploy.manage import delete
from coldpress.deploy.plan import Deployment, plan
from coldpress.deploy.wanted import Wanted
from coldpress.errors import ColdpressError, DeployError, UsageError
from coldpress.progress import Shown

RESULT = Path(__file__).parent / "results" / "aws.json"
MEMORY_MB = 1024
#: milliseconds that a request could be billed for at the worst: the function's time-out
TIMEOUT = 10
TAGS = {"coldpress": "smoke"}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--region", help="[default: the credentials' own]")
    asked.add_argument("--cap", type=float, default=0.10, help="dollars that it may cost at most")
    asked.add_argument("--cold", type=int, default=10)
    asked.add_argument("--warm", type=int, default=100)
    asked.add_argument("--endpoint-url", help="the local Lambda, to try this out")
    asked.add_argument("--like", type=Path, help="an artifact that is there  [default: the demo, pressed anew]")
    asked.add_argument("--out", type=Path, default=RESULT)
    said = asked.parse_args()
    console = Console(stderr=True)
    try:
        aws = connect(said.region, said.endpoint_url)
        with tempfile.TemporaryDirectory() as folder:
            own = Path(folder) / "out"
            artifact = Artifact.open(said.like) if said.like else coldpress.build("demo:minilm", out=own)
            local = artifact.bench(memory_mb=MEMORY_MB, cold_runs=said.cold, warm_runs=said.warm)
            found = smoke(aws, artifact, local, said.cap, said.cold, said.warm, console)
    except ColdpressError as error:
        sys.exit(f"Error: {error}")
    said.out.write_text(json.dumps(figures(found, local), indent=1) + "\n")
    Console().print(remote_table(found, local))
    console.print(f"written to {said.out}")


def smoke(
    aws: Aws, artifact: Artifact, local: Bench, cap: float, cold: int, warm: int, console: Console
) -> Remote:
    requests = typical(artifact)
    check_cap(aws, cap, cold + len(requests) * (warm + 1) + 10, artifact)
    name = f"coldpress-smoke-{secrets.token_hex(4)}"
    console.print(f"{name}, in {aws.endpoint_url or aws.region}")
    try:
        wanted = Wanted(name, artifact, memory_mb=MEMORY_MB, timeout=TIMEOUT, tags=TAGS, reserved=None)
        plan(aws, wanted).run(lambda step: console.print(f"{step.verb} {step.what}"))
        return run_remote(aws, name, requests, cold_runs=cold, warm_runs=warm, progress=Shown(console))
    finally:
        take_away(aws, name, console)


def check_cap(aws: Aws, cap: float, requests: int, artifact: Artifact) -> None:
    """By the worst that could happen: every request runs into its time-out."""
    if not (math.isfinite(cap) and cap > 0):
        raise UsageError(f"the cap is {cap}; it is in dollars, and more than nothing")
    book = price_book(aws.region if aws.region in regions() else "us-east-1")
    arch = str(artifact.manifest["arch"])
    worst = lambda_bill(LambdaUse(requests, requests * TIMEOUT * 1000, MEMORY_MB, arch), book).dollars
    if worst > cap:
        raise UsageError(
            f"{requests} requests could cost ${worst:.2f} if all ran into their time-out, and the cap is "
            f"${cap:.2f}: ask fewer (--cold, --warm), or raise it (CAP)"
        )


def take_away(aws: Aws, name: str, console: Console) -> None:
    """All of it, also what an interrupted deployment left; then it is looked whether anything is."""
    for found in _found(aws, name):
        found.run(lambda step: console.print(f"{step.verb} {step.what}"))
    left = leftovers(aws, name)
    if left:
        raise ColdpressError(f"these are left, and cost money: {', '.join(left)}. Delete them by hand")
    console.print("everything is deleted")


def _found(aws: Aws, name: str) -> list[Deployment]:
    """What there is to delete, also without a function."""
    try:
        return [delete(aws, name)]
    except DeployError as nothing:
        if "there is no function" in str(nothing):
            return []
        raise


def leftovers(aws: Aws, name: str) -> list[str]:
    return [step.what for found in _found(aws, name) for step in found.steps]


def figures(found: Remote, local: Bench) -> dict[str, Any]:
    """Both, each with where it was measured."""
    return {
        "when": time.strftime("%Y-%m-%d", time.gmtime()),
        "there": {
            "where": found.where,
            "memory_mb": found.memory_mb,
            "ms": {name: asdict(of) for name, of in found.rows()},
            "cost_usd": found.cost,
        },
        "local": {
            "where": f"this machine, not Lambda: {local.machine.cpu}, {local.machine.cores} cores",
            "memory_mb": local.memory_mb,
            "cold_ms": asdict(local.cold.of),
            "warm_ms": {name: asdict(one.of) for name, one in local.warm.items()},
        },
    }


if __name__ == "__main__":
    main()
