"""The shelf by itself: what is out is never closed, what is open fits, nobody opens what another is opening."""

import threading
import time
from _thread import LockType, allocate_lock
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coldpress_runtime.faults import LoadError
from coldpress_runtime.many.shelf import Shelf

SIZES = {"a": 10, "b": 20, "c": 30, "d": 40}


class Session:
    memory = 0

    def __init__(self, world: "World", name: str) -> None:
        self.world, self.name, self.is_open = world, name, True
        world.open_bytes += SIZES[name]
        world.most_bytes = max(world.most_bytes, world.open_bytes)

    def close(self) -> None:
        assert self.is_open
        self.is_open = False
        self.world.open_bytes -= SIZES[self.name]


class Model:
    def __init__(self, session: Session) -> None:
        self.session = session


class World:
    """Models that take a moment to open, and know how much of them is open."""

    def __init__(self, most: int, turn: LockType | None = None, moment: float = 0.0) -> None:
        self.open_bytes = self.most_bytes = 0
        self.opened: list[str] = []
        self.broken: set[str] = set()
        self._moment = moment
        self._counting = threading.Lock()
        self.shelf = Shelf(SIZES.__getitem__, lambda name: name, self._open, most, lambda: turn)

    def _open(self, name: str) -> Any:
        time.sleep(self._moment)
        if name in self.broken:
            raise LoadError(f"{name} is broken")
        with self._counting:
            self.opened.append(name)
            model = Model(Session(self, name))
        return model, object()

    def use(self, name: str, moment: float = 0.0) -> None:
        lent = self.shelf.borrow(name)
        model: Any = lent.model
        assert model.session.is_open and model.session.name == name
        time.sleep(moment)
        assert model.session.is_open, "closed while it was out"
        self.shelf.give_back(lent)


@given(st.lists(st.sampled_from("abcd"), max_size=40), st.integers(40, 120))
def test_one_after_the_other_it_is_an_lru(names: list[str], most: int) -> None:
    world, ideal = World(most), list[str]()
    for name in names:
        world.use(name)
        if name in ideal:
            ideal.remove(name)
        while sum(SIZES[one] for one in ideal) + SIZES[name] > most:
            ideal.pop(0)
        ideal.append(name)
        assert world.shelf.open_names == ideal
        assert world.shelf.bytes == world.open_bytes <= most
    assert world.most_bytes <= most


@pytest.mark.parametrize("most", [40, 60, 75])
def test_many_at_once(most: int) -> None:
    """Whatever the order: all are served, and all that is open fits at all times."""
    world = World(most, moment=0.0005)

    def work(seed: int) -> None:
        draw = Random(seed)
        for _ in range(60):
            world.use(draw.choice("abcd"), draw.choice((0.0, 0.0, 0.001)))

    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(work, seed) for seed in range(6)]:
            done.result(timeout=60)
    assert world.most_bytes <= most
    assert world.shelf.hits + world.shelf.misses == 360
    assert len(world.opened) == world.shelf.misses


def test_nobody_opens_what_another_is_opening() -> None:
    world = World(100, moment=0.05)
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(world.use, "a") for _ in range(4)]:
            done.result(timeout=10)
    assert world.opened == ["a"] and (world.shelf.hits, world.shelf.misses) == (3, 1)


def test_what_is_out_is_waited_for() -> None:
    world = World(40)
    lent = world.shelf.borrow("b")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(world.use, "d")
        time.sleep(0.05)
        assert not waiting.done() and world.shelf.open_names == ["b", "d"]
        world.shelf.give_back(lent)
        waiting.result(timeout=10)
    assert world.shelf.open_names == ["d"] and world.open_bytes == 40


def test_a_failure_is_told_to_all_who_wait_and_then_forgotten() -> None:
    world = World(100, moment=0.05)
    world.broken.add("a")
    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(world.use, "a") for _ in range(3)]:
            with pytest.raises(LoadError, match="a is broken"):
                done.result(timeout=10)
    assert world.shelf.open_names == [] and world.shelf.bytes == 0
    world.broken.clear()
    world.use("a")
    assert world.opened == ["a"]


def test_the_turn_is_given_away_while_one_opens() -> None:
    turn = allocate_lock()
    world = World(100, turn, moment=0.3)
    with ThreadPoolExecutor(1) as pool:

        def opens() -> None:
            with turn:
                world.use("a")
                assert turn.locked()

        opening = pool.submit(opens)
        time.sleep(0.1)
        began = time.monotonic()
        with turn:
            assert time.monotonic() - began < 0.1 and not opening.done()
        opening.result(timeout=10)
    assert not turn.locked()


def test_one_that_never_fits() -> None:
    world = World(35)
    world.use("c")
    with pytest.raises(
        LoadError, match=r"'d' takes 0\.0 MB of memory; all may have 0\.0 \(COLDPRESS_MODEL_MEMORY\)"
    ):
        world.use("d")
    assert world.shelf.open_names == ["c"], "nobody had to go for it"
