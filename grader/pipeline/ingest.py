"""Ingest: files → chunks → traces → store, every line accounted for.

Files are read in batches of chunks of one format. A record format's lines are rows at once; a span format's lines are
parts of traces that are put together with what the store already has of them (ingest_spans.py). Parsing happens
outside the store's lock and one batch ahead of the writing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from zoneinfo import ZoneInfo

import pyarrow as pa

from grader.errors import ReadError
from grader.pipeline.collector import collector_paused
from grader.pipeline.ingest_spans import SpanBatch, parse_spans, write_spans
from grader.pipeline.sources import SourceFile
from grader.readers import reader_for
from grader.readers.contract import Chunk, RecordBatch, RecordReader, SpanReader
from grader.readers.lines import path_text, read_chunks
from grader.records import IngestCounts, QuarantinedLine
from grader.settings import DaySettings
from grader.store.connect import Store
from grader.store.write import Classified, classify, counts_by_path, write_quarantine, write_traces

ProgressListener = Callable[[str, int, int | None], None]  # stage, done, total (None: not known)

RECORD_BATCH_BYTES = 128 << 20  # some 120,000 rows, a row group of DuckDB: fewer cost twice as much a row to write
RECORD_CHUNK_BYTES = 64 << 20  # parsed at one go
SPAN_BATCH_BYTES = 16 << 20  # decoded spans take some ten times the memory of their text
SNIFF_BYTES = 64 << 10
EXCERPT_BYTES = 300


def quiet(stage: str, done: int, total: int | None) -> None:
    """The listener that shows nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceCounts:
    """What became of the lines of one file."""

    path: str
    reader: str | None  # None: no reader knows the file, or it could not be opened
    counts: IngestCounts


@dataclass(frozen=True, kw_only=True, slots=True)
class FileBatch:
    """Chunks of files of one format, in order, worth one transaction."""

    reader: RecordReader | SpanReader
    chunks: tuple[Chunk, ...]


@dataclass(kw_only=True, slots=True)
class Ledger:
    """The account of one ingest, filled as batches are done."""

    by_path: dict[str, SourceCounts] = field(default_factory=dict)
    quarantined: list[QuarantinedLine] = field(default_factory=list)

    def add(self, path: str, reader: str | None, counts: IngestCounts) -> None:
        before = self.by_path.get(path)
        total = before.counts + counts if before else counts
        self.by_path[path] = SourceCounts(path=path, reader=reader, counts=total)

    def refuse(self, path: str, reason: str, excerpt: str) -> None:
        """A whole file that nothing could be read of: one line, quarantined."""
        line = QuarantinedLine(reader="none", path=path, line=1, reason=reason, excerpt=excerpt)
        self.quarantined.append(line)
        self.add(path, None, IngestCounts(read=1, quarantined=1))

    @property
    def counts(self) -> IngestCounts:
        return sum((source.counts for source in self.by_path.values()), IngestCounts())


def ingest_files(
    store: Store, files: Sequence[SourceFile], *, day: DaySettings, run_id: str, progress: ProgressListener = quiet
) -> Ledger:
    """Reads `files` into the store and returns what became of every line.

    A file that cannot be opened or recognised is one quarantined line; the others are unharmed. Repeating it, also
    after a crash in the middle, changes nothing. Raises StoreFullError, StoreBusyError.
    """
    ledger = Ledger()
    zone = ZoneInfo(day.timezone)
    total_bytes = sum(_size(file) for file in files)
    done_bytes = 0
    progress("reading", 0, total_bytes)
    with collector_paused():
        for batch, parsed in _one_ahead(_batches(files, ledger), partial(_parse, zone=zone)):
            if isinstance(parsed, RecordBatch):
                _write_records(store, batch, parsed, ledger, run_id=run_id)
            else:
                for path, counts in write_spans(store, parsed, zone=zone, run_id=run_id).items():
                    ledger.add(path, batch.reader.name, counts)
            ledger.quarantined.extend(parsed.quarantined)
            done_bytes += sum(len(chunk.data) for chunk in batch.chunks)
            progress("reading", done_bytes, total_bytes)
    write_quarantine(store, ledger.quarantined, paths=[path_text(file.path) for file in files], run_id=run_id)
    return ledger


def _size(file: SourceFile) -> int:
    try:
        return file.path.stat().st_size
    except OSError:
        return 0


def _batches(files: Sequence[SourceFile], ledger: Ledger) -> Iterator[FileBatch]:
    """Groups the chunks of consecutive files of one format up to the format's batch size."""
    reader: RecordReader | SpanReader | None = None
    chunks: list[Chunk] = []
    size = 0
    for file_reader, chunk in _chunks(files, ledger):
        limit = _batch_bytes(file_reader)
        if reader is not None and chunks and (file_reader is not reader or size + len(chunk.data) > limit):
            yield FileBatch(reader=reader, chunks=tuple(chunks))
            chunks, size = [], 0
        reader = file_reader
        chunks.append(chunk)
        size += len(chunk.data)
    if reader is not None and chunks:
        yield FileBatch(reader=reader, chunks=tuple(chunks))


def _batch_bytes(reader: RecordReader | SpanReader) -> int:
    return SPAN_BATCH_BYTES if isinstance(reader, SpanReader) else RECORD_BATCH_BYTES


def _chunks(files: Sequence[SourceFile], ledger: Ledger) -> Iterator[tuple[RecordReader | SpanReader, Chunk]]:
    for file in files:
        path = path_text(file.path)
        try:
            with file.path.open("rb") as opened:
                head = opened.read(SNIFF_BYTES)
            if not head.strip():
                ledger.add(path, None, IngestCounts())
                continue
            reader = reader_for(file.format, head)
            for chunk in read_chunks(file.path, chunk_bytes=min(_batch_bytes(reader), RECORD_CHUNK_BYTES)):
                yield reader, chunk
        except OSError as error:
            ledger.refuse(
                path, f"the file cannot be read ({error.strerror}): check that it exists and its permissions", ""
            )
        except ReadError as error:
            ledger.refuse(path, str(error), head[:EXCERPT_BYTES].decode("utf-8", "replace"))


def _parse(batch: FileBatch, *, zone: ZoneInfo) -> RecordBatch | SpanBatch:
    if isinstance(batch.reader, SpanReader):
        return parse_spans(batch.reader, batch.chunks)
    return batch.reader.read(batch.chunks, zone=zone)


def _write_records(store: Store, batch: FileBatch, parsed: RecordBatch, ledger: Ledger, *, run_id: str) -> None:
    if len(parsed.traces):
        classified = _classify(store, parsed.traces)
        write_traces(store, parsed.traces, classified, run_id=run_id)
    else:
        classified = Classified(states=pa.array([], pa.string()))
    counts = counts_by_path(parsed.traces, classified, quarantined=Counter(line.path for line in parsed.quarantined))
    for path in dict.fromkeys(chunk.path for chunk in batch.chunks):
        ledger.add(path, batch.reader.name, counts.get(path, IngestCounts()))


def _classify(store: Store, traces: pa.Table) -> Classified:
    with store.reading() as connection:
        return classify(connection, traces)


Item = TypeVar("Item")
Result = TypeVar("Result")


def _one_ahead(items: Iterable[Item], work: Callable[[Item], Result]) -> Iterator[tuple[Item, Result]]:
    """Each item with its result, while the next one is already worked on in a second thread."""
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="parse") as pool:
        waiting = None
        for item in items:
            started = (item, pool.submit(work, item))
            if waiting is not None:
                yield waiting[0], waiting[1].result()
            waiting = started
        if waiting is not None:
            yield waiting[0], waiting[1].result()
