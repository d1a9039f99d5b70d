"""bench.json: written whole, read back the same, and refused by the place of its damage."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.bench.result import BENCH, Bench, percentile
from coldpress.errors import ArtifactError, TargetError


def test_what_is_saved_is_what_is_loaded(made: Bench, tmp_path: Path) -> None:
    (tmp_path / BENCH).write_text("an older one")
    assert made.save(tmp_path) == tmp_path / BENCH
    assert Bench.load(tmp_path) == made
    assert [path.name for path in tmp_path.iterdir()] == [BENCH]


def test_fields_of_a_newer_coldpress_are_passed_over(made: Bench, tmp_path: Path) -> None:
    content = made.as_json() | {"weather": "fine"}
    (tmp_path / BENCH).write_text(json.dumps(content))
    assert Bench.load(tmp_path) == made


def _without(content: dict[str, Any], *path: str) -> dict[str, Any]:
    inner = content
    for name in path[:-1]:
        inner = inner[name]
    del inner[path[-1]]
    return content


def test_a_damaged_file_says_where(made: Bench, tmp_path: Path) -> None:
    def content() -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(json.dumps(made.as_json()))
        return parsed

    whole = content()
    damaged = {
        "cannot be read": json.dumps(whole)[:200],
        "has format None": "[]",
        "has format 1": json.dumps(whole | {"format": 1}),
        "cold.waterfall is missing": json.dumps(_without(content(), "cold", "waterfall")),
        "sweep is 7, not a list": json.dumps(whole | {"sweep": 7}),
        "warm is [], not an object": json.dumps(whole | {"warm": []}),
        "warm['16 tokens'] is None": json.dumps(whole | {"warm": {"16 tokens": None}}),
        "memory_mb is True, not int": json.dumps(whole | {"memory_mb": True}),
        "peak_mb is nan": json.dumps(whole | {"peak_mb": float("nan")}),
        "name is 3, not str": json.dumps(whole | {"name": 3}),
        "usual is 'tea'": json.dumps(whole | {"usual": "tea"}),
    }
    for says, text in damaged.items():
        (tmp_path / BENCH).write_text(text)
        with pytest.raises(ArtifactError) as refused:
            Bench.load(tmp_path)
        assert says in str(refused.value)
        assert f"coldpress bench {tmp_path}" in str(refused.value)


def test_none_there(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="was not measured"):
        Bench.load(tmp_path)


def test_a_folder_that_is_not_there(made: Bench, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="cannot be written"):
        made.save(tmp_path / "nowhere")


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0.01, 1))
def test_a_percentile_was_seen_and_holds_its_share(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-6
    assert sum(value < found for value in values) < share * len(values) + 1e-6
