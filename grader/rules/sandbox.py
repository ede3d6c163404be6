"""The DuckDB in which rules run: in memory, empty, and locked before any expression of a user's is seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import duckdb


@contextmanager
def locked_down_connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that reaches no file, no network, no Python variable, and no table but those registered on it.

    Its time zone is UTC, and its configuration cannot be changed any more.
    """
    with closing(duckdb.connect()) as connection:
        for setting in (
            "TimeZone = 'UTC'",
            "python_enable_replacements = false",  # else a table name could mean a variable of the caller's
            "autoinstall_known_extensions = false",
            "autoload_known_extensions = false",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            connection.execute(f"SET {setting}")
        yield connection
