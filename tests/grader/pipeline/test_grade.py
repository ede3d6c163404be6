"""A workspace graded end to end: real files, a real store, the offline judge or a real HTTP server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path

import pytest

from grader.errors import SourceError, UsageError
from grader.pipeline import DaySelection, GradeRun, plan, run_grade, run_ingest
from grader.records import StateCounts
from grader.settings import Settings
from grader.status import read_status
from grader.store.connect import Store

DAY_ONE, DAY_TWO = date(2026, 11, 1), date(2026, 11, 2)
ALL = DaySelection(everything=True)
GOOD = "Your order 4711 is on its way and arrives on Monday."


def flat(trace_id: str, day: date = DAY_ONE, **fields: object) -> dict[str, object]:
    record: dict[str, object] = {
        "trace_id": trace_id,
        "session_id": f"session {trace_id}",
        "agent": "support",
        "started_at": f"{day}T12:00:00Z",
        "duration_ms": 2000,
        "num_turns": 2,
        "tool_errors": 0,
        "guardrails_triggered": 0,
        "user_message": "Where is my order 4711?",
        "final_output": GOOD,
        "tools_called": [{"name": "lookup_order", "arguments": "4711", "output": "order 4711 arrives on Monday"}],
    }
    return record | fields


def write(root: Path, name: str, *records: Mapping[str, object]) -> None:
    folder = root / "traces"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))


def settings_of(root: Path, **sections: object) -> Settings:
    return Settings(root=root, sources=[{"path": "traces/*.jsonl"}], **sections)  # type: ignore[arg-type]


def metrics(root: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (root / "data" / "metrics.jsonl").read_text().splitlines()]


def grade(settings: Settings, selection: DaySelection = ALL) -> GradeRun:
    run = run_grade(settings, selection=selection)
    assert read_status(settings).broken_sums == ()
    return run


def test_the_contract_by_rules_alone(tmp_path: Path) -> None:
    write(
        tmp_path,
        "a.jsonl",
        flat("sound"),
        flat("slow", duration_ms=12345),
        flat("chatty and slow", duration_ms=12345, num_turns=16),
        flat("broken", tool_errors=2, final_output="", guardrails_triggered=1),
    )
    run = grade(settings_of(tmp_path))
    [report] = run.days
    assert (report.num_traces, report.avg_score, report.median_score, report.min_score) == (4, 0.65, 0.65, 0.3)
    assert (report.num_critical, report.pct_critical) == (1, 25.0)
    [alert] = report.critical_alerts
    assert (alert.trace_id, alert.score) == ("broken", 0.3)
    assert alert.alerts == ("2 tool error(s)", "1 guardrail(s) triggered", "Empty or too short response")
    assert report.counts == StateCounts(rules_only=2, judge_pending=2)
    assert report.quality.value is None
    assert not run.failures


def test_a_trace_exactly_on_a_limit_is_not_below_it(tmp_path: Path) -> None:
    """1 − 0.3 is exactly 0.7 and 1 − 0.5 exactly 0.5 in thousandths: neither judged nor critical."""
    write(tmp_path, "a.jsonl", flat("seven", num_turns=16), flat("five", final_output="short"))
    [report] = grade(settings_of(tmp_path)).days
    assert report.counts == StateCounts(rules_only=1, judge_pending=1)
    assert report.num_critical == 0


def test_one_line_a_day_and_one_more_for_a_revision(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", flat("a"), flat("b", DAY_TWO))
    settings = settings_of(tmp_path)
    grade(settings, DaySelection())
    assert [(line["date"], line["revision"]) for line in metrics(tmp_path)] == [("2026-11-01", 1), ("2026-11-02", 1)]
    assert metrics(tmp_path)[0]["ingest"] == {"read": 2, "new": 2, "updated": 0, "duplicate": 0, "quarantined": 0}

    assert grade(settings, DaySelection()).days == ()
    grade(settings, ALL)
    assert len(metrics(tmp_path)) == 2

    write(tmp_path, "late.jsonl", flat("late", duration_ms=20000))
    run = grade(settings, DaySelection())
    assert [(report.date, report.revision, report.num_traces) for report in run.days] == [
        (DAY_ONE, 2, 2),
        (DAY_TWO, 2, 1),  # its step from the day before changed with it
    ]
    assert [(line["date"], line["revision"]) for line in metrics(tmp_path)][2:] == [
        ("2026-11-01", 2),
        ("2026-11-02", 2),
    ]


def test_a_changed_trace_is_graded_again_and_may_move_to_another_day(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    write(tmp_path, "a.jsonl", flat("a"), flat("b"))
    grade(settings)
    write(tmp_path, "b.jsonl", flat("a", DAY_TWO, num_turns=99))
    run = grade(settings, DaySelection())
    assert [(report.date, report.num_traces, report.avg_score) for report in run.days] == [
        (DAY_ONE, 1, 1.0),
        (DAY_TWO, 1, 0.7),
    ]


def test_the_step_from_day_to_day(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", flat("a"), flat("b", DAY_ONE + timedelta(days=3), num_turns=16))
    first, second = grade(settings_of(tmp_path)).days
    assert (first.regression.previous_date, first.regression.flagged) == (None, False)
    assert (second.regression.previous_date, second.regression.flagged) == (DAY_ONE, True)
    assert second.regression.change == pytest.approx(-0.3)


def test_an_open_range_is_of_the_days_that_are_known(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", flat("a"), flat("far", date(2199, 12, 31)))
    settings = settings_of(tmp_path)
    assert [day.date for day in grade(settings, DaySelection(first=date(1, 1, 1))).days] == [
        DAY_ONE,
        date(2199, 12, 31),
    ]
    assert [day.date for day in grade(settings, DaySelection(last=DAY_TWO)).days] == [DAY_ONE]
    assert grade(settings, DaySelection(first=date(2200, 1, 1))).days == ()
    with pytest.raises(UsageError, match="more than 3660 days: grade them in parts"):
        grade(settings, DaySelection(first=DAY_ONE, last=date(2199, 12, 31)))


def test_a_day_without_traces_has_no_averages(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", flat("a"))
    run = grade(settings_of(tmp_path), DaySelection(first=DAY_ONE, last=DAY_TWO))
    empty = run.days[1]
    assert (empty.num_traces, empty.avg_score, empty.median_score, empty.pct_critical) == (0, None, None, None)
    assert metrics(tmp_path)[1]["avg_score"] is None


def test_the_offline_judge_decides_the_final_score(tmp_path: Path) -> None:
    write(
        tmp_path, "a.jsonl", flat("sound"), flat("bad", num_turns=16, tool_errors=1, final_output="No idea, go away.")
    )
    settings = settings_of(tmp_path, judge={"provider": "offline"})
    run = grade(settings)
    [report] = run.days
    assert report.counts == StateCounts(judged=2)
    assert report.judge_provider == "offline"
    assert report.quality.n == 2
    with Store.open(settings).reading() as connection:
        rows = connection.execute(
            """SELECT trace_id, selected_because, inclusion_probability, final_score = judge_score
               FROM grades ORDER BY 1"""
        ).fetchall()
    assert rows == [("bad", "low_rule_score", 1.0, True), ("sound", "audit", 1.0, True)]


def test_a_second_run_pays_for_nothing_twice(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", *(flat(str(number)) for number in range(20)))
    settings = settings_of(tmp_path, judge={"provider": "offline"})
    first = grade(settings)
    assert first.judging is not None
    assert first.judging.judged == 20
    second = grade(settings)
    assert second.judging is None
    assert [replaced.revision for replaced in second.days] == [1]
    assert second.days == first.days


def test_content_that_was_not_captured_is_not_judgeable_and_not_low(tmp_path: Path) -> None:
    write(
        tmp_path,
        "a.jsonl",
        flat("private", user_message=None, final_output=None, tools_called=None, content_captured=False),
    )
    [report] = grade(settings_of(tmp_path, judge={"provider": "offline"})).days
    assert report.counts == StateCounts(not_judgeable=1)
    assert report.avg_score == 1.0


def test_without_a_key_the_chosen_traces_wait(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", flat("sound"), flat("bad", final_output=""))
    run = grade(settings_of(tmp_path, judge={"provider": "openai", "api_key_env": "NO_SUCH_KEY"}))
    assert run.days[0].counts == StateCounts(judge_pending=2)
    assert run.message is not None
    assert "NO_SUCH_KEY" in run.message


def test_quarantined_lines_make_the_run_done_with_failures(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", flat("a"))
    (tmp_path / "traces" / "b.jsonl").write_text('{"trace_id": "torn"\n{"trace_id": ""}\n')
    settings = settings_of(tmp_path)
    run = grade(settings)
    assert run.failures
    assert run.ingest.quarantined == 2
    status = read_status(settings)
    assert status.quarantined_lines == 2
    assert status.last_runs[0].state == "done_with_failures"


def test_custom_rules_may_read_the_texts(tmp_path: Path) -> None:
    rule = {
        "name": "promises",
        "when": "final_output ILIKE '%promise%'",
        "deduction": 0.4,
        "alert": "Promised something",
    }
    write(tmp_path, "a.jsonl", flat("a", final_output="I promise that it arrives tomorrow."), flat("b"))
    settings = settings_of(tmp_path, rules={"custom": [rule]})
    grade(settings)
    with Store.open(settings).reading() as connection:
        rows = connection.execute("SELECT trace_id, rule_score_milli, alerts FROM grades ORDER BY 1").fetchall()
    assert rows == [("a", 600, ["Promised something"]), ("b", 1000, [])]


def test_the_plan_asks_and_grades_nothing(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", flat("sound"), flat("bad", final_output=""))
    prices = {"usd_per_million_input_tokens": 1.0, "usd_per_million_output_tokens": 2.0}
    settings = settings_of(tmp_path, judge={"provider": "openai", "api_key_env": "NO_SUCH_KEY", **prices})
    [planned] = plan(settings, selection=ALL)
    assert (planned.date, planned.num_traces, planned.num_to_judge) == (DAY_ONE, 2, 2)
    assert planned.cost_usd is not None
    assert 0 < planned.cost_usd < 0.01
    assert read_status(settings).ungraded == 2


def test_wrong_use_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--from 2026-11-02 lies after --to 2026-11-01"):
        DaySelection(first=DAY_TWO, last=DAY_ONE)
    with pytest.raises(SourceError, match="does not exist"):
        run_ingest(Settings(root=tmp_path, sources=[{"path": "nowhere"}]))  # type: ignore[arg-type]
