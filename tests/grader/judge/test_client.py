"""One trace at a time against a real HTTP server: what is sent, what is made of each kind of answer."""

from __future__ import annotations

import email.utils
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from grader.errors import FailureStage
from grader.judge.client import retry_after_seconds
from grader.records import JudgeFailure
from tests.grader.judge.judging import KEY, KEY_PATTERN, judge_on, run, trace
from tests.servers.model_server import FAULTY, Behaviour, Mode, ModelServer, Structured, fault_of


def only_failure(behaviour: Behaviour, **settings: object) -> tuple[JudgeFailure, ModelServer]:
    with ModelServer(behaviour) as server:
        _, _, failed = run(judge_on(server.base_url, **settings), [trace(1)])
    (failure,) = failed
    return failure, server


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_judgement_carries_marks_version_tokens_and_cost(api: str) -> None:
    with ModelServer(Behaviour(mark=4)) as server:
        judge = judge_on(server.base_url, api=api, usd_per_million_input_tokens=2.0, usd_per_million_output_tokens=10.0)
        summary, (judgement,), _ = run(judge, [trace(1)])
    assert judgement.trace_id == "trace-1"
    assert judgement.content_hash == 1_001
    assert judgement.judge_version == judge.version
    assert (judgement.provider, judgement.model) == ("openai", "gpt-4.1-mini")
    assert judgement.marks == {"relevance": 4, "accuracy": 4, "tone": 4}
    assert judgement.score == 0.8
    assert judgement.issues == ("The answer is not checked.",)
    assert judgement.suggestions == ("Check the answer.",)
    assert judgement.input_tokens is not None and judgement.input_tokens > 100
    assert judgement.output_tokens is not None and judgement.output_tokens > 20
    assert judgement.cost_usd == pytest.approx((judgement.input_tokens * 2 + judgement.output_tokens * 10) / 1e6)
    assert summary.cost_usd == judgement.cost_usd
    assert judgement.latency_ms > 0
    assert datetime.now(UTC) - judgement.judged_at < timedelta(minutes=1)


