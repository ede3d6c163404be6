"""SIGKILL at any moment of a run: the next run ends with the rows of an undisturbed one, and pays for nothing twice."""

from __future__ import annotations

import json
import multiprocessing
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from grader.pipeline import DaySelection, run_grade
from grader.records import StateCounts
from grader.settings import Settings
from grader.status import read_status
from grader.store.connect import Store
from tests.servers.model_server import Behaviour, ModelServer

KILLS = 20
TRACES = 120
FORK_SERVER = multiprocessing.get_context("forkserver")
FORK_SERVER.set_forkserver_preload(["tests.grader.pipeline.test_kill"])

COMPARED = (
    "SELECT * EXCLUDE (payload_file, run_id, source_path) FROM traces ORDER BY trace_id",
    "SELECT * FROM grades ORDER BY trace_id",
    "SELECT * EXCLUDE (judged_at, latency_ms, run_id) FROM judgements ORDER BY trace_id",
    "SELECT trace_id, stage FROM judge_failures ORDER BY trace_id",
    "SELECT * EXCLUDE (recorded_at, run_id) FROM day_reports ORDER BY date, revision",
    "SELECT * EXCLUDE (raised_at) FROM alerts ORDER BY trace_id",
    "SELECT * FROM releases ORDER BY ALL",
    "SELECT line, reason, excerpt FROM quarantine ORDER BY path, line",
)


def make_workspace(root: Path) -> Path:
    (root / "traces").mkdir(parents=True)
    records = [
        {
            "trace_id": f"t{number:03}",
            "started_at": f"2026-11-0{1 + number % 3}T12:00:00Z",
            "release": "1.0",
            "user_message": f"Where is order {number:03}#?",
            "final_output": "" if number % 2 else "It is on its way and arrives on Monday.",
        }
        for number in range(TRACES)
    ]
    lines = [json.dumps(record) for record in records]
    (root / "traces" / "1.jsonl").write_text("\n".join([*lines, '{"trace_id": "torn']) + "\n")
    (root / "traces" / "2.jsonl").write_text("\n".join(lines[:10]) + "\n")
    return root


def settings_of(root: Path, base_url: str) -> Settings:
    judge = {"provider": "openai", "base_url": base_url, "concurrency": 4, "audit_minimum": 10}
    return Settings(
        root=root,
        sources=[{"path": "traces"}],  # type: ignore[arg-type]
        judge=judge,  # type: ignore[arg-type]
        judge_api_key=SecretStr("test"),
    )


def grade(root: Path, base_url: str) -> None:
    run_grade(settings_of(root, base_url), selection=DaySelection())


def rows(settings: Settings) -> list[list[tuple[object, ...]]]:
    with Store.open(settings).reading() as connection:
        return [connection.execute(query).fetchall() for query in COMPARED]


def metrics(root: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in (root / "data" / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in ("recorded_at", "ingest")} for line in lines]


def finished_calls(settings: Settings) -> set[str]:
    """The traces whose judgement a killed run has in its store or journal, by the key the server counts by."""
    store = Store.open(settings)
    finished = set()
    if store.path.exists():
        with store.writing() as connection:  # writing: the file may be empty as yet
            finished = {trace_id for (trace_id,) in connection.execute("SELECT trace_id FROM judgements").fetchall()}
    for journal in (store.folder / "judging").glob("*.jsonl"):
        for line in journal.read_bytes().split(b"\n")[:-1]:  # what follows the last line end is torn
            record = json.loads(line)
            if record["kind"] == "judgement":
                finished.add(record["trace_id"])
    return {trace_id.removeprefix("t") + "#" for trace_id in finished}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(Behaviour(latency_ms=20, key_pattern=r"\d{3}#")) as running:
        yield running


def run_to_the_end(root: Path, server: ModelServer) -> float:
    started = time.monotonic()
    process = FORK_SERVER.Process(target=grade, args=(root, server.base_url))
    process.start()
    process.join()
    assert process.exitcode == 0
    return time.monotonic() - started


def run_and_kill(root: Path, server: ModelServer, after_seconds: float) -> None:
    process = FORK_SERVER.Process(target=grade, args=(root, server.base_url))
    process.start()
    process.join(after_seconds)
    process.kill()  # SIGKILL; nothing if it ended before
    process.join()


@pytest.mark.slow
def test_killed_at_twenty_random_moments(tmp_path: Path, server: ModelServer) -> None:
    run_to_the_end(make_workspace(tmp_path / "warm-up"), server)  # the fork server imports everything first
    undisturbed = make_workspace(tmp_path / "undisturbed")
    seconds = run_to_the_end(undisturbed, server)
    expected = rows(settings_of(undisturbed, server.base_url))
    moments = random.Random(20)
    killed_while_judging = 0
    for kill in range(KILLS):
        root = make_workspace(tmp_path / str(kill))
        settings = settings_of(root, server.base_url)
        server.stats.answered.clear()
        run_and_kill(root, server, moments.uniform(0, seconds))
        finished = finished_calls(settings)
        killed_while_judging += 0 < len(finished) < len(expected[2])
        before = Counter(server.stats.asked)
        run_to_the_end(root, server)
        asked_again = {key for key in finished if server.stats.asked[key] > before[key]}
        assert asked_again == set()
        assert rows(settings) == expected
        assert metrics(root) == metrics(undisturbed)
        status = read_status(settings)
        assert status.broken_sums == ()
        assert status.graded == StateCounts(rules_only=TRACES - len(expected[2]), judged=len(expected[2]))
        assert list((root / "data" / "judging").glob("*")) == []
        assert len(list((root / "data" / "payload").glob("*"))) == 1
    assert killed_while_judging > 0
