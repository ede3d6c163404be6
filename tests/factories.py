"""A real store with a small history that tests know by heart.

Ten kinds of trace, each with a fixed grade, make up twelve days from 2026-03-01 (zone UTC):

- an ordinary day has the eight ORDINARY traces: mean 7.166667 / 8 = 0.895833, none critical;
- 2026-03-05 has no traces;
- on the BAD_DAYS (2026-03-09 and -10, release 2.4.0) four more come: mean 8.4 / 12 = 0.7, 3 of 12 critical;
- the newest day, 2026-03-12, has one `empty` more: mean 7.5 / 9 = 0.833333, 1 of 9 critical.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
from statsmodels.stats.proportion import proportion_confint

from grader.arrow import PREVIEW_CHARS, TRACE_SCHEMA
from grader.readers.columns import spans_from_json
from grader.records import CriticalAlert, DayReport, DayToDay, Estimate, QuarantinedLine, Span, StateCounts, ToolCall
from grader.store.connect import Store
from grader.store.grades import GradedDay, write_days
from grader.store.write import classify, write_quarantine, write_traces

FIRST_DAY = date(2026, 3, 1)
LAST_DAY = date(2026, 3, 12)
EMPTY_DAY = date(2026, 3, 5)
BAD_DAYS = (date(2026, 3, 9), date(2026, 3, 10))
JUDGE_VERSION = "j-1"
RULES_VERSION = "r-1"

HOSTILE = (
    "**bold** <img src=x onerror=alert(1)> <script>window.hacked = 1</script> $x^2$ :red[red] :smile: "
    "[link](http://127.0.0.1:9/evil) `code` :material/home: # heading"
)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of trace and the grade it gets."""

    name: str
    rule_milli: int = 1000
    duration_ms: float | None = 2_100.0
    num_turns: int = 3
    tool_errors: int = 0
    guardrails: int = 0
    answer: str | None = "Your order 4711 was sent on Monday and arrives on Thursday."
    captured: bool = True
    state: str = "rules_only"
    marks: tuple[int, int, int] | None = None  # relevance, accuracy, tone
    because: str | None = None
    probability: float | None = 0.25
    stratum: int = 2

    @property
    def score(self) -> float:
        return sum(self.marks) / 15 if self.marks else self.rule_milli / 1000


LOW = {"because": "low_rule_score", "probability": 1.0, "stratum": 0}
CLEAN = Kind(name="clean")
ORDINARY = (
    CLEAN,
    CLEAN,
    CLEAN,
    Kind(name="audited", state="judged", marks=(5, 4, 5), because="audit"),
    Kind(name="slow", rule_milli=800, duration_ms=13_482.0, stratum=1),
    Kind(name="tool-error", rule_milli=900, tool_errors=1, stratum=1),
    Kind(name="guarded", guardrails=1),
    Kind(name="long-loop", rule_milli=500, duration_ms=21_300.0, num_turns=18, state="judged", marks=(2, 2, 4), **LOW),
)
EMPTY = Kind(name="empty", rule_milli=500, answer="", state="judged", marks=(1, 1, 3), **LOW)
BAD = (
    EMPTY,
    Kind(
        name="broken",
        rule_milli=0,
        duration_ms=31_000.0,
        num_turns=22,
        tool_errors=3,
        answer=None,
        state="judge_failed",
        **LOW,
    ),
    Kind(name="pending", rule_milli=400, tool_errors=1, answer="", state="judge_pending", **LOW),
    Kind(
        name="no-content",
        rule_milli=500,
        duration_ms=15_000.0,
        num_turns=16,
        answer=None,
        captured=False,
        state="not_judgeable",
        stratum=0,
        probability=None,
    ),
)

AGENTS = ("support", "shop", "research", None)
QUESTIONS = (
    "Where is my order 4711? It should have been here on Tuesday.",
    "Can I return the blue jacket that I bought three weeks ago?",
    "Which of your laptops has the longest battery life under 1,200 euros?",
    "Summarise what changed in the EU battery regulation this year.",
)


