"""Files → chunks of whole lines, without ever holding more of a file than a chunk and its longest line.

A `.json` file is often one pretty-printed document: that is one chunk of one line, its line breaks made spaces (inside
JSON they are only ever layout). `.json` files that are JSON lines are read as lines, as every other file is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from grader.readers.contract import Chunk

CHUNK_BYTES = 32 << 20
_UTF8_BOM = b"\xef\xbb\xbf"


def path_text(path: Path) -> str:
    """`path` as text that every file and table can hold: bytes that are not UTF-8 become escapes."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def read_chunks(path: Path, *, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """The lines of `path` in order, in chunks of at most `chunk_bytes` (more only where lines are that long).

    Every chunk ends with a line break, also the last one of a file that does not. A UTF-8 byte order mark is removed.
    An empty file gives no chunk. Raises OSError when the file cannot be opened or read.
    """
    with path.open("rb") as file:
        file_time = datetime.fromtimestamp(path.stat().st_mtime, tz=UTC)
        start = len(_UTF8_BOM) if file.read(len(_UTF8_BOM)) == _UTF8_BOM else 0
        file.seek(start)
        document = _document(file) if path.suffix.lower() == ".json" else None
        file.seek(start)
        first_line = 1
        for data in _whole_lines(file, chunk_bytes) if document is None else (document,):
            yield Chunk(path=path_text(path), first_line=first_line, data=data, file_time=file_time)
            first_line += data.count(b"\n")


def _whole_lines(file: BinaryIO, chunk_bytes: int) -> Iterator[bytes]:
    """The rest of `file`, cut behind line breaks."""
    pending: list[bytes] = []  # the start of a line whose end has not been read yet
    pending_bytes = 0
    while block := file.read(chunk_bytes - min(pending_bytes, chunk_bytes // 2)):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join((*pending, block[:cut]))
            pending, pending_bytes = [], 0
        pending.append(block[cut:])
        pending_bytes += len(block) - cut
    if pending_bytes:
        yield b"".join((*pending, b"\n"))


def _document(file: BinaryIO) -> bytes | None:
    """The rest of `file` as one line if it is one JSON document spread over lines, else None."""
    start = file.tell()
    first_line = next((line for line in file if line.strip()), b"")
    if not _stays_open(first_line):
        return None
    file.seek(start)
    whole = file.read()
    return whole.replace(b"\n", b" ") + b"\n" if _is_json(whole) else None


def _stays_open(line: bytes) -> bool:
    """Whether `line` is the start of a JSON document that goes on in the next line."""
    text = line.decode("utf-8", "replace").rstrip()
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos == len(text)
    except RecursionError:
        return False
    return False


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data.decode())
    except (ValueError, RecursionError):
        return False
    return True
