"""The store's lock and its opening, with real files, threads and processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from grader.errors import (
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    StoreMissingError,
    StoreNewerError,
)
from grader.store.connect import Store
from grader.store.schema import SCHEMA_VERSION

SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(path=tmp_path / "data" / "gradebook.duckdb", lock_timeout_seconds=20)


def add_releases(path: Path, writer: int, count: int) -> None:
    store = Store(path=path, lock_timeout_seconds=60)
    for number in range(count):
        with store.writing() as connection:
            connection.execute("INSERT INTO releases VALUES (?, ?, now())", [f"writer {writer}", str(number)])


def count_releases(store: Store) -> int:
    with store.reading() as connection:
        [(count,)] = connection.execute("SELECT count(*) FROM releases").fetchall()
    return int(count)


def test_writing_creates_and_migrates(store: Store) -> None:
    with store.writing() as connection:
        assert connection.execute("SELECT value FROM meta").fetchall() == [(str(SCHEMA_VERSION),)]
    assert count_releases(store) == 0


def test_reading_needs_a_store(store: Store) -> None:
    with pytest.raises(StoreMissingError, match="gradebook grade"), store.reading():
        pass
    assert store.version() == 0


def test_reading_cannot_write(store: Store) -> None:
    with store.writing():
        pass
    with pytest.raises(duckdb.InvalidInputException), store.reading() as connection:
        connection.execute("INSERT INTO releases VALUES ('a', 'b', now())")


def test_version_changes_with_every_commit(store: Store) -> None:
    versions = [store.version()]
    for number in range(3):
        with store.writing() as connection:
            connection.execute("INSERT INTO releases VALUES ('a', ?, now())", [str(number)])
        versions.append(store.version())
    assert len(set(versions)) == 4


def test_uncommitted_work_is_gone_after_an_error(store: Store) -> None:
    with pytest.raises(RuntimeError, match="boom"), store.writing() as connection:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO releases VALUES ('a', 'b', now())")
        raise RuntimeError("boom")
    assert count_releases(store) == 0


def test_a_newer_store_is_refused(store: Store) -> None:
    with store.writing() as connection:
        connection.execute("UPDATE meta SET value = ?", [str(SCHEMA_VERSION + 1)])
    for opening in (store.reading, store.writing):
        with pytest.raises(StoreNewerError, match=f"version {SCHEMA_VERSION + 1}.*update Gradebook"), opening():
            pass


def test_a_strange_duckdb_file_is_refused(store: Store) -> None:
    store.folder.mkdir(parents=True)
    with duckdb.connect(str(store.path)) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
    for opening in (store.reading, store.writing):
        with pytest.raises(StoreDamagedError, match=r"orders.*not a Gradebook store"), opening():
            pass


@pytest.mark.parametrize("content", [b"not a database at all" * 1000, b"\x00" * 40_000], ids=["text", "zeros"])
def test_a_broken_file_is_refused_with_a_sentence(store: Store, content: bytes) -> None:
    store.folder.mkdir(parents=True)
    store.path.write_bytes(content)
    with pytest.raises(StoreDamagedError, match="restore it from a backup"), store.reading():
        pass
    assert store.path.read_bytes() == content


def test_a_waiter_is_told_after_a_bounded_wait(store: Store) -> None:
    impatient = Store(path=store.path, lock_timeout_seconds=0.2)
    with store.writing():
        for opening in (impatient.reading, impatient.writing):
            with pytest.raises(StoreBusyError, match=r"busy for 0\.2 seconds.*try again"), opening():
                pass
    with impatient.reading():
        pass


def test_readers_share_and_keep_a_writer_out(store: Store) -> None:
    with store.writing():
        pass
    impatient = Store(path=store.path, lock_timeout_seconds=0.2)
    with store.reading() as first, impatient.reading() as second:
        assert first.execute("SELECT 1").fetchall() == second.execute("SELECT 1").fetchall()
        with pytest.raises(StoreBusyError), impatient.writing():
            pass


def test_writers_in_threads_and_processes_lose_nothing(store: Store) -> None:
    with store.writing():
        pass
    processes = [SPAWN.Process(target=add_releases, args=(store.path, writer, 5)) for writer in range(2)]
    threads = [threading.Thread(target=add_releases, args=(store.path, writer, 5)) for writer in range(2, 4)]
    for worker in (*processes, *threads):
        worker.start()
    for worker in (*processes, *threads):
        worker.join()
    assert count_releases(store) == 20


def read_until(store: Store, finished: threading.Event) -> None:
    while not finished.is_set():
        with store.reading() as connection:
            connection.execute("SELECT 1").fetchall()


def test_endless_readers_do_not_starve_a_writer(store: Store) -> None:
    with store.writing():
        pass
    finished = threading.Event()
    readers = [threading.Thread(target=read_until, args=(store, finished)) for _ in range(4)]
    for reader in readers:
        reader.start()
    try:
        add_releases(store.path, 0, 5)
    finally:
        finished.set()
        for reader in readers:
            reader.join()
    assert count_releases(store) == 5


def test_a_killed_writer_frees_the_lock_and_loses_only_its_own_transaction(store: Store) -> None:
    with store.writing() as connection:
        connection.execute("INSERT INTO releases VALUES ('a', 'kept', now())")
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom grader.store.connect import Store\n"
        "with Store(path=Path(sys.argv[1])).writing() as c:\n"
        "    c.execute('BEGIN')\n    c.execute(\"INSERT INTO releases VALUES ('a', 'lost', now())\")\n"
        "    print('holding', flush=True)\n    time.sleep(600)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", script, str(store.path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    with holder.stdout:
        assert holder.stdout.readline() == "holding\n"
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    with store.reading() as connection:
        assert connection.execute("SELECT release FROM releases").fetchall() == [("kept",)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small tmpfs needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_a_sentence_and_the_store_opens_afterwards(small_disk: Path) -> None:
    store = Store(path=small_disk / "gradebook.duckdb")
    with store.writing() as connection:
        connection.execute("INSERT INTO releases VALUES ('a', 'kept', now())")
    with pytest.raises(StoreFullError, match=r"is full.*committed so far is safe"), store.writing() as connection:
        connection.execute(
            """INSERT INTO releases
               SELECT md5(i::VARCHAR), repeat(md5((i * 7)::VARCHAR), 8), now() FROM range(100000) t(i)"""
        )
    with store.reading() as connection:
        assert connection.execute("SELECT release FROM releases").fetchall() == [("kept",)]


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be opened"), Store(path=tmp_path / "file" / "x.duckdb").writing():
        pass


def test_a_path_that_duckdb_cannot_open_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no path with '\?'"), Store(path=tmp_path / "why?" / "x.duckdb").writing():
        pass
    odd = Store(path=tmp_path / "it's [a] *d{b,c} #1%20" / "x.duckdb")
    with odd.writing() as connection:
        connection.execute("INSERT INTO releases VALUES ('a', 'kept', now())")
    with odd.reading() as connection:
        assert connection.execute("SELECT release FROM releases").fetchall() == [("kept",)]
