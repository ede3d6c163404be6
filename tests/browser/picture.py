"""`make picture`: the overview of the demo as docs/images/overview.png, for the README.

    python -m tests.browser.picture [SETTINGS]

SETTINGS is the gradebook.toml of a graded workspace; without it the demo of `make demo` in demo/.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.browser.app import ROOT, STARTUP_SECONDS, chromium, running_app, settled

PICTURE = ROOT / "docs" / "images" / "overview.png"
SIZE = {"width": 1360, "height": 900}


def main() -> None:
    settings = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "demo" / "gradebook.toml"
    if not settings.exists():
        sys.exit(f"there is no {settings}: run 'make demo ARGS=--no-dashboard' first")
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    with running_app(settings.absolute()) as address, chromium() as browser:
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(address)
        page.wait_for_selector("[data-testid=stMain] h1", timeout=STARTUP_SECONDS * 1000)
        settled(page)
        page.screenshot(path=PICTURE)
    print(f"{PICTURE} is written")


if __name__ == "__main__":
    main()
