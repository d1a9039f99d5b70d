"""The simulator agrees with queueing theory where that is exact, and with a second, plain writing of its rules."""

import math
from array import array
from collections.abc import Iterator
from itertools import accumulate
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_fleet import simulate

from coldpress.cost.simulate import Chunk, Fleet, Limits, Servers, Times
from coldpress.cost.simulate.arrivals import Arrivals, zipf
from coldpress.cost.simulate.library import STEPS, percentile
from coldpress.cost.simulate.patterns import DAY, KINDS, Pattern
from coldpress.cost.simulate.provisioning import Fixed, Minute, Scheduled, Tracked
from coldpress.errors import UsageError

#: an exponential distribution's own quantiles, so close that its mean is right to 0.001 %
EXPONENTIAL = [-math.log((number + 0.5) / 65_536) for number in range(65_536)]
MEAN_MS = 100.0


def poisson(rate: float, seconds: float, seed: int = 0) -> Iterator[Chunk]:
    return Pattern("steady", rate, seconds).chunks(seed)


def erlang_b(slots: int, load: float) -> float:
    blocked = 1.0
    for number in range(1, slots + 1):
        blocked = load * blocked / (number + load * blocked)
    return blocked


@pytest.mark.parametrize(("slots", "load"), [(1, 0.5), (1, 0.9), (2, 1.6), (4, 3.2), (10, 9.0), (50, 45.0)])
def test_waiting_as_erlang_says(slots: int, load: float) -> None:
    """M/M/c: the share that waits, the mean wait, and the mean in all."""
    servers = Servers([one * MEAN_MS for one in EXPONENTIAL], slots)
    for chunk in poisson(load / MEAN_MS * 1000, 2_000_000 * MEAN_MS / load / 1000 * 5):
        servers.run(chunk)
    totals = servers.totals()
    blocked = erlang_b(slots, load)
    waits = blocked / (1 - load / slots * (1 - blocked))
    expected = waits * MEAN_MS / (slots - load)
    assert totals.requests > 9_000_000
    assert totals.waited / totals.requests == pytest.approx(waits, rel=0.02)
    assert totals.wait_ms / totals.requests == pytest.approx(expected, rel=0.02)
    assert totals.latency_ms / totals.requests == pytest.approx(expected + MEAN_MS, rel=0.02)


@pytest.mark.parametrize(("slots", "load"), [(1, 0.5), (3, 2.0), (10, 7.0), (100, 95.0)])
def test_loss_as_erlang_says(slots: int, load: float) -> None:
    """Servers without a queue, and a fleet at its limit: M/M/c/c, which any distribution of durations gives."""
    rate, seconds = load / MEAN_MS * 1000, 3_000_000 * MEAN_MS / load / 1000
    times = [one * MEAN_MS for one in EXPONENTIAL]
    turned = Servers(times, slots, queue=False)
    fleet = Fleet(
        Times(times, [(0.0, one) for one in times]), Limits(idle=1e9, concurrency=slots, scale_up=1 << 30)
    )
    for chunk in poisson(rate, seconds):
        turned.run(chunk)
        fleet.run(chunk)
    assert turned.outcome().throttled / turned.outcome().requests == pytest.approx(erlang_b(slots, load), rel=0.02)
    assert fleet.outcome().throttled / fleet.outcome().requests == pytest.approx(erlang_b(slots, load), rel=0.02)
    assert fleet.outcome().peak == slots
    assert fleet.outcome().cold == slots


def test_cold_starts_of_one_sandbox_as_calculated() -> None:
    """So few requests that no two meet: one is cold when the pause before it was longer than a sandbox is kept."""
    fleet = Fleet(Times([1.0], [(1.0, 1.0)]), Limits(idle=300))
    for chunk in poisson(1 / 300, 1e8):
        fleet.run(chunk)
    assert fleet.outcome().cold_share == pytest.approx(math.exp(-1), rel=0.01)


_ms = st.sampled_from([0.5, 1.0, 3.2, 40.0, 250.0, 1000.0])
_gaps = st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.1, 0.5, 1.0, 3.0, 20.0]), min_size=1, max_size=120)


