"""Putting traces of span formats together: the parts in a batch, and what the store already has of the same traces.

A trace may come in many lines, files and runs, children first. Parts are folded in the order they are read; a part
that adds nothing is a duplicate.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

import pyarrow as pa

from grader.errors import ReadError
from grader.readers.assemble import assemble, merge_heads, merge_spans
from grader.readers.columns import head_from_json, spans_from_json, traces_to_arrow
from grader.readers.contract import Chunk, Fragment, SpanReader, TraceHead
from grader.readers.json_text import decode_line
from grader.records import IngestCounts, QuarantinedLine, Source, Span, Trace
from grader.store.connect import Store
from grader.store.payload import read_payloads
from grader.store.write import Classified, write_traces

EXCERPT_BYTES = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A fragment and the line it came from (an index into the batch's lines)."""

    line: int
    fragment: Fragment


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    path: str
    number: int
    quarantined: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class SpanBatch:
    """What the lines of a batch hold."""

    reader: str
    lines: tuple[Line, ...]
    parts: Mapping[str, Sequence[Part]]  # by trace id, in the order read
    quarantined: tuple[QuarantinedLine, ...]
    file_times: Mapping[str, datetime]


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredTrace:
    content_hash: int
    run_id: str
    source: Source


@dataclass(kw_only=True, slots=True)
class Fold:
    """A trace being put together."""

    head: TraceHead | None = None
    spans: dict[str, Span] = field(default_factory=dict)
    adding_lines: set[int] = field(default_factory=set)

    def add(self, part: Part) -> None:
        """Takes a part in, and notes its line if it brought anything that was not there."""
        before = len(self.spans)
        adds = False
        for span in part.fragment.spans:
            known = self.spans.get(span.span_id)
            if known is None:
                self.spans[span.span_id] = span
            elif known != span:
                (merged,) = merge_spans((known,), (span,))
                adds = adds or merged != known
                self.spans[span.span_id] = merged
        head = merge_heads(self.head, part.fragment.head)
        if adds or len(self.spans) > before or head != self.head:
            self.adding_lines.add(part.line)
        self.head = head


def parse_spans(reader: SpanReader, chunks: Sequence[Chunk]) -> SpanBatch:
    """Decodes every line of `chunks` and sorts its fragments by trace.

    A line that cannot be read whole is quarantined; what could be read of it counts.
    """
    lines: list[Line] = []
    parts: dict[str, list[Part]] = defaultdict(list)
    quarantined: list[QuarantinedLine] = []
    for chunk in chunks:
        for number, text in _lines_of(chunk):
            reason = None
            fragments = 0
            try:
                for fragment in reader.parse(decode_line(text)):
                    parts[fragment.trace_id].append(Part(line=len(lines), fragment=fragment))
                    fragments += 1
                if not fragments:
                    reason = "holds no span of any trace"
            except ReadError as error:
                reason = str(error)
            lines.append(Line(path=chunk.path, number=number, quarantined=reason is not None))
            if reason is not None:
                excerpt = text[:EXCERPT_BYTES].decode("utf-8", "replace")
                quarantined.append(
                    QuarantinedLine(reader=reader.name, path=chunk.path, line=number, reason=reason, excerpt=excerpt)
                )
    return SpanBatch(
        reader=reader.name,
        lines=tuple(lines),
        parts=parts,
        quarantined=tuple(quarantined),
        file_times={chunk.path: chunk.file_time for chunk in chunks},
    )


def _lines_of(chunk: Chunk) -> Iterable[tuple[int, bytes]]:
    for offset, text in enumerate(chunk.data.split(b"\n")):
        if text.strip():
            yield chunk.first_line + offset, text


def write_spans(store: Store, batch: SpanBatch, *, zone: tzinfo, run_id: str) -> Mapping[str, IngestCounts]:
    """Puts the batch's traces together with their stored parts, keeps what changed, and counts the lines by file."""
    stored = _stored_traces(store, tuple(batch.parts))
    folds = {trace_id: _folded(parts) for trace_id, parts in batch.parts.items()}
    table = _table(batch, folds, zone=zone)
    hashes = dict(zip(table.column("trace_id").to_pylist(), table.column("content_hash").to_pylist(), strict=True))
    differing = [trace_id for trace_id, known in stored.items() if hashes[trace_id] != known.content_hash]
    if differing:
        folds.update(_folded_with_stored(store, batch, differing))
        table = _table(batch, folds, zone=zone)
    states = {trace_id: _trace_state(trace_id, folds, stored, hash_differs=trace_id in differing) for trace_id in folds}
    row_states = pa.array([states[trace_id] for trace_id in table.column("trace_id").to_pylist()], pa.string())
    write_traces(store, table, Classified(states=row_states), run_id=run_id)
    return _count(batch, folds, states, stored, run_id=run_id)


