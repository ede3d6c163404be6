"""Many traces: every one ends counted, the server is not overrun, and a run stops when it should."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grader.judge import Budget, JudgeInput, judge_all, make_judge
from grader.judge.run import HOPELESS_AFTER, AdaptiveLimit
from grader.records import JudgeFailure, Judgement
from grader.settings import JudgeSettings
from tests.grader.judge.judging import KEY_PATTERN, judge_on, run, trace
from tests.servers.model_server import FAULTY, Behaviour, Mode, ModelServer

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_500_traces_on_a_faulty_server_are_all_counted_and_only_the_failed_are_retried(api: str) -> None:
    traces = [trace(number) for number in range(500)]
    faulty = replace(FAULTY, key_pattern=KEY_PATTERN)
    with ModelServer(faulty) as server:
        # a single attempt, so that faults that a retry would heal end as failures too
        judge = judge_on(server.base_url, api=api, concurrency=32, call_timeout_seconds=0.5, max_attempts=1)
        summary, judged, failed = run(judge, traces)
        assert (summary.asked, summary.not_asked, summary.stopped_because) == (500, 0, None)
        ended = [judgement.trace_id for judgement in judged] + [failure.trace_id for failure in failed]
        assert sorted(ended) == sorted(item.trace_id for item in traces)
        assert {failure.stage for failure in failed} == {"rate_limit", "unparsed", "server", "refusal", "timeout"}
        assert 20 < len(failed) < 120
        assert server.stats.answered.total() == len(judged)

        missing = {failure.trace_id for failure in failed}
        asked_before = dict(server.stats.asked)
        second = judge_on(server.base_url, api=api, concurrency=32, call_timeout_seconds=0.5)
        again, healed, still = run(second, [item for item in traces if item.trace_id in missing])
        assert again.asked == len(failed)
        assert len(healed) > len(failed) * 0.8
        finished = {judgement.trace_id.removeprefix("trace-") for judgement in judged}
        for key, count in server.stats.asked.items():
            if key.removeprefix("order-") in finished:
                assert count == asked_before[key]
        assert max(server.stats.answered.values()) == 1
        assert len(judged) + len(healed) + len(still) == 500


def test_results_arrive_one_by_one_and_progress_counts_them() -> None:
    seen: list[tuple[str, int, int | None]] = []
    with ModelServer() as server:
        judge_all(
            judge_on(server.base_url),
            [trace(number) for number in range(30)],
            on_result=lambda _: None,
            progress=lambda *step: seen.append(step),
        )
    assert seen == [("judge", done, 30) for done in range(1, 31)]


def test_no_inputs() -> None:
    with ModelServer() as server:
        summary, _, _ = run(judge_on(server.base_url), [])
    assert (summary.asked, summary.not_asked, summary.stopped_because) == (0, 0, None)
    assert server.stats.requests == 0


def test_never_more_at_once_than_the_settings_allow_and_no_input_taken_early() -> None:
    taken, ended, most_ahead = 0, 0, 0

    def inputs() -> Iterator[JudgeInput]:
        nonlocal taken, most_ahead
        for number in range(200):
            taken += 1
            most_ahead = max(most_ahead, taken - ended)
            yield trace(number)

    def on_result(_: Judgement | JudgeFailure) -> None:
        nonlocal ended
        ended += 1

    with ModelServer(Behaviour(latency_ms=5)) as server:
        judge_all(judge_on(server.base_url, concurrency=8), inputs(), on_result=on_result)
    assert server.stats.most_parallel == 8
    assert most_ahead <= 9


@pytest.mark.parametrize(
    ("mode", "stage", "words"),
    [("auth", "auth", "does not accept the API key"), ("billing", "billing", "cannot pay for calls")],
)
def test_auth_and_billing_stop_after_a_single_request(mode: Mode, stage: str, words: str) -> None:
    with ModelServer(Behaviour(mode=mode)) as server:
        summary, _, (failure,) = run(judge_on(server.base_url, concurrency=16), map(trace, range(100)))
    assert server.stats.requests == 1
    assert failure.stage == stage
    assert (summary.asked, summary.not_asked, summary.server_unusable) == (1, 99, True)
    assert words in str(summary.stopped_because)


def test_a_quota_that_runs_out_half_way_leaves_the_rest_pending() -> None:
    with ModelServer(Behaviour(latency_ms=5)) as server:
        judged_ids: list[str] = []

        def on_result(result: Judgement | JudgeFailure) -> None:
            judged_ids.append(result.trace_id)
            if len(judged_ids) == 40:
                server.behaviour = Behaviour(mode="billing")

        summary = judge_all(judge_on(server.base_url, concurrency=8), map(trace, range(500)), on_result=on_result)
    assert 40 <= summary.judged < 60
    assert 1 <= summary.failed <= 8
    assert summary.asked + summary.not_asked == 500
    assert "cannot pay" in str(summary.stopped_because)


def test_a_dead_server_is_given_up() -> None:
    with ModelServer(Behaviour(mode="down")) as server:
        judge = judge_on(server.base_url, concurrency=8, max_attempts=1)
        summary, _, failed = run(judge, map(trace, range(1_000)))
    assert HOPELESS_AFTER <= len(failed) <= HOPELESS_AFTER + 8
    assert summary.server_unusable
    assert summary.not_asked == 1_000 - len(failed)
    assert "50 traces in a row got no reply, the last: server (HTTP 503" in str(summary.stopped_because)


def test_refusals_are_no_sign_of_a_dead_server() -> None:
    with ModelServer(Behaviour(refusal=1.0)) as server:
        summary, _, failed = run(judge_on(server.base_url), map(trace, range(120)))
    assert len(failed) == 120
    assert summary.stopped_because is None


@pytest.mark.parametrize("mode", ["hang", "trickle"])
def test_every_call_ends_within_its_deadline_when_the_server_hangs(mode: Mode) -> None:
    with ModelServer(Behaviour(mode=mode)) as server:
        judge = judge_on(server.base_url, concurrency=16, call_timeout_seconds=0.2, deadline_seconds=0.4)
        started = time.monotonic()
        _, _, failed = run(judge, map(trace, range(33)))
    assert {failure.stage for failure in failed} == {"timeout"}
    assert len(failed) == 33
    assert time.monotonic() - started < 10  # one alone, then three rounds of 0.4 s; far less than 33 x 0.4 s


def test_a_budget_of_calls() -> None:
    with ModelServer() as server:
        summary, judged, _ = run(judge_on(server.base_url), map(trace, range(50)), Budget(max_calls=7))
    assert len(judged) == 7 == server.stats.requests
    assert (summary.not_asked, summary.stopped_because) == (43, "the budget of 7 calls is spent")
    assert not summary.server_unusable


def test_a_budget_of_calls_that_is_just_enough_stops_nothing() -> None:
    with ModelServer() as server:
        summary, _, _ = run(judge_on(server.base_url), map(trace, range(7)), Budget(max_calls=7))
    assert (summary.asked, summary.not_asked, summary.stopped_because) == (7, 0, None)


def test_a_budget_of_money_is_never_exceeded_and_well_used() -> None:
    prices = {"usd_per_million_input_tokens": 100.0, "usd_per_million_output_tokens": 100.0, "max_usd_per_day": 2.0}
    with ModelServer(Behaviour(latency_ms=2)) as server:
        judge = judge_on(server.base_url, concurrency=16, max_output_tokens=100, **prices)
        summary, judged, _ = run(judge, map(trace, range(500)), Budget(max_usd=2.0))
    assert summary.cost_usd == pytest.approx(sum(judgement.cost_usd or 0 for judgement in judged))
    assert summary.cost_usd is not None
    assert 1.9 < summary.cost_usd <= 2.0
    assert summary.asked + summary.not_asked == 500
    assert "the budget of 2 USD has no room for a further call" in str(summary.stopped_because)


def test_cost_is_not_known_without_prices() -> None:
    with ModelServer() as server:
        summary, _, _ = run(judge_on(server.base_url), map(trace, range(3)))
    assert summary.cost_usd is None


def test_calls_adapt_to_a_server_that_takes_few_at_once() -> None:
    """Of 32 at once the server takes 4: it is soon asked less, and nothing is lost."""
    with ModelServer(Behaviour(latency_ms=20, max_parallel=4, retry_after="0.1")) as server:
        judge = judge_on(server.base_url, concurrency=32, max_attempts=50, deadline_seconds=30.0)
        summary, judged, _ = run(judge, map(trace, range(300)))
        outcomes = server.stats.outcomes
    assert len(judged) == 300
    assert summary.stopped_because is None
    assert outcomes["rate_limit"] < 1_000


def test_the_limit_falls_once_for_429s_sent_together_and_grows_back() -> None:
    limit = AdaptiveLimit(16, alone_first=True)
    assert limit.value == 1
    limit.finished(judged=True)
    assert limit.value == 16
    together = time.monotonic()
    limit.rate_limited(together)
    limit.rate_limited(together)
    assert limit.value == 12
    for _ in range(6):
        limit.finished(judged=True)
    assert limit.value == 12
    for _ in range(6):
        limit.finished(judged=True)
    assert limit.value == 13  # 12 + 2, less a little, since the limit grows under way
    for _ in range(1_000):
        limit.finished(judged=True)
    assert limit.value == 16
    for _ in range(50):
        limit.rate_limited(time.monotonic())
    assert limit.value == 1


def test_an_error_in_on_result_ends_the_run_and_is_raised_as_it_is() -> None:
    class DiskFullError(Exception):
        pass

    def on_result(_: Judgement | JudgeFailure) -> None:
        raise DiskFullError("no space left")

    with ModelServer(Behaviour(latency_ms=20)) as server:
        with pytest.raises(DiskFullError, match="no space left"):
            judge_all(judge_on(server.base_url, concurrency=4), map(trace, range(1_000)), on_result=on_result)
        assert server.stats.requests < 20


def test_an_error_in_the_inputs_is_raised_as_it_is() -> None:
    def inputs() -> Iterator[JudgeInput]:
        yield from map(trace, range(5))
        raise OSError("file gone")

    with ModelServer() as server, pytest.raises(OSError, match="file gone"):
        run(judge_on(server.base_url), inputs())


@pytest.mark.parametrize("provider", ["openai", "offline"])
def test_ctrl_c_ends_a_run_at_once(provider: str) -> None:
    script = (
        "import sys; from itertools import count; from tests.grader.judge.judging import *\n"
        "from grader.judge import make_judge\n"
        "judge = judge_on(sys.argv[1]) if sys.argv[2] == 'openai' else "
        "make_judge(JudgeSettings(provider='offline'), None)\n"
        "judge_all(judge, map(trace, count()), on_result=lambda result: print(result.trace_id, flush=True))\n"
    )
    with ModelServer(Behaviour(latency_ms=20)) as server:
        command = [sys.executable, "-c", script, server.base_url, provider]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stderr is not None
            assert process.stdout.readline() == "trace-0\n"
            # keep reading, else the pipe fills up and the process waits in print
            threading.Thread(target=process.stdout.read, daemon=True).start()
            os.kill(process.pid, signal.SIGINT)
            error = process.stderr.read()
            assert process.wait(10) == -signal.SIGINT
    assert error.rstrip().endswith("KeyboardInterrupt")
    assert "was never" not in error


def test_inputs_are_held_only_while_they_are_judged() -> None:
    judge = make_judge(JudgeSettings(provider="offline"), None)
    assert judge is not None
    alive: set[int] = set()
    most = 0

    def inputs() -> Iterator[JudgeInput]:
        nonlocal most
        for number in range(3_000):
            alive.add(number)
            most = max(most, len(alive))
            yield trace(number)

    judge_all(judge, inputs(), on_result=lambda result: alive.discard(int(result.trace_id.removeprefix("trace-"))))
    assert not alive
    assert most <= judge.concurrency + 1
