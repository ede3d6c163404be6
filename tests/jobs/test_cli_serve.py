"""The commands that keep running, as processes of their own: they come up, work, and end cleanly on Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from grader.store.connect import Store
from tests.jobs.command import SCRIPT, called, free_port, make_workspace

PATIENCE_SECONDS = 90.0


@contextmanager
def started(*arguments: object, folder: Path, log: str = "output.log") -> Iterator[subprocess.Popen[bytes]]:
    """A command in a process group of its own, as a shell starts it; killed if a test left it alive."""
    with (folder / log).open("wb") as output:
        process = subprocess.Popen(
            [SCRIPT, *map(str, arguments)], cwd=folder, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def wait_until(happened: Callable[[], bool], processes: Sequence[subprocess.Popen[bytes]], log: Path) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        assert time.monotonic() < until, log.read_text()
        assert all(process.poll() is None for process in processes), log.read_text()
        time.sleep(0.1)


def ctrl_c(process: subprocess.Popen[bytes]) -> int:
    """What a terminal does: the signal goes to the whole group. Returns the exit code."""
    os.killpg(process.pid, signal.SIGINT)
    return process.wait(PATIENCE_SECONDS)


def answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2) as reply:
            return bool(reply.status == 200)
    except (URLError, OSError):
        return False


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    config = make_workspace(tmp_path, broken=False)
    config.write_text(config.read_text().replace("lock_timeout_seconds = 0.2", "lock_timeout_seconds = 30"))
    assert called(capsys, "grade", "--json", "-c", config).code == 0
    return tmp_path


def store_of(folder: Path) -> Store:
    return Store(path=folder / "data" / "gradebook.duckdb")


def scheduled_before(folder: Path, day: date) -> None:
    with store_of(folder).writing() as connection:
        connection.execute(
            "INSERT INTO runs (run_id, kind, state, started_at, scheduled_for) VALUES ('r', 'grade', 'done', now(), ?)",
            [day],
        )


def scheduled_runs(folder: Path, *, after: date) -> list[tuple[date, str]]:
    with store_of(folder).reading() as connection:
        rows = connection.execute(
            "SELECT scheduled_for, state::VARCHAR FROM runs WHERE scheduled_for > ? ORDER BY 1", [after]
        ).fetchall()
    return [(day, state) for day, state in rows]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["dashboard", "up"])
def test_the_app_comes_up_and_ends_with_ctrl_c(folder: Path, command: str) -> None:
    port = free_port()
    log = folder / "output.log"
    with started(command, "--port", port, "--headless", folder=folder) as process:
        wait_until(lambda: answers(port), [process], log)
        if command == "up":
            wait_until(lambda: "next run: " in log.read_text(), [process], log)
        assert ctrl_c(process) == 0, log.read_text()
    assert not answers(port)
    assert "Traceback" not in log.read_text()


@pytest.mark.slow
def test_up_ends_when_the_app_does(folder: Path) -> None:
    port = free_port()
    log = folder / "output.log"
    with started("up", "--port", port, "--headless", folder=folder) as process:
        wait_until(lambda: answers(port), [process], log)
        [child] = (Path(f"/proc/{process.pid}/task/{process.pid}/children")).read_text().split()
        os.kill(int(child), signal.SIGKILL)
        assert process.wait(PATIENCE_SECONDS) == 1
    assert "the app ended by itself with code -9" in log.read_text()


@pytest.mark.slow
def test_two_schedulers_make_up_for_a_missed_run_once(folder: Path) -> None:
    long_ago = datetime.now(UTC).date() - timedelta(days=10)
    scheduled_before(folder, long_ago)
    logs = [folder / "one.log", folder / "two.log"]
    with ExitStack() as stack:
        processes = [stack.enter_context(started("schedule", folder=folder, log=log.name)) for log in logs]

        def one_is_done() -> bool:
            done = [state for _, state in scheduled_runs(folder, after=long_ago)]
            return done == ["done"] and all("next run: " in log.read_text() for log in logs)

        wait_until(one_is_done, processes, logs[0])
        time.sleep(3)  # the other one has had its chance
        assert [ctrl_c(process) for process in processes] == [0, 0]
    runs = scheduled_runs(folder, after=long_ago)
    assert len(runs) == 1
    assert runs[0][0] >= datetime.now(UTC).date() - timedelta(days=1)
    assert sum("the run of " in log.read_text() for log in logs) >= 1
    assert all("Traceback" not in log.read_text() for log in logs)


def test_a_port_in_use_is_wrong_use(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for command in ("dashboard", "up"):
            ended = called(
                capsys, command, "--port", taken.getsockname()[1], "--headless", "-c", folder / "gradebook.toml"
            )
            assert ended.code == 2
            assert "is taken: give another one with --port" in ended.sentence
