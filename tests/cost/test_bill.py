"""Bills worked out by hand, to the cent: the arithmetic stands beside each figure."""

import pytest

from coldpress.cost.bill import LambdaUse, lambda_bill, managed_bill, sagemaker_bill, server_bill
from coldpress.cost.book import price_book, read_book, regions, shipped_content
from coldpress.errors import UsageError

BOOK = read_book(shipped_content("us-east-1"))
MILLION = 1_000_000
MONTH = 730 * 3600  # seconds

#: what → the use, the free tier, dollars
LAMBDA: dict[str, tuple[LambdaUse, bool, float]] = {
    # 1e6 × 0.2e-6 + 1e6 × 0.1 s × 1 GB × 0.0000166667 = 0.20 + 1.66667
    "a million of 100 ms at 1 GB": (LambdaUse(MILLION, 100 * MILLION, 1024), False, 1.87),
    # 0.7 GB-s each: 0.20 + 700,000 × 0.0000166667 = 0.20 + 11.66669
    "the classic: 3.5 GB for 200 ms": (LambdaUse(MILLION, 200 * MILLION, 3584), False, 11.87),
    # 1769/1024 = 1.727539 GB; 0.20 + 1e6 × 0.002 × 1.727539 × 0.0000166667 = 0.20 + 0.05758
    "two milliseconds of a vCPU": (LambdaUse(MILLION, 2 * MILLION, 1769), False, 0.26),
    # 128 MB: 0.20 + 1e6 × 0.001 × 0.125 × 0.0000166667 = 0.20 + 0.00208
    "the smallest": (LambdaUse(MILLION, MILLION, 128), False, 0.20),
    # 10 GB for a second: 0.20 + 1e6 × 10 × 0.0000166667 = 0.20 + 166.667
    "the largest, a second each": (LambdaUse(MILLION, 1000 * MILLION, 10240), False, 166.87),
    # nothing was asked
    "nothing": (LambdaUse(0, 0, 1024), False, 0.0),
    # arm64: 0.20 + 1e5 GB-s × 0.0000133334 = 0.20 + 1.33334
    "arm64": (LambdaUse(MILLION, 100 * MILLION, 1024, "arm64"), False, 1.53),
    # init billed: 1e6 × 100 ms + 1 % cold × 150 ms = 101.5e6 ms → 101,500 GB-s × 0.0000166667 = 1.69167
    "cold starts are billed": (LambdaUse(MILLION, 101.5 * MILLION, 1024), False, 1.89),
    # free: 0 requests left, 100,000 GB-s of 400,000: nothing
    "within the free tier": (LambdaUse(MILLION, 100 * MILLION, 1024), True, 0.0),
    # 3e6 requests, 2e6 paid: 0.40; 600,000 GB-s, 200,000 paid: 3.33334
    "beyond the free tier": (LambdaUse(3 * MILLION, 600 * MILLION, 1024), True, 3.73),
    # 5e6 requests: 4e6 paid: 0.80; 300,000 GB-s all free
    "requests beyond, duration within": (LambdaUse(5 * MILLION, 300 * MILLION, 1024), True, 0.80),
    # arm64, 500,000 GB-s, 100,000 paid: 1.33334; a million requests free
    "arm64 and the free tier": (LambdaUse(MILLION, 500 * MILLION, 1024, "arm64"), True, 1.33),
    # 6e9 GB-s exactly: 6e9 × 0.0000166667 = 100,000.20; 0 requests
    "the first tier's end": (LambdaUse(0, 6e12, 1024), False, 100_000.20),
    # 7e9: 100,000.20 + 1e9 × 0.000015 = 115,000.20
    "into the second tier": (LambdaUse(0, 7e12, 1024), False, 115_000.20),
    # 16e9: 100,000.20 + 9e9 × 0.000015 + 1e9 × 0.0000133334 = 100,000.20 + 135,000 + 13,333.40
    "into the third tier": (LambdaUse(0, 16e12, 1024), False, 248_333.60),
    # arm64 20e9: 7.5e9 × 0.0000133334 + 11.25e9 × 0.0000120001 + 1.25e9 × 0.0000106667
    #   = 100,000.50 + 135,001.125 + 13,333.375
    "arm64 through all tiers": (LambdaUse(0, 20e12, 1024, "arm64"), False, 248_335.00),
    # one kept ready for 730 h at 1 GB, idle: 2,628,000 × 0.0000041667 = 10.95009
    "provisioned and idle": (LambdaUse(0, 0, 1024, provisioned=1, provisioned_seconds=MONTH), False, 10.95),
    # the same, and a million of 100 ms inside: + 0.20 + 100,000 × 0.0000097222 = 0.97222
    "provisioned and used": (
        LambdaUse(MILLION, 0, 1024, provisioned=1, provisioned_seconds=MONTH, provisioned_ms=100 * MILLION),
        False,
        12.12,
    ),
    # overflow: 900,000 inside (90,000 × 0.0000097222 = 0.875), 100,000 outside (10,000 × 0.0000166667 = 0.16667)
    "provisioned and overflowing": (
        LambdaUse(
            MILLION, 10 * MILLION, 1024, provisioned=1, provisioned_seconds=MONTH, provisioned_ms=90 * MILLION
        ),
        False,
        12.19,
    ),
    # ten at 1,769 MB for eight hours on 22 days: 10 × 633,600 × 1.727539 × 0.0000041667 = 45.6067
    "provisioned in office hours": (
        LambdaUse(0, 0, 1769, provisioned=10, provisioned_seconds=633_600),
        False,
        45.61,
    ),
    # arm64: 2,628,000 × 0.0000033334 = 8.76018
    "provisioned arm64": (
        LambdaUse(0, 0, 1024, "arm64", provisioned=1, provisioned_seconds=MONTH),
        False,
        8.76,
    ),
    # a function with provisioned concurrency has no free tier: 10.95009 + 0.97222, and 0.20 for the requests
    "provisioned and the free tier": (
        LambdaUse(MILLION, 0, 1024, provisioned=1, provisioned_seconds=MONTH, provisioned_ms=100 * MILLION),
        True,
        12.12,
    ),
    # kept for an hour, paid for three: 10,800 × 0.0000015046 = 0.01625; 1,000 restores × 0.0001397998 = 0.1398
    "SnapStart for an hour": (LambdaUse(0, 0, 1024, snapstart_seconds=3600, restores=1000), False, 0.16),
    # a month of 2 GB: 2,628,000 × 2 × 0.0000015046 = 7.90818; 10,000 restores × 2 × 0.0001397998 = 2.796
    "SnapStart for a month": (LambdaUse(0, 0, 2048, snapstart_seconds=2_628_000, restores=10_000), False, 10.70),
    # 10 GB of /tmp are 9.5 GB too many, for 100,000 s: 950,000 × 0.0000000309 = 0.02936; + 1.66667 + 0.20
    "a large /tmp": (LambdaUse(MILLION, 100 * MILLION, 1024, tmp_mb=10_240), False, 1.90),
    # 1,000 GB beyond 6 MB each: 8.00; + 0.20 + 1.66667
    "streaming": (LambdaUse(MILLION, 100 * MILLION, 1024, streamed_bytes=1e12), False, 9.87),
}


