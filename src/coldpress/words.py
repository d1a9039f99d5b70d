"""Figures as people read them: as many digits as mean something, and never 2.57e+03."""


def ms_text(ms: float) -> str:
    if ms >= 10_000:
        return f"{ms / 1000:,.1f} s"
    return f"{short(ms)} ms"


def short(value: float) -> str:
    """Three digits, all of them before the point where there are more."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def rate_text(rate: float) -> str:
    """Requests a second."""
    return f"{short(rate)}/s"


def share_text(share: float) -> str:
    if share == 0:
        return "0%"
    return "<0.01%" if share < 0.0001 else f"{share:.2%}"


def days_text(seconds: float) -> str:
    for unit, name in ((86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 1.5 * unit:
            return f"{short(seconds / unit)} {name}"
    return f"{short(seconds)} seconds"
