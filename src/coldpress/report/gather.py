"""Everything that the report says, gathered from what was built, measured, priced and planned."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from coldpress.artifact import Artifact
from coldpress.bench.result import Bench
from coldpress.cost import lambda_cost_per_million
from coldpress.cost.book import PriceBook
from coldpress.cost.compare import CLASSIC_LAMBDA, Assumptions, Row, Work, compare, monthly, server_month
from coldpress.cost.measured import measured_works
from coldpress.cost.plan.breakeven import Curve, curves, rates
from coldpress.cost.plan.options import Options
from coldpress.cost.plan.planner import Plan, make_plan
from coldpress.cost.plan.profile import Profile, from_bench
from coldpress.cost.plan.saved import as_json as plan_json
from coldpress.cost.plan.survey import Traffic
from coldpress.errors import ArtifactError
from coldpress.version import __version__

FORMAT = 1
Done = Callable[[float], None]


@dataclass(frozen=True)
class Candidate:
    """One of the graphs that were tried when the model was pressed."""

    name: str
    chosen: bool
    megabytes: float | None
    drift: float | None
    limit: float | None
    cold_ms: float | None
    #: by the request's shape
    warm_ms: dict[str, float]
    peak_mb: float | None
    cost_per_million: float | None
    refused: str | None


@dataclass(frozen=True)
class Evidence:
    name: str
    made: str
    coldpress: str
    facts: dict[str, str]
    candidates: list[Candidate]
    bench: Bench
    profile: Profile
    #: what each way costs at one steady rate: the classic ones, then this artifact's requests
    rate: float
    rows: list[Row]
    #: of how many of the rows is this artifact's own
    ours: int
    #: requests a second from which on a classic one costs less than the usual request here; None: never
    wins: dict[str, float | None]
    curves: list[Curve]
    plan: Plan
    options: Options
    assumed: Assumptions
    book: PriceBook

    @property
    def usual(self) -> Row:
        """The row of the request that figures are about when nothing else is said."""
        return next(row for row in self.rows if row.name.endswith(f", {self.bench.usual}"))

    def as_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "name": self.name,
            "made": self.made,
            "coldpress": self.coldpress,
            "facts": self.facts,
            "candidates": [asdict(one) for one in self.candidates],
            "comparison": {
                "rate": self.rate,
                "rows": [asdict(row) for row in self.rows],
                "cheaper_than_ours_from": self.wins,
                "assumed": asdict(self.assumed),
            },
            "bench": self.bench.as_json(),
            "plan": plan_json(self.plan, self.curves, self.options, self.book),
        }


def gather(
    artifact: Artifact,
    bench: Bench,
    traffic: Traffic,
    options: Options,
    book: PriceBook,
    *,
    rate: float = 1.0,
    slo: dict[str, float] | None = None,
    done: Done = lambda _: None,
) -> Evidence:
    profile = from_bench(bench)
    works = measured_works(artifact.path)
    placing = options.placing_ms_for(profile.package_mb)
    works = [replace(work, placing_ms=placing) for work in works]
    said = options.servers[0] if options.servers else None
    assumed = Assumptions(
        rate=rate,
        idle=options.idle,
        free_tier=options.free_tier,
        bytes_in_out=options.bytes_in_out,
        server=said.kind if said else Assumptions.server,
        server_rate=said.rate if said else None,
        utilization=options.utilization,
    )
    plan = make_plan(profile, traffic, options, book, slo, lambda share: done(0.5 * share))
    usual = next(work for work in works if work.name.endswith(f", {bench.usual}"))
    drawn, wins = _classic(usual, assumed, book)
    found = curves(profile, options, book, lambda share: done(0.5 + 0.5 * share))
    return Evidence(
        name=artifact.name,
        made=bench.measured,
        coldpress=__version__,
        facts=_facts(artifact, bench),
        candidates=_candidates(artifact),
        bench=bench,
        profile=profile,
        rate=rate,
        rows=compare(works, assumed, book),
        ours=len(works),
        wins=wins,
        curves=[*found, *(curve for curve in drawn if curve.name not in {one.name for one in found})],
        plan=plan,
        options=options,
        assumed=assumed,
        book=book,
    )


def _classic(usual: Work, assumed: Assumptions, book: PriceBook) -> tuple[list[Curve], dict[str, float | None]]:
    """What the classic ways cost at other rates, and from which on each would win; a server does any rate here."""
    (server, *_), tried = compare([], assumed, book), rates()
    there = [replace(assumed, rate=rate) for rate in tried]
    ours = [monthly(usual, one, book) for one in there]
    costs = {
        server.name.split(" × ")[0]: [server_month(one, book) for one in there],
        CLASSIC_LAMBDA.name: [monthly(CLASSIC_LAMBDA, one, book) for one in there],
        assumed.sagemaker.name: [monthly(assumed.sagemaker, one, book) for one in there],
    }
    points = {name: list(zip(tried, dollars, strict=True)) for name, dollars in costs.items()}
    wins = {name: _first_win(row, ours) for name, row in points.items()}
    drawn = [Curve(name, row, wins[name]) for name, row in points.items()]
    return [curve for curve in drawn if curve.name != assumed.sagemaker.name], wins


def _first_win(points: list[tuple[float, float]], ours: list[float]) -> float | None:
    """Between two rates that were tried, as if lines were straight on logarithmic axes."""
    for number, ((rate, dollars), own) in enumerate(zip(points, ours, strict=True)):
        if dollars < own:
            if number == 0:
                return rate
            before, was = points[number - 1]
            above, below = math.log(was / ours[number - 1]), math.log(own / dollars)
            return float(before * (rate / before) ** (above / (above + below)))
    return None


def _facts(artifact: Artifact, bench: Bench) -> dict[str, str]:
    manifest, megabyte = artifact.manifest, 1e6
    models: dict[str, Any] = manifest.get("models", {})
    sizes: dict[str, int] = manifest["sizes"]
    facts = {
        "model": ", ".join(str(model.get("origin", name)) for name, model in models.items()) or "custom code",
        "architecture": ", ".join(sorted({str(model.get("architecture", "?")) for model in models.values()})),
        "task": "custom" if "custom" in manifest else ", ".join(str(model["task"]) for model in models.values()),
        "engine": str(manifest["engine"]),
        "for": str(manifest["arch"]),
        "weights before": f"{sizes['source_weights'] / megabyte:,.1f} MB" if "source_weights" in sizes else "",
        "function": f"{sizes['function'] / megabyte:,.1f} MB unpacked",
        "zip": f"{sizes['zip'] / megabyte:,.1f} MB" if sizes.get("zip") else "",
        "measured": f"{bench.measured}, {bench.machine.cpu}, {bench.machine.cores} cores, "
        f"Python {bench.machine.python}; not on Lambda",
    }
    return {name: value for name, value in facts.items() if value}


def _candidates(artifact: Artifact) -> list[Candidate]:
    try:
        measured = artifact.measured()
    except ArtifactError:  # a recipe that was repeated has no figures of its own
        return []
    arch = str(artifact.manifest["arch"])
    kept = [model.get("recipe") for model in artifact.manifest.get("models", {}).values()]
    found = []
    for one in measured.get("candidates", []):
        recipe, timing = one["recipe"], one.get("timing") or {}
        drift = (one.get("verdict") or {}).get("drift") or {}
        warm = {str(name): float(ms) for name, ms in (timing.get("warm_ms") or {}).items()}
        first = next(iter(warm.values()), None)
        found.append(
            Candidate(
                name=f"{recipe['engine']} {recipe['precision']}",
                chosen=recipe in kept,
                megabytes=one["function_bytes"] / 1e6 if one.get("function_bytes") else None,
                drift=drift.get("total"),
                limit=(one.get("verdict") or {}).get("limit"),
                cold_ms=timing.get("cold_ms"),
                warm_ms=warm,
                peak_mb=timing.get("peak_mb"),
                cost_per_million=None if first is None else lambda_cost_per_million(first, 1769, arch),
                refused=one.get("refused"),
            )
        )
    return found
