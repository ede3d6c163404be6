"""What a demo conversation is made of: topics with questions, tool calls and answers that agree with each other."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

Facts = Mapping[str, str | int | float]


@dataclass(frozen=True, kw_only=True, slots=True)
class CallPlan:
    """A tool call of a topic: which facts go in, and which come out."""

    tool: str
    arguments: tuple[str, ...]
    output: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    """One kind of request. `{fact}` in questions and answers stands for a fact; every answer rests on tool outputs."""

    name: str
    facts: Callable[[Random], Facts]
    calls: tuple[CallPlan, ...]
    questions: tuple[str, ...]
    answers: tuple[str, ...]
    handoff_to: str | None = None  # the agent that takes over after the first model call


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One tool call with its result: an output, or an error."""

    tool: str
    arguments: str  # JSON
    output: str | None
    error: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Story:
    """One conversation: what was asked, which tools were called, what was answered."""

    topic: str
    question: str
    calls: tuple[Call, ...]
    answer: str
    handoff_to: str | None = None


def tell(topic: Topic, rng: Random) -> Story:
    """A conversation on `topic`, with facts drawn from `rng`."""
    facts = topic.facts(rng)
    calls = tuple(
        Call(
            tool=plan.tool,
            arguments=json.dumps({name: facts[name] for name in plan.arguments}, ensure_ascii=False),
            output=json.dumps({name: facts[name] for name in plan.output}, ensure_ascii=False),
        )
        for plan in topic.calls
    )
    return Story(
        topic=topic.name,
        question=_opening(rng) + rng.choice(topic.questions).format(**facts),
        calls=calls,
        answer=rng.choice(topic.answers).format(**facts),
        handoff_to=topic.handoff_to,
    )


def money(rng: Random, low: int, high: int) -> str:
    """An amount in euros and cents, as text."""
    return f"{rng.randint(low, high)}.{rng.choice(('00', '50', '90', '95'))}"


def day_of_month(rng: Random) -> str:
    return f"{rng.randint(10, 28)} {rng.choice(('October', 'November', 'December'))}"


def _opening(rng: Random) -> str:
    return rng.choice(("", "", "", "Hi, ", "Hello, ", "Good morning. ", "Hi there. "))


TEMPLATE_FIELD = re.compile(r"\{\w*\}")  # what must not be left in any text
