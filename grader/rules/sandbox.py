"""The DuckDB in which rules run: in memory, empty, and locked before any expression of a user's is seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from grader.engine import TABLE_ENGINES


@contextmanager
def locked_down_connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that reaches no file, no network, no Python variable, and no table but those registered on it.

    Its time zone is UTC, and its configuration cannot be changed any more.
    """
    with TABLE_ENGINES.connection() as connection:
        yield connection
