"""A refresh from lists over a real socket: what it takes and refuses, and that failing leaves the old book."""

import gzip
import json
import shutil
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from coldpress.cli.prices import prices
from coldpress.cost.book import SHIPPED, PriceBook, price_book, read_book, refreshed_path, regions, shipped_content
from coldpress.cost.refresh import refresh
from coldpress.cost.refresh.rows import COLUMNS, LONGEST_LINE, read_list
from coldpress.errors import PriceListError, UsageError

SAMPLES = Path(__file__).parent / "price_lists"
REGION = "eu-west-1"


class Lists:
    """A mirror of the price list, whose files a test may change."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.status: dict[str, int] = {}
        self.cut: set[str] = set()
        self.zipped = False
        self.asked: list[str] = []
        lists = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                lists.answer(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is called
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def path(self, service: str, region: str = REGION) -> Path:
        return self.root / f"offers/v1.0/aws/{service}/current/{region}/index.csv"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        self.asked.append(request.path)
        service = request.path.split("/")[4]
        path = self.root / request.path.lstrip("/")
        status = self.status.get(service, 200 if path.is_file() else 403)
        body = path.read_bytes() if status == 200 else b"no"
        request.send_response(status)
        if self.zipped and status == 200:
            body = gzip.compress(body)
            request.send_header("content-encoding", "gzip")
        request.send_header("content-length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: len(body) // 2] if service in self.cut else body)

    def replace(self, service: str, old: str, new: str) -> None:
        text = self.path(service).read_text()
        assert old in text
        self.path(service).write_text(text.replace(old, new))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lists]:
    monkeypatch.setenv("COLDPRESS_CACHE", str(tmp_path / "cache"))
    shutil.copytree(SAMPLES, tmp_path / "lists")
    served = Lists(tmp_path / "lists")
    yield served
    served.close()


def test_what_a_refresh_takes(lists: Lists) -> None:
    outcome = refresh(REGION, lists.url)
    book = price_book(REGION)
    assert book.place == outcome.place == str(refreshed_path(REGION))
    arm = book.lambda_.provisioned_gb_second["arm64"]
    assert (arm.value, arm.source, arm.date) == (3.7168e-06, "AWS bulk price list, AWSLambda", "2026-10-05")
    assert arm.like == arm.note == ""
    tiers = [(tier.up_to, tier.price.value) for tier in book.lambda_.gb_second["x86_64"]]
    assert tiers == [(6e9, 1.66667e-05), (15e9, 1.5e-05), (None, 1.33334e-05)]
    assert book.lambda_.snapstart_cache_gb_second.value == 1.6777e-06
    assert book.sagemaker_gb_second.value == 2.3e-05
    assert book.fargate["arm64"]["gb_hour"].date == "2026-10-05"
    # the plain Linux price of the region itself, among six others
    assert book.ec2["g4dn.xlarge"]["on_demand_hour"].value == 0.587
    assert book.ec2["g4dn.xlarge"]["reserved_year_hour"].value == 0.4
    assert book.ec2["g5.xlarge"]["on_demand_hour"].date == "2026-10-07"
    # new in this region, with its shape
    assert (
        book.ec2["g6.xlarge"]["on_demand_hour"].value == 0.899 and book.ec2_shapes["g6.xlarge"].gpu == "NVIDIA L4"
    )
    assert not outcome.refused
    assert set(outcome.published) == {"AWSLambda", "AmazonEC2", "AmazonECR", "AmazonECS", "AmazonSageMaker"}


def test_what_a_refresh_says(lists: Lists) -> None:
    outcome = refresh(REGION, lists.url)
    changes = {change.what: change for change in outcome.changes}
    a10 = changes["ec2 g5.xlarge on demand hour"]
    assert (a10.old, a10.new) == (1.123, 1.179) and a10.percent == pytest.approx(4.99, abs=0.01)
    assert changes["ec2 g6.xlarge on demand hour"].percent is None
    assert "lambda request" not in changes and outcome.confirmed > 10
    again = refresh(REGION, lists.url)
    assert not again.changes and again.confirmed == outcome.confirmed + len(outcome.changes)


def test_what_no_list_has_stays_with_its_source_and_day(lists: Lists) -> None:
    before = price_book(REGION)
    outcome = refresh(REGION, lists.url)
    book = price_book(REGION)
    assert book.ec2["c7i.large"]["spot_hour"] == before.ec2["c7i.large"]["spot_hour"]
    assert book.lambda_.free_requests == before.lambda_.free_requests
    assert book.sagemaker_gb_in_out == before.sagemaker_gb_in_out
    assert "ec2 c7i.large spot hour" in outcome.kept


def test_usage_types_without_a_region_are_us_east_1_s(lists: Lists) -> None:
    for service in ("AWSLambda", "AmazonEC2", "AmazonECR", "AmazonECS", "AmazonSageMaker"):
        text = (
            lists.path(service).read_text().replace('"EU-', '"').replace("EU (Ireland)", "US East (N. Virginia)")
        )
        lists.path(service, "us-east-1").parent.mkdir()
        lists.path(service, "us-east-1").write_text(text)
    outcome = refresh("us-east-1", lists.url)
    assert not outcome.refused and price_book("us-east-1").lambda_.tmp_gb_second.value == 3.4e-08


def test_a_region_that_no_book_is_shipped_for(lists: Lists) -> None:
    for service in ("AWSLambda", "AmazonEC2", "AmazonECR", "AmazonECS", "AmazonSageMaker"):
        shutil.copytree(lists.path(service).parent, lists.path(service, "eu-west-9").parent)
    lists.replace("AWSLambda", "SnapStart-Cached-GB-S", "SnapStart-Kept")
    shutil.copy(lists.path("AWSLambda"), lists.path("AWSLambda", "eu-west-9"))
    refresh("eu-west-9", lists.url)
    book = price_book("eu-west-9")
    assert "eu-west-9" in regions() and book.name == "EU (Ireland)"
    assert book.lambda_.snapstart_cache_gb_second.like == "us-east-1" and book.ec2["t3.medium"]
    assert list(book.ec2["t3.medium"]) == ["on_demand_hour"]


def test_compressed_on_the_way(lists: Lists) -> None:
    lists.zipped = True
    assert refresh(REGION, lists.url).changes


FAILURES: dict[str, tuple[Callable[[Lists], object], str]] = {
    "not found": (lambda lists: lists.status.update(AmazonEC2=404), r"AmazonEC2/.*answers 404 Not Found"),
    "forbidden": (lambda lists: lists.status.update(AWSLambda=403), "answers 403 Forbidden; is there a region"),
    "broken": (lambda lists: lists.status.update(AmazonECR=500), "answers 500"),
    "cut short": (lambda lists: lists.cut.add("AmazonEC2"), "broke off after"),
    "a page instead": (
        lambda lists: lists.path("AmazonECS").write_text("<html>\n" * 50),
        "AmazonECS is none: no line in its first 20 begins with SKU",
    ),
    "empty": (lambda lists: lists.path("AmazonECS").write_text(""), "AmazonECS is none"),
    "another list": (
        lambda lists: shutil.copy(lists.path("AmazonECR"), lists.path("AmazonECS")),
        "OfferCode is 'AmazonECR'",
    ),
    "another column": (
        lambda lists: lists.replace("AWSLambda", '"usageType"', '"usage"'),
        "no column 'usageType' any more",
    ),
    "another column of EC2": (
        lambda lists: lists.replace("AmazonEC2", '"Tenancy"', '"Sharing"'),
        "no column 'Tenancy'",
    ),
    "no date": (lambda lists: lists.replace("AmazonECR", "2026-10-05T", "soon"), "no date, but 'soon"),
    "a missing price": (
        lambda lists: lists.replace("AWSLambda", "EU-Request", "EU-Ask"),
        "AWSLambda has no 'Request' any more",
    ),
    "a short row": (
        lambda lists: lists.path("AmazonECR").write_text(lists.path("AmazonECR").read_text()[:-40]),
        "line 8 of the price list of AmazonECR",
    ),
    "not text": (
        lambda lists: lists.path("AmazonECR").write_bytes(b"\xff" + lists.path("AmazonECR").read_bytes()),
        "line 1 of the price list of AmazonECR is not text: byte 1 is 0xff",
    ),
}


@pytest.mark.parametrize("what", FAILURES)
def test_a_failure_leaves_the_old_book(what: str, lists: Lists) -> None:
    damage, words = FAILURES[what]
    path = refreshed_path(REGION)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(shipped_content(REGION)))
    before = path.read_bytes()
    damage(lists)
    with pytest.raises(PriceListError, match=words):
        refresh(REGION, lists.url)
    assert path.read_bytes() == before
    assert not list(path.parent.glob(".partial*"))


def test_a_failure_leaves_the_shipped_book(lists: Lists) -> None:
    lists.status["AmazonEC2"] = 503
    with pytest.raises(PriceListError, match="answers 503"):
        refresh(REGION, lists.url)
    assert not refreshed_path(REGION).exists() and price_book(REGION).place == SHIPPED


def test_nobody_there(lists: Lists) -> None:
    lists.close()
    with pytest.raises(PriceListError, match="cannot be reached"):
        refresh(REGION, lists.url)


@pytest.mark.parametrize("host", ["", "ftp://x", "pricing", "file:///etc"])
def test_no_address(host: str, lists: Lists) -> None:
    with pytest.raises(PriceListError, match="begins with http"):
        refresh(REGION, host)


@pytest.mark.parametrize("region", ["", "../../etc", "mars", "eu-west-1/..", "EU-WEST-1", "eu-west-1\n"])
def test_no_region(region: str, lists: Lists) -> None:
    with pytest.raises(UsageError, match="no AWS region's name"):
        refresh(region, lists.url)
    assert not lists.asked


def test_a_folder_that_cannot_be_written(lists: Lists) -> None:
    refreshed_path(REGION).parent.parent.mkdir(parents=True)
    refreshed_path(REGION).parent.write_text("in the way")
    with pytest.raises(PriceListError, match="cannot be written"):
        refresh(REGION, lists.url)


def test_a_refresh_repairs_a_damaged_book(lists: Lists) -> None:
    refreshed_path(REGION).parent.mkdir(parents=True)
    refreshed_path(REGION).write_text("{")
    refresh(REGION, lists.url)
    assert price_book(REGION).lambda_.request.date == "2026-10-05"


ABSURD = {
    "negative": ("-0.0000002000", "'-0.0000002000' in line 7 is no price"),
    "nothing": ("0.0000000000", "its price is 0.0000000000 in line 7, and it is not free"),
    "not a number": ("NaN", "'NaN' in line 7 is no price"),
    "endless": ("1e999", "'1e999' in line 7 is no price"),
    "words": ("cheap", "'cheap' in line 7 is no number"),
    "a thousand of them": ("0.0002000000", "0.0002000000 in line 7 is more than 10 times off the 0.0000002000"),
    "a tenth of a tenth": ("0.0000000020", "more than 10 times off"),
}


@pytest.mark.parametrize("what", ABSURD)
def test_a_figure_that_cannot_be_right(what: str, lists: Lists) -> None:
    price, words = ABSURD[what]
    lists.replace("AWSLambda", '"Requests","0.0000002000"', f'"Requests","{price}"')
    outcome = refresh(REGION, lists.url)
    assert len(outcome.refused) == 1
    assert outcome.refused[0].startswith("lambda request: ") and words in outcome.refused[0]
    book = price_book(REGION)
    assert book.lambda_.request == shipped_book().lambda_.request
    assert book.ec2["g5.xlarge"]["on_demand_hour"].value == 1.179


def shipped_book() -> PriceBook:
    return read_book(shipped_content(REGION))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"6000000000","15000000000"', '"7000000000","15000000000"', "the tiers do not join: line"),
        ('"15000000000","Inf"', '"15000000000","16000000000"', "the last tier ends at 1.6e+10"),
        ('"Lambda-GB-Second","0.0000150000"', '"Hours","0.0000150000"', "its unit is 'Hours' in line"),
        ('"0.0000150000"', '"0.0150000000"', "more than 10 times off"),
    ],
)
def test_tiers_that_cannot_be_right(old: str, new: str, words: str, lists: Lists) -> None:
    lists.replace("AWSLambda", old, new)
    refused = refresh(REGION, lists.url).refused
    assert len(refused) == 1 and refused[0].startswith("lambda gb second x86_64: ") and words in refused[0]
    assert price_book(REGION).lambda_.gb_second["x86_64"] == shipped_book().lambda_.gb_second["x86_64"]


def test_two_prices_for_one_figure(lists: Lists) -> None:
    lists.replace("AmazonECR", 'EU-DataTransfer-Out-Bytes"', 'EU-TimedStorage-ByteHrs"')
    lists.replace("AmazonECR", '"GB","0.09', '"GB-Mo","0.09')
    (refused,) = refresh(REGION, lists.url).refused
    assert "more than one price: 0.1000000000 in line 7, 0.0900000000 in line 8" in refused


def test_what_is_free_at_first_is_left_out(lists: Lists) -> None:
    lists.replace("AmazonECR", 'EU-DataTransfer-Out-Bytes"', 'EU-TimedStorage-ByteHrs"')
    lists.replace("AmazonECR", '"0","Inf","GB","0.0900000000"', '"0","0.5","GB-Mo","0.0000000000"')
    outcome = refresh(REGION, lists.url)
    assert not outcome.refused and price_book(REGION).ecr_gb_month.date == "2026-10-05"


def test_what_is_free_for_ever_beside_a_price(lists: Lists) -> None:
    lists.replace("AmazonECR", 'EU-DataTransfer-Out-Bytes"', 'EU-TimedStorage-ByteHrs"')
    lists.replace("AmazonECR", '"GB","0.0900000000"', '"GB-Mo","0.0000000000"')
    (refused,) = refresh(REGION, lists.url).refused
    assert "its price is 0.0000000000 in line 8, and it is not free" in refused


def run(*arguments: str) -> Any:
    return CliRunner().invoke(prices, ["--region", REGION, *arguments], env={"COLUMNS": "160"})


def test_the_command(lists: Lists) -> None:
    done = run("--refresh", "--from", lists.url)
    assert done.exit_code == 0, done.output
    assert "ec2 g5.xlarge on demand hour" in done.stdout and "+5.0 %" in done.stdout
    assert "AmazonEC2 of 2026-10-07" in done.stderr and str(refreshed_path(REGION)) in done.stderr.replace(
        "\n", ""
    )
    assert "AWS bulk price list, AWSLambda" in run().stdout
    outcome = json.loads(run("--refresh", "--from", lists.url, "--json").stdout)
    assert outcome["changes"] == [] and outcome["confirmed"] > 20


def test_the_command_fails_for_a_refused_figure(lists: Lists) -> None:
    lists.replace("AmazonECR", "0.1000000000", "7.0000000000")
    done = run("--refresh", "--from", lists.url)
    assert isinstance(done.exception, PriceListError) and "1 figures" in str(done.exception)
    assert "Refused, so as it was: ecr gb month: 7.0000000000" in done.stderr
    assert price_book(REGION).lambda_.request.date == "2026-10-05"


HEAD = b'"FormatVersion","v1.0"\n"Publication Date","2026-10-05T13:58:02Z"\n"OfferCode","AmazonECR"\n'
HEADER = ",".join(f'"{name}"' for name in COLUMNS).encode() + b"\n"
CELL = st.text(max_size=20)


def read(content: bytes, piece: int = 7) -> list[dict[str, str]]:
    """All rows, from pieces that no line begins or ends with."""
    chunks = (content[at : at + piece] for at in range(0, len(content), piece))
    return [row.cells for row in read_list(chunks, "AmazonECR").rows]


def quoted(cells: list[str]) -> bytes:
    return ",".join('"' + cell.replace('"', '""') + '"' for cell in cells).encode() + b"\n"


@given(st.lists(st.lists(CELL, min_size=len(COLUMNS), max_size=len(COLUMNS)), max_size=4), st.integers(1, 50))
def test_any_cells_come_back_as_they_were(rows: list[list[str]], piece: int) -> None:
    def kept(cell: str) -> str:
        return cell.replace("\r\n", "\n")  # line ends inside of quotes are the csv module's

    found = read(HEAD + HEADER + b"".join(map(quoted, rows)), piece)
    assert [[kept(cell) for cell in row.values()] for row in found] == [
        [kept(cell) for cell in row] for row in rows
    ]


@settings(max_examples=300)
@given(st.binary(max_size=300), st.sampled_from([b"", HEAD, HEAD + HEADER]), st.integers(1, 100))
def test_any_bytes_are_rows_or_our_own_error(content: bytes, before: bytes, piece: int) -> None:
    try:
        read(before + content, piece)
    except PriceListError as error:
        assert "AmazonECR" in str(error)


@settings(max_examples=200)
@given(st.data())
def test_any_damage_to_a_list_is_rows_or_our_own_error(data: st.DataObject) -> None:
    whole = bytearray((SAMPLES / "offers/v1.0/aws/AmazonECR/current/eu-west-1/index.csv").read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at : at + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=10))
    try:
        read(bytes(whole), 64)
    except PriceListError:
        return


@given(st.lists(st.sampled_from(COLUMNS[1:]), unique=True, max_size=len(COLUMNS) - 2))
def test_columns_that_are_gone_are_named(columns: list[str]) -> None:
    with pytest.raises(PriceListError) as error:
        read(HEAD + b'"SKU",' + ",".join(f'"{one}"' for one in columns).encode() + b"\n")
    for gone in set(COLUMNS) - set(columns) - {"SKU"}:
        assert repr(gone) in str(error.value)


def test_huge_cells_and_lines() -> None:
    huge = [*COLUMNS[:-1], "x" * 200_000]
    with pytest.raises(PriceListError, match="field larger than field limit"):
        read(HEAD + HEADER + quoted(huge), 1 << 16)
    with pytest.raises(PriceListError, match=f"line 5 .* longer than {LONGEST_LINE:,} bytes"):
        read(HEAD + HEADER + b"x" * (LONGEST_LINE + 1 << 1), 1 << 16)
    with pytest.raises(PriceListError, match="is not CSV"):
        read(HEAD + HEADER + b'"open,' + b"\n" * 200_000, 1 << 16)


def test_memory_does_not_grow_with_the_list() -> None:
    """15 MB in rows, read in less than one."""
    row = quoted([f"{'y' * 40}{number}" for number in range(len(COLUMNS))]) * 100

    def chunks() -> Iterator[bytes]:
        yield HEAD + HEADER
        for _ in range(15_000_000 // len(row)):
            yield row

    tracemalloc.start()
    seen = sum(1 for _ in read_list(chunks(), "AmazonECR").rows)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seen > 30_000 and most < 1_000_000
