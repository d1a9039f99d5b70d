"""Bounds, shares and times, as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress.deploy.scaling import Autoscale, Range, Schedule
from coldpress.errors import UsageError


def test_as_people_write_them() -> None:
    assert Autoscale.parse("1:10@70%") == Autoscale(Range(1, 10), 0.7)
    assert Autoscale.parse("0:3@0.25") == Autoscale(Range(0, 3), 0.25)
    when = "cron(0 8 ? * MON-FRI *)"
    assert Schedule.parse(f"{when}=5:20") == Schedule(when, Range(5, 20), "UTC")
    assert Schedule.parse(f"{when}@Europe/Berlin=0:1").zone == "Europe/Berlin"


@pytest.mark.parametrize("text", ["", "1:10", "10:1@70%", "1:10@95%", "1:10@5%", "0:0@70%", "a:b@70%", "1:10@70"])
def test_no_autoscale(text: str) -> None:
    with pytest.raises(UsageError, match="--autoscale"):
        Autoscale.parse(text)


@pytest.mark.parametrize("text", ["", "8 o'clock=1:2", "cron(0 8 * * ? *)", "cron(0)=2:1", "cron(0)@=1:2"])
def test_no_schedule(text: str) -> None:
    with pytest.raises(UsageError, match="--schedule"):
        Schedule.parse(text)


@given(st.text(max_size=40))
def test_any_text_is_taken_or_refused(text: str) -> None:
    for kind in (Autoscale, Schedule):
        try:
            assert kind.parse(text).range.most >= 1
        except UsageError as error:
            assert repr(text) in str(error)
