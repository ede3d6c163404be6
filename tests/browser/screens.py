"""`make screens`: a picture of every screen, wide and narrow, light and dark, full and empty, in build/screens/.

    python -m tests.browser.screens [SETTINGS]

SETTINGS is the gradebook.toml of a graded workspace; without it the known history of tests/factories.py is used.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser

from grader.settings import load_settings
from grader.store.connect import Store
from tests.browser.app import ROOT, chromium, running_app, settled
from tests.factories import empty_store, known_history, write_settings

FOLDER = ROOT / "build" / "screens"
WIDTHS = {"wide": 1440, "narrow": 420}
SCHEMES = ("light", "dark")
TALLEST = 6_000


@dataclass(frozen=True, kw_only=True)
class Screen:
    name: str
    path: str


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        folder = Path(name)
        settings = Path(sys.argv[1]) if len(sys.argv) > 1 else known_workspace(folder / "known")
        with running_app(settings) as address:
            for screen in full_screens(worst_trace(settings)):
                take(browser, address, screen)
        for label, workspace in {
            "empty": empty_workspace(folder / "empty"),
            "no-store": none_yet(folder / "none"),
        }.items():
            with running_app(workspace) as address:
                take(browser, address, Screen(name=label, path=""))
    print(f"{len(list(FOLDER.glob('*.png')))} pictures in {FOLDER}")


def known_workspace(folder: Path) -> Path:
    folder.mkdir()
    known_history(folder, huge=True)
    return write_settings(folder)


def empty_workspace(folder: Path) -> Path:
    folder.mkdir()
    empty_store(folder)
    return write_settings(folder)


def none_yet(folder: Path) -> Path:
    folder.mkdir()
    return write_settings(folder)


def worst_trace(settings: Path) -> str:
    with Store.open(load_settings(settings)).reading() as connection:
        found = connection.execute("SELECT trace_id FROM grades ORDER BY final_score, trace_id LIMIT 1").fetchall()
    return str(found[0][0])


def full_screens(trace_id: str) -> tuple[Screen, ...]:
    return (
        Screen(name="overview", path=""),
        Screen(name="worst", path="worst"),
        Screen(name="trace", path=f"trace?trace={trace_id}"),
        Screen(name="alerts", path="alerts"),
        Screen(name="data", path="data"),
    )


def take(browser: Browser, address: str, screen: Screen) -> None:
    """Four pictures of one screen, each as tall as its content."""
    for label, width in WIDTHS.items():
        for scheme in SCHEMES:
            page = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=scheme)
            page.goto(f"{address}/{screen.path}")
            for _ in range(3):  # a taller page shows more, which may make it taller
                settled(page)
                height = page.evaluate("() => document.querySelector('[data-testid=stMain]').scrollHeight")
                page.set_viewport_size({"width": width, "height": min(height + 10, TALLEST)})
            settled(page)
            page.screenshot(path=FOLDER / f"{screen.name}-{label}-{scheme}.png")
            page.close()


if __name__ == "__main__":
    main()
