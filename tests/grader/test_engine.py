from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import duckdb
import pyarrow as pa
import pytest

from grader.engine import FILE_ENGINES, MAX_IDLE, TABLE_ENGINES, EnginePool

POOLS = [pytest.param(FILE_ENGINES, id="files"), pytest.param(TABLE_ENGINES, id="tables")]


@pytest.mark.parametrize("pool", POOLS)
def test_nothing_of_a_caller_is_left_for_the_next(pool: EnginePool) -> None:
    with pool.connection() as connection:
        connection.register("mine", pa.table({"a": [1]}))
        connection.execute("CREATE TEMP TABLE also_mine AS SELECT 1 AS a")
        assert connection.execute("SELECT count(*) FROM mine, also_mine").fetchall() == [(1,)]
    with pool.connection() as connection:
        for table in ("mine", "also_mine"):
            with pytest.raises(duckdb.CatalogException):
                connection.execute(f"FROM {table}")


@pytest.mark.parametrize("pool", POOLS)
def test_the_zone_is_utc(pool: EnginePool) -> None:
    for _ in range(2):  # a new engine, and one used before
        with pool.connection() as connection:
            assert connection.execute("SELECT current_setting('TimeZone')").fetchall() == [("UTC",)]


def test_an_engine_serves_one_caller_at_a_time_and_is_used_again() -> None:
    pool = EnginePool({})
    with pool.connection() as first, pool.connection() as second:
        first.execute("ATTACH ':memory:' AS store")
        second.execute("ATTACH ':memory:' AS store")  # in one engine the name would be taken
        for connection in (first, second):
            connection.execute("DETACH store")
    assert len(pool._idle) == 2
    with pool.connection():
        assert len(pool._idle) == 1


def test_an_engine_whose_caller_failed_is_thrown_away() -> None:
    pool = EnginePool({})
    with pytest.raises(duckdb.CatalogException), pool.connection() as connection:
        connection.execute("FROM nothing")
    assert pool._idle == []


def test_no_more_engines_are_kept_than_a_few() -> None:
    pool = EnginePool({})
    callers = MAX_IDLE + 2
    together = Barrier(callers)

    def ask(_: int) -> None:
        with pool.connection() as connection:
            together.wait()
            assert connection.execute("SELECT 1").fetchall() == [(1,)]

    with ThreadPoolExecutor(callers) as threads:
        list(threads.map(ask, range(callers)))
    assert len(pool._idle) == MAX_IDLE


def test_engines_for_tables_reach_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    secret = pa.table({"a": [1]})  # noqa: F841 - what a replacement scan would find
    for statement in (
        "FROM secret",
        f"FROM '{tmp_path}/secret.csv'",
        f"ATTACH '{tmp_path}/new.duckdb'",
        "SET enable_external_access = true",
    ):
        with pytest.raises(duckdb.Error), TABLE_ENGINES.connection() as connection:
            connection.execute(statement)
