"""The app on a store that tests know by heart (tests/factories.py)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.factories import known_history, write_settings

APP = Path(__file__).parents[2] / "dashboard" / "app.py"
Open = Callable[..., AppTest]


@pytest.fixture(scope="session")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A settings file beside a store with the known history. Read only."""
    folder = tmp_path_factory.mktemp("known")
    known_history(folder, huge=True)
    return write_settings(folder)


@pytest.fixture
def open_app(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Opens a page of the app on the workspace of a settings file, with query parameters."""

    def open_page(settings: Path, page: str = "overview", **query: str | list[str]) -> AppTest:
        monkeypatch.setenv("GRADEBOOK_CONFIG", str(settings))
        st.cache_resource.clear()
        app = AppTest.from_file(str(APP), default_timeout=30)
        for name, value in query.items():
            app.query_params[name.rstrip("_")] = value
        app.run()
        if page != "overview":
            app.switch_page(f"screens/{page}.py")
            for name, value in query.items():
                app.query_params[name.rstrip("_")] = value
            app.run()
        return app

    return open_page