@settings(max_examples=300, deadline=None)
@given(
    gaps=_gaps,
    owners=st.lists(st.integers(0, 3), min_size=120, max_size=120),
    times=st.builds(
        Times,
        st.lists(_ms, min_size=1, max_size=5),
        st.lists(st.tuples(_ms, _ms), min_size=1, max_size=4),
        st.sampled_from([0.0, 0.3, 1.5, 30.0]),
        st.sampled_from([0.07, 0.5, 1.0]),
    ),
    limits=st.builds(
        Limits,
        idle=st.sampled_from([0.05, 0.7, 5.0, 300.0]),
        concurrency=st.integers(1, 20),
        scale_up=st.integers(1, 6),
        scale_seconds=st.sampled_from([0.5, 10.0]),
        placing_ms=st.sampled_from([0.0, 120.0]),
        init_billed=st.booleans(),
    ),
    ready=st.integers(0, 3),
    seed=st.integers(0, 1 << 40),
    cut=st.integers(0, 120),
)
def test_every_number_as_the_plain_one_has_it(
    gaps: list[float], owners: list[int], times: Times, limits: Limits, ready: int, seed: int, cut: int
) -> None:
    at = [one + number * 1.37e-7 for number, one in enumerate(accumulate(gaps))]  # no two ever finish together
    owners = owners[: len(at)]
    plain = simulate(at, owners, times, limits, functions=4, ready=ready, seed=seed)
    fleet = Fleet(times, limits, functions=4, provisioning=Fixed(ready), seed=seed)
    for some in (slice(0, cut), slice(cut, None)):
        if at[some]:
            fleet.run(Chunk(array("d", at[some]), at[some][-1], array("I", owners[some])))
    outcome = fleet.outcome()
    assert outcome.requests == len(at)
    assert (outcome.cold, outcome.provisioned) == (plain.cold, plain.provisioned)
    assert outcome.reasons == {"limit": plain.over_limit, "scale_up": plain.over_scale_up}
    assert (outcome.billed_ms, outcome.provisioned_ms) == (plain.billed_ms, plain.provisioned_ms)
    assert outcome.peak == plain.peak
    if plain.latencies:
        assert outcome.mean_ms == pytest.approx(mean(plain.latencies))
        ordered = sorted(plain.latencies)
        assert outcome.p95_ms == pytest.approx(ordered[math.ceil(0.95 * len(ordered)) - 1], rel=0.005)
    assert outcome.provisioned_seconds == pytest.approx(4 * ready * at[-1])


@given(st.lists(st.floats(0.002, 1e6), min_size=1, max_size=300), st.sampled_from([0.5, 0.95, 0.99, 1.0]))
def test_percentiles_are_right_to_half_a_percent(values: list[float], share: float) -> None:
    steps = [0] * STEPS
    for value in values:
        fraction, exponent = math.frexp(value)
        steps[(exponent - 1 + 10) * 128 + int((fraction * 2 - 1) * 128)] += 1
    expected = sorted(values)[math.ceil(share * len(values)) - 1]
    assert percentile(steps, share) == pytest.approx(expected, rel=0.005)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pattern_has_its_rate_and_is_in_order(kind: str) -> None:
    pattern = Pattern(kind, 0.5, 60 * DAY)
    count, last = 0, 0.0
    for chunk in pattern.chunks(seed=3):
        count += len(chunk.at)
        assert all(one <= other for one, other in zip(chunk.at, chunk.at[1:], strict=False))
        assert not chunk.at or chunk.at[0] >= last
        last = chunk.end
    assert last == pattern.seconds
    assert count / pattern.seconds == pytest.approx(pattern.rate, rel=0.03)


