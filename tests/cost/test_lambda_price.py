"""What Lambda bills, worked out by hand."""

import pytest

from coldpress.cost import lambda_cost_per_million


@pytest.mark.parametrize(
    ("duration_ms", "memory_mb", "arch", "dollars"),
    [
        (1.0, 1024, "x86_64", 0.2 + 0.0166667),  # a millisecond of a gigabyte, a million times
        (0.2, 1024, "x86_64", 0.2 + 0.0166667),  # billed to the started millisecond
        (1.2, 1024, "x86_64", 0.2 + 0.0333334),
        (200.0, 3584, "x86_64", 0.2 + 11.66669),  # the classic figure: 0.7 GB-s, about 12 dollars
        (100.0, 1769, "arm64", 0.2 + 2.303402),
    ],
)
def test_cost_per_million(duration_ms: float, memory_mb: int, arch: str, dollars: float) -> None:
    assert lambda_cost_per_million(duration_ms, memory_mb, arch) == pytest.approx(dollars, abs=0.0001)
