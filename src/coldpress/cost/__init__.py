"""Cost: what a function costs to run. Prices are data, each with its source and date."""

from coldpress.cost.bill import LambdaUse, lambda_bill
from coldpress.cost.book import price_book

_MILLION = 1_000_000


def lambda_cost_per_million(duration_ms: float, memory_mb: int, arch: str = "x86_64") -> float:
    """Dollars for a million invocations: billed to the started millisecond, no free tier."""
    billed = -(-duration_ms // 1)
    return lambda_bill(LambdaUse(_MILLION, billed * _MILLION, memory_mb, arch), price_book()).dollars
