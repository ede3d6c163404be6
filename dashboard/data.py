"""Every read of the app, remembered by (store version, arguments). No connection outlives a read.

What comes back is frozen and shared between sessions: never change it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar
from zoneinfo import ZoneInfo

import plotly.graph_objects as go
import streamlit as st

from grader.rules import compile_rules
from grader.settings import CONFIG_VARIABLE, SETTINGS_FILE, Settings, load_settings
from grader.store import read, read_alerts, read_days, read_runs, read_trace, read_traces
from grader.store.connect import Store
from grader.store.payload import Payload

P = ParamSpec("P")
T = TypeVar("T")

LONGEST_WAIT_SECONDS = 4.0  # for the store; a reader of a page waits no longer, a command may


@dataclass(frozen=True, kw_only=True, slots=True)
class Workspace:
    """What the app shows."""

    settings: Settings
    store: Store
    zone: ZoneInfo


def workspace() -> Workspace:
    """The workspace that `--config` names, else GRADEBOOK_CONFIG, else ./gradebook.toml. Raises SettingsError."""
    return _workspace(*_settings_file())


def _settings_file() -> tuple[Path, int]:
    """The settings file, and when it changed."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--config", type=Path)
    named: Path | None = parser.parse_known_args(sys.argv[1:])[0].config
    file = named or Path(os.environ.get(CONFIG_VARIABLE) or SETTINGS_FILE)
    return file, file.stat().st_mtime_ns if file.exists() else 0


@st.cache_resource(max_entries=4, show_spinner=False)
def _workspace(file: Path, changed_ns: int) -> Workspace:  # noqa: ARG001 - a changed file is read again
    settings = load_settings(file)
    store = Store.open(settings)
    wait = min(store.lock_timeout_seconds, LONGEST_WAIT_SECONDS)
    return Workspace(
        settings=settings,
        store=Store(path=store.path, lock_timeout_seconds=wait),
        zone=ZoneInfo(settings.day.timezone),
    )


def _ask(question: Callable[..., T], store: Store, args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
    with store.reading() as connection:
        return question(connection, *args, **kwargs)


@st.cache_resource(max_entries=512, show_spinner=False)
def _answer(name: str, store: Store, version: int, args: Any, kwargs: Any, _question: Callable[..., Any]) -> Any:  # noqa: ARG001
    return _ask(_question, store, args, kwargs)


def _remembering(question: Callable[Concatenate[Any, P], T]) -> Callable[P, T]:
    """`question` without its connection: asked once for each version of the store and each set of arguments."""

    def asked(*args: P.args, **kwargs: P.kwargs) -> T:
        store = workspace().store
        answer: T = _answer(question.__name__, store, store.version(), args, kwargs, question)
        return answer

    return asked


@st.cache_resource(max_entries=4, show_spinner=False)
def _rules_version(file: Path, changed_ns: int) -> str:
    return compile_rules(_workspace(file, changed_ns).settings.rules).version


def rules_version() -> str:
    """The version of the rules as the settings have them now. Raises SettingsError."""
    return _rules_version(*_settings_file())


extent = _remembering(read.read_extent)
facets = _remembering(read.read_facets)
releases = _remembering(read.read_releases)
reports = _remembering(read_days.read_reports)
day_numbers = _remembering(read_days.read_day_numbers)
strata = _remembering(read_days.read_strata)
agent_shares = _remembering(read_days.read_agent_shares)
traces = _remembering(read_traces.read_traces)
place = _remembering(read_traces.read_place)
trace = _remembering(read_trace.read_trace)
alerts = _remembering(read_alerts.read_alerts)
alert_reasons = _remembering(read_alerts.read_alert_reasons)
alert_days = _remembering(read_alerts.read_alert_days)
sums = _remembering(read_runs.read_sums)
runs = _remembering(read_runs.read_runs)
formats = _remembering(read_runs.read_formats)
quarantine = _remembering(read_runs.read_quarantine)
failures = _remembering(read_runs.read_failures)


def payload(trace_id: str) -> Payload | None:
    """The long texts of a trace; None when the store does not know it."""
    store = workspace().store
    return _payload(store, store.version(), trace_id)


@st.cache_resource(max_entries=8, show_spinner=False)  # one may be many megabytes
def _payload(store: Store, version: int, trace_id: str) -> Payload | None:  # noqa: ARG001
    return _ask(read_trace.read_payload, store, (store.folder, trace_id), {})


def figure(name: str, draw: Callable[[], go.Figure], *depends_on: Hashable) -> go.Figure:
    """What `draw` draws, remembered for `depends_on`, the settings and the version of the store.

    Drawing costs ten times what a remembered read does (measured: 0.14 s against 0.01 s).
    """
    return _figure(name, _settings_file(), workspace().store.version(), depends_on, draw)


@st.cache_resource(max_entries=128, show_spinner=False)
def _figure(
    name: str,  # noqa: ARG001
    settings: tuple[Path, int],  # noqa: ARG001
    version: int,  # noqa: ARG001
    depends_on: tuple[Hashable, ...],  # noqa: ARG001
    _draw: Callable[[], go.Figure],
) -> go.Figure:
    return _draw()