def _folded(parts: Iterable[Part], fold: Fold | None = None) -> Fold:
    fold = fold or Fold()
    for part in parts:
        fold.add(part)
    return fold


def _folded_with_stored(store: Store, batch: SpanBatch, trace_ids: Sequence[str]) -> Mapping[str, Fold]:
    with store.reading() as connection:
        payloads = read_payloads(connection, store.folder, trace_ids)
    folds = {}
    for trace_id, payload in payloads.items():
        spans = spans_from_json(payload.spans) if payload.spans else ()
        head = head_from_json(payload.head) if payload.head else None
        folds[trace_id] = _folded(batch.parts[trace_id], Fold(head=head, spans={span.span_id: span for span in spans}))
    return folds


def _stored_traces(store: Store, trace_ids: Sequence[str]) -> Mapping[str, StoredTrace]:
    wanted = pa.table({"trace_id": pa.array(trace_ids, pa.string())})
    with store.reading() as connection:
        connection.register("wanted", wanted)
        rows = connection.execute(
            """SELECT trace_id, content_hash, run_id, source_reader, source_path, source_line
               FROM traces SEMI JOIN wanted USING (trace_id)"""
        ).fetchall()
    return {
        trace_id: StoredTrace(content_hash=content_hash, run_id=run, source=Source(reader=reader, path=path, line=line))
        for trace_id, content_hash, run, reader, path, line in rows
    }


def _table(batch: SpanBatch, folds: Mapping[str, Fold], *, zone: tzinfo) -> pa.Table:
    traces: list[Trace] = []
    heads: dict[str, TraceHead] = {}
    for trace_id, fold in folds.items():
        line = batch.lines[batch.parts[trace_id][0].line]
        source = Source(reader=batch.reader, path=line.path, line=line.number)
        traces.append(assemble(trace_id, fold.head, tuple(fold.spans.values()), source))
        if fold.head is not None:
            heads[trace_id] = fold.head
    return traces_to_arrow(traces, heads=heads, zone=zone, file_times=batch.file_times)


def _trace_state(
    trace_id: str, folds: Mapping[str, Fold], stored: Mapping[str, StoredTrace], *, hash_differs: bool
) -> str:
    if trace_id not in stored:
        return "new"
    return "updated" if hash_differs and folds[trace_id].adding_lines else "duplicate"


def _count(
    batch: SpanBatch,
    folds: Mapping[str, Fold],
    states: Mapping[str, str],
    stored: Mapping[str, StoredTrace],
    *,
    run_id: str,
) -> Mapping[str, IngestCounts]:
    """Lines by what became of them: `new` if a line brought a part of a trace that this run saw first, `updated` if it
    added to an older one, `duplicate` if it added nothing, `quarantined` if any of it could not be read."""
    line_states = ["duplicate"] * len(batch.lines)
    new_traces: dict[str, int] = defaultdict(int)
    updated_traces: dict[str, int] = defaultdict(int)
    for trace_id, state in states.items():
        first_path = batch.lines[batch.parts[trace_id][0].line].path
        new_traces[first_path] += state == "new"
        updated_traces[first_path] += state == "updated" and stored[trace_id].run_id != run_id
        if state == "duplicate":
            continue
        of_this_run = state == "new" or stored[trace_id].run_id == run_id
        for index in folds[trace_id].adding_lines:
            line_states[index] = "new" if of_this_run or line_states[index] == "new" else "updated"
    lines: dict[str, Counter[str]] = defaultdict(Counter)
    for line, state in zip(batch.lines, line_states, strict=True):
        lines[line.path]["quarantined" if line.quarantined else state] += 1
    return {
        path: IngestCounts(
            read=states_of_lines.total(),
            new_traces=new_traces[path],
            updated_traces=updated_traces[path],
            **states_of_lines,
        )
        for path, states_of_lines in lines.items()
    }
