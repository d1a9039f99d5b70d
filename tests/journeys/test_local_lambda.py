"""What the local Lambda promises: little overhead, no lost answer, no slow growth."""

import shutil

import pytest

from emulator import MANY, compare, many_alive
from emulator_soak import soak


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
@pytest.mark.usefixtures("rie")
def test_it_costs_less_than_the_official_emulator() -> None:
    measured = compare(rounds=5, seconds=2)
    assert measured["p50_ms"]["ours"] <= min(2.0, measured["p50_ms"]["rie"])
    assert measured["per_second"]["ours"] >= max(1000, 2 * measured["per_second"]["rie"])


@pytest.mark.slow
def test_two_hundred_sandboxes_are_light() -> None:
    measured = many_alive(MANY)
    assert measured["alive"] == MANY
    assert measured["resident_mb"] <= 150


@pytest.mark.slow
def test_sandboxes_die_and_nothing_is_lost() -> None:
    result = soak(30)
    assert result["wrong"] == []
    assert result["kills"] >= 20 and sum(result["answers"].values()) == 1500
    assert result["answers"]["error"] >= 1, "some requests must have been hit"
