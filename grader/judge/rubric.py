"""The rubric: what the judge is asked, the reply it must give, and the score made of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, cast

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema, create_model
from typing_extensions import TypedDict  # typing's own is known to pydantic from Python 3.12 on

from grader.records import Marks
from grader.settings import Criterion, RubricSettings

REMARK_CHARS = 2_000  # the most characters kept of one issue or suggestion
MAX_REMARKS = 20  # the most issues, and suggestions, kept of one reply


class Reply(BaseModel):
    """A judge's reply. The issues stand before the marks so that a model finds them before it decides."""

    model_config = ConfigDict(frozen=True, strict=True)

    issues: list[str]
    suggestions: list[str]
    marks: Mapping[str, int]  # narrowed to the rubric's criteria and scale by `_reply_model`


class ReplyError(ValueError):
    """A reply that cannot be used; the message says why, without quoting the reply."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rubric:
    """A rubric made ready: its reply model and JSON schema are built once."""

    name: str
    instructions: str
    criteria: tuple[Criterion, ...]
    scale_min: int
    scale_max: int
    reply_model: type[Reply]
    json_schema: Mapping[str, Any]  # of the reply, for structured output

    def score(self, marks: Marks) -> float:
        """Sum of the marks / highest possible sum, 0 to 1 (DESIGN.md section 2: sum / 15 for three marks of 5)."""
        return sum(marks[criterion.name] for criterion in self.criteria) / (self.scale_max * len(self.criteria))

    def read_reply(self, text: str) -> tuple[Marks, tuple[str, ...], tuple[str, ...]]:
        """Marks, issues and suggestions of a model's reply. Raises ReplyError; never guesses a mark."""
        try:
            reply = self.reply_model.model_validate(_object_in(text))
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(map(str, found["loc"])) or "reply"
            raise ReplyError(f"{place}: {found['msg']}") from error
        return reply.marks, _remarks(reply.issues), _remarks(reply.suggestions)


def make_rubric(settings: RubricSettings) -> Rubric:
    """The rubric of the settings, with its reply model and schema."""
    reply_model = _reply_model(settings)
    return Rubric(
        name=settings.name,
        instructions=settings.instructions,
        criteria=settings.criteria,
        scale_min=settings.scale_min,
        scale_max=settings.scale_max,
        reply_model=reply_model,
        json_schema=_schema_of(reply_model),
    )


def version_of(*parts: object) -> str:
    """A short hash of JSON-like values: the same on every machine and in every process."""
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def _reply_model(settings: RubricSettings) -> type[Reply]:
    low, high = settings.scale_min, settings.scale_max
    # the schema says enum, not minimum and maximum: every server with structured output knows it
    on_scale = WithJsonSchema({"type": "integer", "enum": list(range(low, high + 1))})
    mark = Annotated[int, Field(strict=True, ge=low, le=high), on_scale]
    # a TypedDict, not a model: a criterion may be called "copy" or "schema" without hiding a method
    marks = TypedDict("Marks", {criterion.name: mark for criterion in settings.criteria})  # type: ignore[misc]
    return create_model("Judgement", __base__=Reply, marks=(marks, ...))


def _schema_of(reply_model: type[Reply]) -> dict[str, Any]:
    """The model's JSON schema in the narrow dialect of structured output: no references, no further properties."""
    schema = reply_model.model_json_schema()
    marks = schema.pop("$defs")["Marks"] | {"additionalProperties": False}
    return schema | {"properties": schema["properties"] | {"marks": marks}, "additionalProperties": False}


def _object_in(text: str) -> object:
    """The JSON object in a reply: alone, or between the words and code fences of a model without JSON mode."""
    spoken = text.rpartition("</think>")[2]
    for candidate in (text, spoken, spoken[spoken.find("{") : spoken.rfind("}") + 1]):
        try:
            return cast(object, orjson.loads(candidate))
        except orjson.JSONDecodeError:
            continue
    raise ReplyError("the reply is no JSON object")


def _remarks(texts: list[str]) -> tuple[str, ...]:
    kept = (text.strip()[:REMARK_CHARS] for text in texts)
    return tuple(text for text in kept if text)[:MAX_REMARKS]