def test_the_chat_request() -> None:
    with ModelServer() as server:
        run(judge_on(server.base_url, model="some-model", max_output_tokens=123), [trace(1)])
    body, headers = server.stats.last_body, server.stats.last_headers
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert "Where is order-1?" in body["messages"][1]["content"]
    assert (body["model"], body["max_completion_tokens"], body["temperature"]) == ("some-model", 123, 0.0)
    schema = body["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert set(schema["schema"]["properties"]["marks"]["properties"]) == {"relevance", "accuracy", "tone"}
    assert headers["Authorization"] == f"Bearer {KEY.get_secret_value()}"
    assert not [name for name in headers if name.lower().startswith("x-stainless")]


def test_the_responses_request() -> None:
    with ModelServer() as server:
        run(judge_on(server.base_url, api="responses", temperature=None), [trace(1)])
    body = server.stats.last_body
    assert [message["role"] for message in body["input"]] == ["system", "user"]
    assert body["text"]["format"]["type"] == "json_schema"
    assert body["text"]["format"]["schema"]["properties"]["marks"]
    assert body["store"] is False
    assert body["max_output_tokens"] == 800
    assert "temperature" not in body


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(("accepts", "refused"), [("json_object", 1), ("text", 2)])
def test_a_server_without_schema_is_asked_less_strictly_learned_once(
    api: str, accepts: Structured, refused: int
) -> None:
    with ModelServer(Behaviour(structured=accepts)) as server:
        judge = judge_on(server.base_url, api=api)
        run(judge, map(trace, range(20)))
        _, judged, _ = run(judge, map(trace, range(20, 40)))
        outcomes = server.stats.outcomes
    assert len(judged) == 20
    assert outcomes["answered"] == 40
    assert outcomes.total() == 40 + refused


def test_a_setting_of_one_format_is_kept() -> None:
    failure, server = only_failure(Behaviour(structured="text"), structured_output="json_object")
    assert failure.stage == "server"
    assert "response_format" in failure.message
    assert server.stats.outcomes == {"format:json_object": 1}


def test_parameters_that_a_server_does_not_know_are_left_out_learned_once() -> None:
    refused = ("max_completion_tokens", "temperature")
    with ModelServer(Behaviour(refused_parameters=refused)) as server:
        _, judged, _ = run(judge_on(server.base_url), map(trace, range(20)))
    assert len(judged) == 20
    assert server.stats.requests == 22
    assert server.stats.last_body["max_tokens"] == 800
    assert not set(refused) & set(server.stats.last_body)


FAILURES: dict[str, tuple[Behaviour, FailureStage, str, int]] = {
    "auth": (Behaviour(mode="auth"), "auth", "HTTP 401: Incorrect API key", 1),
    "quota": (Behaviour(mode="billing"), "billing", "HTTP 429: You exceeded your current quota", 1),
    "payment": (Behaviour(mode="payment"), "billing", "HTTP 402", 1),
    "refusal": (Behaviour(refusal=1.0), "refusal", "the model refused: I cannot help with that.", 1),
    "malformed": (Behaviour(malformed=1.0), "unparsed", "the reply is no JSON object", 2),
    "rate limit": (Behaviour(rate_limit=1.0), "rate_limit", "HTTP 429: Rate limit reached", 3),
    "server error": (Behaviour(server_error=1.0), "server", "HTTP 500", 3),
    "overloaded": (Behaviour(mode="down"), "server", "HTTP 503", 3),
    "outside the scale": (Behaviour(mark=6), "unparsed", "marks.relevance", 2),
    "cut off": (Behaviour(malformed=1.0, finish_reason="length"), "unparsed", "judge.max_output_tokens = 800", 2),
    "content filter": (Behaviour(finish_reason="content_filter"), "refusal", "content filter", 1),
}


@pytest.mark.parametrize(("behaviour", "stage", "words", "attempts"), FAILURES.values(), ids=FAILURES)
def test_every_failure_has_its_stage_and_its_number_of_attempts(
    behaviour: Behaviour, stage: FailureStage, words: str, attempts: int
) -> None:
    failure, server = only_failure(behaviour, max_attempts=3)
    assert failure.stage == stage
    assert words in failure.message
    assert failure.attempts == attempts == server.stats.requests
    assert (failure.trace_id, failure.content_hash) == ("trace-1", 1_001)


@pytest.mark.parametrize(
    ("behaviour", "stage"),
    [(Behaviour(refusal=1.0), "refusal"), (Behaviour(malformed=1.0), "unparsed")],
    ids=["refusal", "malformed"],
)
def test_failures_of_the_responses_api(behaviour: Behaviour, stage: FailureStage) -> None:
    failure, _ = only_failure(behaviour, api="responses")
    assert failure.stage == stage


def test_an_unusable_reply_is_asked_for_again_with_the_reason_and_both_are_paid_for() -> None:
    dice = (Behaviour(malformed=0.5, key_pattern=KEY_PATTERN, seed=seed) for seed in range(100))
    behaviour = next(b for b in dice if [fault_of("order-1", nth, b) for nth in (0, 1)] == ["malformed", None])
    with ModelServer(behaviour) as server:
        judge = judge_on(server.base_url, usd_per_million_input_tokens=1.0, usd_per_million_output_tokens=1.0)
        _, (judgement,), _ = run(judge, [trace(1)])
        messages = server.stats.last_body["messages"]
        once = len(messages[1]["content"]) // 4  # what the server counts
    assert server.stats.outcomes == {"malformed": 1, "answered": 1}
    assert "could not be used (the reply is no JSON object)" in messages[-1]["content"]
    assert judgement.input_tokens == 2 * once


def test_retry_after_is_waited_for() -> None:
    behaviour = Behaviour(max_parallel=0, retry_after="0.3")
    started = time.monotonic()
    failure, server = only_failure(behaviour, max_attempts=2)
    assert failure.stage == "rate_limit"
    assert server.stats.requests == 2
    assert time.monotonic() - started >= 0.3


def test_a_retry_after_beyond_the_deadline_is_not_waited_for() -> None:
    started = time.monotonic()
    failure, server = only_failure(Behaviour(rate_limit=1.0, retry_after="3600"))
    assert failure.stage == "rate_limit"
    assert "too late" in failure.message
    assert server.stats.requests == 1
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("mode", ["hang", "trickle"])
def test_a_server_that_hangs_or_trickles_is_left_in_time(mode: Mode) -> None:
    started = time.monotonic()
    failure, _ = only_failure(Behaviour(mode=mode), call_timeout_seconds=0.2, deadline_seconds=0.5)
    assert failure.stage == "timeout"
    assert failure.message.startswith("not judged within 0.5 s; the last attempt: no complete reply within 0.2 s")
    assert failure.attempts in (2, 3)
    assert time.monotonic() - started < 5


def test_attempts_bound_the_time_limits_too() -> None:
    failure, _ = only_failure(Behaviour(mode="hang"), call_timeout_seconds=0.1, max_attempts=2)
    assert (failure.stage, failure.attempts) == ("timeout", 2)
    assert failure.message == "no complete reply within 0.1 s"


@contextmanager
def raw_server(reply: bytes, heard: list[bytes] | None = None) -> Iterator[str]:
    """Sends `reply` to whoever connects, whatever was asked, and hangs up; what was asked goes to `heard`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    request = connection.recv(65_536)
                    if heard is not None:
                        heard.append(request)
                    connection.sendall(reply)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def _http(body: bytes, kind: bytes = b"application/json") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (
        kind,
        len(body),
        body,
    )


RAW: dict[str, tuple[bytes, FailureStage]] = {
    "hangs up": (b"", "server"),
    "no HTTP": (b"\x00\xffgarbage\r\n\r\n", "server"),
    "body cut off": (b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{", "server"),
    "a web page": (_http(b"<html>Welcome</html>", b"text/html"), "unparsed"),
    "empty object": (_http(b"{}"), "unparsed"),
    "null": (_http(b"null"), "unparsed"),
    "no choices": (_http(b'{"choices": []}'), "unparsed"),
    "a choice that is none": (_http(b'{"choices": [7]}'), "unparsed"),
    "content that is a list": (_http(b'{"choices": [{"message": {"content": [1]}}]}'), "unparsed"),
    "no content": (_http(b'{"choices": [{"message": {"content": null}}], "usage": 3}'), "unparsed"),
}


@pytest.mark.parametrize(("reply", "stage"), RAW.values(), ids=RAW)
def test_whatever_a_server_sends_ends_as_a_typed_failure(reply: bytes, stage: FailureStage) -> None:
    with raw_server(reply) as base_url:
        _, _, (failure,) = run(judge_on(base_url, max_attempts=2), [trace(1)])
    assert (failure.stage, failure.attempts) == (stage, 2)


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:9/v1", "no-address", "ftp://127.0.0.1/v1"])
def test_a_server_that_cannot_be_reached(base_url: str) -> None:
    _, _, (failure,) = run(judge_on(base_url, max_attempts=2), [trace(1)])
    assert (failure.stage, failure.attempts) == ("server", 2)


def test_the_key_never_stands_in_a_message() -> None:
    body = b'{"error": {"message": "Bad key %s."}}' % KEY.get_secret_value().encode()
    reply = b"HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
    with raw_server(reply % (len(body), body)) as base_url:
        summary, _, (failure,) = run(judge_on(base_url), [trace(1)])
    assert failure.message == "HTTP 401: Bad key (the key)."
    assert KEY.get_secret_value() not in str(summary)


@pytest.mark.parametrize(
    ("scheme", "request_line"),
    [
        ("http", b"POST http://judge.test/v1/chat/completions HTTP/1.1\r\n"),
        ("https", b"CONNECT judge.test:443 HTTP/1.1\r\n"),
    ],
)
def test_a_proxy_of_the_environment_is_used_and_is_not_told_the_key(
    scheme: str, request_line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[bytes] = []
    with raw_server(_http(b"{}"), heard) as proxy:
        monkeypatch.setenv(f"{scheme}_proxy", proxy.removesuffix("/v1").replace("://", "://me:p%40ss@"))
        monkeypatch.setenv("no_proxy", "internal.test")
        run(judge_on(f"{scheme}://judge.test/v1", max_attempts=1), [trace(1)])
    assert heard[0].startswith(request_line)
    assert b"\r\nProxy-Authorization: Basic bWU6cEBzcw==\r\n" in heard[0]
    # over plain HTTP a proxy passes on the request that holds the key; through a tunnel it must not see it
    assert heard[0].count(KEY.get_secret_value().encode()) == (1 if scheme == "http" else 0)


def test_no_proxy_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ModelServer() as server:
        _, judged, _ = run(judge_on(server.base_url), [trace(1)])
    assert len(judged) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_retry_after_header(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers) == seconds


def test_retry_after_as_a_date_ahead() -> None:
    moment = email.utils.format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    seconds = retry_after_seconds({"retry-after": moment})
    assert seconds is not None
    assert 55 < seconds <= 60


def test_the_server_itself_rolls_the_same_dice_every_time() -> None:
    """The other tests rest on it: the shares of its faults are those asked for, and stable."""
    rolls = Counter(fault_of(f"order-{number}", 0, FAULTY) for number in range(20_000))
    assert rolls == Counter(fault_of(f"order-{number}", 0, FAULTY) for number in range(20_000))
    shares = {fault: round(count / 20_000, 2) for fault, count in rolls.items() if fault}
    assert shares == {"rate_limit": 0.05, "malformed": 0.03, "server_error": 0.02, "refusal": 0.01, "hang": 0.01}
