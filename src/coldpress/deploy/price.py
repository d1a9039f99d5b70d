"""What a deployment will cost, before anything is done."""

from statistics import mean

from coldpress.bench.result import BENCH, Bench
from coldpress.cost.bill import SECONDS_A_MONTH, LambdaUse, lambda_bill
from coldpress.cost.book import PriceBook, price_book, regions
from coldpress.deploy.aws import Aws
from coldpress.deploy.parts.code import DIRECT
from coldpress.deploy.parts.scaling import bounds
from coldpress.deploy.wanted import Wanted

_MILLION = 1_000_000


def expected(aws: Aws, wanted: Wanted) -> list[str]:
    """In words, a line for each kind of cost."""
    region = aws.region if aws.region in regions() else "us-east-1"
    book = price_book(region)
    where = "" if region == aws.region else f", at the prices of {region}"
    return [_requests(wanted, book) + where, _ready(wanted, book), *_snapshots(wanted, book)]


def _requests(wanted: Wanted, book: PriceBook) -> str:
    path = wanted.artifact.path
    if not (path / BENCH).exists():
        return f"a million requests: not known; measure them with: coldpress bench {path} --sweep"
    bench = Bench.load(path)
    size = next((one for one in bench.sweep if one.memory_mb == wanted.memory_mb and one.fits), None)
    if size is not None:
        times = size.warm[bench.usual]
    elif bench.memory_mb == wanted.memory_mb:
        times = bench.warm[bench.usual].ms
    else:
        return (
            f"a million requests: not known at {wanted.memory_mb:,} MB; measure them with: "
            f"coldpress bench {path} --sizes {wanted.memory_mb}"
        )
    billed = mean(-(-ms // 1) for ms in times) * _MILLION
    bill = lambda_bill(LambdaUse(_MILLION, billed, wanted.memory_mb, wanted.architecture, wanted.tmp_mb), book)
    return f"a million requests ({bench.usual}, warm): ${bill.dollars:,.2f}, by what was measured here"


def _ready(wanted: Wanted, book: PriceBook) -> str:
    ranges = bounds(wanted)
    least = min((one.least for one in ranges), default=wanted.provisioned)
    most = max((one.most for one in ranges), default=wanted.provisioned)
    if not most:
        stored = wanted.image or (wanted.artifact.zip is not None and wanted.artifact.zip.stat().st_size > DIRECT)
        some = "the snapshot below" if wanted.snapstart else "what is stored" if stored else "nothing"
        return f"a month without requests: {some}"
    low, high = (_kept(number, wanted, book) for number in (least, most))
    between = f"${low:,.2f}" if low == high else f"${low:,.2f} to ${high:,.2f}"
    return f"a month of what is kept ready, without requests: {between}"


def _kept(number: int, wanted: Wanted, book: PriceBook) -> float:
    use = LambdaUse(
        0, 0, wanted.memory_mb, wanted.architecture, provisioned=number, provisioned_seconds=SECONDS_A_MONTH
    )
    return lambda_bill(use, book).dollars


def _snapshots(wanted: Wanted, book: PriceBook) -> list[str]:
    if not wanted.snapstart:
        return []
    use = LambdaUse(0, 0, wanted.memory_mb, wanted.architecture, snapstart_seconds=SECONDS_A_MONTH)
    return [f"a month of each version's snapshot: ${lambda_bill(use, book).dollars:,.2f}"]
