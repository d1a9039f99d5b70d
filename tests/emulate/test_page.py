"""The page at /_/: a real browser, Chromium, on the real MiniLM in the local Lambda."""

import json
import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from coldpress.artifact import Artifact
from coldpress.emulate.serving import running

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
PHONE: ViewportSize = {"width": 375, "height": 800}
#: what Chromium itself writes when an answer is not 2xx; nothing that a page could prevent
STATUS = "Failed to load resource: the server responded with a status of"


@pytest.fixture(scope="module")
def base_url(artifact: Artifact) -> Iterator[str]:
    with running(artifact.path) as served:
        yield served.url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, base_url: str) -> Iterator[Page]:
    yield from _open(browser, base_url, {"width": 1280, "height": 900})


@pytest.fixture
def phone(browser: Browser, base_url: str) -> Iterator[Page]:
    yield from _open(browser, base_url, PHONE)


def _open(browser: Browser, base_url: str, size: ViewportSize) -> Iterator[Page]:
    """A page that is live; what its console said is looked at when the test is over."""
    context = browser.new_context(viewport=size, reduced_motion="reduce")
    page, said = context.new_page(), list[str]()
    page.on("console", lambda line: said.append(line.text) if line.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"{base_url}/_/")
    expect(page.locator("#connection")).to_have_attribute("data-connection", "live")
    expect(page.locator("[data-example]").first).to_be_visible()
    yield page
    context.close()
    assert [line for line in said if not line.startswith(STATUS)] == []


def _send(page: Page) -> None:
    page.click("#send")
    # Not wait_for_function: it evaluates text, and the page's CSP forbids that.
    expect(page.locator("#answer")).to_have_attribute("data-state", re.compile("done|error"), timeout=20_000)
    expect(page.locator("#send")).to_have_attribute("data-state", "ready")


def test_a_text_is_answered_with_a_vector(page: Page) -> None:
    page.get_by_role("radio", name="one", exact=True).first.check(force=True)
    page.fill("[data-field=text] textarea", "Cold pressed, served warm.")
    _send(page)
    expect(page.locator("#answer canvas.strip")).to_have_count(1)
    expect(page.locator("#answer")).to_contain_text("dimensions, norm")
    expect(page.locator("#answer-meta")).to_contain_text("200")


def test_several_texts_make_a_heat_map(page: Page) -> None:
    page.click("[data-example='Six texts, three topics']")
    _send(page)
    expect(page.locator("[data-heat='6'] tbody tr")).to_have_count(6)


def test_form_and_json_say_the_same(page: Page) -> None:
    page.fill("[data-field=text] textarea", "one\ntwo")
    page.click("#tab-json")
    assert json.loads(page.input_value("#body-json")) == {"text": ["one", "two"]}
    page.fill("#body-json", '{"text": "three", "truncate": false, "unknown": 1}')
    page.click("#tab-form")
    assert page.input_value("[data-field=text] textarea") == "three"
    page.fill("[data-field=text] textarea", "four")
    page.click("#tab-json")
    assert json.loads(page.input_value("#body-json")) == {"text": "four", "truncate": False, "unknown": 1}


def test_sandboxes_change_their_state(page: Page) -> None:
    page.select_option("#times", "10")
    page.click("#send")
    expect(page.locator("[data-sandbox][data-state=busy]").first).to_be_visible(timeout=20_000)
    expect(page.locator("#send")).to_have_attribute("data-state", "ready", timeout=30_000)
    expect(page.locator("[data-sandbox][data-state=busy]")).to_have_count(0)
    expect(page.locator("[data-sandbox]:is([data-state=idle], [data-state=frozen])").first).to_be_visible()


def test_a_request_has_its_waterfall_its_logs_and_its_cost(page: Page) -> None:
    _send(page)
    expect(page.locator("#waterfall [data-phase=function]")).to_be_visible()
    request = page.get_attribute("#waterfall", "data-request")
    expect(page.locator(f"#log [data-request='{request}'].mine").first).to_be_visible()
    expect(page.locator(f"#recent [data-request='{request}']")).to_be_visible()
    expect(page.locator("[data-total=cost_usd] dd")).to_contain_text("$")
    expect(page.locator("[data-total=million] dd")).to_contain_text("$")


def test_what_is_wrong_with_a_request_is_said(page: Page) -> None:
    page.click("#tab-json")
    page.fill("#body-json", '{"txt": "no such field"}')
    page.keyboard.press("Control+Enter")
    expect(page.locator("[data-error='400']")).to_contain_text("missing_field")
    page.fill("#body-json", "not JSON")
    expect(page.locator("#body-problem")).to_contain_text("Not JSON yet")


def test_logs_are_filtered_and_pause(page: Page) -> None:
    _send(page)
    expect(page.locator("#log li").first).to_be_visible()
    page.fill("#log-filter", "REPORT")
    expect(page.locator("#log li:not(:has-text('REPORT'))")).to_have_count(0)
    page.fill("#log-filter", "")
    page.click("#log-pause")
    lines = page.locator("#log li").count()
    _send(page)
    expect(page.locator("#log-says")).to_contain_text("new lines wait")
    assert page.locator("#log li").count() == lines


def test_answers_are_text_and_never_markup(page: Page) -> None:
    page.get_by_role("radio", name="several", exact=True).first.check(force=True)
    page.fill("[data-field=text] textarea", "<img src=x onerror=alert(1)>\n<b>bold</b>")
    _send(page)
    expect(page.locator("#answer .strip-name").first).to_contain_text("<img src=x")
    expect(page.locator("#answer img, #answer b")).to_have_count(0)


def test_colours_switch_and_stay(page: Page) -> None:
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    after = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert before != after
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == after


def test_a_phone_needs_no_sideways_scrolling(phone: Page) -> None:
    _send(phone)
    phone.click("summary:has-text('Options')")
    assert phone.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    expect(phone.locator("#answer canvas.strip").first).to_be_visible()
