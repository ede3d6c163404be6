"""Issue 2: against a server that answers 5 % 429, 3 % malformed JSON, 2 % 500, 1 % refusals and 1 % hangs, 500 traces
end as judged or as a typed failure, counted; a second run retries only the failed."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from grader.pipeline import DaySelection, run_grade
from grader.records import StateCounts
from grader.settings import Settings
from grader.status import read_status
from grader.store.connect import Store
from tests.servers.model_server import FAULTY, Behaviour, ModelServer

TRACES = 500
KEY = r"\d{4}#"


def settings_of(root: Path, server: ModelServer, **judge: object) -> Settings:
    with (root / "traces.jsonl").open("w") as file:
        for number in range(TRACES):
            record = {
                "trace_id": f"t{number:04}",
                "started_at": "2026-11-01T12:00:00Z",
                "user_message": f"Where is order {number:04}#?",
                "final_output": "",
            }
            file.write(json.dumps(record) + "\n")
    fast = {"call_timeout_seconds": 0.5, "deadline_seconds": 10, "max_attempts": 2, "concurrency": 32}
    return Settings(
        root=root,
        sources=[{"path": "traces.jsonl"}],  # type: ignore[arg-type]
        judge={"provider": "openai", "base_url": server.base_url, **fast, **judge},  # type: ignore[arg-type]
        judge_api_key=SecretStr("test"),
    )


def failed_traces(settings: Settings) -> dict[str, str]:
    with Store.open(settings).reading() as connection:
        return dict(connection.execute("SELECT trace_id, stage::VARCHAR FROM judge_failures").fetchall())


@pytest.mark.slow
def test_every_trace_is_judged_or_a_typed_failure_and_only_the_failed_are_asked_again(tmp_path: Path) -> None:
    with ModelServer(replace(FAULTY, key_pattern=KEY)) as server:
        settings = settings_of(tmp_path, server)
        first = run_grade(settings, selection=DaySelection())
        assert first.judging is not None
        failed = failed_traces(settings)
        assert failed
        assert first.days[0].counts == StateCounts(judged=TRACES - len(failed), judge_failed=len(failed))
        assert (first.judging.asked, first.judging.judged, first.judging.failed) == (
            TRACES,
            TRACES - len(failed),
            len(failed),
        )
        assert first.failures
        assert read_status(settings).failures_by_stage == Counter(failed.values())

        before = Counter(server.stats.asked)
        server.behaviour = Behaviour(key_pattern=KEY)
        second = run_grade(settings, selection=DaySelection())
        asked_again = {key for key, count in server.stats.asked.items() if count > before[key] and key != "unknown"}
        wanted = {f"{trace_id.removeprefix('t')}#" for trace_id in failed}
        assert {key for key in asked_again if key.endswith("#")} == wanted
        assert second.days[0].counts == StateCounts(judged=TRACES)
        assert second.days[0].revision == 2
        assert failed_traces(settings) == {}


@pytest.mark.parametrize(("mode", "said"), [("auth", "does not accept the API key"), ("billing", "cannot pay")])
def test_auth_and_billing_stop_the_judging_and_leave_the_rest_pending(tmp_path: Path, mode: str, said: str) -> None:
    with ModelServer(Behaviour(mode=mode, key_pattern=KEY)) as server:  # type: ignore[arg-type]
        settings = settings_of(tmp_path, server)
        run = run_grade(settings, selection=DaySelection())
        counts = run.days[0].counts
        assert counts.judged == 0
        assert counts.judge_failed + counts.judge_pending == TRACES
        assert counts.judge_pending > TRACES - 50
        assert run.message is not None
        assert said in run.message
        assert server.stats.requests < 50


def test_the_budget_of_calls_leaves_the_others_pending(tmp_path: Path) -> None:
    with ModelServer(Behaviour(key_pattern=KEY)) as server:
        settings = settings_of(tmp_path, server, max_calls_per_day=40)
        run = run_grade(settings, selection=DaySelection())
        assert run.days[0].counts == StateCounts(judged=40, judge_pending=TRACES - 40)
        again = run_grade(settings, selection=DaySelection(everything=True))
        assert again.judging is None
        assert again.days[0].revision == 1
