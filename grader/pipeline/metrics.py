"""The metrics file: one JSON line per revision of a day, only ever appended to (DESIGN.md section 2).

The store is the truth; the file follows it. `sync_metrics` appends every revision that the file does not have, so a
crash between the store's commit and the append is made good by the next run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import orjson

from grader.store.connect import opening, translated_errors
from grader.store.days import RecordedReport

METRICS_SCHEMA_VERSION = 1


def sync_metrics(path: Path, reports: Iterable[RecordedReport]) -> int:
    """Appends a line for each of `reports` (oldest first) that `path` lacks; returns how many.

    A torn last line of an earlier crash is removed first. Each line is one write. Raises StoreFullError, StoreError
    where the file cannot be opened.
    """
    with translated_errors(path):
        with opening(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o664)
        try:
            present = _heal_and_read(descriptor)
            added = 0
            for report in reports:
                if (report.date.isoformat(), report.revision) not in present:
                    _append(descriptor, _line(report))
                    added += 1
            if added:
                os.fsync(descriptor)
            return added
        finally:
            os.close(descriptor)


def _heal_and_read(descriptor: int) -> set[tuple[str, int]]:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        text = file.read()
    whole = text[: text.rfind(b"\n") + 1]
    if len(whole) < len(text):
        os.ftruncate(descriptor, len(whole))
    present = set()
    for line in whole.splitlines():
        try:
            record = orjson.loads(line)
            present.add((record["date"], record["revision"]))
        except (orjson.JSONDecodeError, KeyError, TypeError):
            continue  # somebody else's line: not ours to change
    return present


def _line(report: RecordedReport) -> bytes:
    record = {
        **orjson.loads(report.report),
        "revision": report.revision,
        "recorded_at": report.recorded_at,
        "ingest": report.ingest,
        "schema_version": METRICS_SCHEMA_VERSION,
    }
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def _append(descriptor: int, line: bytes) -> None:
    written = os.write(descriptor, line)
    if written < len(line):
        # A disk that fills up mid-line: take the fragment back, and let the error name the cause.
        os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
        os.write(descriptor, line)