def test_what_makes_patterns_differ() -> None:
    """The variance of counts per minute over their mean: 1 for independent people, more where they flock."""
    spread = {}
    for kind in KINDS:
        counts = [0] * (7 * 1440)
        for chunk in Pattern(kind, 0.02 if kind == "sporadic" else 0.5, 7 * DAY).chunks(seed=5):
            for at in chunk.at:
                counts[int(at // 60)] += 1
        middle = mean(counts)
        spread[kind] = mean((count - middle) ** 2 for count in counts) / middle
    assert spread["steady"] == pytest.approx(1, abs=0.1)
    assert spread["diurnal"] > 3
    assert spread["bursty"] > 10
    assert spread["sporadic"] > 3


def test_popularity_by_zipf() -> None:
    shares = zipf(100, 1.1)
    counts = [0] * 100
    for chunk in Pattern("steady", 50, DAY / 10, functions=100).chunks():
        assert chunk.owners is not None
        for owner in chunk.owners:
            counts[owner] += 1
    total = sum(counts)
    assert counts[0] / total == pytest.approx(shares[0], rel=0.02)
    assert counts[9] / total == pytest.approx(shares[9], rel=0.05)


def test_counts_within_spans() -> None:
    (chunk,) = Arrivals(7).in_spans(iter([(0.0, 60.0, 100), (60.0, 60.0, 0), (120.0, 60.0, 3)]))
    assert len(chunk.at) == 103 and chunk.end == 180
    assert chunk.at == array("d", sorted(chunk.at))
    assert sum(at < 60 for at in chunk.at) == 100 and all(at >= 120 for at in chunk.at[100:])
    chunks = list(Arrivals(7).in_spans(iter([(0.0, 60.0, 200_000)])))
    assert sum(len(one.at) for one in chunks) == 200_000
    assert mean(chunks[0].at) < mean(chunks[1].at)


def test_a_share_of_a_cpu_is_enough_for_some() -> None:
    """A tenth of a CPU, 1 ms of it for each: who comes seldom finds it rested. 400 a second take four sandboxes'
    whole shares, so that many wait; alone in one sandbox each would take the 10 ms that it is worth."""
    times = Times([2.0], [(20.0, 2.0)], cpu_ms=1.0, share=0.1)
    seldom, often, alone = Fleet(times, Limits()), Fleet(times, Limits()), Fleet(times, Limits(concurrency=1))
    for chunk in poisson(5, 40_000):
        seldom.run(chunk)
    for chunk in poisson(400, 500):
        often.run(chunk)
        alone.run(chunk)
    assert seldom.outcome().mean_ms == pytest.approx(2, rel=0.05)
    assert 3 < often.outcome().mean_ms < 10
    assert often.outcome().peak >= 4
    served = alone.outcome().served / 500
    assert served * 1.0 == pytest.approx(100, rel=0.05)  # ms of CPU in each second


# What is kept ready


def test_a_schedule() -> None:
    day = Scheduled(8, 20, 5, 1)
    assert [day.next(hour * 60, Minute(0, 0)) for hour in (0, 7, 8, 19, 20, 32)] == [1, 1, 5, 5, 1, 5]
    night = Scheduled(22, 6, 3)
    assert [night.next(hour * 60, Minute(0, 0)) for hour in (0, 5, 6, 21, 22)] == [3, 3, 0, 0, 3]


def test_tracking_adds_after_three_minutes_and_takes_after_fifteen() -> None:
    tracked = Tracked(2, 50, 0.5)
    counts = [tracked.next(minute, Minute(2.0, 2)) for minute in range(1, 6)]
    assert counts == [2, 2, 2, 4, 4]
    quiet = [tracked.next(minute, Minute(0.5, 1)) for minute in range(6, 26)]
    assert quiet[:14] == [4] * 14 and quiet[15] == 2
    again = Tracked(2, 3, 0.5)
    assert [again.next(minute, Minute(9.0, 9)) for minute in range(1, 6)][-1] == 3


def test_tracking_takes_nothing_where_there_is_no_data() -> None:
    tracked = Tracked(1, 50, 0.7)
    for minute in range(1, 6):
        tracked.next(minute, Minute(1.0, 1))
    ready = tracked.next(6, Minute(1.4, 2))
    assert [tracked.next(minute, Minute(0.0, 0)) for minute in range(7, 60)] == [ready] * 53


def test_tracking_follows_the_day() -> None:
    """More is ready by day than by night, and what is paid lies between the extremes."""
    times = Times([500.0], [(100.0, 500.0)])
    fixed = Fleet(times, Limits(), provisioning=Fixed(12))
    tracked = Fleet(times, Limits(), provisioning=Tracked(1, 40, 0.7))
    for chunk in Pattern("diurnal", 10, 3 * DAY).chunks():
        fixed.run(chunk)
        tracked.run(chunk)
    follows, constant = tracked.outcome(), fixed.outcome()
    assert constant.provisioned_seconds == pytest.approx(12 * 3 * DAY)
    assert 3 * DAY < follows.provisioned_seconds < constant.provisioned_seconds
    assert follows.provisioned / follows.requests > 0.8
    assert follows.cold < 0.01 * follows.requests


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Pattern("weekly", 1, DAY), "'weekly' is not a pattern.*steady"),
        (lambda: Pattern("steady", 0, DAY), "a rate of 0 a second"),
        (lambda: Pattern("steady", math.nan, DAY), "a rate of nan"),
        (lambda: Pattern("steady", 1, 1), "1 seconds cannot be simulated"),
        (lambda: Pattern("steady", 1e6, 365 * DAY), "take fewer days"),
        (lambda: Pattern("steady", 1, DAY, functions=0), "0 functions"),
        (lambda: Times([math.inf], [(1, 1)]), "a duration of inf ms"),
        (lambda: Times([-1.0], [(1, 1)]), "a duration of -1"),
        (lambda: Times([], [(1, 1)]), "at least one warm"),
        (lambda: Servers([1.0], 0), "0 slots"),
        (lambda: Tracked(1, 5, 1.5), "a target of 1.5"),
        (lambda: Tracked(0, 5), "from 0 to 5"),
    ],
)
def test_absurd_figures_are_refused(make: object, says: str) -> None:
    assert callable(make)
    with pytest.raises(UsageError, match=says):
        make()
