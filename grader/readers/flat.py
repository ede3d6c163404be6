"""The flat format: one JSON object a line with exactly the names of the trace record (DESIGN.md section 4).

Read leniently: numbers as text ("12"); NaN and "" as a number not known; times as ISO 8601 (no zone: UTC) or as
seconds, ms, µs or ns since 1970; `tools_called` as names, as calls {name, arguments, output, error}, or mixed; the
status words of `flat_sql.STATUS_WORDS`; tags that are not text; lone surrogates. Unknown members are left out. A
`tool_errors` left out is counted from `tools_called` where that lists calls. A `duration_ms` left out is the time
between start and end; given, it stands, also where the two times contradict it. An absent `final_output` is an empty
answer unless `content_captured` is false.

Quarantined: a line that is not UTF-8, no JSON object or without a trace_id, and one with a member of a wrong type
(Infinity, half a turn, a status that nobody knows): graded without it, the trace would look better or worse than it
was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import tzinfo

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from grader.arrow import TRACE_SCHEMA
from grader.engine import TABLE_ENGINES
from grader.errors import ReadError
from grader.readers.contract import Chunk, RecordBatch
from grader.readers.flat_lines import Lines, lines_of
from grader.readers.flat_spans import stored_spans
from grader.readers.flat_sql import FIELDS, FOUND_CHARS, NO_TRACE_IDS, flat_statement
from grader.readers.json_text import decode_line, encode
from grader.records import QuarantinedLine

EXCERPT_CHARS = 300
GROUP_BYTES = 64 << 20
_SCAN_ROWS = 8192  # DuckDB scans one Arrow batch with one thread
_SNIFF_LINES = 20
_ONLY_FLAT = frozenset(
    ("final_output", "user_message", "num_turns", "tool_errors", "guardrails_triggered", "tools_called", "duration_ms")
)
_ONLY_OTHERS = frozenset(("object", "run_type", "conversation_id", "observations"))


@dataclass(frozen=True, slots=True)
class FlatReader:
    """RecordReader of the flat format."""

    name: str = "flat"

    def matches(self, head: bytes) -> bool:
        """Whether one of the first lines is a flat trace, or begins as one where `head` cuts it."""
        *whole, last = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        return any(_is_flat(line) for line in [*whole[:_SNIFF_LINES], last]) or (not whole and _begins_flat(last))

    def read(self, chunks: Sequence[Chunk], *, zone: tzinfo) -> RecordBatch:
        """The chunks' lines as traces or quarantined lines, both in the order of the lines; never raises for content.

        Raises ValueError for a `zone` that is neither an IANA time zone nor UTC.
        """
        statement = flat_statement("lines", _zone_name(zone))
        parts = [self._read(group, statement) for group in _groups(chunks)]
        return RecordBatch(
            traces=pa.concat_tables(part.traces for part in parts),
            num_lines=sum(part.num_lines for part in parts),
            quarantined=tuple(line for part in parts for line in part.quarantined),
        )

    def _read(self, chunks: Sequence[Chunk], statement: str) -> RecordBatch:
        lines = lines_of(chunks)
        reasons = dict(lines.not_utf8)
        with TABLE_ENGINES.connection() as connection:
            parsed = _run(connection, statement, lines.table)
            mended = _mend(lines, _rows(parsed.filter(pc.equal(parsed["problem"], ""))), reasons)
            if mended:
                parsed = pa.concat_tables([parsed, _run(connection, statement, lines.with_texts(mended))])
        reasons.update(_problems(parsed))
        if parsed["problem"].null_count < parsed.num_rows:  # to filter is to copy
            parsed = parsed.filter(pc.is_null(parsed["problem"]))
        traces = _with_spans(_in_order(parsed), reasons)
        return RecordBatch(
            traces=traces.select(TRACE_SCHEMA.names).cast(TRACE_SCHEMA),
            num_lines=lines.count,
            quarantined=tuple(_quarantined(self.name, lines, row, reasons[row]) for row in sorted(reasons)),
        )


def _groups(chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    """Chunks in portions of about GROUP_BYTES, at least one portion: what is parsed at one go is in memory twice."""
    groups: list[list[Chunk]] = [[]]
    size = 0
    for chunk in chunks:
        if groups[-1] and size + len(chunk.data) > GROUP_BYTES:
            groups.append([])
            size = 0
        groups[-1].append(chunk)
        size += len(chunk.data)
    return groups


def _run(connection: duckdb.DuckDBPyConnection, statement: str, lines: pa.Table) -> pa.Table:
    connection.register("lines", pa.Table.from_batches(lines.to_batches(max_chunksize=_SCAN_ROWS), lines.schema))
    try:
        return connection.sql(statement).to_arrow_table()
    finally:
        connection.unregister("lines")


def _rows(parsed: pa.Table) -> list[int]:
    rows: list[int] = parsed["row"].to_pylist()
    return rows


def _problems(parsed: pa.Table) -> Iterable[tuple[int, str]]:
    wrong = parsed.filter(pc.not_equal(parsed["problem"], ""))
    return zip(_rows(wrong), wrong["problem"].to_pylist(), strict=True)


def _in_order(parsed: pa.Table) -> pa.Table:
    """By line: DuckDB promises no order of a result that is not sorted, and keeps it nearly always."""
    rows = parsed["row"].to_numpy()
    return parsed if bool(np.all(rows[:-1] < rows[1:])) else parsed.take(np.argsort(rows))


def _mend(lines: Lines, rows: Iterable[int], reasons: dict[int, str]) -> dict[int, str]:
    """The texts of those lines that a more lenient parser can read; why it cannot read the others goes to `reasons`."""
    mended: dict[int, str] = {}
    for row in rows:
        try:
            document = decode_line(lines.place(row).data)
            if not isinstance(document, dict):
                raise ReadError(f"expected a JSON object, found {_shown(document)}")
            if (trace_id := document.get("trace_id")) is None or str(trace_id).strip() in NO_TRACE_IDS:
                raise ReadError(f"trace_id: expected a text, found {_shown(trace_id)}")
            mended[row] = encode(document)
        except ReadError as error:
            reasons[row] = str(error)
    return mended


def _shown(value: object) -> str:
    return "nothing" if value is None else repr(value)[:FOUND_CHARS]


def _with_spans(traces: pa.Table, reasons: dict[int, str]) -> pa.Table:
    """`traces` with checked spans, without those whose spans cannot be read: why goes to `reasons`."""
    if traces["spans"].null_count == traces.num_rows:
        return traces
    texts: list[str | None] = []
    counts: list[int] = []
    for row, text in zip(_rows(traces), traces["spans"].to_pylist(), strict=True):
        try:
            stored, count = stored_spans(text) if text else (None, 0)
        except ReadError as error:
            reasons[row] = str(error)
            stored, count = None, 0
        texts.append(stored)
        counts.append(count)
    for name, column in (("spans", pa.array(texts, pa.string())), ("num_spans", pa.array(counts, pa.int32()))):
        traces = traces.set_column(traces.schema.get_field_index(name), name, column)
    return traces.filter(pc.invert(pc.is_in(traces["row"], value_set=pa.array(reasons, pa.int64()))))


def _quarantined(reader: str, lines: Lines, row: int, reason: str) -> QuarantinedLine:
    place = lines.place(row)
    excerpt = place.data[: 4 * EXCERPT_CHARS].decode("utf-8", "replace").strip()[:EXCERPT_CHARS]
    return QuarantinedLine(reader=reader, path=place.path, line=place.line_number, reason=reason, excerpt=excerpt)


def _zone_name(zone: tzinfo) -> str:
    name = getattr(zone, "key", None) or str(zone)
    if name != "UTC" and not hasattr(zone, "key"):
        raise ValueError(f"{zone!r} is no IANA time zone: give a zoneinfo.ZoneInfo like ZoneInfo('Europe/Zurich')")
    return str(name)


def _is_flat(line: bytes) -> bool:
    try:
        document = decode_line(line)  # as leniently as lines are read: a lone surrogate hides no file
    except ReadError:
        return False
    if not isinstance(document, dict) or "trace_id" not in document or not _ONLY_OTHERS.isdisjoint(document):
        return False
    return not _ONLY_FLAT.isdisjoint(document) or set(document) <= set(FIELDS)


def _begins_flat(line: bytes) -> bool:
    """Whether a line that was cut names a trace id and another member that only this format has."""
    text = line.lstrip()
    return text.startswith(b"{") and b'"trace_id"' in text and any(f'"{name}"'.encode() in text for name in _ONLY_FLAT)
