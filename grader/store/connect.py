"""Opening the store: a shared or exclusive lock, a short-lived connection, and nothing kept open.

DuckDB lets one process write or many read, never both, and says so by failing. So every access takes our own file
lock first (DESIGN.md section 5, docs/decisions/001): readers share it, a writer has it alone. Before the lock stands a
gate: whoever waits for the lock holds the gate, so later readers queue behind a waiting writer and cannot starve it.
Both are `flock`s on files of their own, one descriptor an acquisition: they work across threads and processes, and the
kernel frees them when a process is killed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from grader.engine import FILE_ENGINES
from grader.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreMissingError,
    StoreNewerError,
)
from grader.settings import Settings
from grader.store.schema import MIGRATIONS, SCHEMA_VERSION

LOCK_POLL_SECONDS = (0.001, 0.008)  # drawn between these, so that waiters do not march in step


@dataclass(frozen=True, kw_only=True, slots=True)
class Store:
    """The DuckDB file of a workspace, with the payload folder beside it. Keeps no connection open."""

    path: Path
    lock_timeout_seconds: float = 30.0

    @classmethod
    def open(cls, settings: Settings) -> Store:
        """The store that `settings` name. Touches no file."""
        return cls(
            path=settings.resolve(settings.store.path).absolute(),
            lock_timeout_seconds=settings.store.lock_timeout_seconds,
        )

    @property
    def folder(self) -> Path:
        return self.path.parent

    @property
    def payload_dir(self) -> Path:
        """Where the Parquet files with the long texts lie."""
        return self.folder / "payload"

    def version(self) -> int:
        """A number that differs after every commit; 0 when there is no store. Takes no lock, costs two `stat`s."""
        marks = []
        for file in (self.path, self.path.with_name(self.path.name + ".wal")):
            try:
                status = file.stat()
            except FileNotFoundError:
                continue
            marks.append((status.st_mtime_ns, status.st_size, status.st_ino))
        return abs(hash(tuple(marks))) if marks else 0

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection under the shared lock, for one short thing.

        Raises StoreMissingError, StoreBusyError, StoreDamagedError, StoreNewerError.
        """
        if not self.path.exists():
            raise StoreMissingError(f"there is no store at {str(self.path)!r} yet: run 'gradebook grade' to make one")
        with ExitStack() as opened:
            connection = self._open_for_reading(opened)
            if _schema_version(connection, self.path) < SCHEMA_VERSION:
                opened.close()
                with self.writing():
                    pass  # opening for writing migrates
                connection = self._open_for_reading(opened)
            yield connection

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection under the exclusive lock, for one short thing; creates and migrates the file as needed.

        The caller begins and commits. Never call a model or parse a file inside: others wait.
        Raises StoreBusyError, StoreDamagedError, StoreNewerError, StoreFullError.
        """
        with opening(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        with self._locked(exclusive=True), self._connected(read_only=False) as connection:
            _migrate(connection, self.path)
            yield connection

    def _open_for_reading(self, opened: ExitStack) -> duckdb.DuckDBPyConnection:
        opened.enter_context(self._locked(exclusive=False))
        return opened.enter_context(self._connected(read_only=True))

    @contextmanager
    def _connected(self, *, read_only: bool) -> Iterator[duckdb.DuckDBPyConnection]:
        # The file is attached to an engine in memory: opening it directly from many threads while Arrow tables are
        # registered fails now and then in DuckDB 2.0.1 (DESIGN.md section 12).
        if "?" in str(self.path):  # DuckDB takes what follows for parameters, and puts its log elsewhere
            raise StoreError(
                f"the store {str(self.path)!r} cannot be used (DuckDB opens no path with '?'): rename the folder, or "
                "set store.path to another place"
            )
        with translated_errors(self.path), FILE_ENGINES.connection() as connection:
            name = str(self.path).replace("'", "''")
            connection.execute(f"ATTACH '{name}' AS store {'(READ_ONLY)' if read_only else ''}")
            connection.execute("USE store")
            try:
                yield connection
            finally:
                _detach(connection)

    @contextmanager
    def _locked(self, *, exclusive: bool) -> Iterator[None]:
        deadline = time.monotonic() + self.lock_timeout_seconds
        gate = self._open_lock_file(".gate")
        try:
            lock = self._open_lock_file(".lock")
            try:
                self._flock(gate, fcntl.LOCK_EX, deadline)
                self._flock(lock, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH, deadline)
                if not exclusive:
                    fcntl.flock(gate, fcntl.LOCK_UN)
                yield
            finally:
                os.close(lock)
        finally:
            os.close(gate)

    def _open_lock_file(self, suffix: str) -> int:
        path = self.path.with_name(self.path.name + suffix)
        with opening(path):
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o664)

    def _flock(self, descriptor: int, operation: int, deadline: float) -> None:
        while True:
            try:
                fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise StoreBusyError(
                        f"the store {str(self.path)!r} was busy for {self.lock_timeout_seconds:g} seconds: "
                        "another command is writing; try again, or raise store.lock_timeout_seconds"
                    ) from None
                time.sleep(random.uniform(*LOCK_POLL_SECONDS))  # noqa: S311 - spreads waiters, guards nothing
            else:
                return


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """Turns whatever stops `path` from being made or opened into a StoreError."""
    try:
        yield
    except OSError as error:
        raise _of_os_error(error, path) from error


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Turns what DuckDB and the disk say about `path` into our error tree; all else passes."""
    try:
        yield
    except duckdb.Error as error:
        translated = _of_duckdb_error(error, path)
        if translated is None:
            raise
        raise translated from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise _of_os_error(error, path) from error


