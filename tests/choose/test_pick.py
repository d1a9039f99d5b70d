"""The rule by which a candidate wins, apart from how it was measured."""

from pathlib import Path

import pytest

from coldpress.choose import Wishes
from coldpress.choose.pick import pick, warm_mean
from coldpress.choose.trial import Timing, Trial, fitting
from coldpress.errors import UsageError
from coldpress.optimize import Recipe
from coldpress.optimize.recipe import read_recipe
from coldpress.verify import Drift, Verdict


def trial(name: str, warm: list[float], cold: float, drift: float = 0.01, size: int = 1000) -> Trial:
    timing = Timing(cold, 20.0, {str(at): ms for at, ms in enumerate(warm)}, {})
    verdict = Verdict(Drift(drift, drift, 0, 1.0, 1.0, None, 10), 0.15, "{}")
    return Trial(Recipe("onnxruntime", "int8", (name,)), None, None, None, size, verdict, timing)


def test_the_lowest_geometric_mean_wins() -> None:
    even, uneven = trial("even", [4, 4], 9), trial("uneven", [1, 9], 99)
    assert warm_mean(even) == pytest.approx(4)
    assert pick([even, uneven]) is uneven


def test_within_three_percent_the_sooner_start_wins() -> None:
    fast, close, slow = trial("fast", [100], 50), trial("close", [102.9], 20), trial("slow", [104], 1)
    assert pick([fast, close, slow]) is close
    assert pick([fast, slow]) is fast


def test_what_drifts_or_is_too_large_is_out() -> None:
    right, wrong, large = trial("a", [9], 9), trial("b", [1], 1, drift=0.16), trial("c", [1], 1, size=5000)
    broken = trial("d", [1], 1, drift=float("nan"))
    assert fitting([right, wrong, large, broken, Trial(right.recipe, refused="no")], 2000) == [right]
    assert fitting([right, wrong, large], None) == [right, large]


@pytest.mark.parametrize(
    "wishes",
    [
        {"engine": "tensorflow"},
        {"precision": "int4"},
        {"engine": "press", "precision": "fp16"},
        {"max_drift": 0.0},
        {"max_drift": float("nan")},
    ],
)
def test_wishes_that_cannot_be(wishes: dict[str, float | str]) -> None:
    with pytest.raises(UsageError, match=r"press|auto|max-drift"):
        Wishes(**wishes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "no recipe"),
        ('{"engine": "press"}', "no recipe"),
        ('{"engine": "gpu", "precision": "int8"}', "engine 'gpu'"),
        ('{"engine": "press", "precision": "int8", "rewrites": "fuse"}', "no list of names"),
        ('{"models": {"a": {}, "b": {}}}', "2 models"),
    ],
)
def test_a_bad_recipe_is_named(content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "recipe.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=said):
        read_recipe(path)
