"""Which files a source means."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.errors import SourceError
from grader.pipeline.sources import source_files
from grader.settings import Settings, SourceSettings


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("b.jsonl", "a.jsonl", "deep/c.jsonl", ".hidden", "deep/.git/config", "notes [1].txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}\n")
    return tmp_path


def names(root: Path, *sources: str) -> list[str]:
    settings = Settings(root=root)
    files = source_files(settings, [SourceSettings(path=source) for source in sources])
    return [str(file.path.relative_to(root)) for file in files]


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        pytest.param(["a.jsonl"], ["a.jsonl"], id="a file"),
        pytest.param(["."], ["a.jsonl", "b.jsonl", "notes [1].txt", "deep/c.jsonl"], id="a folder: no hidden files"),
        pytest.param(["*.jsonl"], ["a.jsonl", "b.jsonl"], id="a pattern"),
        pytest.param(["**/*.jsonl"], ["a.jsonl", "b.jsonl", "deep/c.jsonl"], id="a deep pattern"),
        pytest.param(["dee*"], ["deep/c.jsonl"], id="a pattern that meets a folder"),
        pytest.param(["b.jsonl", "*.jsonl"], ["b.jsonl", "a.jsonl"], id="each file once, sources in order"),
        pytest.param(["later/*.jsonl"], [], id="a pattern may match nothing yet"),
        pytest.param(["notes [1].txt"], ["notes [1].txt"], id="a file whose name looks like a pattern"),
    ],
)
def test_files(root: Path, sources: list[str], expected: list[str]) -> None:
    assert names(root, *sources) == expected


def test_an_absolute_path_is_taken_as_it_is(root: Path) -> None:
    assert names(root, str(root / "a.jsonl")) == ["a.jsonl"]


def test_a_path_that_does_not_exist_is_a_sentence(root: Path) -> None:
    with pytest.raises(SourceError, match=r"'.*nowhere\.jsonl' does not exist: give a trace file"):
        names(root, "nowhere.jsonl")
