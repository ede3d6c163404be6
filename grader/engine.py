"""DuckDB engines in memory, kept for their next use.

To start an engine takes 25 ms of CPU, to connect to one that runs 0.01 ms (docs/performance.md), and a day's grading
asks a dozen small questions. An engine serves one caller at a time, on a connection of its own that is closed behind
it: no table, view or setting of a session outlives its caller. An engine whose caller failed is thrown away.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import duckdb

MAX_IDLE = 4
_FOR_FILES: Mapping[str, str] = {"TimeZone": "UTC"}
_FOR_TABLES: Mapping[str, str] = {
    **_FOR_FILES,
    "python_enable_replacements": "false",  # else a table name could mean a variable of the caller's
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",  # the last one
}


@dataclass(frozen=True, slots=True)
class EnginePool:
    """Engines of one configuration. Threads may share it; a forked process starts its own engines."""

    settings: Mapping[str, str]
    _idle: list[tuple[int, duckdb.DuckDBPyConnection]] = field(default_factory=list)  # with the process they belong to

    @contextmanager
    def connection(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection to an engine that nobody else uses meanwhile. Its time zone is UTC."""
        engine = self._take()
        try:
            connection = engine.cursor()
            try:
                yield connection
            finally:
                connection.close()
        except BaseException:
            engine.close()  # a full disk, for one, spoils an engine for good
            raise
        if len(self._idle) < MAX_IDLE:
            self._idle.append((os.getpid(), engine))
        else:
            engine.close()

    def _take(self) -> duckdb.DuckDBPyConnection:
        while True:
            try:
                process, engine = self._idle.pop()
            except IndexError:
                return self._start()
            if process == os.getpid():
                return engine

    def _start(self) -> duckdb.DuckDBPyConnection:
        engine = duckdb.connect()
        for name, value in self.settings.items():
            engine.execute(f"SET GLOBAL {name} = '{value}'")
        return engine


FILE_ENGINES = EnginePool(_FOR_FILES)  # may attach files
TABLE_ENGINES = EnginePool(_FOR_TABLES)  # reach nothing but the tables registered on the connection
