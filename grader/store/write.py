"""Putting traces into the store: which copies are new, and the short transaction that keeps them.

Only one run is active at a time (pipeline.py holds the run lock), so what `classify` saw still holds when
`write_traces` commits; both together may be repeated any number of times with the same result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from grader.arrow import NARROW_COLUMNS
from grader.engine import TABLE_ENGINES
from grader.records import IngestCounts, QuarantinedLine
from grader.store.connect import Store
from grader.store.payload import write_payload

_CLASSIFY = """
WITH numbered AS (
    SELECT *, row_number() OVER (PARTITION BY trace_id ORDER BY row) AS copy,
           row_number() OVER (PARTITION BY trace_id, content_hash ORDER BY row) AS repeat
    FROM incoming
)
SELECT i.row, CASE
    WHEN i.repeat > 1 OR t.content_hash = i.content_hash OR s.trace_id IS NOT NULL THEN 'duplicate'
    WHEN t.trace_id IS NULL AND i.copy = 1 THEN 'new'
    ELSE 'updated' END AS state
FROM numbered i
LEFT JOIN traces t ON t.trace_id = i.trace_id
LEFT JOIN superseded s ON s.trace_id = i.trace_id AND s.content_hash = i.content_hash
ORDER BY i.row
"""

_COUNT_BY_PATH = """
WITH per_trace AS (
    SELECT source_path, count(*) FILTER (state = 'new') AS new, count(*) FILTER (state = 'updated') AS updated,
           count(*) FILTER (state = 'duplicate') AS duplicate
    FROM rows GROUP BY source_path, trace_id
)
SELECT source_path, sum(new)::BIGINT, sum(updated)::BIGINT, sum(duplicate)::BIGINT,
       count(*) FILTER (updated > 0 AND new = 0)  -- a trace that is new in the file is not also updated
FROM per_trace GROUP BY source_path
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Classified:
    """What each row of a batch is to the store, in the batch's order."""

    states: pa.Array  # 'new', 'updated' or 'duplicate', one a row

    def count(self, state: str) -> int:
        return int(pc.sum(pc.equal(self.states, state)).as_py() or 0)


def classify(connection: duckdb.DuckDBPyConnection, traces: pa.Table) -> Classified:
    """Compares each row of `traces` (TRACE_SCHEMA) with the stored copy of its trace and with the rows before it."""
    incoming = traces.select(["trace_id", "content_hash"]).append_column("row", pa.array(np.arange(len(traces))))
    connection.register("incoming", incoming)
    try:
        states = connection.sql(_CLASSIFY).to_arrow_table().column("state").combine_chunks()
    finally:
        connection.unregister("incoming")
    return Classified(states=states)


def write_traces(store: Store, traces: pa.Table, classified: Classified, *, run_id: str) -> None:
    """Keeps the new and updated rows: texts first, outside the lock, then the narrow rows in one transaction.

    The last changed copy of a trace id wins; the contents it replaced are remembered in `superseded`.
    Raises StoreFullError, StoreBusyError.
    """
    changed = traces
    if classified.count("duplicate"):  # to filter is to copy all the texts
        changed = traces.filter(pc.not_equal(classified.states, "duplicate"))
    if not len(changed):
        return
    kept = _last_copies(changed)
    path = write_payload(store, kept)
    days = pc.min_max(kept.column("day")).as_py()
    with store.writing() as connection:
        connection.execute("BEGIN")
        connection.register("changed", changed.select(["trace_id", "content_hash"]))
        connection.register("kept", kept.select(NARROW_COLUMNS))
        file_id = connection.execute("SELECT coalesce(max(file_id), 0) + 1 FROM payload_files").fetchall()[0][0]
        connection.execute(
            "INSERT INTO payload_files VALUES (?, ?, ?, ?, ?)", [file_id, path, len(kept), days["min"], days["max"]]
        )
        if len(kept) < len(changed) or classified.count("updated"):
            connection.execute(
                """INSERT INTO superseded
                   SELECT trace_id, content_hash FROM traces WHERE trace_id IN (SELECT trace_id FROM changed)
                   UNION SELECT trace_id, content_hash FROM changed c
                   WHERE NOT EXISTS (FROM kept k WHERE k.trace_id = c.trace_id AND k.content_hash = c.content_hash)"""
            )
            connection.execute("DELETE FROM traces WHERE trace_id IN (SELECT trace_id FROM changed)")
        connection.execute(
            f"INSERT INTO traces BY NAME SELECT *, {file_id} AS payload_file, $1 AS run_id FROM kept", [run_id]
        )
        connection.execute("COMMIT")


def _last_copies(changed: pa.Table) -> pa.Table:
    """The last row of each trace id, in the order of the rows."""
    ids = changed.column("trace_id")
    if pc.count_distinct(ids).as_py() == len(ids):
        return changed
    rows = pa.table({"trace_id": ids, "row": pa.array(np.arange(len(ids)))})
    last = rows.group_by("trace_id").aggregate([("row", "max")]).column("row_max")
    return changed.take(pc.take(last, pc.sort_indices(last)))


def write_quarantine(store: Store, lines: Sequence[QuarantinedLine], *, paths: Sequence[str], run_id: str) -> None:
    """Replaces what `quarantine` says of `paths` by `lines`; a line seen before keeps its first time."""
    with store.writing() as connection:
        connection.execute("BEGIN")
        connection.register("read_paths", pa.table({"path": pa.array(paths, pa.string())}))
        seen = connection.sql(
            "SELECT path, line, reason, first_seen_at FROM quarantine SEMI JOIN read_paths USING (path)"
        ).to_arrow_table()
        connection.execute("DELETE FROM quarantine WHERE path IN (SELECT path FROM read_paths)")
        if lines:
            connection.register("lines", _quarantine_table(lines))
            connection.register("seen", seen)
            connection.execute(
                """INSERT INTO quarantine
                   SELECT l.reader, l.path, l.line, l.reason, l.excerpt, $1, coalesce(min(s.first_seen_at), $2)
                   FROM lines l LEFT JOIN seen s USING (path, line, reason) GROUP BY ALL""",
                [run_id, datetime.now(UTC)],
            )
        connection.execute("COMMIT")


def _quarantine_table(lines: Sequence[QuarantinedLine]) -> pa.Table:
    return pa.table(
        {
            "reader": pa.array([line.reader for line in lines], pa.string()),
            "path": pa.array([line.path for line in lines], pa.string()),
            "line": pa.array([line.line for line in lines], pa.int64()),
            "reason": pa.array([line.reason for line in lines], pa.string()),
            "excerpt": pa.array([line.excerpt for line in lines], pa.string()),
        }
    )


def counts_by_path(
    traces: pa.Table, classified: Classified, *, quarantined: Mapping[str, int]
) -> dict[str, IngestCounts]:
    """Lines of a record format by file and what became of them (a row is a line), and how many traces that makes.

    `quarantined`: lines by path. A file without any line is left out.
    """
    rows = traces.select(["source_path", "trace_id"]).append_column("state", classified.states)
    with TABLE_ENGINES.connection() as connection:
        connection.register("rows", rows)
        found = connection.execute(_COUNT_BY_PATH).fetchall()
    counts = {path: IngestCounts(read=lines, quarantined=lines) for path, lines in quarantined.items()}
    for path, new, updated, duplicate, updated_traces in found:
        counts[path] = counts.get(path, IngestCounts()) + IngestCounts(
            read=new + updated + duplicate,
            new=new,
            updated=updated,
            duplicate=duplicate,
            new_traces=new,
            updated_traces=updated_traces,
        )
    return counts
