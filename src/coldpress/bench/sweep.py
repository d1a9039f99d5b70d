"""The same function at several memory sizes, each held to its memory and to the share of CPU that it buys."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from coldpress.bench.lab import ROUNDING, DoesNotFit, cannot_hold, check_size, cores, labs, not_held
from coldpress.bench.result import Size
from coldpress.bench.tally import Tally, cost_of_million
from coldpress.emulate.world.cgroups import vcpus
from coldpress.errors import UsageError
from coldpress.progress import Say

SIZES = (128, 256, 512, 885, 1024, 1769, 3008, 3538)


def sizes_here() -> tuple[int, ...]:
    """Those of the usual sizes that this machine has the cores for."""
    return tuple(size for size in SIZES if vcpus(size) <= cores() + ROUNDING)


def read_sizes(text: str) -> tuple[int, ...]:
    """Sizes with commas between them."""
    try:
        return tuple(int(part.strip().removesuffix("MB").strip()) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--sizes {text!r} is not a list of megabytes such as 128,512,1769") from None


def check_sizes(folder: Path, sizes: Sequence[int]) -> list[int]:
    """In their order, once each; refused where this machine cannot hold a function to them."""
    for size in sizes:
        check_size(size)
    lost = not_held(folder, max(sizes)) if sizes else None
    if lost is not None:
        raise cannot_hold(min(sizes), lost)
    return sorted(set(sizes))


def sweep_sizes(
    folder: Path,
    arch: str,
    sizes: Sequence[int],
    events: Mapping[str, bytes],
    usual: str,
    runs: tuple[int, int],
    say: Say,
) -> list[Size]:
    """`runs` cold starts and warm requests of each; sizes take turns, so that a noisy minute hits all alike."""
    cold_runs, warm_runs = runs
    with labs(folder, sizes) as made:
        turns = _Turns([Tally(lab, events) for lab in made])
        turns.each(lambda tally: tally.warm_up(usual))
        for number in range(cold_runs):
            say(f"cold starts, {number + 1} of {cold_runs}")
            turns.each(lambda tally: tally.start(usual))
        for name in events:
            say(f"warm requests, {name}")
            turns.each(lambda tally, name=name: tally.warm_up(name))  # type: ignore[misc]
            for _ in range(warm_runs):
                turns.each(lambda tally, name=name: tally.ask(name))  # type: ignore[misc]
            turns.each(lambda tally, name=name: tally.sustain(name))  # type: ignore[misc]
        found = list(turns.sizes(arch, usual))
    fit = sum(size.fits for size in found)
    say(f"{fit} of {len(found)} sizes fit: {cold_runs} cold starts, {warm_runs} warm requests of each shape")
    return found


class _Turns:
    """Who still takes part. A size that the function does not fit drops out, and says why."""

    def __init__(self, tallies: list[Tally]) -> None:
        self._tallies = tallies
        self._out: dict[int, str] = {}

    def each(self, act: Callable[[Tally], None]) -> None:
        for tally in self._tallies:
            if tally.memory_mb in self._out:
                continue
            try:
                act(tally)
            except DoesNotFit as error:
                self._out[tally.memory_mb] = error.why

    def sizes(self, arch: str, usual: str) -> Iterator[Size]:
        for tally in self._tallies:
            memory = tally.memory_mb
            share = round(vcpus(memory), 4)
            if memory in self._out:
                yield Size(
                    memory, share, False, self._out[memory], [], [], {}, {}, tally.peak_mb, 0.0, 0.0, 0.0, 0.0
                )
                continue
            billed, cold = tally.billed_ms(usual), tally.cold_billed_ms
            yield Size(
                memory_mb=memory,
                cpu_share=share,
                fits=True,
                why="",
                cold_ms=tally.cold_ms,
                init_ms=tally.init_ms,
                warm=tally.warm,
                throughput=tally.throughput,
                peak_mb=tally.peak_mb,
                billed_ms=billed,
                cold_billed_ms=cold,
                cost_per_million=cost_of_million(billed, memory, arch),
                cold_cost_per_million=cost_of_million(cold, memory, arch),
            )