def known_history(folder: Path, *, hostile: bool = False, huge: bool = False) -> Store:
    """Fills `folder`/gradebook.duckdb with the history above.

    `hostile` puts Markdown, HTML and LaTeX into every text of the newest day; `huge` gives the slow trace of
    2026-03-11 two thousand spans, and its answer five million characters.
    """
    store = Store(path=folder / "gradebook.duckdb")
    previous: tuple[date, float] | None = None
    day = FIRST_DAY
    _write_run(store)
    while day <= LAST_DAY:
        kinds = kinds_of(day)
        traces = [_trace(day, number, kind) for number, kind in enumerate(kinds)]
        if hostile and day == LAST_DAY:
            traces = [_with_hostile_text(trace) for trace in traces]
        if huge and day == date(2026, 3, 11):
            traces = [_with_huge_payload(trace) if trace["trace_id"].endswith("slow-4") else trace for trace in traces]
        previous = _write_day(store, day, kinds, traces, previous)
        day += timedelta(days=1)
    write_quarantine(
        store,
        [
            QuarantinedLine(
                reader="flat",
                path="traces/2026-03-09.jsonl",
                line=17,
                reason="no JSON: unexpected end",
                excerpt='{"trace_id": "x',
            ),
            QuarantinedLine(
                reader="flat",
                path="traces/2026-03-10.jsonl",
                line=3,
                reason="'trace_id' is missing",
                excerpt='{"agent": "shop"}',
            ),
        ],
        paths=["traces/2026-03-09.jsonl", "traces/2026-03-10.jsonl"],
        run_id="run-1",
    )
    return store


def empty_store(folder: Path) -> Store:
    """A store with its tables and nothing in them."""
    store = Store(path=folder / "gradebook.duckdb")
    with store.writing():
        pass
    return store


def write_settings(folder: Path, *, store: Path | None = None, zone: str = "UTC") -> Path:
    """A gradebook.toml in `folder` whose store is `store` (default: gradebook.duckdb beside it)."""
    path = folder / "gradebook.toml"
    name = (store or folder / "gradebook.duckdb").as_posix()
    path.write_text(f'[store]\npath = "{name}"\nlock_timeout_seconds = 0.5\n\n[day]\ntimezone = "{zone}"\n')
    return path


def kinds_of(day: date) -> tuple[Kind, ...]:
    """The kinds of trace of one day, in order."""
    if day == EMPTY_DAY:
        return ()
    if day in BAD_DAYS:
        return (*ORDINARY, *BAD)
    return (*ORDINARY, EMPTY) if day == LAST_DAY else ORDINARY


def trace_id(day: date, number: int, kind: Kind) -> str:
    return f"{day:%m%d}-{kind.name}-{number}"


def release_of(day: date) -> str:
    return "2.3.1" if day < BAD_DAYS[0] else "2.4.0" if day in BAD_DAYS else "2.4.1"


def _trace(day: date, number: int, kind: Kind) -> dict[str, Any]:
    started = datetime(day.year, day.month, day.day, 8 + number, 15, tzinfo=UTC)
    question = QUESTIONS[number % len(QUESTIONS)] if kind.captured else None
    answer = kind.answer if kind.captured else None
    tools = _tools(kind)
    spans = _spans(kind, started, tools)
    return {
        "trace_id": trace_id(day, number, kind),
        "day": day,
        "name": "chat",
        "session_id": f"{day:%m%d}-s{number // 2}",
        "agent": AGENTS[number % len(AGENTS)],
        "release": release_of(day),
        "model": "gpt-4.1-mini",
        "started_at": started,
        "ended_at": started + timedelta(milliseconds=kind.duration_ms) if kind.duration_ms is not None else None,
        "duration_ms": kind.duration_ms,
        "status": "failed" if kind.name == "broken" else "completed",
        "num_turns": kind.num_turns,
        "tool_errors": kind.tool_errors,
        "guardrails_triggered": kind.guardrails,
        "content_captured": kind.captured,
        "answer_chars": len(answer or "") if kind.captured else None,
        "user_preview": question,
        "answer_preview": (answer or None) and answer[:PREVIEW_CHARS],
        "tool_names": [tool.name for tool in tools],
        "input_tokens": 1200,
        "output_tokens": 180,
        "cost_usd": 0.0042,
        "tags": [("channel", "web")],
        "num_spans": len(spans),
        "notes": [] if kind.captured else ["no_content"],
        "content_hash": number + 1,
        "source_reader": "flat",
        "source_path": f"traces/{day}.jsonl",
        "source_line": number + 1,
        "head": None,
        "user_message": question,
        "final_output": answer,
        "tools_called": _json(tools),
        "spans": _json(spans) if spans else None,
    }


