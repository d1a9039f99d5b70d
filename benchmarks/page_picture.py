"""A picture of the local Lambda's page, on the embedded model, for the README.

python benchmarks/page_picture.py
"""

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import coldpress

PICTURE = Path(__file__).parent.parent / "docs" / "page.png"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tools:
        artifact = coldpress.build("demo:minilm", out=Path(folder) / "out", quick=True, package="none")
        browser = tools.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 1150}, reduced_motion="reduce")
        with artifact.serve(provisioned=1) as url:
            page.goto(f"{url}/_/")
            page.click("[data-example='Six texts, three topics']")
            page.select_option("#times", "10")
            page.click("#send")
            page.wait_for_selector("#send[data-state=ready]")
            page.wait_for_timeout(1500)
            page.screenshot(path=PICTURE, clip={"x": 0, "y": 0, "width": 1280, "height": 1150})
        browser.close()


if __name__ == "__main__":
    main()