def _of_duckdb_error(error: duckdb.Error, path: Path) -> StoreError | None:
    text = str(error)
    if "No space left on device" in text or "Disk quota exceeded" in text or "out of space" in text.lower():
        return StoreFullError(
            f"the disk that holds {str(path)!r} is full: free some space and run the command again; "
            "everything committed so far is safe"
        )
    if "newer version" in text or ("version number" in text and "read a database file" in text):
        return StoreNewerError(
            f"the store {str(path)!r} was written by a newer DuckDB than {duckdb.__version__}: update Gradebook"
        )
    if isinstance(
        error, duckdb.IOException | duckdb.FatalException | duckdb.InternalException | duckdb.SerializationException
    ):
        first_line = text.splitlines()[0] if text else type(error).__name__
        return StoreDamagedError(
            f"the store {str(path)!r} cannot be used ({first_line}): restore it from a backup, or move it away and "
            "run 'gradebook grade --all' to build it again from the trace files"
        )
    return None


def _of_os_error(error: OSError, path: Path) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFullError(
            f"the disk that holds {str(path)!r} is full: free some space and run the command again; "
            "everything committed so far is safe"
        )
    return StoreError(
        f"{str(path)!r} cannot be opened ({error.strerror}): check that the folder exists and is writable"
    )


def _detach(connection: duckdb.DuckDBPyConnection) -> None:
    # Detaching checkpoints, so it can meet a full disk; a connection already invalidated by one cannot detach at all.
    connection.execute("USE memory")
    connection.execute("DETACH store")


def _schema_version(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    try:
        rows = connection.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchall()
    except duckdb.CatalogException:
        tables = [name for (name,) in connection.execute("SHOW TABLES").fetchall()]
        if tables:
            raise StoreDamagedError(
                f"{str(path)!r} is a DuckDB file with other tables ({', '.join(tables[:3])}), not a Gradebook store: "
                "give store.path another name"
            ) from None
        return 0
    version = int(rows[0][0]) if rows else 0
    if version > SCHEMA_VERSION:
        raise StoreNewerError(
            f"the store {str(path)!r} has version {version}, this Gradebook knows up to {SCHEMA_VERSION}: "
            "update Gradebook"
        )
    return version


def _migrate(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    version = _schema_version(connection, path)
    if version == SCHEMA_VERSION:
        return
    if version == 0:
        connection.execute("CREATE TABLE IF NOT EXISTS meta (key VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)")
    for number, statements in enumerate(MIGRATIONS[version:], start=version + 1):
        connection.execute("BEGIN")
        connection.execute(statements)
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('schema_version', ?)", [str(number)])
        connection.execute("COMMIT")