def _tools(kind: Kind) -> list[ToolCall]:
    good = ToolCall(name="find_order", arguments='{"order_id": 4711}', output='{"status": "sent"}', span_id="s2")
    failed = [
        ToolCall(
            name="track_parcel",
            arguments='{"parcel": "CH-1"}',
            error="TimeoutError: carrier did not answer",
            span_id=f"s{3 + i}",
        )
        for i in range(kind.tool_errors)
    ]
    return [good, *failed]


def _spans(kind: Kind, started: datetime, tools: list[ToolCall]) -> list[Span]:
    if kind.name == "guarded":
        return []  # the flat format: a trace without spans
    step = timedelta(milliseconds=(kind.duration_ms or 1000.0) / (len(tools) + 1))
    spans = [
        Span(span_id="s0", kind="agent", name="chat", started_at=started, ended_at=started + step * (len(tools) + 1)),
        Span(
            span_id="s1",
            parent_id="s0",
            kind="model",
            name="gpt-4.1-mini",
            model="gpt-4.1-mini",
            started_at=started,
            ended_at=started + step,
            input=orjson.dumps([{"role": "user", "content": "Hello"}]).decode(),
            output="I look that up.",
        ),
    ]
    for number, tool in enumerate(tools, start=1):
        spans.append(
            Span(
                span_id=tool.span_id or "",
                parent_id="s0",
                kind="tool",
                name=tool.name,
                started_at=started + step * number,
                ended_at=started + step * (number + 1),
                input=tool.arguments,
                output=tool.output,
                error=tool.error,
            )
        )
    return spans


def _with_hostile_text(trace: dict[str, Any]) -> dict[str, Any]:
    tool = ToolCall(name=HOSTILE, arguments=HOSTILE, output=HOSTILE, error=HOSTILE, span_id="s2")
    spans = [
        replace(span, name=HOSTILE, input=HOSTILE, output=HOSTILE) for span in spans_from_json(trace["spans"] or "[]")
    ]
    return {
        **trace,
        "user_message": HOSTILE,
        "final_output": HOSTILE,
        "user_preview": HOSTILE,
        "answer_preview": HOSTILE,
        "name": HOSTILE,
        "agent": HOSTILE,
        "release": HOSTILE,
        "model": HOSTILE,
        "session_id": HOSTILE,
        "tags": [(HOSTILE, HOSTILE)],
        "tools_called": _json([tool]),
        "spans": _json(spans) if spans else None,
    }


def _with_huge_payload(trace: dict[str, Any]) -> dict[str, Any]:
    started: datetime = trace["started_at"]
    spans = [
        Span(
            span_id=f"s{n}",
            parent_id=None if n == 0 else f"s{(n - 1) // 4}",
            kind="tool" if n % 3 else "model",
            name=f"step {n}",
            started_at=started + timedelta(milliseconds=6 * n),
            ended_at=started + timedelta(milliseconds=6 * n + 40 + n % 90),
            error="ValueError: no such page" if n == 1999 else None,
        )
        for n in range(2000)
    ]
    return {
        **trace,
        "final_output": "word " * 1_000_000,
        "answer_chars": 5_000_000,
        "num_spans": len(spans),
        "spans": _json(spans),
    }


def _json(records: list[Any]) -> str:
    """The stored form: members that say nothing are left out."""
    objects = [{f.name: getattr(record, f.name) for f in fields(record)} for record in records]
    return orjson.dumps([{k: v for k, v in values.items() if v is not None and v != {}} for values in objects]).decode()


