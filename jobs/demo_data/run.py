"""One run of a demo agent, before it is written in any trace format: its steps, times, tokens and end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Literal

from grader.records import Status
from jobs.demo_data.topics import Call

Kind = Literal[
    "good",
    "slow",  # over 10 s
    "many_turns",  # over 15 model calls, with a good answer
    "tool_errors",  # a call that fails and works when tried again
    "weak_answer",
    "empty_answer",
    "blocked",  # by a guardrail
    "flagged",  # by a guardrail, and answered
    "failed",  # the model's server did not answer
    "outage",  # a tool that fails all day
    "bad_release",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentProfile:
    """How an agent of the demo runs and where its traces come from."""

    name: str
    source: str  # folder of its files
    model: str
    provider: str
    usd_per_million_input_tokens: float
    usd_per_million_output_tokens: float
    model_call_ms: tuple[int, int]
    tool_call_ms: tuple[int, int]
    share_of_traffic: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A model call, or the tool call that it asked for."""

    start_ms: int  # since the start of the run
    duration_ms: int
    asks: tuple[Call, ...] = ()  # of a model call: the tools it asks for
    text: str | None = None  # of a model call: what it says; None while it asks for tools
    call: Call | None = None  # of a tool call; None: this is a model call
    input_tokens: int = 0
    output_tokens: int = 0
    error: str | None = None  # of a model call

    @property
    def end_ms(self) -> int:
        return self.start_ms + self.duration_ms


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoRun:
    """A run as it happened: what a trace in any format must say of it, as far as the format can."""

    trace_id: str  # 32 hex digits
    agent: AgentProfile
    release: str
    session_id: str
    started_at: datetime  # UTC
    kind: Kind
    topic: str
    question: str
    answer: str | None
    steps: tuple[Step, ...]
    status: Status
    guardrail: str | None  # name of the one that triggered
    handoff_to: str | None
    tags: Mapping[str, str]

    @property
    def duration_ms(self) -> int:
        return max(step.end_ms for step in self.steps) + 12 if self.steps else 45

    @property
    def num_turns(self) -> int:
        return sum(step.call is None for step in self.steps)

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(step.call for step in self.steps if step.call is not None)

    @property
    def tool_errors(self) -> int:
        return sum(call.error is not None for call in self.calls)

    @property
    def input_tokens(self) -> int:
        return sum(step.input_tokens for step in self.steps)

    @property
    def output_tokens(self) -> int:
        return sum(step.output_tokens for step in self.steps)

    def cost_usd(self, *steps: Step) -> float:
        """What the model calls among `steps` cost, of all steps where none is given."""
        counted = steps or self.steps
        input_usd = sum(step.input_tokens for step in counted) * self.agent.usd_per_million_input_tokens
        output_usd = sum(step.output_tokens for step in counted) * self.agent.usd_per_million_output_tokens
        return round((input_usd + output_usd) / 1e6, 6)


def play(
    turns: list[tuple[Call, ...]],
    answer: str,
    *,
    question: str,
    agent: AgentProfile,
    rng: Random,
    slow_call_ms: int | None = None,
    error: str | None = None,
) -> tuple[Step, ...]:
    """The steps of a run: one model call per turn with the tools it asks for, and a last one that answers or fails.

    `slow_call_ms` is how long the last model call takes, `error` what it fails with.
    """
    steps: list[Step] = []
    now, context = rng.randint(3, 20), 420 + len(question) // 4
    for calls in turns:
        step = Step(
            start_ms=now,
            duration_ms=rng.randint(*agent.model_call_ms),
            asks=calls,
            input_tokens=context,
            output_tokens=sum(12 + len(call.arguments) // 4 for call in calls),
        )
        steps.append(step)
        now = step.end_ms + 2
        context += step.output_tokens
        for call in calls:
            took = rng.randint(*agent.tool_call_ms) * (6 if call.error else 1)
            steps.append(Step(start_ms=now, duration_ms=took, call=call))
            context += len(call.output or call.error or "") // 4
        now = max(step.end_ms for step in steps) + 3
    steps.append(
        Step(
            start_ms=now,
            duration_ms=slow_call_ms or rng.randint(*agent.model_call_ms),
            text=None if error else answer,
            input_tokens=0 if error else context,
            output_tokens=0 if error else 6 + len(answer) // 4,
            error=error,
        )
    )
    return tuple(steps)
