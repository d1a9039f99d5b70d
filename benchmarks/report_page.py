"""The report of the embedded model: its figures, and a picture of its page for the README.

python benchmarks/report_page.py
"""

import json
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import coldpress
from coldpress.bench.sweep import SIZES
from coldpress.cost.book import price_book
from coldpress.cost.plan.options import Options
from coldpress.cost.plan.survey import Shape, find_traffic
from coldpress.report import write_report
from coldpress.report.gather import Evidence, gather

HERE = Path(__file__).parent
PICTURE = HERE.parent / "docs" / "report.png"
RESULT = HERE / "results" / "report.json"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        artifact = coldpress.build("demo:minilm", out=Path(folder) / "out")
        bench = artifact.bench(sweep=[size for size in SIZES if size <= 3538], against=("classic", "expert"))
        traffic = find_traffic(None, "diurnal", 1.0, "7d", Shape(), 0)
        evidence = gather(artifact, bench, traffic, Options(), price_book(), slo={"p99": 300.0})
        page, _ = write_report(evidence, artifact.path)
        RESULT.write_text(json.dumps(figures(evidence), indent=1) + "\n")
        take_picture(page)


def figures(evidence: Evidence) -> dict[str, object]:
    bench = evidence.bench
    return {
        "machine": {"cpu": bench.machine.cpu, "cores": bench.machine.cores, "python": bench.machine.python},
        "memory_mb": evidence.profile.memory_mb,
        "recommended_mb": bench.recommended,
        "cold_ms": bench.cold.of.p50,
        "warm_ms": {name: one.of.p50 for name, one in bench.warm.items()},
        "per_million_at_one_a_second": {row.name: round(row.per_million, 3) for row in evidence.rows},
        "cold_share": {row.name: round(row.cold_share, 5) for row in evidence.rows},
        "cheaper_than_ours_from_a_second": evidence.wins,
        "sizes": {
            size.memory_mb: {"warm_ms": size.billed_ms, "cold_ms": sorted(size.cold_ms)[len(size.cold_ms) // 2]}
            for size in bench.sweep
            if size.fits
        },
        "against": {peer.name: {"cold": peer.cold_ratio, "warm": peer.warm_ratio} for peer in bench.against},
    }


def take_picture(page: Path) -> None:
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 1040, "height": 1500})
        shown.goto(f"file://{page}")
        shown.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
