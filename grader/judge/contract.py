"""What a judge is, and what passes between a judge, the run that drives it, and the pipeline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from grader.records import JudgeFailure, Judgement, ToolCall
from grader.settings import JudgeProvider


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeInput:
    """What a judge is told of one trace. `None` means "not recorded", and the judge is told so."""

    trace_id: str
    content_hash: int  # of the trace as judged; carried through to the result
    question: str | None
    answer: str | None
    tools: tuple[ToolCall, ...] | None  # None: not recorded; (): none was called
    duration_ms: float | None
    num_turns: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """How one trace ended at the judge, and what that cost. A failure may have cost something too."""

    result: Judgement | JudgeFailure
    cost_usd: float | None  # all replies to the trace's requests; None: no price or no token counts are known


JudgeOne = Callable[[JudgeInput], Awaitable[Verdict]]
OnRateLimit = Callable[[float], None]  # told when (monotonic clock) a request was sent that the server found too many


class Judge(Protocol):
    """Anything that gives marks to traces."""

    @property
    def provider(self) -> JudgeProvider: ...

    @property
    def model(self) -> str: ...

    @property
    def version(self) -> str:
        """Hash of all that reaches the model; two judgements may be compared when it is the same."""
        ...

    @property
    def concurrency(self) -> int:
        """The most traces that may be in progress at once."""
        ...

    @property
    def proven(self) -> bool:
        """Whether a call was ever answered: until then the first trace goes alone, to try key, model and schema."""
        ...

    def expected_cost_usd(self, item: JudgeInput) -> float | None:
        """A cautious guess of what judging `item` costs; None where no price is known."""
        ...

    def open(self, *, on_rate_limit: OnRateLimit) -> AbstractAsyncContextManager[JudgeOne]:
        """Connect. The function given judges one trace, always ends in bounded time, and raises only for defects."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """What a run may spend. None: no limit. A call is one trace asked about; its retries are not counted again."""

    max_calls: int | None = None
    max_usd: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgingSummary:
    """What became of the inputs: asked = judged + failed, and every other input is in `not_asked`."""

    asked: int
    judged: int
    failed: int
    not_asked: int
    stopped_because: str | None  # a clause for the operator; None: every input was asked about
    server_unusable: bool  # stopped by auth, billing or silence, not by the budget: another batch would fare no better
    cost_usd: float | None  # by the token counts of the replies; None: no price, or a server that does not count


@dataclass(frozen=True, kw_only=True, slots=True)
class CallEstimate:
    """What judging would take (`--dry-run`). Tokens are guessed from the length of the prompts."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None  # None: no price is known for the model; 0 for the offline baseline
