"""The tables of `gradebook.toml` as types. The text under a field is its documentation: `gradebook init` and
docs/settings.md print it, so what a user reads is what the code holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self, get_args
from zoneinfo import available_timezones

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

LARGEST_WHOLE = 2**31 - 1  # fits every column and every clock that a setting ends in
UNKNOWN_TO_DUCKDB = ("localtime",)  # names that Python's zone data may have and the engine has not

JudgeProvider = Literal["openai", "offline", "none"]
SourceFormat = Literal["auto", "flat", "openai_agents", "otlp"]


class Section(BaseModel):
    """One table of the file: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _empty_is_not_given(cls, values: Any) -> Any:
        """Neither TOML nor the environment can write None: "" says so for a key that has no value by default."""
        if not isinstance(values, dict):
            return values
        return {key: None if value == "" and _accepts_none(cls, key) else value for key, value in values.items()}

    @field_validator("*", mode="before")
    @classmethod
    def _is_no_odd_number(cls, value: Any) -> Any:
        """Pydantic takes true for 1, and whole numbers of any size: neither is meant where a number is."""
        if isinstance(value, bool):
            raise ValueError("a value of another kind than true or false")
        if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
            raise ValueError(f"a number up to {LARGEST_WHOLE}")
        return value


def _accepts_none(model: type[BaseModel], key: str) -> bool:
    field = model.model_fields.get(key)
    return field is not None and type(None) in get_args(field.annotation)


class StoreSettings(Section):
    """Where Gradebook keeps what it computes."""

    path: Path = Path("data/gradebook.duckdb")
    """The store. Its folder also holds the long texts (payload/), the people's decisions and the log."""
    metrics_path: Path = Path("data/metrics.jsonl")
    """One JSON line a graded day and revision, only ever appended to."""
    lock_timeout_seconds: float = Field(default=30.0, gt=0)
    """How long a command waits for another one that writes, in seconds."""


class SourceSettings(Section):
    """Trace files to read. Repeat the table for more sources; paths are relative to this file."""

    path: str = Field(min_length=1)
    """A file, a folder (all files below it) or a glob such as 'traces/**/*.jsonl'."""
    format: SourceFormat = "auto"
    """auto (looks at the first bytes), flat, openai_agents or otlp."""


class DaySettings(Section):
    """What a day is."""

    timezone: str = "UTC"
    """IANA name, such as Europe/Zurich: a trace belongs to the day on which it started there."""
    quiet_minutes: int = Field(default=0, ge=0)
    """A trace whose last span ended less than this many minutes ago is left for the next run."""

    @field_validator("timezone")
    @classmethod
    def _is_iana(cls, value: str) -> str:
        if value not in available_timezones() or value in UNKNOWN_TO_DUCKDB:
            raise ValueError("an IANA time zone such as 'Europe/Zurich' or 'UTC'")
        return value


class RuleLimits(Section):
    """Limits and deductions of the five built-in rules (DESIGN.md section 2). Deductions are whole thousandths."""

    latency_limit_ms: float = Field(default=10_000, ge=0)
    """A trace that takes longer fails the rule 'latency', in milliseconds."""
    latency_deduction: float = Field(default=0.2, ge=0, le=1)
    """What that costs."""
    turns_limit: int = Field(default=15, ge=0)
    """A trace with more model calls fails the rule 'turns'."""
    turns_deduction: float = Field(default=0.3, ge=0, le=1)
    """What that costs."""
    tool_error_deduction: float = Field(default=0.1, ge=0, le=1)
    """What each failed tool call costs (rule 'tool_errors')."""
    response_min_chars: int = Field(default=10, ge=0)
    """A shorter or missing answer fails the rule 'response', in characters."""
    response_deduction: float = Field(default=0.5, ge=0, le=1)
    """What that costs."""
    disabled: tuple[str, ...] = ()
    """Names of rules that are switched off: latency, turns, tool_errors, guardrails, response."""


class AgentRules(Section):
    """What one agent overrides; a key that is not given keeps the value of [rules]."""

    latency_limit_ms: float | None = Field(default=None, ge=0)
    """As in [rules]."""
    latency_deduction: float | None = Field(default=None, ge=0, le=1)
    """As in [rules]."""
    turns_limit: int | None = Field(default=None, ge=0)
    """As in [rules]."""
    turns_deduction: float | None = Field(default=None, ge=0, le=1)
    """As in [rules]."""
    tool_error_deduction: float | None = Field(default=None, ge=0, le=1)
    """As in [rules]."""
    response_min_chars: int | None = Field(default=None, ge=0)
    """As in [rules]."""
    response_deduction: float | None = Field(default=None, ge=0, le=1)
    """As in [rules]."""
    disabled: tuple[str, ...] | None = None
    """As in [rules]."""


class CustomRule(Section):
    """A rule of your own, as an SQL expression over the trace columns. Repeat the table for more rules."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")
    """Small letters, digits and underscores."""
    when: str
    """True when the rule applies, e.g. 'cost_usd > 0.5'; a value that is not known makes it not applicable."""
    value: str | None = None
    """A numeric SQL expression: what was measured, shown beside the outcome."""
    deduction: float = Field(default=0.0, ge=0, le=1)
    """What it costs; 0 only flags the trace."""
    alert: str
    """The alert's text; {value} stands for the measured value."""
    agents: tuple[str, ...] = ()
    """Only for these agents; empty: for all."""


