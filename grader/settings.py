"""Settings: `gradebook.toml` + `GRADEBOOK_*` environment → one frozen `Settings`, read once at the edge, passed down.

Nothing in `grader/` reads the environment by itself. Secrets (the judge's key) never stand in the file: the file names
the environment variable that holds them.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from grader.errors import SettingsError

SETTINGS_FILE = "gradebook.toml"
JudgeProvider = Literal["openai", "offline", "none"]
SourceFormat = Literal["auto", "flat", "openai_agents", "otlp"]


class Section(BaseModel):
    """One table of the file: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class StoreSettings(Section):
    path: Path = Path("data/gradebook.duckdb")
    metrics_path: Path = Path("data/metrics.jsonl")
    lock_timeout_seconds: float = Field(default=30.0, gt=0)


class SourceSettings(Section):
    path: str  # a file, a folder (all files below it) or a glob; relative to the settings file
    format: SourceFormat = "auto"


class DaySettings(Section):
    timezone: str = "UTC"
    quiet_minutes: int = Field(default=0, ge=0)  # a trace whose last span ended less than this ago is left for the next run

    @field_validator("timezone")
    @classmethod
    def _is_iana(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError) as error:
            raise ValueError(f"{value!r} is no IANA time zone; write one like 'Europe/Zurich' or 'UTC'") from error
        return value


class RuleLimits(Section):
    """Limits and deductions of the five built-in rules (DESIGN.md section 2). Deductions are whole thousandths."""

    latency_limit_ms: float = Field(default=10_000, ge=0)
    latency_deduction: float = Field(default=0.2, ge=0, le=1)
    turns_limit: int = Field(default=15, ge=0)
    turns_deduction: float = Field(default=0.3, ge=0, le=1)
    tool_error_deduction: float = Field(default=0.1, ge=0, le=1)  # for each failed call
    response_min_chars: int = Field(default=10, ge=0)
    response_deduction: float = Field(default=0.5, ge=0, le=1)
    disabled: tuple[str, ...] = ()  # names of rules that are switched off


class AgentRules(Section):
    """What one agent overrides; a key that is not given keeps the general value."""

    latency_limit_ms: float | None = Field(default=None, ge=0)
    latency_deduction: float | None = Field(default=None, ge=0, le=1)
    turns_limit: int | None = Field(default=None, ge=0)
    turns_deduction: float | None = Field(default=None, ge=0, le=1)
    tool_error_deduction: float | None = Field(default=None, ge=0, le=1)
    response_min_chars: int | None = Field(default=None, ge=0)
    response_deduction: float | None = Field(default=None, ge=0, le=1)
    disabled: tuple[str, ...] | None = None


class CustomRule(Section):
    """A rule of the user's: a boolean SQL expression over the trace columns that is true when the rule applies."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")
    when: str  # e.g. "cost_usd > 0.5"; null (a value that is not known) makes the rule not applicable
    value: str | None = None  # a numeric SQL expression: what was measured, shown beside the outcome
    deduction: float = Field(default=0.0, ge=0, le=1)  # 0: the rule only flags
    alert: str  # the alert's text; {value} stands for the measured value
    agents: tuple[str, ...] = ()  # only for these agents; empty: for all


class RulesSettings(RuleLimits):
    judge_below: float = Field(default=0.7, ge=0, le=1)
    agents: Mapping[str, AgentRules] = Field(default_factory=dict)
    custom: tuple[CustomRule, ...] = ()


class Criterion(Section):
    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")
    question: str


DEFAULT_CRITERIA = (
    Criterion(name="relevance", question="Does the answer address what the user asked for?"),
    Criterion(name="accuracy", question="Is the answer correct and supported by what the tools returned?"),
    Criterion(name="tone", question="Is the tone fitting: clear, polite and helpful?"),
)


class RubricSettings(Section):
    name: str = "default"
    instructions: str = "You grade how well an AI agent served its user. Judge only what is recorded."
    criteria: tuple[Criterion, ...] = Field(default=DEFAULT_CRITERIA, min_length=1)
    scale_min: int = 1
    scale_max: int = 5


class JudgeSettings(Section):
    provider: JudgeProvider = "none"
    model: str = "gpt-4.1-mini"
    base_url: str | None = None  # None: the OpenAI client's own default
    api: Literal["chat", "responses"] = "chat"
    structured_output: Literal["auto", "json_schema", "json_object", "text"] = "auto"
    api_key_env: str = "OPENAI_API_KEY"  # the name of the variable, never the key
    temperature: float | None = 0.0
    max_output_tokens: int = Field(default=800, ge=50)
    concurrency: int = Field(default=16, ge=1, le=256)
    call_timeout_seconds: float = Field(default=60.0, gt=0)  # one HTTP request
    deadline_seconds: float = Field(default=180.0, gt=0)  # one trace, retries included
    max_attempts: int = Field(default=4, ge=1)
    max_prompt_chars: int = Field(default=24_000, ge=2_000)
    max_calls_per_day: int | None = Field(default=None, ge=0)  # None: no limit; a day is a day of traces
    max_usd_per_day: float | None = Field(default=None, ge=0)
    usd_per_million_input_tokens: float | None = Field(default=None, ge=0)
    usd_per_million_output_tokens: float | None = Field(default=None, ge=0)
    audit_fraction: float = Field(default=0.02, ge=0, le=1)  # of the traces at or above rules.judge_below
    audit_minimum: int = Field(default=30, ge=0)
    audit_budget_share: float = Field(default=0.5, ge=0, le=1)  # of a limited budget kept for the audit
    seed: int = 0
    rubric: RubricSettings = RubricSettings()


class AlertSettings(Section):
    critical_below: float = Field(default=0.5, ge=0, le=1)


class RegressionSettings(Section):
    day_to_day_limit: float = Field(default=0.1, gt=0, le=1)


class ScheduleSettings(Section):
    cron: str = "0 2 * * *"  # minute hour day month weekday, in day.timezone
    misfire_hours: int = Field(default=24, ge=1)  # a run missed by up to this is made up for, once


class NotifySettings(Section):
    command: str | None = None  # run after a grading run that found critical alerts; gets the day report as JSON on stdin


class Settings(BaseSettings):
    """All settings of one workspace. Relative paths are relative to `root`, the folder of the settings file."""

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", env_prefix="GRADEBOOK_", env_nested_delimiter="__", nested_model_default_partial_update=True
    )

    root: Path = Path()
    store: StoreSettings = StoreSettings()
    sources: tuple[SourceSettings, ...] = ()
    day: DaySettings = DaySettings()
    rules: RulesSettings = RulesSettings()
    judge: JudgeSettings = JudgeSettings()
    alerts: AlertSettings = AlertSettings()
    regression: RegressionSettings = RegressionSettings()
    schedule: ScheduleSettings = ScheduleSettings()
    notify: NotifySettings = NotifySettings()
    judge_api_key: SecretStr | None = None  # filled by load_settings from the variable that judge.api_key_env names

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (env_settings, init_settings)

    def resolve(self, path: Path) -> Path:
        """`path` as it is when absolute, else below `root`."""
        return path if path.is_absolute() else self.root / path
