"""The report: figures from a measurement, on a page that a real browser shows without a word on its console."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, Page, sync_playwright

from coldpress.artifact import Artifact
from coldpress.bench.result import Bench
from coldpress.cli.report import report as command
from coldpress.cost.book import read_book, shipped_content
from coldpress.cost.plan.options import Options
from coldpress.cost.plan.survey import Shape, find_traffic
from coldpress.errors import ArtifactError, UsageError
from coldpress.report import write_report
from coldpress.report.gather import Evidence, gather

CHROMIUM = shutil.which("chromium")
CHARTS = {"requests a second", "Dollars a month for this traffic", "first answer", "Candidates"}


@pytest.fixture(scope="module")
def evidence(measured: Artifact) -> Evidence:
    book, traffic = read_book(shipped_content("us-east-1")), find_traffic(None, "diurnal", 1.0, "2d", Shape(), 0)
    return gather(measured, Bench.load(measured.path), traffic, Options(), book, slo={"p99": 300.0})


@pytest.fixture(scope="module")
def written(evidence: Evidence, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    write_report(evidence, folder)
    return folder


def test_the_bars_from_measurement(written: Path) -> None:
    """At one request a second, cold starts included, beside the classic 12, 45 and 150 $ a million."""
    found = json.loads((written / "report.json").read_text())
    rows = {row["name"]: row for row in found["comparison"]["rows"]}
    assert rows["minilm, 16 tokens"]["per_million"] <= 0.35
    assert rows["minilm, 128 tokens"]["per_million"] <= 0.75
    assert rows["minilm, 16 tokens"]["cold_share"] > 0
    assert rows["Lambda, a classic handler"]["per_million"] == pytest.approx(12, abs=0.5)
    assert rows["SageMaker Serverless"]["per_million"] == pytest.approx(45, abs=1)
    assert rows["EC2 g4dn.xlarge"]["per_million"] == pytest.approx(150, abs=5)
    wins = found["comparison"]["cheaper_than_ours_from"]
    assert wins["EC2 g4dn.xlarge"] > 100
    assert wins["Lambda, a classic handler"] is None and wins["SageMaker Serverless"] is None


def test_every_figure_is_in_the_json(written: Path, evidence: Evidence) -> None:
    found = json.loads((written / "report.json").read_text())
    assert {"candidates", "comparison", "bench", "plan", "facts"} <= found.keys()
    assert [one["chosen"] for one in found["candidates"]].count(True) == 1
    assert found["plan"]["best"] == (evidence.plan.best.name if evidence.plan.best else None)
    assert found["bench"]["machine"]["cpu"] in (written / "report.html").read_text()


class _Tags(HTMLParser):
    """What is open, and what refers to somewhere else."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)
        self.scripts += tag == "script"
        self.references += [
            value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "action")
        ]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.references += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_stands_alone(written: Path) -> None:
    page = (written / "report.html").read_text()
    tags = _Tags()
    tags.feed(page)
    assert tags.open == [] and tags.scripts == 0
    assert "{" not in page.partition("</style>")[2], "a value was not put in"
    assert set(tags.references) <= {"data:,"}
    assert not re.search(r"url\((?!#)", page)


def test_names_from_outside_are_only_text(evidence: Evidence, tmp_path: Path) -> None:
    wicked = "<script>alert(1)</script><b title='x'>"
    rows = [replace(row, name=f"{row.name}{wicked}", assumes=wicked) for row in evidence.plan.rows]
    plan = replace(evidence.plan, traffic=wicked, rows=rows)
    page, _ = write_report(replace(evidence, name=wicked, plan=plan, facts={wicked: wicked}), tmp_path)
    assert "<script" not in page.read_text()
    assert "&lt;script&gt;" in page.read_text()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def _open(browser: Browser, written: Path, width: int, scheme: str) -> tuple[Page, list[str]]:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
    page, said = context.new_page(), list[str]()
    page.on("console", lambda line: said.append(line.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(f"file://{written / 'report.html'}")
    return page, said


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (375, "light"), (375, "dark")])
def test_in_a_browser(browser: Browser, written: Path, width: int, scheme: str) -> None:
    page, said = _open(browser, written, width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shown = page.locator("figure svg:visible")
    assert shown.count() == page.locator("figure").count() >= 4
    for number in range(shown.count()):
        chart = shown.nth(number)
        box = chart.bounding_box()
        assert box is not None and 250 <= box["width"] <= width and box["height"] > 80
        drawn = chart.locator(".mark-rect path, .mark-line path, .mark-symbol path").count()
        assert drawn >= 1, f"nothing is drawn in chart {number}"
    captions = " ".join(page.locator("figcaption").all_inner_texts())
    assert all(part in captions for part in CHARTS)
    ink = "el => getComputedStyle(el).fill"
    dark = page.locator("figure svg:visible text").first.evaluate(ink)
    red = int(re.findall(r"\d+", dark)[0])
    assert (red > 128) == (scheme == "dark"), f"letters are {dark} on a {scheme} page"
    page.context.close()
    assert said == []


def test_letters_are_not_cut_off(browser: Browser, written: Path) -> None:
    """Axis labels stay within their figure, though this machine's fonts are not those they were measured with."""
    page, _ = _open(browser, written, 1200, "light")
    out = page.evaluate(
        """() => [...document.querySelectorAll('figure')].flatMap(figure => {
            const room = figure.getBoundingClientRect();
            return [...figure.querySelectorAll('svg text')].filter(one => one.getBoundingClientRect().width > 0)
                .filter(one => one.getBoundingClientRect().left < room.left
                            || one.getBoundingClientRect().right > room.right + 1).map(one => one.textContent);
        })"""
    )
    page.context.close()
    assert out == []


def test_it_prints(browser: Browser, written: Path) -> None:
    page, _ = _open(browser, written, 1200, "light")
    printed = page.pdf(format="A4")
    page.context.close()
    assert printed.startswith(b"%PDF") and 3 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 14


def test_the_command(measured: Artifact, tmp_path: Path) -> None:
    arguments = [
        str(measured.path),
        "--out",
        str(tmp_path),
        "--server",
        "g4dn.xlarge=900",
        "--server-source",
        "a test",
    ]
    done = CliRunner().invoke(command, [*arguments, "--slo", "p99=300ms", "--pattern", "steady"])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "report.html").read_text()
    assert "900 a second each: a test" in page and "p99 ≤ 300 ms" in page


def test_what_is_wrong(tmp_path: Path, measured: Artifact) -> None:
    done = CliRunner().invoke(command, [str(tmp_path)])
    assert isinstance(done.exception, ArtifactError) and "has no coldpress.json" in str(done.exception)
    done = CliRunner().invoke(command, [str(measured.path), "--slo", "quick"])
    assert isinstance(done.exception, UsageError) and "'quick'" in str(done.exception)
    done = CliRunner().invoke(command, [str(measured.path), "--trace", str(tmp_path / "none.csv")])
    assert isinstance(done.exception, UsageError) and "none.csv" in str(done.exception)


def test_cost_in_python(measured: Artifact) -> None:
    rows = {row.name: row for row in measured.cost(rate=2.0)}
    assert rows["minilm, 16 tokens"].per_million < rows["minilm, 128 tokens"].per_million < 12
    assert rows["EC2 g4dn.xlarge"].per_million == pytest.approx(73, abs=1)
