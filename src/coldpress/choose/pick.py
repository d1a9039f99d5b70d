"""Which candidate wins: the lowest geometric mean of its warm medians; among equals the sooner cold start."""

from collections.abc import Sequence
from statistics import geometric_mean

from coldpress.choose.trial import Trial

#: closer than this, two candidates are equally fast
EQUAL = 1.03


def warm_mean(trial: Trial) -> float:
    """One number for all shapes, with one thread."""
    assert trial.timing is not None
    return geometric_mean(trial.timing.warm_ms.values())


def pick(trials: Sequence[Trial]) -> Trial:
    """The best of `trials`; of a single one nothing needs to be known."""
    if len(trials) == 1:
        return trials[0]
    fastest = min(map(warm_mean, trials))
    equals = [trial for trial in trials if warm_mean(trial) <= EQUAL * fastest]
    return min(equals, key=_cold)


def _cold(trial: Trial) -> float:
    assert trial.timing is not None
    return trial.timing.cold_ms
