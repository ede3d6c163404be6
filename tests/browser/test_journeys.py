"""Journeys through the app in a real Chromium, on the known history of tests/factories.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from tests.browser.app import CHROMIUM, chromium, running_app, settled
from tests.factories import known_history, write_settings

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}"),
]
WIDE = {"width": 1440, "height": 1000}
NARROW = {"width": 420, "height": 900}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("journeys")
    known_history(folder, huge=True)
    with running_app(write_settings(folder)) as address:
        yield address


@pytest.fixture(scope="module")
def hostile_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("hostile")
    known_history(folder, hostile=True)
    with running_app(write_settings(folder)) as address:
        yield address


@pytest.fixture
def complaints() -> list[str]:
    """What the browser's console complained of."""
    return []


@pytest.fixture
def page(browser: Browser, complaints: list[str]) -> Iterator[Page]:
    opened = browser.new_page(viewport=WIDE)
    listen(opened, complaints)
    yield opened
    opened.close()


def listen(page: Page, complaints: list[str]) -> None:
    def on_console(message: ConsoleMessage) -> None:
        # Streamlit looks for its own endpoints below the page's path first, then at the root.
        is_probe = "/_stcore/" in str(message.location.get("url", "")) and "404" in message.text
        if message.type == "error" and not is_probe:
            complaints.append(f"{message.text} ({message.location.get('url')})")

    page.on("console", on_console)
    page.on("pageerror", lambda error: complaints.append(str(error)))


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def go(page: Page, address: str) -> None:
    page.goto(address)
    settled(page)


def heading(page: Page, text: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(text, timeout=20_000)
    settled(page)


def tick_row(page: Page, row: int) -> None:
    """Ticks a row of the list (the table is a canvas: rows have a fixed height)."""
    table = page.get_by_test_id("stDataFrame").first
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 18, box["y"] + 35 * (row + 1) + 17)


def test_from_the_overview_to_a_day_to_a_trace_to_the_next(app: str, page: Page, complaints: list[str]) -> None:
    go(page, app)
    heading(page, "Overview")
    expect(page.get_by_test_id("stMetricValue").first).to_have_text("0.833")
    points = page.locator("[data-testid=stPlotlyChart]").first.locator(".scatterlayer .trace .points path")
    points.last.click(force=True)  # the drop of 9 March
    heading(page, "Worst traces")
    assert query(page) == {"from": ["2026-03-09"], "to": ["2026-03-09"]}
    expect(page.get_by_text("10 of 12 traces")).to_be_visible()
    tick_row(page, 0)
    heading(page, "Trace")
    assert query(page)["trace"] == ["0309-broken-9"]
    expect(page.get_by_text("1 of 12")).to_be_visible()
    page.get_by_role("button", name="Next").click()
    page.wait_for_url("**trace=0309-empty-8**")
    settled(page)
    expect(page.get_by_text("2 of 12")).to_be_visible()
    page.get_by_role("button", name="Previous").click()
    page.wait_for_url("**trace=0309-broken-9**")
    settled(page)
    page.go_back()
    page.wait_for_url("**trace=0309-empty-8**")
    expect(page.get_by_text("2 of 12")).to_be_visible()
    settled(page)
    page.get_by_role("link", name="Back to the list").click()
    heading(page, "Worst traces")
    assert query(page)["from"] == ["2026-03-09"]
    assert complaints == []


def test_a_sorted_table_opens_the_row_that_was_ticked(app: str, page: Page) -> None:
    go(page, f"{app}/worst?from=2026-03-09&to=2026-03-09")
    page.wait_for_timeout(1_000)
    table = page.get_by_test_id("stDataFrame").first
    box = table.bounding_box()
    assert box is not None
    for _ in range(2):  # the head of the score: ascending, then descending
        page.mouse.click(box["x"] + 90, box["y"] + 17)
        page.wait_for_timeout(600)
    tick_row(page, 0)
    heading(page, "Trace")
    expect(page.get_by_test_id("stMetricValue").first).to_have_text("1.000")  # the best of the ten worst


def test_the_link_of_a_trace_opens_exactly_the_same_view(app: str, page: Page, browser: Browser) -> None:
    go(page, f"{app}/worst?agent=shop&order=slowest")
    tick_row(page, 1)
    heading(page, "Trace")
    page.get_by_role("button", name="Link").click()
    address = page.get_by_test_id("stPopoverBody").get_by_test_id("stCode").inner_text().strip()
    place = page.get_by_text("2 of 24")
    expect(place).to_be_visible()
    other = browser.new_page(viewport=WIDE)
    go(other, address)
    heading(other, "Trace")
    assert query(other) == query(page)
    expect(other.get_by_text("2 of 24")).to_be_visible()
    other.close()


def test_filters_follow_through_the_menu(app: str, page: Page, complaints: list[str]) -> None:
    go(page, f"{app}/?agent=shop")
    expect(page.get_by_test_id("stMetricValue").first).to_have_text("0.950")
    page.get_by_role("link", name="Alerts").first.click()
    heading(page, "Alerts")
    expect(page.get_by_text("2 critical traces in 12 days")).to_be_visible()
    assert query(page)["agent"] == ["shop"]
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page.get_by_text("7 critical traces in 12 days")).to_be_visible()
    assert "agent" not in query(page)
    assert complaints == []


def test_two_thousand_spans_and_five_megabytes_leave_the_page_usable(
    app: str, page: Page, complaints: list[str]
) -> None:
    go(page, f"{app}/trace?trace=0311-slow-4")
    expect(page.get_by_text("60 of 2,000 spans are drawn")).to_be_visible()
    expect(page.get_by_text("4,994,000 more characters")).to_be_attached()
    page.get_by_text("The trace as JSON").click()
    expect(page.get_by_role("button", name="Download (5")).to_be_visible(timeout=20_000)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download (5").click()
    assert Path(saved.value.path()).stat().st_size > 5_000_000
    assert complaints == []


@pytest.mark.parametrize("path", ["", "worst", "alerts", "data", "trace?trace=0312-long-loop-7"])
def test_hostile_text_shows_as_text(hostile_app: str, page: Page, complaints: list[str], path: str) -> None:
    go(page, f"{hostile_app}/{path}")
    page.wait_for_timeout(1_000)
    assert page.evaluate("() => window.hacked") is None
    main = page.get_by_test_id("stMain")
    assert main.locator("img[src=x]").count() == 0
    assert main.locator("a[href*='/evil']").count() == 0
    assert main.locator(".katex").count() == 0
    assert complaints == []
    if path.startswith("trace"):
        expect(page.get_by_text("**bold** <img src=x onerror=alert(1)>").first).to_be_visible()


@pytest.mark.parametrize("path", ["", "worst", "alerts", "data", "trace?trace=0309-broken-9"])
def test_a_narrow_dark_page_does_not_scroll_sideways(
    app: str, browser: Browser, complaints: list[str], path: str
) -> None:
    page = browser.new_page(viewport=NARROW, color_scheme="dark")
    listen(page, complaints)
    go(page, f"{app}/{path}")
    main = page.get_by_test_id("stMain")
    assert main.evaluate("element => element.scrollWidth - element.clientWidth") <= 1
    background = page.get_by_test_id("stApp").evaluate("element => getComputedStyle(element).backgroundColor")
    assert background == "rgb(16, 22, 29)"
    assert complaints == []
    page.close()
