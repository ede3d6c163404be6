"""A day's report as text."""

from __future__ import annotations

from html.parser import HTMLParser

from jobs.report import html, markdown
from tests.jobs.reports import a_report, an_empty_report


class Page(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.links: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"src", "href"}]

    def handle_data(self, data: str) -> None:
        self.words += data


def test_markdown_has_every_number_and_cannot_be_broken_by_a_trace() -> None:
    lines = markdown(a_report()).splitlines()
    assert lines[0] == "# Gradebook: 2026-03-09"
    assert "The average changed by -0.196 against 2026-03-08: a drop of more than 0.1." in lines[2]
    assert "| Average score | 0.700 | 95 % interval 0.550 to 0.850, n = 12 |" in lines
    assert "| Critical | 25.0 % | 3 traces, 95 % interval 8.9 to 53.2, n = 12 |" in lines
    assert "| Quality | – | too few judged |" in lines
    assert "| judge call failed | 1 |" in lines
    assert "The 2 worst of 3 traces." in lines
    assert "| t-1 | 0.200 | High latency: 12000ms; 2 tool error(s) |" in lines
    assert r"| t\|2 \<b\> | 0.400 | \<script\>alert(1)\</script\> \| \*x\* |" in lines


def test_html_is_one_page_without_links_and_shows_traces_as_text() -> None:
    page = Page(html(a_report()))
    assert "script" not in page.elements
    assert page.links == []
    assert "Monday, 9 March 2026" in page.words
    assert "<script>alert(1)</script> | *x*" in page.words
    assert "0.700" in page.words
    assert "a drop of more than 0.1" in page.words


def test_a_day_without_traces_has_dashes_and_no_zeros_for_averages() -> None:
    for text in (markdown(an_empty_report()), html(an_empty_report())):
        assert "The day brought no traces." in text
        assert "–" in text
        assert "0.000" not in text
