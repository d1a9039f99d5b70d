"""What a plan wishes for and rests on, in words: for the terminal and for the report."""

from coldpress.cost.book import PriceBook
from coldpress.cost.figures import all_prices
from coldpress.cost.plan.options import PLACING_MS_PER_MB, Options
from coldpress.cost.plan.profile import Profile
from coldpress.words import ms_text


def wish_text(name: str, limit: float) -> str:
    return f"{name} ≤ {limit * 100:.3g} %" if name in ("cold", "throttled") else f"{name} ≤ {ms_text(limit)}"


def slo_text(slo: dict[str, float]) -> str:
    return ", ".join(wish_text(name, limit) for name, limit in slo.items())


def borrowed_text(book: PriceBook) -> str:
    """Which of a region's figures are another's; empty: none."""
    names = [name for name, price in all_prices(book).items() if price.like]
    if not names:
        return ""
    lender = next(price.like for price in all_prices(book).values() if price.like)
    return f"{len(names)} of its prices were not found and are {lender}'s: {', '.join(names)}"


def assumptions(options: Options, profile: Profile, book: PriceBook) -> list[str]:
    placing = options.placing_ms_for(profile.package_mb)
    how = f"{PLACING_MS_PER_MB:g} ms for each MB of the package" if options.placing_ms is None else "as given"
    lines = [
        f"Durations: {profile.source}; not AWS's.",
        f"A sandbox is kept for {options.idle:g} s without work; AWS promises none.",
        f"Before an init Lambda takes {placing:,.0f} ms ({how}); it is in no metric and not measured here.",
        f"At most {options.concurrency:,} requests at once, and {options.scale_up:,} sandboxes more within 10 s.",
        "Every invocation is billed to the started millisecond, a cold one with its init; "
        + ("with" if options.free_tier else "without")
        + " the free tier.",
        f"SageMaker Serverless: {options.sagemaker.source}; {options.bytes_in_out:,} bytes in and out.",
        f"Servers are {options.utilization:.0%} full in the busiest minute; Managed Instances are "
        f"{options.managed_least} at least.",
        f"Prices of {book.name} ({book.place}): coldpress prices.",
    ]
    borrowed = borrowed_text(book)
    return [*lines, f"{borrowed[0].upper()}{borrowed[1:]}."] if borrowed else lines
