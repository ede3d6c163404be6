"""Grading alone: a batch of traces in memory → rule scores, outcomes and alerts."""

from __future__ import annotations

import statistics
import time
from datetime import UTC
from pathlib import Path

import pyarrow as pa

from bench.measure import measured
from bench.results import Goal, Result
from bench.traces import flat_file
from bench.yardsticks import plain_loop
from grader.readers.flat import FlatReader
from grader.readers.lines import read_chunks
from grader.rules import compile_rules, grade_batch
from grader.settings import RulesSettings

REPEATS = 5


def grading_seconds(file: Path) -> float:
    """Seconds that grading all traces of `file` takes once they are in memory: the median of several times."""
    rules = compile_rules(RulesSettings())
    columns = ["trace_id", *(name for name in rules.columns if name != "trace_id")]
    reader = FlatReader()
    batch = pa.concat_tables(
        reader.read([chunk], zone=UTC).traces.select(columns) for chunk in read_chunks(file)
    ).combine_chunks()
    seconds = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        graded = grade_batch(batch, rules)
        seconds.append(time.perf_counter() - started)
        if graded.num_rows != batch.num_rows:
            raise RuntimeError(f"{batch.num_rows} traces gave {graded.num_rows} grades")
    return statistics.median(seconds)


def measure_grading(folder: Path, num_traces: int) -> list[Result]:
    file = flat_file(folder, num_traces)
    loop = measured(plain_loop, file)
    seconds = measured(grading_seconds, file).value
    return [
        Result(what="grading alone", value=seconds / num_traces * 1e6, unit="µs a trace"),
        Result(what="(a) plain Python loop", value=loop.seconds / num_traces * 1e6, unit="µs a trace"),
        Result(
            what="grading alone, times faster than (a)",
            value=loop.seconds / seconds,
            unit="×",
            goal=Goal(bound=50, at_most=False),
        ),
    ]