@pytest.mark.parametrize("what", LAMBDA)
def test_lambda(what: str) -> None:
    use, free_tier, dollars = LAMBDA[what]
    assert lambda_bill(use, BOOK, free_tier=free_tier).dollars == pytest.approx(dollars, abs=0.005)


def test_there_are_enough_of_them() -> None:
    assert len(LAMBDA) >= 25


def test_a_gpu_server() -> None:
    # g4dn.xlarge for a month: 730 × 0.526 = 383.98; at one request a second, 2,628,000 of them: 146.11 a million
    bill = server_bill(BOOK, "g4dn.xlarge", servers=1, hours=730)
    assert bill.dollars == pytest.approx(383.98, abs=0.005)
    assert bill.dollars / 2.628 == pytest.approx(146.11, abs=0.005)
    # two of them on the spot market for ten hours: 2 × 10 × 0.21
    assert server_bill(BOOK, "g4dn.xlarge", servers=2, hours=10, terms="spot_hour").dollars == pytest.approx(4.20)


def test_sagemaker_serverless() -> None:
    # 4 GB for 500 ms, a million times: 2,000,000 GB-s × 0.00002 = 40; 10 KB both ways in all: 10 GB × 0.016 = 0.16
    bill = sagemaker_bill(BOOK, seconds=500_000, memory_gb=4, bytes_in_out=1e10)
    assert bill.dollars == pytest.approx(40.16, abs=0.005)


def test_managed_instances() -> None:
    # 730 × 0.526 = 383.98; 15 %: 57.597; 10 million requests: 2.00
    bill = managed_bill(BOOK, "g4dn.xlarge", servers=1, hours=730, requests=10 * MILLION)
    assert bill.dollars == pytest.approx(443.58, abs=0.005)


def test_every_figure_has_its_source() -> None:
    for region in regions():
        book = price_book(region)
        tiers = [tier.price for steps in book.lambda_.gb_second.values() for tier in steps]
        others = [price for prices in book.ec2.values() for price in prices.values()]
        for price in [*tiers, *others, book.lambda_.request, book.sagemaker_gb_second, book.ecr_gb_month]:
            assert price.source and price.unit and price.date >= "2026"
            assert price.value > 0


def test_a_region_without_prices() -> None:
    with pytest.raises(UsageError, match="us-east-1"):
        price_book("mars-north-1")
