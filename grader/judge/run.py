"""Drives a judge over many traces: as many at once as the server takes, within a budget, each ending in a result."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass, field

from grader.errors import FailureStage
from grader.judge.contract import Budget, Judge, JudgeInput, JudgeOne, JudgingSummary, Verdict
from grader.records import JudgeFailure, Judgement

# After this many traces in a row that got no reply at all the server is taken to be unusable: 10,000 traces must not
# each wait out their time limit. What was not asked stays pending for the next run.
HOPELESS_AFTER = 50
_NO_REPLY: tuple[FailureStage, ...] = ("timeout", "rate_limit", "server")

NO_LIMIT = Budget()
OnResult = Callable[[Judgement | JudgeFailure], None]
Progress = Callable[[str, int, int | None], None]


def _quiet(_stage: str, _done: int, _total: int | None) -> None:
    pass


def judge_all(
    judge: Judge,
    inputs: Iterable[JudgeInput],
    *,
    budget: Budget = NO_LIMIT,
    on_result: OnResult,
    progress: Progress = _quiet,
) -> JudgingSummary:
    """Have every input judged; `on_result` gets each result as it arrives, in the order of arrival.

    Inputs are taken one by one as calls become free. Auth and billing failures, a spent budget and a server that
    answers nothing stop the run: what is in flight is finished, the rest is not asked, only counted. An exception of
    `on_result` or of `inputs`, or an interrupt, ends the calls in flight and is raised here.
    """
    run = _Run(judge=judge, inputs=inputs, budget=budget, on_result=on_result, progress=progress)
    asyncio.run(run.drive())
    return run.summary()


class AdaptiveLimit:
    """How many traces may be in progress: a 429 takes a quarter away, each full round of judgements gives two back.

    (Additive increase, multiplicative decrease, as TCP does.) The 429s of requests that were on their way together
    count as one: those sent before the last decrease are not counted again.
    """

    def __init__(self, most: int, *, alone_first: bool) -> None:
        self._most = float(most)
        self._limit = 1.0 if alone_first else self._most
        self._tried = not alone_first
        self._decreased_at = float("-inf")

    @property
    def value(self) -> int:
        return int(self._limit)

    def finished(self, *, judged: bool) -> None:
        if not self._tried:
            self._tried, self._limit = True, self._most
        elif judged:
            self._limit = min(self._most, self._limit + 2 / self._limit)

    def rate_limited(self, sent_at: float) -> None:
        """A request sent at `sent_at` (monotonic clock) was answered with 429."""
        if sent_at >= self._decreased_at:
            self._decreased_at, self._limit = time.monotonic(), max(1.0, self._limit * 0.75)


@dataclass(kw_only=True, slots=True)
class _Run:
    """The state of one judge_all, touched by one event loop only."""

    judge: Judge
    inputs: Iterable[JudgeInput]
    budget: Budget
    on_result: OnResult
    progress: Progress
    limit: AdaptiveLimit = field(init=False)
    freed: asyncio.Event = field(default_factory=asyncio.Event)  # a call ended since it was last cleared
    in_progress: int = 0
    asked: int = 0
    judged: int = 0
    not_asked: int = 0
    spent_usd: float = 0.0
    reserved_usd: float = 0.0
    cost_known: bool = True
    without_reply: int = 0  # traces in a row
    stopped_because: str | None = None
    server_unusable: bool = False

    def __post_init__(self) -> None:
        self.limit = AdaptiveLimit(self.judge.concurrency, alone_first=not self.judge.proven)

    async def drive(self) -> None:
        """Start a call for each input as soon as there is room for it, until all have ended."""
        items = iter(self.inputs)
        try:
            async with (
                self.judge.open(on_rate_limit=self.limit.rate_limited) as judge_one,
                asyncio.TaskGroup() as calls,
            ):
                for item in items:
                    reserved_usd = self._expected_usd(item)
                    await self._room(reserved_usd)
                    if self.stopped_because is not None:
                        self.not_asked = 1 + sum(1 for _ in items)
                        break
                    self.asked += 1
                    self.in_progress += 1
                    self.reserved_usd += reserved_usd
                    calls.create_task(self._call(judge_one, item, reserved_usd))
        except BaseExceptionGroup as group:
            # several results may have been refused at once (a full disk): the first one says why
            raise group.exceptions[0] from None

    async def _call(self, judge_one: JudgeOne, item: JudgeInput, reserved_usd: float) -> None:
        verdict = await judge_one(item)
        self.in_progress -= 1
        self.reserved_usd -= reserved_usd
        self._count(verdict, reserved_usd)
        self.freed.set()
        self.on_result(verdict.result)
        total = len(self.inputs) if isinstance(self.inputs, Sized) else None
        self.progress("judge", self.asked - self.in_progress, total)

    async def _room(self, expected_usd: float) -> None:
        """Wait until one more call may start, or until it is clear that none will: then `stopped_because` is set."""
        while self.stopped_because is None:
            if self.budget.max_calls is not None and self.asked >= self.budget.max_calls:
                self.stopped_because = f"the budget of {self.budget.max_calls} calls is spent"
            elif self.in_progress < self.limit.value and self._affordable(expected_usd):
                return
            elif self.in_progress == 0:
                self.stopped_because = (
                    f"the budget of {self.budget.max_usd:g} USD has no room for a further call "
                    f"(spent: {self.spent_usd:.4f} USD)"
                )
            else:
                self.freed.clear()
                await self.freed.wait()

    def _affordable(self, expected_usd: float) -> bool:
        if self.budget.max_usd is None:
            return True
        return self.spent_usd + self.reserved_usd + expected_usd <= self.budget.max_usd

    def _expected_usd(self, item: JudgeInput) -> float:
        """What to set aside for a call; 0 without a budget in money, since nobody asks then."""
        if self.budget.max_usd is None:
            return 0.0
        return self.judge.expected_cost_usd(item) or 0.0

    def _count(self, verdict: Verdict, reserved_usd: float) -> None:
        result = verdict.result
        judged = isinstance(result, Judgement)
        self.judged += judged
        self.limit.finished(judged=judged)
        if verdict.cost_usd is None:
            # no price, or no token counts from the server: the budget must hold all the same
            self.cost_known = False
        self.spent_usd += reserved_usd if verdict.cost_usd is None else verdict.cost_usd
        if not isinstance(result, JudgeFailure) or result.stage not in _NO_REPLY:
            self.without_reply = 0
        else:
            self.without_reply += 1
        if isinstance(result, JudgeFailure) and self.stopped_because is None:
            self.stopped_because = self._reason_to_stop(result)
            self.server_unusable = self.stopped_because is not None

    def _reason_to_stop(self, failure: JudgeFailure) -> str | None:
        if failure.stage == "auth":
            return f"the judge's server does not accept the API key ({failure.message})"
        if failure.stage == "billing":
            return f"the judge's account cannot pay for calls ({failure.message})"
        if self.without_reply >= HOPELESS_AFTER:
            return f"{self.without_reply} traces in a row got no reply, the last: {failure.stage} ({failure.message})"
        return None

    def summary(self) -> JudgingSummary:
        return JudgingSummary(
            asked=self.asked,
            judged=self.judged,
            failed=self.asked - self.judged,
            not_asked=self.not_asked,
            stopped_because=self.stopped_because,
            server_unusable=self.server_unusable,
            cost_usd=self.spent_usd if self.cost_known else None,
        )
