"""What the screens ask of a big store: each answer opens the store under its lock, asks, and closes it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import duckdb

from bench.measure import measured
from bench.results import Goal, Result
from bench.traces import FIRST_TIME, NUM_DAYS, flat_file
from bench.whole import ingest_and_grade, new_workspace, workspace_settings
from grader.store.connect import Store
from grader.store.payload import read_payloads
from grader.store.read import TraceFilter
from grader.store.read_days import read_day_numbers, read_reports
from grader.store.read_traces import read_traces

REPEATS = 15
GOAL_MS = 50.0
FIRST_DAY = FIRST_TIME.date()
LAST_DAY = FIRST_DAY + timedelta(days=NUM_DAYS - 1)
AGENT = TraceFilter(first=FIRST_DAY, last=LAST_DAY, agents=("shop",))
ALL = TraceFilter(first=FIRST_DAY, last=LAST_DAY)
NUM_WORST = 10


def _ten_worst(connection: duckdb.DuckDBPyConnection) -> int:
    return len(read_traces(connection, ALL, limit=NUM_WORST).rows)


def read_latencies_ms(workspace: Path, file: Path) -> dict[str, float]:
    """Milliseconds until the answer to each question, opening and closing included: the median of several times."""
    store = Store.open(workspace_settings(workspace, file))

    def worst_with_texts(connection: duckdb.DuckDBPyConnection) -> int:
        worst = read_traces(connection, ALL, limit=NUM_WORST).rows
        return len(read_payloads(connection, store.folder, [row.trace_id for row in worst]))

    questions: dict[str, tuple[Callable[[duckdb.DuckDBPyConnection], int], int]] = {
        "means of 30 days, from the reports": (lambda c: len(read_reports(c, FIRST_DAY, LAST_DAY)), NUM_DAYS),
        "means of 30 days, of one agent": (lambda c: len(read_day_numbers(c, AGENT)), NUM_DAYS),
        "ten worst of 30 days with details": (_ten_worst, NUM_WORST),
        "ten worst of 30 days with details and whole texts": (worst_with_texts, NUM_WORST),
    }
    return {name: _median_ms(store, ask, expected) for name, (ask, expected) in questions.items()}


def _median_ms(store: Store, ask: Callable[[duckdb.DuckDBPyConnection], int], expected: int) -> float:
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        with store.reading() as connection:
            found = ask(connection)
        times.append((time.perf_counter() - started) * 1e3)
        if found != expected:
            raise RuntimeError(f"expected {expected} rows, found {found}")
    return statistics.median(times)


def measure_reads(folder: Path, num_traces: int) -> list[Result]:
    """Of the workspace that part `whole` left for this size, else of a new one."""
    file = flat_file(folder, num_traces)
    workspace = folder / f"workspace-{num_traces}"
    if not workspace_settings(workspace, file).resolve(Path("data/gradebook.duckdb")).exists():
        measured(ingest_and_grade, new_workspace(folder, num_traces), file)
    latencies = measured(read_latencies_ms, workspace, file).value
    without_goal = {"ten worst of 30 days with details and whole texts"}
    return [
        Result(
            what=what,
            value=milliseconds,
            unit="ms",
            goal=None if what in without_goal else Goal(bound=GOAL_MS, at_most=True),
        )
        for what, milliseconds in latencies.items()
    ]
