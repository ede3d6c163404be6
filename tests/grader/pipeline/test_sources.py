"""Which files a source means."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.errors import SourceError
from grader.pipeline.sources import source_files
from grader.settings import Settings, SourceSettings, StoreSettings


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


@pytest.mark.parametrize("source", [".", "**", "**/*", "d*"])
def test_the_stores_own_files_are_no_traces(root: Path, source: str) -> None:
    (root / "data/payload").mkdir(parents=True)
    for name in ("data/gradebook.duckdb", "data/metrics.jsonl", "data/payload/x.parquet"):
        (root / name).write_text("{}\n")
    found = names(root, source)
    assert "deep/c.jsonl" in found
    assert not [name for name in found if name.startswith("data/")]


def test_traces_that_lie_beside_the_store_are_read(root: Path) -> None:
    settings = Settings(root=root, store=StoreSettings(path=Path("gradebook.duckdb")))
    for source in (".", "deep", "**/c.jsonl"):
        files = source_files(settings, [SourceSettings(path=source)])
        assert root / "deep/c.jsonl" in [file.path for file in files]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        pytest.param("~nobody-of-this-name/a", "home directory", id="a home of nobody"),
        pytest.param("a" * 5000, "File name too long", id="too long"),
        pytest.param("a\0b", "does not exist", id="a null character"),
    ],
)
def test_what_is_no_path_is_a_sentence(root: Path, source: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        names(root, source)


def test_an_absolute_path_is_taken_as_it_is(root: Path) -> None:
    assert names(root, str(root / "a.jsonl")) == ["a.jsonl"]


def test_a_path_that_does_not_exist_is_a_sentence(root: Path) -> None:
    with pytest.raises(SourceError, match=r"'.*nowhere\.jsonl' does not exist: give a trace file"):
        names(root, "nowhere.jsonl")
