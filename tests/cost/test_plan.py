"""Plans: what is asked for, what each strategy is billed, and which one is taken."""

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coldpress.cli.plan import plan as command
from coldpress.cost.bill import SECONDS_A_MONTH
from coldpress.cost.book import read_book, shipped_content
from coldpress.cost.plan.breakeven import curves
from coldpress.cost.plan.options import (
    Options,
    Server,
    read_autoscale,
    read_sagemaker,
    read_schedule,
    read_server,
    read_slo,
)
from coldpress.cost.plan.planner import Plan, make_plan
from coldpress.cost.plan.profile import from_figures
from coldpress.cost.plan.strategies import enough_slots
from coldpress.cost.plan.survey import Shape, find_traffic, from_pattern, from_trace, read_burst, survey
from coldpress.cost.simulate.patterns import DAY, Pattern
from coldpress.errors import ColdpressError, UsageError

BOOK = read_book(shipped_content("us-east-1"))
PROFILE = from_figures("f", "x86_64", 1769, 50, 400)
GPU = Server("g4dn.xlarge", 400, "a load test", 20.0)


def planned(pattern: Pattern, options: Options | None = None, slo: dict[str, float] | None = None) -> Plan:
    return make_plan(PROFILE, from_pattern(pattern), options or Options(), BOOK, slo)


def by_name(plan: Plan, part: str) -> float:
    (row,) = [row for row in plan.rows if part in row.name]
    return row.dollars


def test_bills_by_hand() -> None:
    """One request a second of 50 ms at 1,769 MB, for a month of 730 hours."""
    plan = planned(Pattern("steady", 1, 30 * DAY), Options(provisioned=2, servers=(GPU,)))
    requests = plan.survey.requests * SECONDS_A_MONTH / (30 * DAY)
    gb = 1769 / 1024
    asked = requests * 0.2e-6
    assert next(row.dollars for row in plan.rows if row.name.endswith("2 ready")) == pytest.approx(
        asked + 2 * SECONDS_A_MONTH * gb * 4.1667e-6 + requests * 0.05 * gb * 9.7222e-6, rel=0.01
    )
    (plain,) = [row for row in plan.rows if row.name == "Lambda 1,769 MB"]
    assert plain.dollars == pytest.approx(asked + requests * 0.05 * gb * 1.66667e-5, rel=0.01)
    # its cache and its restores, and no init to pay for
    restores = plain.outcome.cold * SECONDS_A_MONTH / (30 * DAY)
    more = SECONDS_A_MONTH * gb * 1.5046e-6 + restores * gb * (0.0001397998 - 0.4 * 1.66667e-5)
    assert by_name(plan, "SnapStart") - plain.dollars == pytest.approx(more, rel=0.02)
    assert by_name(plan, "EC2 1 × g4dn.xlarge") == pytest.approx(0.526 * 730)
    assert by_name(plan, "SageMaker") == pytest.approx(
        requests * (0.56 * 4 * 2e-5 + 10_000 / 1e9 * 0.016), rel=0.01
    )
    rent = BOOK.ec2["c7i.large"]["on_demand_hour"].value
    assert by_name(plan, "Managed") == pytest.approx(3 * 730 * rent * 1.15 + asked, rel=0.01)


def test_a_shorter_trace_is_a_month_all_the_same() -> None:
    day, month = (planned(Pattern("steady", 5, days * DAY), Options(only=("on-demand",))) for days in (1, 30))
    assert day.rows[0].dollars == pytest.approx(month.rows[0].dollars, rel=0.01)


def test_the_cheapest_that_is_good_enough() -> None:
    pattern = Pattern("sporadic", 0.005, 30 * DAY)
    loose, strict = planned(pattern), planned(pattern, slo={"p99": 100.0})
    assert loose.best is not None and loose.best.name == "Lambda 1,769 MB"
    assert strict.best is not None and strict.best.name != "Lambda 1,769 MB"
    assert not strict.best.misses and strict.best.outcome.p99_ms <= 100
    (cold,) = [row for row in strict.rows if row.name == "Lambda 1,769 MB"]
    assert cold.misses == (f"p99 {cold.outcome.p99_ms:,.0f} ms",)
    assert planned(pattern, slo={"p99": 1.0}).best is None