def _outcomes(kind: Kind) -> list[dict[str, Any]]:
    """Section 2 of the design, for the values of `kind`."""

    def outcome(rule: str, value: float | None, deducted: int, *, flags: bool = False) -> dict[str, Any]:
        state = "not_applicable" if value is None else "flagged" if flags else "failed" if deducted else "passed"
        return {"rule": rule, "outcome": state, "value": value, "deducted_milli": deducted}

    chars = float(len(kind.answer or "")) if kind.captured else None
    return [
        outcome("latency", kind.duration_ms, 200 if (kind.duration_ms or 0) > 10_000 else 0),
        outcome("turns", float(kind.num_turns), 300 if kind.num_turns > 15 else 0),
        outcome("tool_errors", float(kind.tool_errors), 100 * kind.tool_errors),
        outcome("guardrails", float(kind.guardrails), 0, flags=kind.guardrails > 0),
        outcome("response", chars, 500 if chars is not None and chars < 10 else 0),
    ]


def _alerts(kind: Kind) -> list[str]:
    texts = {
        "latency": f"High latency: {kind.duration_ms:.0f}ms",
        "turns": f"Too many turns: {kind.num_turns}",
        "tool_errors": f"{kind.tool_errors} tool error(s)",
        "guardrails": f"{kind.guardrails} guardrail(s) triggered",
        "response": "Empty or too short response",
    }
    return [texts[o["rule"]] for o in _outcomes(kind) if o["outcome"] in ("failed", "flagged")]


