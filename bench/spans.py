"""The span formats: eight-span OTLP traces read, put together and made columns, on one core."""

from __future__ import annotations

import time
from datetime import UTC
from pathlib import Path

from bench.measure import measured
from bench.results import Goal, Result
from bench.traces import SPANS_PER_TRACE, otlp_file
from grader.pipeline.collector import collector_paused
from grader.pipeline.ingest_spans import parse_spans
from grader.readers.assemble import assemble
from grader.readers.columns import traces_to_arrow
from grader.readers.lines import read_chunks
from grader.readers.otlp import OTLPReader
from grader.records import Source

CHUNK_BYTES = 8 << 20


def read_otlp(file: Path) -> tuple[int, float]:
    """Number of traces, and CPU seconds from the file's bytes to columns (one thread works, so that is one core).

    As in ingest, the collector of cycles is paused. Not counted: that pyarrow imports pandas for its first array, which
    takes seconds, once a process.
    """
    traces_to_arrow([], heads={}, zone=UTC, file_times={})
    with collector_paused():
        return _read_otlp(file)


def _read_otlp(file: Path) -> tuple[int, float]:
    started = time.process_time()
    num_traces = 0
    for chunk in read_chunks(file, chunk_bytes=CHUNK_BYTES):
        batch = parse_spans(OTLPReader(), [chunk])
        traces, heads = [], {}
        for trace_id, parts in batch.parts.items():
            spans = tuple(span for part in parts for span in part.fragment.spans)
            source = Source(reader=batch.reader, path=chunk.path, line=batch.lines[parts[0].line].number)
            traces.append(assemble(trace_id, parts[0].fragment.head, spans, source))
            if (head := parts[0].fragment.head) is not None:
                heads[trace_id] = head
        table = traces_to_arrow(traces, heads=heads, zone=UTC, file_times=batch.file_times)
        if table.num_rows != len(batch.lines) or batch.quarantined:
            raise RuntimeError(f"{len(batch.lines)} lines gave {table.num_rows} traces: {batch.quarantined[:1]}")
        num_traces += table.num_rows
    return num_traces, time.process_time() - started


def measure_spans(folder: Path, num_traces: int) -> list[Result]:
    read, seconds = measured(read_otlp, otlp_file(folder, num_traces)).value
    return [
        Result(what="OTLP, 8 spans a trace", value=read * SPANS_PER_TRACE / seconds, unit="spans/s a core"),
        Result(
            what="OTLP, 8 spans a trace",
            value=read / seconds,
            unit="traces/s a core",
            goal=Goal(bound=5_000, at_most=False),
        ),
    ]
