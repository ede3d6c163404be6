"""A judge that asks a model: prompt, attempts, re-asking and the time limit of one trace."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pydantic import SecretStr

from grader.errors import FailureStage, SettingsError
from grader.judge.client import Ask, ModelClient
from grader.judge.contract import JudgeInput, JudgeOne, OnRateLimit, Verdict
from grader.judge.prompt import Message, build_messages, reask, system_text
from grader.judge.replies import CallError, ModelReply
from grader.judge.rubric import ReplyError, Rubric, make_rubric, version_of
from grader.records import JudgeFailure, Judgement, ToolCall
from grader.settings import JudgeProvider, JudgeSettings

BYTES_PER_TOKEN = 4  # of UTF-8 text: about right for English, high for JSON, low for few scripts
TYPICAL_OUTPUT_TOKENS = 200  # a verdict with two issues and two suggestions


@dataclass(frozen=True, kw_only=True, slots=True)
class Backoff:
    """Waiting times between attempts where the server names none: doubling, half of it random."""

    first_seconds: float = 0.5
    longest_seconds: float = 20.0

    def seconds(self, attempt: int) -> float:
        """The wait after attempt number `attempt` (from 1)."""
        full = min(self.longest_seconds, self.first_seconds * 2.0 ** (attempt - 1))
        return full * (0.5 + random.random() / 2)  # noqa: S311 - jitter, no secret


BACKOFF = Backoff()


@dataclass(slots=True)
class _Progress:
    """What the attempts on one trace have come to so far."""

    started: float = field(default_factory=time.monotonic)
    attempts: int = 0
    replied: bool = False
    reasked: bool = False
    last_error: CallError | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    def add(self, reply: ModelReply) -> None:
        self.replied = True
        if reply.input_tokens is not None:
            self.input_tokens = (self.input_tokens or 0) + reply.input_tokens
        if reply.output_tokens is not None:
            self.output_tokens = (self.output_tokens or 0) + reply.output_tokens


class OpenAIJudge:
    """Asks a model behind an OpenAI-compatible API."""

    provider: JudgeProvider = "openai"

    def __init__(self, settings: JudgeSettings, api_key: SecretStr, *, backoff: Backoff = BACKOFF) -> None:
        """Raises SettingsError for a prompt limit or a budget that cannot work."""
        self.settings = settings
        self.model = settings.model
        self.concurrency = settings.concurrency
        self.rubric: Rubric = make_rubric(settings.rubric)
        self._system = system_text(self.rubric)
        self.client = ModelClient(settings, api_key, self.rubric.json_schema)
        self.proven = False
        self._backoff = backoff
        self.version = version_of(
            self.provider,
            settings.model,
            settings.api,
            settings.structured_output,
            settings.temperature,
            settings.max_output_tokens,
            settings.max_prompt_chars,
            self.rubric.json_schema,
            reask(self.messages(_probe(settings.max_prompt_chars)), "reason"),
        )
        if settings.max_usd_per_day is not None and price_usd(settings, 0, 0) is None:
            raise SettingsError(
                "judge.max_usd_per_day is set, but what a call costs is not known: set "
                "judge.usd_per_million_input_tokens and judge.usd_per_million_output_tokens too."
            )

    def messages(self, item: JudgeInput) -> tuple[Message, ...]:
        return build_messages(item, self._system, max_prompt_chars=self.settings.max_prompt_chars)

    def expected_tokens(self, item: JudgeInput) -> int:
        """Input tokens of one call, guessed from the prompt's length."""
        return sum(len(message["content"].encode()) for message in self.messages(item)) // BYTES_PER_TOKEN

    def expected_cost_usd(self, item: JudgeInput) -> float | None:
        if price_usd(self.settings, 0, 0) is None:
            return None
        return price_usd(self.settings, self.expected_tokens(item), self.settings.max_output_tokens)

    @asynccontextmanager
    async def open(self, *, on_rate_limit: OnRateLimit) -> AsyncIterator[JudgeOne]:
        async with self.client.connected() as ask:
            yield lambda item: self._judge(item, ask, on_rate_limit)

    async def _judge(self, item: JudgeInput, ask: Ask, on_rate_limit: OnRateLimit) -> Verdict:
        progress = _Progress()
        result: Judgement | JudgeFailure
        try:
            async with asyncio.timeout(self.settings.deadline_seconds):
                result = await self._attempts(item, ask, progress, on_rate_limit)
        except TimeoutError:
            said = f"; the last attempt: {progress.last_error}" if progress.last_error else ""
            message = f"not judged within {self.settings.deadline_seconds:g} s{said}"
            result = self._failure(item, progress, "timeout", message)
        except CallError as error:
            result = self._failure(item, progress, error.stage, str(error))
        cost_usd = price_usd(self.settings, progress.input_tokens, progress.output_tokens)
        if not progress.replied:
            cost_usd = price_usd(self.settings, 0, 0)  # nothing came back, so nothing was billed
        return Verdict(result=result, cost_usd=cost_usd)

    async def _attempts(self, item: JudgeInput, ask: Ask, progress: _Progress, on_rate_limit: OnRateLimit) -> Judgement:
        """Ask until there is a usable reply. Raises the last CallError when no further attempt makes sense."""
        messages = self.messages(item)
        while True:
            progress.attempts += 1
            sent_at = time.monotonic()
            try:
                reply = await ask(messages)
                progress.add(reply)
                self.proven = True
                return self._judgement(item, reply, progress)
            except CallError as error:
                if error.stage == "rate_limit":
                    on_rate_limit(sent_at)
                await self._wait_or_raise(error, progress)
            except ReplyError as error:
                failure = CallError("unparsed", f"the model's reply cannot be used: {error}", retryable=True)
                await self._wait_or_raise(failure, progress, wait=False)
                messages = reask(self.messages(item), str(error))

    async def _wait_or_raise(self, error: CallError, progress: _Progress, *, wait: bool = True) -> None:
        settings = self.settings
        if not error.retryable or progress.attempts >= settings.max_attempts:
            raise error
        if error.stage == "unparsed":
            if progress.reasked:
                raise error
            progress.reasked = True
        progress.last_error = error
        if not wait:
            return
        seconds = self._backoff.seconds(progress.attempts)
        if error.retry_after_seconds is not None:
            # at least what was asked for, and not all callers at the same moment
            seconds = error.retry_after_seconds + seconds / 4
        if time.monotonic() + seconds - progress.started >= settings.deadline_seconds:
            raise CallError(error.stage, f"{error} (the next attempt would come too late)", retryable=False)
        await asyncio.sleep(seconds)

    def _judgement(self, item: JudgeInput, reply: ModelReply, progress: _Progress) -> Judgement:
        if reply.refusal is not None:
            raise CallError("refusal", f"the model refused: {reply.refusal[:300]}", retryable=False)
        try:
            marks, issues, suggestions = self.rubric.read_reply(reply.text)
        except ReplyError as error:
            if reply.cut_off:
                limit = self.settings.max_output_tokens
                raise ReplyError(f"it was cut off at judge.max_output_tokens = {limit}") from error
            raise
        return Judgement(
            trace_id=item.trace_id,
            content_hash=item.content_hash,
            judge_version=self.version,
            provider=self.provider,
            model=self.model,
            marks=marks,
            score=self.rubric.score(marks),
            issues=issues,
            suggestions=suggestions,
            input_tokens=progress.input_tokens,
            output_tokens=progress.output_tokens,
            cost_usd=price_usd(self.settings, progress.input_tokens, progress.output_tokens),
            latency_ms=(time.monotonic() - progress.started) * 1000,
            judged_at=datetime.now(UTC),
        )

    def _failure(self, item: JudgeInput, progress: _Progress, stage: FailureStage, message: str) -> JudgeFailure:
        return JudgeFailure(
            trace_id=item.trace_id,
            content_hash=item.content_hash,
            judge_version=self.version,
            stage=stage,
            message=message,
            attempts=progress.attempts,
            failed_at=datetime.now(UTC),
        )


def _probe(max_prompt_chars: int) -> JudgeInput:
    """A trace with every part a prompt can have, too long in each way: its rendering stands for the template."""
    failed, silent = ToolCall(name="tool", arguments="{}", error="error"), ToolCall(name="other", output="")
    return JudgeInput(
        trace_id="probe",
        content_hash=0,
        question="question\x00",
        answer="answer " * max_prompt_chars,
        tools=(failed, silent) * (max_prompt_chars // 100),
        duration_ms=1.0,
        num_turns=None,
    )


def price_usd(settings: JudgeSettings, input_tokens: int | None, output_tokens: int | None) -> float | None:
    """What tokens cost by the settings' prices; None where a price or both counts are not known."""
    per_input, per_output = settings.usd_per_million_input_tokens, settings.usd_per_million_output_tokens
    if per_input is None or per_output is None or (input_tokens is None and output_tokens is None):
        return None
    return ((input_tokens or 0) * per_input + (output_tokens or 0) * per_output) / 1_000_000
