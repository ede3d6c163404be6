"""The journal: a finished judge call is never lost and never stored twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.errors import StoreBusyError
from grader.pipeline.journal import Journal, journal, recover_journals
from grader.records import JudgeFailure, Judgement
from grader.store.connect import Store
from grader.store.judging import write_results

NOW = datetime(2026, 12, 1, 2, 0, 0, 123456, tzinfo=UTC)

JUDGEMENT = Judgement(
    trace_id="a",
    content_hash=2**64 - 1,
    judge_version="v1",
    provider="openai",
    model="m",
    marks={"relevance": 5, "accuracy": 4, "tone": 3},
    score=0.8,
    issues=("late",),
    suggestions=(),
    input_tokens=100,
    output_tokens=None,
    cost_usd=0.001,
    latency_ms=12.5,
    judged_at=NOW,
)
FAILURE = JudgeFailure(
    trace_id="b", content_hash=2, judge_version="v1", stage="timeout", message="no reply", attempts=4, failed_at=NOW
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(path=tmp_path / "gradebook.duckdb", lock_timeout_seconds=0.3)
    with store.writing():
        pass
    return store


def stored(store: Store) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    with store.reading() as connection:
        return (
            connection.execute(
                "SELECT trace_id, score, marks, issues, judged_at FROM judgements ORDER BY 1"
            ).fetchall(),
            connection.execute("SELECT trace_id, stage::VARCHAR, attempts FROM judge_failures ORDER BY 1").fetchall(),
        )


def journal_files(store: Store) -> list[Path]:
    return list((store.folder / "judging").glob("*"))


def test_results_are_stored_and_the_journal_goes(store: Store) -> None:
    with journal(store, "run") as opened:
        opened.add(JUDGEMENT)
        opened.add(FAILURE)
    judged, failed = stored(store)
    assert judged == [("a", 0.8, {"relevance": 5, "accuracy": 4, "tone": 3}, ["late"], NOW)]
    assert failed == [("b", "timeout", 4)]
    assert journal_files(store) == []


def test_what_a_killed_run_journaled_is_recovered_but_for_a_torn_line(store: Store) -> None:
    with store.writing():  # nothing can be stored meanwhile: all stays in the journal
        opened = Journal(store, "killed")
        opened.add(JUDGEMENT)
        opened.add(FAILURE)
        [path] = journal_files(store)
        left_behind = path.read_bytes()
    opened.close()
    with store.writing() as connection:
        connection.execute("DELETE FROM judgements")
        connection.execute("DELETE FROM judge_failures")
    path.write_bytes(left_behind + b'{"kind": "judgement", "trace_id": "c", "sco')
    assert recover_journals(store, run_id="next") == 2
    judged, failed = stored(store)
    assert [row[0] for row in judged] == ["a"]
    assert [row[0] for row in failed] == ["b"]
    assert journal_files(store) == []


def test_a_store_that_fails_stops_the_judging_and_keeps_the_journal(store: Store) -> None:
    opened = Journal(store, "run")
    opened.add(JUDGEMENT)
    with store.writing(), pytest.raises(StoreBusyError):
        opened.close()
    assert recover_journals(store, run_id="next") == 1


JUDGED_AFTER_ALL = replace(JUDGEMENT, trace_id="b", content_hash=2)
FAILED_LATER = replace(FAILURE, trace_id="a", content_hash=2**64 - 1)


@pytest.mark.parametrize(
    ("batches", "scores", "failures"),
    [
        pytest.param([[JUDGEMENT], [replace(JUDGEMENT, score=0.1)]], [0.8], [], id="a judgement is never changed"),
        pytest.param([[FAILURE], [replace(FAILURE, attempts=9)]], [], [9], id="the newest failure counts"),
        pytest.param([[FAILURE], [JUDGED_AFTER_ALL]], [0.8], [], id="a judgement ends a failure"),
        pytest.param([[JUDGEMENT], [FAILED_LATER]], [0.8], [], id="a failure does not undo a judgement"),
        pytest.param(
            [[JUDGEMENT], [replace(JUDGEMENT, judge_version="v2", score=0.1)]],
            [0.8, 0.1],
            [],
            id="another judge version is another judgement",
        ),
        pytest.param([[]], [], [], id="nothing"),
    ],
)
def test_writing_results(
    store: Store, batches: list[list[Judgement | JudgeFailure]], scores: list[float], failures: list[int]
) -> None:
    for batch in batches:
        write_results(store, batch, run_id="run")
    with store.reading() as connection:
        assert connection.execute("SELECT score FROM judgements ORDER BY judge_version").fetchall() == [
            (s,) for s in scores
        ]
        assert connection.execute("SELECT attempts FROM judge_failures").fetchall() == [(n,) for n in failures]
