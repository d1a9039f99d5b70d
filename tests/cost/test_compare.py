"""The table that started it: a GPU server 150, SageMaker Serverless 45, Lambda 12 a million; and ours beside."""

import pytest

from coldpress.cost.book import read_book, shipped_content
from coldpress.cost.compare import Assumptions, Work, compare
from coldpress.cost.simulate import Times
from coldpress.errors import UsageError

BOOK = read_book(shipped_content("us-east-1"))
OURS = Work("ours", 1.4, 1769, 15, source="measured")


def test_the_classic_comparison() -> None:
    gpu, lambda_, sagemaker = compare([], Assumptions(cold_share=0), BOOK)
    assert gpu.per_million == pytest.approx(146.11, abs=0.01)
    assert lambda_.per_million == pytest.approx(11.87, abs=0.01)
    # 2.24 GB-s × 0.00002 × 1e6 = 44.80; 10 KB each: 10 GB × 0.016 = 0.16
    assert sagemaker.per_million == pytest.approx(44.96, abs=0.01)


def test_ours_beside_them() -> None:
    """2 ms of 1.7275 GB: 0.20 + 0.0576; one in a hundred adds 15 ms: + 0.0043."""
    ours = compare([OURS], Assumptions(cold_share=0.01), BOOK)[-1]
    assert ours.per_million == pytest.approx(0.20 + 0.05758 + 0.00432, abs=0.0005)
    assert ours.per_month == pytest.approx(ours.per_million * 2.628, rel=1e-6)
    # 383.98 a month / 0.2619e-6 a request / 2,628,000 s
    assert ours.server_wins_at == pytest.approx(557.9, abs=1)


def test_a_server_that_cannot_do_as_many_never_wins() -> None:
    ours = compare([OURS], Assumptions(server_rate=100), BOOK)[-1]
    assert ours.server_wins_at is None
    gpu = compare([OURS], Assumptions(rate=250, server_rate=100), BOOK)[
        0
    ]  # four, each at 62 of the 70 it is given
    assert gpu.name.endswith("× 4") and gpu.per_month == pytest.approx(4 * 383.98, abs=0.01)
    assert gpu.p99_ms is None


def test_where_a_server_wins_does_not_depend_on_the_rate_that_is_asked_for() -> None:
    slow = Work("slow", 40, 1024, 300)
    found = {compare([slow], Assumptions(rate=rate), BOOK)[-1].server_wins_at for rate in (0.0005, 1, 20)}
    assert len(found) == 1 and found.pop() == pytest.approx(168.5, rel=0.02)
    free = compare([slow], Assumptions(rate=0.1, free_tier=True), BOOK)[-1]
    assert free.per_month == 0 and free.server_wins_at == pytest.approx(172, rel=0.03)


def test_a_share_that_somebody_says() -> None:
    """Half of them cold: p99 is a cold one's, and each pays its own milliseconds."""
    work = Work("w", 40, 1024, 300, measured=Times([39.5, 40.0], [(299.5, 50.1)]), placing_ms=100)
    row = compare([work], Assumptions(cold_share=0.5), BOOK)[-1]
    assert row.p99_ms == pytest.approx(449.6)
    assert row.per_million == pytest.approx(0.2 + (0.5 * 40 + 0.5 * 350) / 1000 * 16.6667, abs=0.001)


def test_the_free_tier() -> None:
    """At a request every four seconds, 657,000 a month, all of it is free."""
    assert compare([OURS], Assumptions(rate=0.25, free_tier=True), BOOK)[-1].per_month == 0


def test_cold_starts_are_those_that_the_rate_makes() -> None:
    """At one a second nearly none, at one an hour nearly all; and p99 with them."""
    often = compare([OURS], Assumptions(rate=1), BOOK)[-1]
    seldom = compare([OURS], Assumptions(rate=1 / 3600), BOOK)[-1]
    assert often.cold_share < 0.01
    assert seldom.cold_share > 0.9
    assert often.p99_ms == pytest.approx(1.4, rel=0.01)
    assert seldom.p99_ms == pytest.approx(16.4, rel=0.01)
    # exp(-300 / 3600) find none; 2 ms warm, 17 cold
    each = 1.7275390625 * 1.66667e-5 * (2 + 15 * 0.92004) / 1000
    assert seldom.per_million == pytest.approx((each + 0.2e-6) * 1e6, rel=0.01)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rate": 0}, "--rate 0"),
        ({"rate": float("nan")}, "--rate nan"),
        ({"cold_share": 1.5}, "--cold-share 1.5"),
        ({"idle": -3}, "--idle -3"),
        ({"server_rate": -1}, "--server-rate -1"),
        ({"server": "abacus"}, "g4dn.xlarge"),
    ],
)
def test_absurd_figures(wrong: dict[str, float], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        compare([OURS], Assumptions(**wrong), BOOK)  # type: ignore[arg-type]