def test_what_nobody_measured_is_shown_and_not_recommended() -> None:
    pattern = Pattern("steady", 1, DAY)
    plan = planned(pattern)
    guessed = {row.name for row in plan.rows if row.guessed}
    assert guessed == {"Lambda 1,769 MB arm64", "Lambda 1,769 MB, SnapStart", "SageMaker Serverless 4 GB"}
    assert plan.best is not None and plan.best.name == "Lambda 1,769 MB"
    known = planned(pattern, Options(arm64_factor=0.9)).best
    assert known is not None and known.name == "Lambda 1,769 MB arm64"


def test_a_server_has_a_throughput_with_a_source() -> None:
    """None is taken for a GPU that nobody said anything of."""
    plan = planned(Pattern("steady", 1, DAY))
    assert not any("g4dn" in row.name for row in plan.rows)
    plan = planned(Pattern("steady", 1000, DAY / 24), Options(servers=(GPU,)))
    (gpu,) = [row for row in plan.rows if "g4dn" in row.name]
    assert gpu.name == "EC2 4 × g4dn.xlarge" and "400 a second each: a load test" in gpu.assumes
    (own,) = [row for row in plan.rows if row.name.startswith("EC2") and "c7i" in row.name]
    assert "20 on one core × 2 vCPUs" in own.assumes


def test_where_they_cross() -> None:
    """A GPU for 384 $ a month against 0.20 + 1.44 $ a million: 89 requests a second."""
    ours, *others = curves(PROFILE, Options(servers=(GPU,)), BOOK)
    assert ours.wins_from is None
    (gpu,) = [curve for curve in others if "g4dn" in curve.name]
    each = 0.2e-6 + 0.05 * 1769 / 1024 * 1.66667e-5
    assert gpu.wins_from == pytest.approx(0.526 * 730 / each / SECONDS_A_MONTH, rel=0.03)
    (sagemaker,) = [curve for curve in others if "SageMaker" in curve.name]
    assert sagemaker.wins_from is None


def test_no_crossing_is_made_of_limits() -> None:
    """A GPU that does two a second never wins, however often Lambda would throttle a fleet that starts anew."""
    slow = from_figures("f", "x86_64", 512, 100, 3000)
    found = {
        curve.name: curve for curve in curves(slow, Options(servers=(Server("g4dn.xlarge", 2, "x", 500.0),)), BOOK)
    }
    assert found["EC2 g4dn.xlarge"].wins_from is None
    sagemaker = found["SageMaker Serverless 4 GB"]
    assert 200 < sagemaker.points[-1][0] < 360


def test_slow_functions_and_slow_servers() -> None:
    for ms, rate in ((120_000, 1.0), (500, 0.005)):
        made = curves(
            from_figures("f", "x86_64", 1769, ms, 15), Options(servers=(Server("g4dn.xlarge", rate, "x"),)), BOOK
        )
        assert len(made[0].points) > 5


def test_a_trace_of_a_moment(tmp_path: Path) -> None:
    """What is kept ready is paid for a minute of it, and so for a month."""
    trace = tmp_path / "trace.csv"
    trace.write_text("0\n")
    plan = make_plan(PROFILE, from_trace(trace), Options(only=("provisioned",), provisioned=1), BOOK)
    assert plan.rows[0].dollars >= SECONDS_A_MONTH * 1769 / 1024 * 4.1667e-6


@pytest.mark.parametrize("hours", [1, 12, 30])
def test_part_of_a_day_has_its_rate(hours: float) -> None:
    plan = planned(Pattern("diurnal", 5, hours * 3600), Options())
    assert plan.survey.rate == pytest.approx(5, rel=0.03)
    assert any("8–20 h" in row.name for row in plan.rows) == (hours >= 24)


def test_several_functions_have_no_number_to_keep_ready() -> None:
    many = Pattern("steady", 2, 2 * DAY, functions=5)
    assert not any("ready" in row.name for row in planned(many).rows)
    with pytest.raises(UsageError, match="5 functions need different numbers"):
        planned(many, Options(only=("provisioned",)))


def test_throughput_is_that_of_a_whole_core() -> None:
    quarter = from_figures("f", "x86_64", 442, 20, 0)
    assert quarter.throughput == pytest.approx(200, rel=0.01)
    arm = from_figures("f", "arm64", 1769, 20, 0)
    names = [row.name for row in make_plan(arm, from_pattern(Pattern("steady", 1, DAY)), Options(), BOOK).rows]
    assert "EC2 1 × m7g.large" in names and sum("arm64" in name for name in names) == 0


