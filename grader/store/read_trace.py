"""One trace, whole: its narrow columns, its grade, what the judge said of it, and its texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb

from grader.records import GradeState, JudgeFailure, Judgement, RuleOutcome, SelectedBecause, Source, Status
from grader.store.payload import Payload, read_payloads
from grader.store.read import rows


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceGrade:
    """The current grade of a trace."""

    rules_version: str
    rule_score: float
    outcomes: tuple[RuleOutcome, ...]
    alerts: tuple[str, ...]
    state: GradeState
    judge_version: str | None
    judge_score: float | None
    final_score: float
    critical: bool
    selected_because: SelectedBecause | None
    inclusion_probability: float | None
    is_current: bool  # False: the trace changed since and is graded anew by the next run


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceDetail:
    """A trace as stored, without its long texts. `grade` is None between ingest and grading."""

    trace_id: str
    day: date
    name: str | None
    session_id: str | None
    agent: str | None
    release: str | None
    model: str | None
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: float | None
    status: Status
    num_turns: int | None
    tool_errors: int | None
    guardrails_triggered: int | None
    content_captured: bool
    answer_chars: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    tags: Mapping[str, str]
    num_spans: int
    notes: tuple[str, ...]
    source: Source
    grade: TraceGrade | None
    judgement: Judgement | None  # the one that the grade rests on
    failure: JudgeFailure | None  # why there is no judgement


_TRACE = """
SELECT trace_id, day, name, session_id, agent, release, model, started_at, ended_at, duration_ms,
       status::VARCHAR AS status, num_turns, tool_errors, guardrails_triggered, content_captured, answer_chars,
       input_tokens, output_tokens, cost_usd, tags, num_spans, notes, source_reader, source_path, source_line
FROM traces WHERE trace_id = $trace_id
"""
_GRADE = """
SELECT g.rules_version, g.rule_score_milli / 1000.0 AS rule_score, g.outcomes, g.alerts, g.state::VARCHAR AS state,
       g.judge_version, g.judge_score, g.final_score, g.critical, g.selected_because, g.inclusion_probability,
       coalesce(g.content_hash = t.content_hash, false) AS is_current
FROM grades g LEFT JOIN traces t ON t.trace_id = g.trace_id WHERE g.trace_id = $trace_id
"""
_JUDGEMENT = """
SELECT j.trace_id, j.content_hash, j.judge_version, j.provider, j.model, j.marks, j.score, j.issues, j.suggestions,
       j.input_tokens, j.output_tokens, j.cost_usd, j.latency_ms, j.judged_at
FROM judgements j JOIN grades g ON g.trace_id = j.trace_id AND g.content_hash = j.content_hash
     AND g.judge_version = j.judge_version
WHERE j.trace_id = $trace_id AND g.state = 'judged'
"""
_FAILURE = """
SELECT f.trace_id, f.content_hash, f.judge_version, f.stage::VARCHAR AS stage, f.message, f.attempts, f.failed_at
FROM judge_failures f JOIN grades g ON g.trace_id = f.trace_id AND g.content_hash = f.content_hash
WHERE f.trace_id = $trace_id AND g.state <> 'judged' ORDER BY f.failed_at DESC LIMIT 1
"""


def read_trace(connection: duckdb.DuckDBPyConnection, trace_id: str) -> TraceDetail | None:
    """The trace with that id; None when the store has none."""
    wanted = {"trace_id": trace_id}
    found = rows(connection, _TRACE, wanted)
    if not found:
        return None
    row = found[0]
    source = Source(reader=row.pop("source_reader"), path=row.pop("source_path"), line=row.pop("source_line"))
    judgements = rows(connection, _JUDGEMENT, wanted)
    failures = rows(connection, _FAILURE, wanted)
    row["tags"] = dict(row["tags"] or {})
    row["notes"] = tuple(row["notes"] or ())
    return TraceDetail(
        **row,
        source=source,
        grade=_grade(rows(connection, _GRADE, wanted)),
        judgement=_judgement(judgements[0]) if judgements else None,
        failure=JudgeFailure(**failures[0]) if failures else None,
    )


def read_payload(connection: duckdb.DuckDBPyConnection, folder: Path, trace_id: str) -> Payload | None:
    """The long texts of a trace; None when the store does not know it. `folder` is that of the store."""
    return read_payloads(connection, folder, [trace_id]).get(trace_id)


def _grade(found: list[dict[str, Any]]) -> TraceGrade | None:
    if not found:
        return None
    row = found[0]
    outcomes = tuple(RuleOutcome(**outcome) for outcome in row["outcomes"])
    return TraceGrade(**{**row, "outcomes": outcomes, "alerts": tuple(row["alerts"])})


def _judgement(row: dict[str, Any]) -> Judgement:
    texts = {name: tuple(row[name]) for name in ("issues", "suggestions")}
    return Judgement(**{**row, **texts, "marks": dict(row["marks"])})
