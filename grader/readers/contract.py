"""What a reader is, and what passes between readers, ingest and assembly.

Two kinds of format exist. *Record* formats hold one whole trace a line (flat): their reader turns chunks straight into
columns. *Span* formats spread a trace over lines and files: their reader turns one JSON document into `Fragment`s, and
`assemble.py` makes traces of fragments by the rules that hold for every format (FORMATS.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Protocol, runtime_checkable

import pyarrow as pa

from grader.records import QuarantinedLine, Span, Status


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """Whole lines of one file, in order; or one whole document (a `.json` body) as a single "line"."""

    path: str
    first_line: int  # 1-based number of the first line in `data`
    data: bytes
    file_time: datetime  # mtime, UTC: stands in for the start of a trace that has no time at all


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceHead:
    """What an exporter says of a trace as a whole, beside its spans. None: it does not say."""

    name: str | None = None
    session_id: str | None = None
    agent: str | None = None
    release: str | None = None
    model: str | None = None
    status: Status | None = None
    user_message: str | None = None
    final_output: str | None = None
    guardrails_recorded: bool | None = None  # True: the format records every guardrail, so none seen means 0
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fragment:
    """A part of one trace as found in one line."""

    trace_id: str  # normalised: see ids.py
    head: TraceHead | None = None
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordBatch:
    """Chunks of a record format as columns."""

    traces: pa.Table  # TRACE_SCHEMA; source_path and source_line say which line a row is; a trace_id may repeat
    num_lines: int  # non-blank lines = traces.num_rows + len(quarantined)
    quarantined: tuple[QuarantinedLine, ...]


@runtime_checkable
class RecordReader(Protocol):
    @property
    def name(self) -> str: ...

    def matches(self, head: bytes) -> bool:
        """Whether a file that starts with `head` (up to 64 KiB, maybe cut mid-line) is of this format."""
        ...

    def read(self, chunks: Sequence[Chunk], *, zone: tzinfo) -> RecordBatch:
        """The chunks' lines as traces or quarantined lines; never raises for content."""
        ...


@runtime_checkable
class SpanReader(Protocol):
    @property
    def name(self) -> str: ...

    def matches(self, head: bytes) -> bool:
        """Whether a file that starts with `head` (up to 64 KiB, maybe cut mid-line) is of this format."""
        ...

    def parse(self, document: object) -> Iterable[Fragment]:
        """The parts of traces that one decoded JSON document holds. Raises ReadError, naming what is wrong."""
        ...
