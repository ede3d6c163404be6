"""The whole path: a file of flat traces read, stored, graded and reported, beside three yardsticks."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

from bench.measure import measured
from bench.results import GIB, Goal, Result
from bench.traces import flat_file
from bench.yardsticks import create_table_as_select, plain_loop, scan
from grader.pipeline import DaySelection, run_grade
from grader.settings import JudgeSettings, Settings, SourceSettings

GOAL_TRACES = 1_000_000  # the size that the goals are set for


def workspace_settings(folder: Path, file: Path) -> Settings:
    return Settings(root=folder, sources=(SourceSettings(path=str(file)),), judge=JudgeSettings(provider="none"))


def ingest_and_grade(folder: Path, file: Path) -> tuple[int, float]:
    """A grading run of everything in `file`, in a new workspace; number of traces and their mean score."""
    run = run_grade(workspace_settings(folder, file), selection=DaySelection(everything=True))
    num_traces = sum(day.num_traces for day in run.days)
    total = math.fsum((day.avg_score or 0.0) * day.num_traces for day in run.days)
    return num_traces, total / num_traces


def new_workspace(folder: Path, num_traces: int) -> Path:
    """An empty folder for the workspace of a file of that size; what an earlier run left there is deleted."""
    workspace = folder / f"workspace-{num_traces}"
    shutil.rmtree(workspace, ignore_errors=True)
    workspace.mkdir(parents=True)
    return workspace


def measure_whole(folder: Path, num_traces: int) -> list[Result]:
    """Raises RuntimeError where Gradebook and the plain loop disagree about the traces."""
    file = flat_file(folder, num_traces)
    loop = measured(plain_loop, file)
    scanned = measured(scan, file)
    database = new_workspace(folder, num_traces) / "bare.duckdb"
    bare = measured(create_table_as_select, file, database)
    whole = measured(ingest_and_grade, new_workspace(folder, num_traces), file)
    if loop.value[0] != whole.value[0] or not math.isclose(loop.value[1], whole.value[1], rel_tol=1e-9):
        raise RuntimeError(f"the plain loop found (traces, mean score) {loop.value}, Gradebook {whole.value}")
    has_goal = num_traces >= GOAL_TRACES
    return [
        Result(what="file", value=file.stat().st_size / 1e6, unit="MB"),
        Result(what="ingest + grade", value=whole.seconds, unit="s"),
        Result(what="ingest + grade", value=num_traces / whole.seconds, unit="traces/s"),
        Result(what="ingest + grade, CPU of all threads", value=whole.cpu_seconds, unit="s"),
        Result(what="(a) plain Python loop, stores nothing", value=loop.seconds, unit="s"),
        Result(what="(b) DuckDB scans and aggregates", value=scanned.seconds, unit="s"),
        Result(what="(c) DuckDB's bare CREATE TABLE AS SELECT", value=bare.seconds, unit="s"),
        Result(
            what="ingest + grade, in times of (c)",
            value=whole.seconds / bare.seconds,
            unit="×",
            goal=Goal(bound=1.6, at_most=True) if has_goal else None,
        ),
        Result(
            what="ingest + grade, times faster than (a)",
            value=loop.seconds / whole.seconds,
            unit="×",
            goal=Goal(bound=2, at_most=False) if has_goal else None,
        ),
        Result(
            what="peak memory of ingest + grade",
            value=whole.peak_bytes / GIB,
            unit="GiB",
            goal=Goal(bound=2, at_most=True) if has_goal else None,
        ),
        Result(what="peak memory of (c)", value=bare.peak_bytes / GIB, unit="GiB"),
    ]
