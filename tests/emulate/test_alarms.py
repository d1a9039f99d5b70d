"""Clocks that share a timer ring when they are due, once, and in any order of being set, put off and stopped."""

import asyncio
import time
import uuid

from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.emulate.sandboxes.alarms import Alarms
from coldpress.emulate.sandboxes.invocation import new_request_id

STEP = 0.004
STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["set", "stop", "wait"]), st.integers(0, 4)), max_size=12
)


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_each_rings_once_when_it_is_due(steps: list[tuple[str, str, int]]) -> None:
    async def play() -> None:
        alarms = Alarms(asyncio.get_running_loop())
        due: dict[str, float] = {}
        early: list[str] = []

        def ring(name: str) -> None:
            if due.pop(name) > time.monotonic():
                early.append(name)

        for name, what, count in steps:
            if what == "set":
                due[name] = time.monotonic() + count * STEP
                alarms.set(name, count * STEP, lambda name=name: ring(name))  # type: ignore[misc]
            elif what == "stop":
                assert alarms.stop(name) == (due.pop(name, None) is not None)
            else:
                await asyncio.sleep(count * STEP)
        await asyncio.sleep(6 * STEP)
        assert not due and not early

    asyncio.run(play())


def test_one_that_rings_may_stop_others_and_set_itself() -> None:
    async def play() -> list[str]:
        rang: list[str] = []
        alarms = Alarms(asyncio.get_running_loop())

        def first() -> None:
            rang.append("first")
            assert alarms.stop("first"), "it rings: it was not stopped before"
            assert alarms.stop("second")
            if len(rang) < 3:
                alarms.set("first", 0, first)
                alarms.set("second", 0, lambda: rang.append("second"))

        alarms.set("first", STEP, first)
        alarms.set("second", STEP, lambda: rang.append("second"))
        alarms.set("third", 10 * STEP, lambda: rang.append("third"))
        await asyncio.sleep(5 * STEP)
        alarms.stop_all()
        await asyncio.sleep(10 * STEP)
        return rang

    assert asyncio.run(play()) == ["first"] * 3


def test_one_that_fails_does_not_stop_the_others() -> None:
    async def play() -> list[str]:
        rang: list[str] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: rang.append(str(context["exception"])))
        alarms = Alarms(loop)
        alarms.set("bad", STEP, lambda: (_ for _ in ()).throw(ValueError("bad")))
        alarms.set("good", STEP, lambda: rang.append("good"))
        await asyncio.sleep(5 * STEP)
        assert not alarms.stop("bad")
        return rang

    assert asyncio.run(play()) == ["bad", "good"]


def test_a_request_has_a_name_of_its_own() -> None:
    names = [new_request_id() for _ in range(1000)]
    assert len(set(names)) == 1000
    for name in names:
        read = uuid.UUID(name)
        assert str(read) == name and read.version == 4 and read.variant == uuid.RFC_4122
