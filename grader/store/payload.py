"""The long texts: one Parquet file per ingest batch, written before the rows that point to it (docs/decisions/004).

A file that no row of `payload_files` names is the leftover of a killed run; `remove_orphans` deletes it.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from grader.arrow import PAYLOAD_COLUMNS
from grader.store.connect import Store, translated_errors

COMPRESSION = "zstd"
COMPRESSION_LEVEL = 1
ROW_GROUP_ROWS = 16_384  # a single trace is read by decoding one group's ids and one row's texts


@dataclass(frozen=True, kw_only=True, slots=True)
class Payload:
    """The texts of one trace as stored; JSON text where noted in grader/arrow.py."""

    trace_id: str
    head: str | None
    user_message: str | None
    final_output: str | None
    tools_called: str | None
    spans: str | None


def write_payload(store: Store, traces: pa.Table) -> str:
    """Writes the text columns of `traces` and returns the file's path relative to the store's folder.

    The file is whole and on disk when this returns. Raises StoreFullError.
    """
    name = f"{uuid.uuid4().hex}.parquet"
    target = store.payload_dir / name
    with translated_errors(target):
        store.payload_dir.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_suffix(".tmp")
        try:
            pq.write_table(
                traces.select(["trace_id", *PAYLOAD_COLUMNS]),
                unfinished,
                compression=COMPRESSION,
                compression_level=COMPRESSION_LEVEL,
                use_dictionary=False,
                write_statistics=["trace_id"],
                row_group_size=ROW_GROUP_ROWS,
            )
            with unfinished.open("rb") as written:
                os.fsync(written.fileno())
            unfinished.replace(target)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise
    return str(target.relative_to(store.folder))


def read_payloads(
    connection: duckdb.DuckDBPyConnection, folder: Path, trace_ids: Sequence[str]
) -> Mapping[str, Payload]:
    """The texts of the given traces, by trace id; an id that the store does not know is left out."""
    wanted = pa.table({"trace_id": pa.array(trace_ids, pa.string())})
    connection.register("wanted", wanted)
    try:
        files = connection.execute(
            """SELECT DISTINCT p.path FROM traces t JOIN wanted w USING (trace_id)
               JOIN payload_files p ON p.file_id = t.payload_file"""
        ).fetchall()
        if not files:
            return {}
        rows = connection.execute(
            f"""SELECT x.trace_id, {", ".join("x." + column for column in PAYLOAD_COLUMNS)}
                FROM read_parquet($paths, filename = 'payload_path') x
                JOIN (SELECT t.trace_id, $folder || '/' || p.path AS path FROM traces t JOIN wanted USING (trace_id)
                      JOIN payload_files p ON p.file_id = t.payload_file) current
                  ON current.trace_id = x.trace_id AND current.path = x.payload_path""",
            {"paths": [f"{folder}/{path}" for (path,) in files], "folder": str(folder)},
        ).fetchall()
    finally:
        connection.unregister("wanted")
    return {row[0]: Payload(**dict(zip(("trace_id", *PAYLOAD_COLUMNS), row, strict=True))) for row in rows}


def remove_orphans(store: Store, connection: duckdb.DuckDBPyConnection) -> int:
    """Deletes payload files that no row names and returns how many. Only the active run may call it."""
    if not store.payload_dir.is_dir():
        return 0
    known = {path for (path,) in connection.execute("SELECT path FROM payload_files").fetchall()}
    orphans = [file for file in store.payload_dir.iterdir() if str(file.relative_to(store.folder)) not in known]
    for file in orphans:
        file.unlink(missing_ok=True)
    return len(orphans)
