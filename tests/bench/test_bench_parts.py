"""What needs no sandbox: import times, phases, recommendations, sizes, typical requests, the chart."""

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.artifact import Artifact
from coldpress.bench.chart import check_chart, draw_chart
from coldpress.bench.imports import parse_imports
from coldpress.bench.inputs import typical
from coldpress.bench.lab import Shot, check_size
from coldpress.bench.recommend import recommend
from coldpress.bench.result import Bench, Import, Size
from coldpress.bench.sweep import read_sizes, sizes_here
from coldpress.bench.waterfall import median_phases, phases_of, read_marks
from coldpress.errors import UsageError

Sized = Callable[..., Size]
names = st.from_regex(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*){0,3}", fullmatch=True)
imports = st.builds(
    Import,
    names,
    st.integers(0, 10**7).map(lambda us: us / 1000),
    st.integers(0, 10**8).map(lambda us: us / 1000),
    st.integers(0, 20),
)


@given(st.lists(imports), st.lists(st.text(alphabet="a |:import time\t", max_size=40), max_size=5))
def test_import_times_are_read_among_other_lines(found: list[Import], noise: list[str]) -> None:
    """As CPython prints them: "import time: %9ld | %10ld | %*s%s"."""
    lines = ["import time: self [us] | cumulative | imported package"]
    for one in found:
        alone, total = round(one.self_ms * 1000), round(one.total_ms * 1000)
        lines.append(f"import time: {alone:9d} | {total:10d} | {' ' * 2 * one.depth}{one.name}")
    assert parse_imports("\n".join([*noise, *lines, *noise])) == found


@given(st.text())
def test_any_log_can_be_read(log: str) -> None:
    parse_imports(log)
    assert read_marks(log) == []


def test_marks_lie_between_what_is_seen_from_outside() -> None:
    log = 'hello\n{"coldpress_init":[["interpreter",1010000000],["session",1020000000],["answer",1040000000]]}\n'
    shot = Shot(duration_ms=12.0, init_ms=30.0, cold_ms=42.0, born=1.0, done=1.042, peak_mb=30.0)
    phases = phases_of(shot, read_marks(log))
    assert [name for name, _ in phases] == ["interpreter", "session", "ready", "answer", "response"]
    assert [ms for _, ms in phases] == pytest.approx([10, 10, 10, 10, 2])


def test_a_waterfall_of_several() -> None:
    runs = [[("a", 1.0), ("b", 5.0)], [("a", 3.0), ("b", 4.0)], [("a", 2.0), ("b", 9.0)], [("a", 50.0)]]
    first, second = median_phases(runs)
    assert (first.name, first.start_ms, first.ms) == ("a", 0.0, 2.0)
    assert (second.name, second.start_ms, second.ms) == ("b", 2.0, 5.0)
    assert median_phases([]) == []


def test_a_size_for_each_strategy(sized: Sized) -> None:
    sizes = [
        sized(128, 100.0, 0.30),
        sized(256, 40.0, 0.29),
        sized(512, 15.0, 0.40),
        sized(1769, 10.0, 0.80),
        sized(3538, 9.9, 1.60),
        sized(64, 0.0, 0.0, fits=False),
    ]
    assert recommend(sizes, "16 tokens") == {"cost": 256, "speed": 1769, "balanced": 512}


def test_alike_is_decided_by_the_other_virtue(sized: Sized) -> None:
    sizes = [sized(128, 50.0, 0.200), sized(256, 20.0, 0.204)]
    assert recommend(sizes, "16 tokens")["cost"] == 256


def test_nothing_fits(sized: Sized) -> None:
    assert recommend([sized(128, 0.0, 0.0, fits=False)], "16 tokens") == {}


def test_sizes_as_they_are_written() -> None:
    assert read_sizes("128, 512MB,1769") == (128, 512, 1769)
    for wrong in ("", "128;512", "a,b", "1.5"):
        with pytest.raises(UsageError, match="megabytes"):
            read_sizes(wrong)
    for wrong_size in (127, 10241):
        with pytest.raises(UsageError, match="128 to 10,240"):
            check_size(wrong_size)


def test_more_cores_than_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0})
    check_size(1769)
    with pytest.raises(UsageError, match="this machine has 1"):
        check_size(3008)
    assert sizes_here() == (128, 256, 512, 885, 1024, 1769)


def test_typical_texts_have_stable_names(artifact: Artifact, tiny_artifact: Artifact) -> None:
    for one in (artifact, tiny_artifact):
        requests = typical(one)
        assert [*requests] == ["16 tokens", "128 tokens", "8 texts of 64 tokens"]
        assert [isinstance(request["text"], str) for request in requests.values()] == [True, True, False]


def test_a_request_of_ones_own(artifact: Artifact) -> None:
    assert typical(artifact, '{"text": "hi"}') == {"your request": {"text": "hi"}}
    for wrong in ("{", "[1]"):
        with pytest.raises(UsageError, match="--data"):
            typical(artifact, wrong)


def test_samples_of_custom_code(hungry: Path) -> None:
    artifact = Artifact.open(hungry)
    assert typical(artifact) == {"sample 1": {"a": 1}}
    artifact.manifest["custom"]["samples"].clear()
    with pytest.raises(UsageError, match="--data"):
        typical(artifact)


def test_the_chart_is_whole_and_tells_what_does_not_fit(made: Bench, tmp_path: Path) -> None:
    picture = ElementTree.fromstring(draw_chart(made))
    words = "\n".join(picture.itertext())
    for said in ("15.0 ms", "Python itself", "128 MB", "does not fit: out of memory", "a CPU, not on Lambda"):
        assert said in words
    for wrong in (tmp_path / "chart.png", tmp_path / "nowhere" / "chart.svg"):
        with pytest.raises(UsageError):
            check_chart(wrong)
