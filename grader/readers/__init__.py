"""Readers: one per trace format. `READERS` is the registry; to add a format, add its reader to the tuple."""

from __future__ import annotations

from grader.errors import ReadError
from grader.readers.contract import RecordReader, SpanReader
from grader.readers.flat import FlatReader
from grader.readers.openai_agents import OpenAIAgentsReader
from grader.readers.otlp import OTLPReader

AUTO = "auto"
READERS: tuple[RecordReader | SpanReader, ...] = (OpenAIAgentsReader(), OTLPReader(), FlatReader())


def reader_for(format: str, head: bytes) -> RecordReader | SpanReader:  # noqa: A002  # the settings' own word
    """The reader named `format`; for "auto" the first one that recognises `head`, the first 64 KiB of a file.

    Raises ReadError when there is none.
    """
    names = ", ".join(reader.name for reader in READERS)
    for reader in READERS:
        if reader.name == format or (format == AUTO and reader.matches(head)):
            return reader
    if format == AUTO:
        raise ReadError(
            f"no reader knows this format (starts with {head[:60]!r}); known: {names}. Set `format` for the source"
        )
    raise ReadError(f"no reader is called {format!r}; known: {names}, {AUTO}")
