from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.readers.lines import read_chunks

BOM = b"\xef\xbb\xbf"


def lines_with_numbers(path: Path, *, chunk_bytes: int) -> list[tuple[int, bytes]]:
    found = []
    for chunk in read_chunks(path, chunk_bytes=chunk_bytes):
        assert chunk.data.endswith(b"\n")
        found += [(chunk.first_line + at, line) for at, line in enumerate(chunk.data.split(b"\n")[:-1])]
    return found


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        pytest.param("a.jsonl", b"", [], id="empty file"),
        pytest.param("a.jsonl", b"x\ny\n", [(1, b"x"), (2, b"y")], id="lines"),
        pytest.param("a.jsonl", b"x\ny", [(1, b"x"), (2, b"y")], id="last line without a line break"),
        pytest.param("a.jsonl", BOM + b"x\n", [(1, b"x")], id="byte order mark"),
        pytest.param(
            "a.jsonl", b"x\n\n\ny\n", [(1, b"x"), (2, b""), (3, b""), (4, b"y")], id="blank lines keep numbers"
        ),
        pytest.param("a.jsonl", b"x\r\ny\r\n", [(1, b"x\r"), (2, b"y\r")], id="Windows line breaks"),
        pytest.param("a.jsonl", b'{\n"a": 1}\n', [(1, b"{"), (2, b'"a": 1}')], id="a .jsonl is never one document"),
        pytest.param("a.json", b'{\n"a": 1\n}', [(1, b'{ "a": 1 }')], id="pretty-printed document"),
        pytest.param(
            "a.json", BOM + b'\n[\n{"a": 1},\n2]\n', [(1, b' [ {"a": 1}, 2] ')], id="pretty list, BOM, blank start"
        ),
        pytest.param("a.json", b'{"a": 1}', [(1, b'{"a": 1}')], id="document on one line"),
        pytest.param(
            "a.json", b'{"a": 1}\n{"a": 2}\n', [(1, b'{"a": 1}'), (2, b'{"a": 2}')], id="JSON lines named .json"
        ),
        pytest.param(
            "a.json", b'{"a": 1,\n{"a": 2}\n', [(1, b'{"a": 1,'), (2, b'{"a": 2}')], id="JSON lines, first one cut"
        ),
        pytest.param(
            "a.json", b'{"a": "x\n{"a": 2}', [(1, b'{"a": "x'), (2, b'{"a": 2}')], id="JSON lines, cut in a text"
        ),
        pytest.param("a.json", b'{"a":\n"\xff"}', [(1, b'{"a":'), (2, b'"\xff"}')], id="document that is not UTF-8"),
        pytest.param("a.json", b"[" * 100_000, [(1, b"[" * 100_000)], id="nested beyond the parser"),
    ],
)
def test_lines_of_a_file(tmp_path: Path, name: str, content: bytes, expected: list[tuple[int, bytes]]) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert lines_with_numbers(path, chunk_bytes=1 << 20) == expected


@given(lines=st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line)), chunk_bytes=st.integers(1, 40))
def test_chunks_are_whole_lines_whatever_their_size(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], chunk_bytes: int
) -> None:
    path = tmp_path_factory.mktemp("chunks") / "a.jsonl"
    path.write_bytes(b"".join(b"x" + line + b"\n" for line in lines))
    assert lines_with_numbers(path, chunk_bytes=chunk_bytes) == [(n, b"x" + line) for n, line in enumerate(lines, 1)]


def test_a_chunk_is_no_larger_than_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"0123456789\n" * 1000)
    sizes = [len(chunk.data) for chunk in read_chunks(path, chunk_bytes=100)]
    assert sum(sizes) == 11_000
    assert max(sizes) <= 100


def test_file_time_is_when_the_file_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"a": 1}))
    os.utime(path, (1_790_812_800, 1_790_812_800))
    (chunk,) = read_chunks(path)
    assert (chunk.path, chunk.file_time) == (str(path), datetime(2026, 10, 1, tzinfo=UTC))


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_chunks(tmp_path / "none.jsonl"))
