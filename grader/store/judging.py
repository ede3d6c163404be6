"""Judgements and judge failures: kept as they arrive, each judgement once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import duckdb
import pyarrow as pa

from grader.arrow import TIMESTAMP
from grader.records import JudgeFailure, Judgement
from grader.store.connect import Store

_KEY = (("trace_id", pa.string()), ("content_hash", pa.uint64()), ("judge_version", pa.string()))
_JUDGEMENTS = pa.schema(
    [
        *_KEY,
        ("provider", pa.string()),
        ("model", pa.string()),
        ("marks", pa.map_(pa.string(), pa.int32())),
        ("score", pa.float64()),
        ("issues", pa.list_(pa.string())),
        ("suggestions", pa.list_(pa.string())),
        ("input_tokens", pa.int64()),
        ("output_tokens", pa.int64()),
        ("cost_usd", pa.float64()),
        ("latency_ms", pa.float64()),
        ("judged_at", TIMESTAMP),
    ]
)
_FAILURES = pa.schema(
    [*_KEY, ("stage", pa.string()), ("message", pa.string()), ("attempts", pa.int32()), ("failed_at", TIMESTAMP)]
)


def write_results(store: Store, results: Sequence[Judgement | JudgeFailure], *, run_id: str) -> None:
    """Keeps `results` in one transaction. A judgement already there stays as it is and ends its trace's failure."""
    judgements = [result for result in results if isinstance(result, Judgement)]
    failures = [result for result in results if isinstance(result, JudgeFailure)]
    if not results:
        return
    with store.writing() as connection:
        connection.execute("BEGIN")
        if judgements:
            _insert_judgements(connection, judgements, run_id)
        if failures:
            _insert_failures(connection, failures, run_id)
        connection.execute("COMMIT")


def _insert_judgements(connection: duckdb.DuckDBPyConnection, judgements: Iterable[Judgement], run_id: str) -> None:
    connection.register("arrived", _table(judgements, _JUDGEMENTS))
    connection.execute("INSERT OR IGNORE INTO judgements BY NAME SELECT *, $1 AS run_id FROM arrived", [run_id])
    connection.execute(
        """DELETE FROM judge_failures f USING arrived a WHERE f.trace_id = a.trace_id
           AND f.content_hash = a.content_hash AND f.judge_version = a.judge_version"""
    )


def _insert_failures(connection: duckdb.DuckDBPyConnection, failures: Iterable[JudgeFailure], run_id: str) -> None:
    connection.register("failed", _table(failures, _FAILURES))
    connection.execute(
        """INSERT OR REPLACE INTO judge_failures BY NAME
           SELECT *, $1 AS run_id FROM failed f
           ANTI JOIN judgements j USING (trace_id, content_hash, judge_version)""",
        [run_id],
    )


def _table(rows: Iterable[object], schema: pa.Schema) -> pa.Table:
    rows = list(rows)
    columns = {}
    for field in schema:
        values = [getattr(row, field.name) for row in rows]
        if pa.types.is_map(field.type):
            values = [list(value.items()) for value in values]
        elif pa.types.is_list(field.type):
            values = [list(value) for value in values]
        columns[field.name] = pa.array(values, field.type)
    return pa.table(columns, schema=schema)


def known_results(
    connection: duckdb.DuckDBPyConnection, wanted: pa.Table, *, judge_version: str | None
) -> tuple[pa.Table, pa.Table]:
    """What a judge version is known to have made of the copies in `wanted` (trace_id, content_hash).

    Returns (judged: trace_id, judge_score), (failed: trace_id, stage); both empty where `judge_version` is None.
    """
    connection.register("asked", wanted.select(["trace_id", "content_hash"]))
    try:
        judged = connection.sql(
            """SELECT trace_id, score AS judge_score FROM judgements SEMI JOIN asked USING (trace_id, content_hash)
               WHERE judge_version = $version""",
            params={"version": judge_version},
        ).to_arrow_table()
        failed = connection.sql(
            """SELECT trace_id, stage::VARCHAR AS stage FROM judge_failures
               SEMI JOIN asked USING (trace_id, content_hash)
               WHERE judge_version = $version""",
            params={"version": judge_version},
        ).to_arrow_table()
    finally:
        connection.unregister("asked")
    return judged, failed
