"""A plan against the thing itself: the same trace, simulated and played to the local Lambda."""

import json
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import pytest
from emulate_judges import FUNCTIONS

from coldpress.cost.book import price_book
from coldpress.cost.plan.options import Options
from coldpress.cost.plan.planner import Planned, make_plan
from coldpress.cost.plan.profile import Profile
from coldpress.cost.plan.survey import from_trace
from coldpress.cost.simulate import Fleet, Limits, Times
from coldpress.cost.simulate.patterns import DAY, Pattern
from coldpress.cost.simulate.provisioning import Tracked
from coldpress.emulate.sandboxes.ledger import Totals
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.serving import running
from coldpress.traffic import send_traffic

IDLE = 0.3
MEMORY = 1024
INIT_MS, WORK_MS = 180, 100
COLDPRESS = str(Path(sys.executable).parent / "coldpress")


def bursts(path: Path, count: int, seed: int) -> Path:
    """Some at once, then a pause in which sandboxes are kept, or are not."""
    random, now = Random(seed), 0.0
    lines = []
    for _ in range(count):
        for _ in range(random.randint(8, 30)):
            lines.append(f"{now:.6f}")
            now += random.expovariate(30)
        now += random.uniform(0.1, 0.7)
    path.write_text("timestamp\n" + "\n".join(lines) + "\n")
    return path


def sleeper(folder: Path) -> Path:
    """A function that takes its time and no CPU: so many sandboxes at once do not slow each other."""
    made, source = folder / "sleeper", FUNCTIONS / "sleeper" / "sleeper.c"
    made.mkdir()
    subprocess.run(["gcc", "-O1", "-D_GNU_SOURCE", "-o", str(made / "bootstrap"), str(source)], check=True)
    return made


def played(function: Path, trace: Path) -> tuple[list[dict[str, Any]], Totals]:
    """Every request as the local Lambda wrote it down, and its sums."""
    times = {"INIT_MS": str(INIT_MS), "WORK_MS": str(WORK_MS)}
    records: list[dict[str, Any]] = []
    with running(function, Settings(memory_mb=MEMORY, concurrency=200, idle=IDLE, env=times)) as local:
        local.local.fleet.ledger.listeners.append(lambda record: records.append(record.told()))
        sent = send_traffic(local.url + "/2015-03-31/functions/function/invocations", trace=trace)
        assert sent.summary.good == sent.summary.scheduled
        time.sleep(0.2)
        totals = local.local.fleet.ledger.totals
    return records, totals


def simulated(trace: Path, records: list[dict[str, Any]]) -> Planned:
    times = Times(
        [one["duration_ms"] for one in records if not one["cold"]],
        [(one["init_ms"], one["duration_ms"]) for one in records if one["cold"]],
    )
    profile = Profile("any", "x86_64", {MEMORY: times}, MEMORY, 1.0, 0.0, "played before")
    placing = median(one["total_ms"] - one["init_ms"] - one["duration_ms"] for one in records if one["cold"])
    options = Options(idle=IDLE, concurrency=200, placing_ms=placing, only=("on-demand",))
    (row,) = make_plan(profile, from_trace(trace), options, price_book()).rows
    return row


@pytest.mark.slow
def test_the_same_cold_starts_and_the_same_bill(tmp_path: Path) -> None:
    """Cold starts agree to 5 %, the bill to 3 %. The simulator has the trace and how long requests take, as a
    distribution: which of them were cold, or long, it does not know."""
    trace = bursts(tmp_path / "trace.csv", 30, seed=2)
    records, real = played(sleeper(tmp_path), trace)
    row = simulated(trace, records)
    assert row.outcome.requests == real.requests
    assert real.cold_starts >= 200
    assert 0.05 <= real.cold_starts / real.requests <= 0.5
    assert row.outcome.cold == pytest.approx(real.cold_starts, rel=0.05)
    month = 730 * 3600 / row.outcome.seconds
    assert row.dollars / month == pytest.approx(real.cost_usd, rel=0.03)


def test_half_a_million_requests_a_second_on_one_core() -> None:
    """Also with provisioned ones that are looked at every minute, and with what it takes to draw the arrivals."""
    times = Times([10.0, 12.0], [(20.0, 15.0)])
    for provisioning in (None, Tracked(1, 9)):
        fleet = Fleet(times, Limits(), provisioning=provisioning)
        began = time.process_time()
        requests = 0
        for chunk in Pattern("diurnal", 20, 2 * DAY).chunks():
            fleet.run(chunk)
            requests += len(chunk.at)
        assert requests / (time.process_time() - began) >= 500_000


@pytest.mark.slow
def test_a_month_at_twenty_a_second_with_six_strategies(tmp_path: Path) -> None:
    """Within eight minutes, and 500 MB however long it is."""
    six = "on-demand,provisioned,scheduled,tracked,snapstart,sagemaker"
    command = [
        COLDPRESS,
        "plan",
        "--ms",
        "5",
        "--cold-ms",
        "15",
        "--rate",
        "20",
        "--duration",
        "30d",
        "--only",
        six,
    ]
    began = time.monotonic()
    process = subprocess.Popen(
        [*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path
    )
    assert process.stdout is not None
    peak_kb = 0
    while process.poll() is None and not select.select([process.stdout], [], [], 0.2)[0]:
        status = Path(f"/proc/{process.pid}/status").read_text()
        peak_kb = max(peak_kb, int(re.search(r"VmHWM:\s+(\d+)", status)[1]))  # type: ignore[index]
    plan = json.load(process.stdout)
    process.stdout.close()
    assert process.wait() == 0
    assert plan["survey"]["requests"] > 50_000_000 and len(plan["rows"]) == 6
    assert time.monotonic() - began < 480
    assert 10 * 1024 < peak_kb < 500 * 1024


def test_ten_gigabytes_that_are_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    with path.open("wb") as file:
        file.truncate(10 << 30)
    began = time.monotonic()
    done = subprocess.run(
        [COLDPRESS, "plan", "--ms", "5", "--trace", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "trace.csv, line 1" in done.stderr and "longer than a line may be" in done.stderr
    assert time.monotonic() - began < 20