class RulesSettings(RuleLimits):
    """The built-in rules, and when a trace is worth a judge's look."""

    judge_below: float = Field(default=0.7, ge=0, le=1)
    """A trace whose rule score is lower goes to the judge."""
    agents: Mapping[str, AgentRules] = Field(default_factory=dict)
    """Overrides by agent: [rules.agents.NAME]."""
    custom: tuple[CustomRule, ...] = ()
    """Rules of your own: [[rules.custom]]."""


class Criterion(Section):
    """One question the judge answers with a mark."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")
    """Small letters, digits and underscores."""
    question: str
    """What the judge is asked."""


DEFAULT_CRITERIA = (
    Criterion(name="relevance", question="Does the answer address what the user asked for?"),
    Criterion(name="accuracy", question="Is the answer correct and supported by what the tools returned?"),
    Criterion(name="tone", question="Is the tone fitting: clear, polite and helpful?"),
)


class RubricSettings(Section):
    """What the judge marks. A change starts a new judge version, and charts break there."""

    name: str = "default"
    """Shown beside the marks."""
    instructions: str = "You grade how well an AI agent served its user. Judge only what is recorded."
    """The start of the prompt."""
    criteria: tuple[Criterion, ...] = Field(default=DEFAULT_CRITERIA, min_length=1)
    """The questions: [[judge.rubric.criteria]]; giving any replaces all three."""
    scale_min: int = 1
    """The lowest mark."""
    scale_max: int = 5
    """The highest mark."""

    @model_validator(mode="after")
    def _is_a_scale(self) -> Self:
        if not 0 <= self.scale_min < self.scale_max:
            raise ValueError("0 <= scale_min < scale_max")
        names = [criterion.name for criterion in self.criteria]
        if len(set(names)) < len(names):
            raise ValueError("criteria with different names")
        return self


class JudgeSettings(Section):
    """Who judges the answers, how fast, and for how much."""

    provider: JudgeProvider = "none"
    """openai (any OpenAI-compatible server), offline (a transparent baseline that needs no key) or none."""
    model: str = "gpt-4.1-mini"
    """The model's name on that server."""
    base_url: str | None = None
    """The server, e.g. 'http://localhost:8000/v1'; not given: the OpenAI client's own default."""
    api: Literal["chat", "responses"] = "chat"
    """Which of the server's two APIs: chat or responses."""
    structured_output: Literal["auto", "json_schema", "json_object", "text"] = "auto"
    """auto tries json_schema and falls back; json_object and text are for servers without it."""
    api_key_env: str = Field(default="OPENAI_API_KEY", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """The name of the environment variable that holds the key; never the key itself."""
    temperature: float | None = 0.0
    """Sampling temperature; "" sends none, for models that refuse one."""
    max_output_tokens: int = Field(default=800, ge=50)
    """Room for one reply."""
    concurrency: int = Field(default=16, ge=1, le=256)
    """The most calls at one time."""
    call_timeout_seconds: float = Field(default=60.0, gt=0)
    """One HTTP request, in seconds."""
    deadline_seconds: float = Field(default=180.0, gt=0)
    """One trace with its retries, in seconds."""
    max_attempts: int = Field(default=4, ge=1)
    """The most requests for one trace."""
    max_prompt_chars: int = Field(default=24_000, ge=2_000)
    """Longer conversations are cut in the middle, with a mark."""
    max_calls_per_day: int | None = Field(default=None, ge=0)
    """The most traces judged of one day; not given: no limit."""
    max_usd_per_day: float | None = Field(default=None, ge=0)
    """The most spent on one day's traces; not given: no limit."""
    usd_per_million_input_tokens: float | None = Field(default=None, ge=0)
    """The model's price; not given: costs are not known."""
    usd_per_million_output_tokens: float | None = Field(default=None, ge=0)
    """The model's price; not given: costs are not known."""
    audit_fraction: float = Field(default=0.02, ge=0, le=1)
    """The share of the traces at or above rules.judge_below that is judged too, drawn at random."""
    audit_minimum: int = Field(default=30, ge=0)
    """At least so many of them a day."""
    audit_budget_share: float = Field(default=0.5, ge=0, le=1)
    """The share of a limited budget kept for this audit."""
    seed: int = 0
    """Draws the audit and the part of the low scores that a budget allows."""
    rubric: RubricSettings = RubricSettings()
    """What the judge marks: [judge.rubric]."""


class AlertSettings(Section):
    """When a trace is critical."""

    critical_below: float = Field(default=0.5, ge=0, le=1)
    """A lower final score raises a critical alert."""


class RegressionSettings(Section):
    """When a day counts as worse than the one before."""

    day_to_day_limit: float = Field(default=0.1, gt=0, le=1)
    """The mean score fell by more than this from one day to the next."""


class ScheduleSettings(Section):
    """When 'gradebook schedule' and 'gradebook up' run the daily job."""

    cron: str = "0 2 * * *"
    """Minute, hour, day, month, weekday, in the zone of day.timezone."""
    misfire_hours: int = Field(default=24, ge=1)
    """A run missed by up to this many hours is made up for, once."""


class NotifySettings(Section):
    """Whom to tell."""

    command: str | None = None
    """Runs once for each newly reported day with critical alerts; gets the day's report as JSON on standard input."""


class SettingsFile(Section):
    """The whole of gradebook.toml."""

    store: StoreSettings = StoreSettings()
    sources: tuple[SourceSettings, ...] = ()
    day: DaySettings = DaySettings()
    rules: RulesSettings = RulesSettings()
    judge: JudgeSettings = JudgeSettings()
    alerts: AlertSettings = AlertSettings()
    regression: RegressionSettings = RegressionSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    notify: NotifySettings = NotifySettings()
