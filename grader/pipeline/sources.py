"""Which files a source means: a file, a folder (all files below it) or a glob."""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import SourceError
from grader.settings import Settings, SourceSettings

SHOWN_CHARS = 80
_WILDCARDS = frozenset("*?[")


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceFile:
    """A file to read and the format it was announced as ("auto": look inside)."""

    path: Path
    format: str


def source_files(settings: Settings, sources: Sequence[SourceSettings]) -> tuple[SourceFile, ...]:
    """All files of `sources`, each once, in the order of the sources and by name within one.

    A folder gives every regular file below it but hidden ones and the store's own. A glob may match nothing: its files
    come later. Raises SourceError for a plain path that does not exist or cannot be read.
    """
    found: dict[Path, SourceFile] = {}
    store_folder = settings.resolve(settings.store.path).absolute().parent
    for source in sources:
        for path in _paths(settings, source.path, store_folder):
            found.setdefault(path.absolute(), SourceFile(path=path, format=source.format))
    return tuple(found.values())


def _paths(settings: Settings, text: str, store_folder: Path) -> Iterator[Path]:
    try:
        pattern = settings.resolve(Path(text).expanduser())
        is_pattern = bool(_WILDCARDS & set(text)) and not pattern.exists()
        paths = _glob(pattern) if is_pattern else _existing(pattern)
    except (OSError, RuntimeError, ValueError) as error:  # a name too long, a home of nobody, a null
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SourceError(f"the source {text[:SHOWN_CHARS]!r} is no path ({reason}): give a file or folder") from None
    fixed = Path(*itertools.takewhile(lambda part: not _WILDCARDS & set(part), pattern.absolute().parts))
    if fixed not in store_folder.parents:
        return paths
    return (path for path in paths if store_folder not in path.absolute().parents)


def _glob(pattern: Path) -> Iterator[Path]:
    # Path.glob takes no absolute pattern
    for match in sorted(glob.glob(str(pattern), recursive=True)):  # noqa: PTH207
        path = Path(match)
        if path.is_dir():
            yield from _files_below(path)
        elif path.is_file():
            yield path


def _existing(path: Path) -> Iterator[Path]:
    if not path.exists():
        raise SourceError(
            f"the source {str(path)!r} does not exist: give a trace file, a folder of them, or a pattern like "
            "'traces/*.jsonl'"
        )
    if not os.access(path, os.R_OK):
        raise SourceError(f"the source {str(path)!r} cannot be read: check its permissions")
    if path.is_dir():
        return _files_below(path)
    if not path.is_file():
        raise SourceError(f"the source {str(path)!r} is neither a file nor a folder: a trace file is needed")
    return iter((path,))


def _files_below(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent) / name
            if not name.startswith(".") and path.is_file():
                yield path
