"""A deployed function is measured where it runs: cold starts that are forced, latency by its own reports."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from coldpress.bench.inputs import Request, event_of
from coldpress.bench.result import Percentiles
from coldpress.cost.bill import LambdaUse, lambda_bill
from coldpress.cost.book import price_book, regions
from coldpress.deploy.aws import Aws
from coldpress.deploy.calling import Asked, ask
from coldpress.errors import DeployError
from coldpress.progress import Progress, Silent

#: a variable whose change makes Lambda start all sandboxes of $LATEST anew
_TURN = "COLDPRESS_BENCH"
LATEST = "$LATEST"


@dataclass(frozen=True)
class Remote:
    """Milliseconds, as Lambda's REPORT lines tell them; `away` are from here and back."""

    name: str
    where: str
    memory_mb: int
    init_ms: list[float]
    #: init and first answer, of each fresh sandbox
    cold_ms: list[float]
    warm: dict[str, list[float]]
    away: dict[str, list[float]]
    #: dollars that this measurement itself cost, about
    cost: float

    def rows(self) -> list[tuple[str, Percentiles]]:
        """Each figure with its name."""
        made = [("init", self.init_ms), ("cold start", self.cold_ms)]
        made += [(f"warm, {name}", values) for name, values in self.warm.items()]
        made += [(f"from here and back, {name}", values) for name, values in self.away.items()]
        return [(name, Percentiles.of(values)) for name, values in made if values]

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"percentiles": {name: asdict(of) for name, of in self.rows()}}


def run_remote(
    aws: Aws,
    name: str,
    requests: Mapping[str, Request],
    *,
    cold_runs: int = 5,
    warm_runs: int = 50,
    progress: Progress | None = None,
) -> Remote:
    """Cold starts on $LATEST, whose clients are none; warm requests on the alias `live`."""
    config = aws.call("lambda", "get_function_configuration", FunctionName=name)
    memory, arch = int(config["MemorySize"]), str((config.get("Architectures") or ["x86_64"])[0])
    events = {what: event_of(request) for what, request in requests.items()}
    first = next(iter(events.values()))
    progress = progress or Silent()
    asked: list[Asked] = []
    cold = []
    with progress.stage("cold starts") as say, _turning(aws, name, config) as turn:
        for number in range(cold_runs):
            say(f"{number + 1} of {cold_runs}")
            turn(number)
            cold.append(_good(ask(aws, name, LATEST, first), name))
    asked += cold
    warm: dict[str, list[float]] = {}
    away: dict[str, list[float]] = {}
    for what, event in events.items():
        with progress.stage(f"warm, {what}") as say:
            _good(ask(aws, name, "live", event), name)
            taken = [_good(ask(aws, name, "live", event), name) for _ in range(warm_runs)]
            asked += taken
            warm[what] = [one.told.duration_ms for one in taken if math.isnan(one.told.init_ms)]
            away[what] = [one.round_trip_ms for one in taken]
            say(f"{median(away[what]):.1f} ms from here and back")
    book = price_book(aws.region if aws.region in regions() else "us-east-1")
    billed = sum(one.told.billed_ms for one in asked)
    return Remote(
        name=name,
        where=f"{aws.endpoint_url}, the local Lambda" if aws.local else f"AWS, {aws.region}",
        memory_mb=memory,
        init_ms=[one.told.init_ms for one in cold],
        cold_ms=[one.told.init_ms + one.told.duration_ms for one in cold],
        warm=warm,
        away=away,
        cost=lambda_bill(LambdaUse(len(asked), billed, memory, arch), book).dollars,
    )


def _good(answer: Asked, name: str) -> Asked:
    if not answer.ok:
        body = answer.body[:300].decode(errors="replace")
        raise DeployError(f"{name} failed while it was measured: {body}. Look at: coldpress logs {name}")
    return answer


@contextmanager
def _turning(aws: Aws, name: str, config: dict[str, Any]) -> Iterator[Any]:
    """Gives a way to have all sandboxes of $LATEST started anew; its variables are put back at the end."""
    variables = dict((config.get("Environment") or {}).get("Variables") or {})
    variables.pop(_TURN, None)  # of a measurement that was killed

    def put(now: dict[str, str]) -> None:
        aws.call("lambda", "update_function_configuration", FunctionName=name, Environment={"Variables": now})
        aws.wait("lambda", "function_updated_v2", FunctionName=name)

    try:
        yield lambda number: put({**variables, _TURN: str(number)})
    finally:
        put(variables)