def test_a_server_whose_latency_nobody_knows_is_not_recommended() -> None:
    plan = planned(Pattern("steady", 300, DAY / 24), Options(servers=(Server("g4dn.xlarge", 5000, "x"),)))
    (gpu,) = [row for row in plan.rows if "g4dn" in row.name]
    assert gpu.guessed and "one after the other" in gpu.assumes


def test_many_functions_start_more_often() -> None:
    one = planned(Pattern("steady", 2, 2 * DAY), Options(only=("on-demand",)))
    many = planned(Pattern("steady", 2, 2 * DAY, functions=500), Options(only=("on-demand",)))
    assert many.rows[0].outcome.cold > 20 * one.rows[0].outcome.cold


@pytest.mark.parametrize("load", [0.01, 0.5, 3.0, 40.0])
def test_enough_slots(load: float) -> None:
    def blocked(slots: int) -> float:
        terms = [load**n / math.factorial(n) for n in range(slots + 1)]
        return terms[-1] / sum(terms)

    slots = enough_slots(load, 0.01)
    assert blocked(slots) <= 0.01
    assert slots == 1 or blocked(slots - 1) > 0.01


def test_a_survey(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("minute,count\n0,30\n1,600\n2,0\n3,30\n")
    seen = survey(from_trace(trace), lambda _: None)
    assert (seen.requests, seen.seconds, seen.rate, seen.busiest) == (660, 240.0, 2.75, 10.0)
    trace.write_text("timestamp\n0\n1\n1\n61\n500\n")
    seen = survey(from_trace(trace), lambda _: None)
    assert (seen.requests, seen.busiest) == (5, 3 / 60)


# What people write


def test_what_is_understood() -> None:
    assert read_slo("p99=300ms, cold=1%,throttled=0.1%,p50=1.5s") == {
        "p99": 300,
        "cold": 0.01,
        "throttled": 0.001,
        "p50": 1500,
    }
    assert read_schedule("8-20=5") == (8, 20, 5)
    assert read_schedule("22.5-6=1") == (22.5, 6, 1)
    assert read_autoscale("1:20@0.7") == (1, 20, 0.7)
    assert read_autoscale("2:4@75%") == (2, 4, 0.75)
    assert read_server("g4dn.xlarge=900", None) == Server("g4dn.xlarge", 900, "as given")
    assert read_server("g4dn.xlarge=900@40ms", "us") == Server("g4dn.xlarge", 900, "us", 40.0)
    assert read_sagemaker("120ms, 2GB, 900ms").cold_ms == 900
    assert read_burst("20,30,4") == (20, 30, 4)


@given(st.text(max_size=20) | st.from_regex(r"[0-9:@.%=-]{1,12}", fullmatch=True))
def test_anything_else_is_refused(text: str) -> None:
    others = (read_burst, read_sagemaker, lambda said: read_server(said, None))
    for read in (read_slo, read_schedule, read_autoscale, *others):
        try:
            read(text)
        except UsageError as error:
            assert repr(text.split(",", maxsplit=1)[0].strip())[1:-1][:5] in str(error)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name an artifact, or give --ms"),
        (["nowhere"], "has no coldpress.json"),
        (["--ms", "5", "--trace", "none.csv"], "none.csv cannot be read: No such file"),
        (["--ms", "5", "--trace", "a.csv", "--rate", "3"], "--rate belongs to a pattern"),
        (["--ms", "5", "--trace", "a.csv", "--functions", "3"], "--functions 3 is for patterns"),
        (["--ms", "5", "--pattern", "weekly"], "'weekly' is not a pattern"),
        (["--ms", "5", "--rate", "-1"], "a rate of -1"),
        (["--ms", "5", "--rate", "nan"], "a rate of nan"),
        (
            ["--ms", "5", "--trace", "ms.csv"],
            "ms.csv spans 11,574 days; at most 3,660: are",
        ),
        (["--ms", "5", "--duration", "3 weeks"], "--duration '3 weeks'"),
        (["--ms", "5", "--rate", "1e5", "--duration", "3000d"], "take fewer days"),
        (["--ms", "5", "--slo", "fast"], "--slo has 'fast'"),
        (["--ms", "5", "--only", "abacus"], "'abacus' is not a strategy"),
        (["--ms", "5", "--idle", "-3"], "--idle -3 is out of range"),
        (["--ms", "5", "--server", "g4dn.xlarge"], "as g4dn.xlarge=900"),
        (["--ms", "5", "--server", "p99.huge=3"], "p99.huge"),
        (["--ms", "5", "--provisioned", "0"], "--provisioned 0 is out of range"),
        (["--ms", "5", "--provisioned", "500", "--concurrency", "100"], "--provisioned 500 is out of range"),
        (["--ms", "5", "--request", "16 tokens"], "--request '16 tokens' is of an artifact"),
        (["--ms", "5", "--server-source", "us"], "--server-source 'us'"),
        (["--ms", "5", "--burst", "much"], "--burst 'much'"),
        (["--ms", "5", "--sagemaker", "9GB"], "--sagemaker '9GB'"),
        (["--ms", "5", "--zipf", "99"], "--zipf 99"),
        (["--ms", "5", "--region", "mars-1"], "mars-1"),
        (["--ms", "5", "--terms", "spot", "--server", "g6.xlarge=3"], "spot"),
    ],
)
def test_what_is_wrong(arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("1\n2\n")
    Path("ms.csv").write_text("1700000000\n2700000000\n")
    done = CliRunner().invoke(command, arguments)
    assert isinstance(done.exception, ColdpressError), done.output
    assert says in str(done.exception)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("5\n4\n", "line 2: '4' is before the time of the line before"),
        ("-1\n", "line 1: '-1' is not a possible time"),
        ("", "holds no arrivals"),
        ("timestamp\n", "holds no arrivals"),
        ("minute,count\n0,0\n", "holds no arrivals"),
        ("1700000000000\n", "line 1: '1700000000000' is more seconds than a time can be: are these milliseconds?"),
        ("1\nnan\n", "line 2: 'nan' is not a possible time"),
        ("a,b,c\n1,2,3\n", "line 1: 'a,b,c' is not what a trace has"),
        ("minute,count\n0,5\n1,-3\n", "line 3: '-3' is not a count"),
        ("minute,count\n0,5\n1,3,9\n", "line 3: '1,3,9' has 3 columns"),
        ("minute,count\n0,99999999999\n", "line 2: '99999999999' in a minute is more than"),
    ],
)
def test_bad_traces(tmp_path: Path, content: str, says: str) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text(content)
    done = CliRunner().invoke(command, ["--ms", "5", "--trace", str(trace)])
    assert isinstance(done.exception, UsageError)
    assert says in str(done.exception)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.lists(st.sampled_from(["1", "2.5", "3", "1e11", "x", "", "0,3", "nan", "é"]), max_size=6))
