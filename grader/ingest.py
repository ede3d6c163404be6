"""Ingest: files → chunks → traces → store, every line accounted for.

Files are read in batches of chunks of one format. A record format's lines are rows at once; a span format's lines are
parts of traces that are put together with what the store already has of them. Parsing happens outside the store's
lock and one batch ahead of the writing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import ReadError
from grader.readers import reader_for
from grader.readers.contract import Chunk, RecordBatch, RecordReader, SpanReader
from grader.readers.lines import read_chunks
from grader.records import IngestCounts, QuarantinedLine
from grader.settings import Settings
from grader.sources import SourceFile
from grader.store.connect import Store
from grader.store.write import classify, counts_of, write_quarantine, write_traces

logger = logging.getLogger(__name__)

ProgressListener = Callable[[str, int, int | None], None]  # stage, done, total (None: not known)

BATCH_BYTES = 64 << 20
SNIFF_BYTES = 64 << 10
EXCERPT_CHARS = 300


def quiet(stage: str, done: int, total: int | None) -> None:
    """The listener that shows nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceCounts:
    """What became of the lines of one file."""

    path: str
    reader: str | None  # None: no reader knows the file
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

    @property
    def counts(self) -> IngestCounts:
        return sum((source.counts for source in self.by_path.values()), IngestCounts())
