"""What the reader tests share: the corpus, and reading files the way ingest does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from grader.readers.assemble import assemble, merge_heads, merge_spans
from grader.readers.contract import Fragment, SpanReader, TraceHead
from grader.readers.json_text import decode_line
from grader.records import Source, Span, Trace

ROOT = Path(__file__).parents[3]
CORPUS = ROOT.parent / "shared" / "corpus"

ReadFragments = Callable[[SpanReader, Iterable[Path]], list[Fragment]]
PutTogether = Callable[[Iterable[Fragment]], list[Trace]]


@pytest.fixture(scope="session")
def corpus() -> Path:
    if not CORPUS.is_dir():
        pytest.skip(f"the corpus of real traces is not at {CORPUS}")
    return CORPUS


@pytest.fixture(scope="session")
def read_fragments() -> ReadFragments:
    """Every fragment in the files, in order. A `.json` file is one document."""

    def read(reader: SpanReader, paths: Iterable[Path]) -> list[Fragment]:
        fragments: list[Fragment] = []
        for path in paths:
            data = path.read_bytes()
            for line in [data] if path.suffix == ".json" else data.splitlines():
                fragments.extend(reader.parse(decode_line(line)))
        return fragments

    return read


@pytest.fixture(scope="session")
def put_together() -> PutTogether:
    """Traces of fragments, in the order in which they are first seen."""

    def assembled(fragments: Iterable[Fragment]) -> list[Trace]:
        heads: dict[str, TraceHead | None] = {}
        spans: dict[str, Sequence[Span]] = {}
        for fragment in fragments:
            heads[fragment.trace_id] = merge_heads(heads.get(fragment.trace_id), fragment.head)
            spans[fragment.trace_id] = merge_spans(spans.get(fragment.trace_id, ()), fragment.spans)
        source = Source(reader="test", path="test.jsonl", line=1)
        return [assemble(trace_id, heads[trace_id], spans[trace_id], source) for trace_id in heads]

    return assembled
