"""The judge journal: every finished call is on disk before the next one starts to count on it.

Judgements reach the store in batches, because opening it costs 50 ms. Between arriving and being stored they stand in
a journal file beside the store, one JSON line each, written at once: a killed run loses the calls in flight and no
other. The next run stores what a journal still holds. Storing twice is harmless: the key is the same.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from datetime import datetime
from pathlib import Path

import orjson

from grader.records import JudgeFailure, Judgement
from grader.store.connect import Store, translated_errors
from grader.store.judging import write_results

FLUSH_SECONDS = 2.0

Result = Judgement | JudgeFailure


class Journal:
    """Takes results from the judging thread, journals each at once, and stores them every few seconds."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._run_id = run_id
        self._path = _folder(store) / f"{run_id}.jsonl"
        self._waiting: queue.SimpleQueue[Result] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._store_results, name="journal", daemon=True)
        with translated_errors(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o664)
        self._thread.start()

    def add(self, result: Result) -> None:
        """Journals `result`; raises what storing an earlier one met."""
        if self._error is not None:
            raise self._error
        with translated_errors(self._path):
            os.write(self._descriptor, _encode(result))
        self._waiting.put(result)

    def close(self) -> None:
        """Stores what waits and removes the journal; raises what storing met (the journal then stays)."""
        self._closing.set()
        self._thread.join()
        os.close(self._descriptor)
        if self._error is not None:
            raise self._error
        self._path.unlink(missing_ok=True)

    def _store_results(self) -> None:
        closing = False
        try:
            while not closing:
                closing = self._closing.wait(FLUSH_SECONDS)
                write_results(self._store, list(self._drained()), run_id=self._run_id)
        except Exception as error:  # noqa: BLE001 - handed to the judging thread, which raises it
            self._error = error

    def _drained(self) -> Iterator[Result]:
        while not self._waiting.empty():
            yield self._waiting.get()


@contextmanager
def journal(store: Store, run_id: str) -> Iterator[Journal]:
    """A Journal that is closed whatever happens."""
    opened = Journal(store, run_id)
    try:
        yield opened
    finally:
        opened.close()


def recover_journals(store: Store, *, run_id: str) -> int:
    """Stores what killed runs left in their journals and removes them; returns how many results that were.

    Only the active run may call it. A torn last line is a call that was in flight.
    """
    recovered = 0
    for path in sorted(_folder(store).glob("*.jsonl")):
        results = list(_decode(path.read_bytes().splitlines()))
        write_results(store, results, run_id=run_id)
        path.unlink()
        recovered += len(results)
    return recovered


def _folder(store: Store) -> Path:
    return store.folder / "judging"


def _encode(result: Result) -> bytes:
    kind = "judgement" if isinstance(result, Judgement) else "failure"
    return orjson.dumps({"kind": kind, **asdict(result)}, option=orjson.OPT_APPEND_NEWLINE)


def _decode(lines: Iterable[bytes]) -> Iterator[Result]:
    for line in lines:
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue  # the line that was being written when the run was killed
        kind = record.pop("kind")
        if kind == "judgement":
            record["judged_at"] = datetime.fromisoformat(record["judged_at"])
            record["issues"], record["suggestions"] = tuple(record["issues"]), tuple(record["suggestions"])
            yield Judgement(**{name.name: record[name.name] for name in fields(Judgement)})
        else:
            record["failed_at"] = datetime.fromisoformat(record["failed_at"])
            yield JudgeFailure(**{name.name: record[name.name] for name in fields(JudgeFailure)})