def _grades(day: date, kinds: tuple[Kind, ...]) -> pa.Table:
    outcome = pa.struct(
        [("rule", pa.string()), ("outcome", pa.string()), ("value", pa.float64()), ("deducted_milli", pa.int16())]
    )
    schema = pa.schema(
        [
            ("trace_id", pa.string()),
            ("day", pa.date32()),
            ("content_hash", pa.uint64()),
            ("rules_version", pa.string()),
            ("rule_score_milli", pa.int16()),
            ("outcomes", pa.list_(outcome)),
            ("alerts", pa.list_(pa.string())),
            ("state", pa.string()),
            ("judge_version", pa.string()),
            ("judge_score", pa.float64()),
            ("final_score", pa.float64()),
            ("critical", pa.bool_()),
            ("selected_because", pa.string()),
            ("inclusion_probability", pa.float64()),
            ("stratum", pa.int8()),
        ]
    )
    rows = [
        {
            "trace_id": trace_id(day, number, kind),
            "day": day,
            "content_hash": number + 1,
            "rules_version": RULES_VERSION,
            "rule_score_milli": kind.rule_milli,
            "outcomes": _outcomes(kind),
            "alerts": _alerts(kind),
            "state": kind.state,
            "judge_version": JUDGE_VERSION,
            "judge_score": kind.score if kind.marks else None,
            "final_score": kind.score,
            "critical": kind.score < 0.5,
            "selected_because": kind.because,
            "inclusion_probability": kind.probability,
            "stratum": kind.stratum,
        }
        for number, kind in enumerate(kinds)
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def _report(day: date, previous: tuple[date, float] | None) -> DayReport:
    kinds = kinds_of(day)
    scores = np.array([kind.score for kind in kinds])
    n, k = len(kinds), int((scores < 0.5).sum())
    average = float(scores.mean()) if n else None
    worst = sorted((kind.score, trace_id(day, number, kind), tuple(_alerts(kind))) for number, kind in enumerate(kinds))
    change = None if previous is None or average is None else average - previous[1]
    low, high = proportion_confint(k, n, method="wilson") if n else (None, None)
    judged = [kind for kind in kinds_of(day) if kind.marks]
    quality = sum(kind.score for kind in judged) / len(judged) if judged else None
    spread = 0.09
    return DayReport(
        date=day,
        revision=1,
        num_traces=n,
        avg_score=average,
        median_score=float(np.median(scores)) if n else None,
        min_score=float(scores.min()) if n else None,
        p10_score=float(np.quantile(scores, 0.1)) if n else None,
        pct_critical=100 * k / n if n else None,
        critical_alerts=tuple(
            CriticalAlert(trace_id=found, score=score, alerts=alerts)
            for score, found, alerts in worst[:10]
            if score < 0.5
        ),
        num_critical=k,
        counts=StateCounts(**Counter(kind.state for kind in kinds)),
        regression=DayToDay(
            previous_date=previous[0] if previous else None,
            previous_avg_score=previous[1] if previous else None,
            change=change,
            limit=0.1,
            flagged=change is not None and change < -0.1,
        ),
        avg_score_interval=Estimate(
            value=average,
            low=average - 0.05 if average else None,
            high=min(1.0, average + 0.05) if average else None,
            n=n,
            n_missing=0,
            method="mean, clustered by session",
        ),
        pct_critical_interval=Estimate(
            value=100 * k / n if n else None,
            low=100 * low if n else None,
            high=100 * high if n else None,
            n=n,
            n_missing=0,
            method="Wilson",
        ),
        quality=Estimate(
            value=quality,
            low=quality - spread if quality else None,
            high=quality + spread if quality else None,
            n=len(judged),
            n_missing=sum(kind.state == "judge_failed" for kind in kinds_of(day)),
            method="stratified mean",
            note=None if judged else "no trace was judged",
        ),
        rules_version=RULES_VERSION,
        judge_version=JUDGE_VERSION,
        judge_provider="offline",
    )


def _write_day(
    store: Store, day: date, kinds: tuple[Kind, ...], traces: list[dict[str, Any]], previous: tuple[date, float] | None
) -> tuple[date, float] | None:
    grades = _grades(day, kinds)
    if traces:
        table = pa.Table.from_pylist(traces, schema=TRACE_SCHEMA)
        with store.reading() as connection:
            classified = classify(connection, table)
        write_traces(store, table, classified, run_id="run-1")
    report = _report(day, previous)
    write_days(store, [GradedDay(day=day, grades=grades, report=report)], run_id="run-1")
    _write_judgements(store, day, kinds)
    return (day, report.avg_score) if report.avg_score is not None else previous


def _write_judgements(store: Store, day: date, kinds: tuple[Kind, ...]) -> None:
    at = datetime(day.year, day.month, day.day, 23, tzinfo=UTC)
    with store.writing() as connection:
        for number, kind in enumerate(kinds):
            if kind.marks:
                relevance, accuracy, tone = kind.marks
                connection.execute(
                    """INSERT INTO judgements VALUES ($id, $hash, $version, 'offline', 'word-overlap',
                       MAP {'relevance': $r, 'accuracy': $a, 'tone': $t},
                       $score, $issues, $suggestions, 900, 120, NULL, 12.0, $at, 'run-1')""",
                    {
                        "id": trace_id(day, number, kind),
                        "hash": number + 1,
                        "version": JUDGE_VERSION,
                        "r": relevance,
                        "a": accuracy,
                        "t": tone,
                        "score": kind.score,
                        "at": at,
                        "issues": [] if kind.score > 0.9 else ["The answer does not say where the order is."],
                        "suggestions": [] if kind.score > 0.9 else ["Give the parcel's last known place and the date."],
                    },
                )
            if kind.state == "judge_failed":
                connection.execute(
                    "INSERT INTO judge_failures VALUES (?, ?, ?, 'timeout', 'no reply within 60 s', 4, ?, 'run-1')",
                    [trace_id(day, number, kind), number + 1, JUDGE_VERSION, at],
                )


def _write_run(store: Store) -> None:
    with store.writing() as connection:
        connection.execute(
            """INSERT INTO runs (run_id, kind, state, started_at, ended_at, lines_read, lines_new, lines_duplicate,
                                 lines_quarantined, traces_new, message)
               VALUES ('run-1', 'grade', 'done_with_failures', '2026-03-13 02:00:00+00', '2026-03-13 02:00:09+00',
                       103, 97, 4, 2, 97, '2 judge calls failed')"""
        )
