"""Chunks of text as a table of lines whose texts are the chunks' own bytes: nothing is copied, no loop over lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from grader.arrow import TIMESTAMP
from grader.readers.contract import Chunk

LINE_SCHEMA = pa.schema(
    [
        pa.field("line", pa.large_string()),
        pa.field("row", pa.int64()),  # counts all lines of all chunks from 0, blank ones too
        pa.field("path", pa.dictionary(pa.int32(), pa.string())),
        pa.field("line_number", pa.int64()),  # 1-based, within the file
        pa.field("file_time", TIMESTAMP),
    ]
)
_NEWLINE = ord("\n")
_SPACES = b" \t\r\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A line as it stands in its file."""

    path: str
    line_number: int
    data: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Lines:
    """The lines of some chunks."""

    table: pa.Table  # LINE_SCHEMA: those that are neither blank nor broken
    not_utf8: Mapping[int, str]  # row → what is wrong with its bytes
    chunks: tuple[Chunk, ...]
    first_rows: tuple[int, ...]  # of each chunk
    offsets: tuple[npt.NDArray[np.int64], ...]  # of each chunk: where its lines begin, and its end

    @property
    def count(self) -> int:
        """Lines that are not blank."""
        return int(self.table.num_rows) + len(self.not_utf8)

    def place(self, row: int) -> Place:
        at = int(np.searchsorted(self.first_rows, row, side="right")) - 1
        chunk, offsets, line = self.chunks[at], self.offsets[at], row - self.first_rows[at]
        data = chunk.data[offsets[line] : offsets[line + 1]]
        return Place(path=chunk.path, line_number=chunk.first_line + line, data=data)

    def with_texts(self, texts: Mapping[int, str]) -> pa.Table:
        """Lines again, with other texts: row → text."""
        chosen = self.table.filter(pc.is_in(self.table["row"], value_set=pa.array(texts, pa.int64())))
        others = pa.array([texts[row] for row in chosen["row"].to_pylist()], pa.large_string())
        return chosen.set_column(0, LINE_SCHEMA.field("line"), others)


def lines_of(chunks: Sequence[Chunk]) -> Lines:
    """All lines of `chunks`. A last line without a line break is a line too."""
    tables = [LINE_SCHEMA.empty_table()]
    not_utf8: dict[int, str] = {}
    first_rows: list[int] = []
    offsets = [_offsets(chunk.data) for chunk in chunks]
    first_row = 0
    for chunk, starts in zip(chunks, offsets, strict=True):
        first_rows.append(first_row)
        texts = pa.LargeStringArray.from_buffers(len(starts) - 1, pa.py_buffer(starts), pa.py_buffer(chunk.data))
        broken = _broken(texts, chunk.data, starts)
        not_utf8.update((first_row + line, reason) for line, reason in broken.items())
        tables.append(_table(chunk, texts, first_row, without=[*broken, *_blank(chunk.data, starts)]))
        first_row += len(texts)
    return Lines(
        table=pa.concat_tables(tables),
        not_utf8=not_utf8,
        chunks=tuple(chunks),
        first_rows=tuple(first_rows),
        offsets=tuple(offsets),
    )


def _offsets(data: bytes) -> npt.NDArray[np.int64]:
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _NEWLINE) + 1
    unfinished = [len(data)] if data and data[-1] != _NEWLINE else []
    return np.concatenate([[0], ends, unfinished]).astype(np.int64)


def _blank(data: bytes, starts: npt.NDArray[np.int64]) -> list[int]:
    """Lines of nothing but spaces. Only lines that begin with one are looked at: JSON hardly ever does."""
    first_bytes = np.frombuffer(data, dtype=np.uint8)[starts[:-1]]
    candidates = np.flatnonzero(np.isin(first_bytes, np.frombuffer(_SPACES, dtype=np.uint8)))
    return [int(line) for line in candidates if not data[starts[line] : starts[line + 1]].strip(_SPACES)]


def _broken(texts: pa.Array, data: bytes, starts: npt.NDArray[np.int64]) -> dict[int, str]:
    """Lines that are not UTF-8, with the reason. They are looked for one by one only where there is one."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        reasons = ((line, _not_utf8(data[starts[line] : starts[line + 1]])) for line in range(len(texts)))
        return {line: reason for line, reason in reasons if reason}
    return {}


def _not_utf8(data: bytes) -> str | None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"not UTF-8: byte 0x{data[error.start]:02x} at position {error.start + 1}: {error.reason}"
    return None


def _table(chunk: Chunk, texts: pa.Array, first_row: int, *, without: list[int]) -> pa.Table:
    rows = np.arange(len(texts))
    table = pa.table(
        {
            "line": texts,
            "row": first_row + rows,
            "path": pa.DictionaryArray.from_arrays(np.zeros(len(texts), dtype=np.int32), pa.array([chunk.path])),
            "line_number": chunk.first_line + rows,
            "file_time": pa.repeat(pa.scalar(chunk.file_time, TIMESTAMP), len(texts)),
        },
        schema=LINE_SCHEMA,
    )
    return table.filter(pa.array(~np.isin(rows, without))) if without else table
