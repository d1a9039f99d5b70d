"""Cost: what a function costs to run. Prices are data, each with its source and date."""

import json
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class LambdaPrice:
    region: str
    date: str
    source: str
    gb_second: dict[str, float]
    request: float


def lambda_price() -> LambdaPrice:
    return LambdaPrice(**json.loads(files("coldpress.cost").joinpath("lambda.json").read_text("utf-8")))


def lambda_cost_per_million(duration_ms: float, memory_mb: int, arch: str = "x86_64") -> float:
    """Dollars for a million invocations: billed to the started millisecond, first price tier, no free tier."""
    price = lambda_price()
    billed_seconds = -(-duration_ms // 1) / 1000
    return 1e6 * (price.request + billed_seconds * memory_mb / 1024 * price.gb_second[arch])