def test_any_trace_is_planned_or_refused(tmp_path: Path, content: list[str]) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("\n".join(content))
    try:
        make_plan(PROFILE, from_trace(trace), Options(only=("on-demand", "tracked")), BOOK)
    except UsageError as error:
        assert "trace.csv" in str(error)


def test_the_command(tmp_path: Path) -> None:
    arguments = [
        "--ms",
        "5",
        "--cold-ms",
        "15",
        "--rate",
        "0.5",
        "--slo",
        "p99=300ms",
        "--server",
        "g4dn.xlarge=900",
    ]
    shown = CliRunner().invoke(command, [*arguments, "--server-source", "our test"], env={"COLUMNS": "100"})
    assert shown.exit_code == 0, shown.output
    for words in (
        "is the cheapest that meets",
        "900 a second each: our test",
        "costs less than",
        "is kept for 300 s",
    ):
        assert words in shown.output
    said = CliRunner().invoke(command, [*arguments, "--json"])
    found = json.loads(said.stdout)
    assert found["best"] == "Lambda 1,769 MB" and found["assumed"]["idle"] == 300
    assert {"per_month", "p99_ms", "cold_share", "bill", "assumes"} <= found["rows"][0].keys()


def test_traffic_as_a_person_says_it(tmp_path: Path) -> None:
    assert find_traffic(None, None, None, None, Shape(), 0).what == "diurnal, 1 a second on average, 7 days"
    log = tmp_path / "access.log"
    log.write_text('10.0.0.1 - - [31/Jan/2025:12:00:01 +0000] "GET / HTTP/1.1" 200 8\n' * 7)
    assert survey(find_traffic(log, None, None, None, Shape(), 0), lambda _: None).requests == 7
