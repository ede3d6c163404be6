"""The files hold exactly what the plan says, counted by plain parsing, not by the code that wrote them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from jobs.demo_data import DemoPlan, write_demo_traces

LAST_DAY = date(2026, 11, 30)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> DemoPlan:
    return write_demo_traces(tmp_path_factory.mktemp("demo"), days=30, traces_per_day=60, last_day=LAST_DAY)


def _bytes(plan: DemoPlan) -> dict[str, bytes]:
    return {str(path.relative_to(plan.folder)): path.read_bytes() for path in plan.folder.rglob("*.jsonl")}


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        document = json.loads(line)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _starts(line: str) -> dict[str, datetime]:
    """Trace ids of a line with the first start that the line knows of each; {} for a broken line."""
    document = _parsed(line)
    found: dict[str, datetime] = {}
    if document is None:
        return found
    if "trace_id" in document:
        return {document["trace_id"]: datetime.fromisoformat(document["started_at"])}
    for item in document.get("data", ()):
        if item.get("trace_id") and item.get("started_at"):
            found.setdefault(item["trace_id"].removeprefix("trace_"), datetime.fromisoformat(item["started_at"]))
    for resource in document.get("resourceSpans", ()):
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                if "traceId" in span:
                    start = datetime.fromtimestamp(int(span["startTimeUnixNano"]) / 1e9, UTC)
                    found.setdefault(span["traceId"], start)
    return found


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path, plan: DemoPlan) -> None:
    again = write_demo_traces(tmp_path, days=30, traces_per_day=60, last_day=LAST_DAY)
    assert _bytes(again) == _bytes(plan)
    assert again.text() == plan.text()


def test_another_seed_gives_other_traces(tmp_path: Path, plan: DemoPlan) -> None:
    other = write_demo_traces(tmp_path, seed=8, days=30, traces_per_day=60, last_day=LAST_DAY)
    assert not {id_ for line in _lines(other) for id_ in _starts(line)} & {
        i for line in _lines(plan) for i in _starts(line)
    }


def _lines(plan: DemoPlan) -> list[str]:
    return [line for data in _bytes(plan).values() for line in data.decode().splitlines()]


def test_traces_per_day_and_agent_are_those_of_the_plan(plan: DemoPlan) -> None:
    found: dict[tuple[str, date], set[str]] = defaultdict(set)
    for path, data in _bytes(plan).items():
        for line in data.decode().splitlines():
            for trace_id, start in _starts(line).items():
                found[path.split(".")[0], start.date()].add(trace_id)
    assert {key: len(ids) for key, ids in found.items()} == {(c.agent, c.day): c.num_traces for c in plan.days}
    assert plan.num_traces == sum(plan.traces_per_day().values())
    assert all(sum(count.by_kind.values()) == count.num_traces for count in plan.days)


def test_lines_per_file_are_those_of_the_plan(plan: DemoPlan) -> None:
    assert {path: data.count(b"\n") for path, data in _bytes(plan).items()} == plan.lines_per_file


def test_late_and_copied_traces_are_those_of_the_plan(plan: DemoPlan) -> None:
    files: dict[str, set[date]] = defaultdict(set)
    starts: dict[str, date] = {}
    repeated = 0
    seen: set[str] = set()
    for path, data in sorted(_bytes(plan).items()):
        for line in data.decode().splitlines():
            repeated += line in seen and bool(_starts(line))  # broken lines are alike too
            seen.add(line)
            for trace_id, start in _starts(line).items():
                files[trace_id].add(date.fromisoformat(Path(path).stem))
                starts[trace_id] = min(start.date(), starts.get(trace_id, start.date()))
    offsets = Counter(tuple(sorted((day - starts[id_]).days for day in days)) for id_, days in files.items())
    assert offsets == {
        (0,): plan.num_traces - plan.num_late - plan.num_copied,
        (2,): plan.num_late,
        (0, 1): plan.num_copied,
    }
    assert plan.num_late > 0 and plan.num_copied > 0
    assert repeated == plan.num_copied_lines


def test_broken_lines_are_where_the_plan_says_and_nowhere_else(plan: DemoPlan) -> None:
    broken = {
        (path, number)
        for path, data in _bytes(plan).items()
        for number, line in enumerate(data.decode().splitlines(), start=1)
        if not _starts(line)
    }
    assert broken == {(str(line.path), line.line) for line in plan.broken_lines}
    for line in plan.broken_lines:
        text = (plan.folder / line.path).read_text().splitlines()[line.line - 1]
        assert (_parsed(text) is not None) == (line.kind == "no_trace_id")
    assert {line.kind for line in plan.broken_lines} == {"torn", "not_json", "no_trace_id"}


def test_the_bad_release_is_a_tuesdays_release_that_is_taken_back(plan: DemoPlan) -> None:
    assert plan.bad_release is not None and plan.bad_until is not None
    assert plan.bad_release.first_day.weekday() == 1
    bad = [count for count in plan.days if count.by_kind.get("bad_release")]
    assert {count.release for count in bad} == {plan.bad_release.release}
    assert {count.day for count in bad} == {
        plan.bad_release.first_day + timedelta(days=n)
        for n in range((plan.bad_until - plan.bad_release.first_day).days + 1)
    }


def test_weekends_are_quieter_and_outages_hit_their_day_only(plan: DemoPlan) -> None:
    per_day = plan.traces_per_day()
    busiest_weekend = max(number for day, number in per_day.items() if day.weekday() >= 5)
    assert busiest_weekend < min(number for day, number in per_day.items() if day.weekday() < 5)
    hit = {(count.agent, count.day) for count in plan.days if count.by_kind.get("outage")}
    assert hit == {(outage.agent, outage.day) for outage in plan.outages}


def test_days_are_days_of_the_zone(tmp_path: Path) -> None:
    zone = ZoneInfo("Pacific/Auckland")
    plan = write_demo_traces(tmp_path, days=2, traces_per_day=30, last_day=LAST_DAY, zone=zone)
    found = Counter({start.astimezone(zone).date() for line in _lines(plan) for start in _starts(line).values()})
    assert set(found) == set(plan.traces_per_day())


@pytest.mark.parametrize("days", [1, 2, 3, 7, 10, 14, 45])
def test_any_length_works(tmp_path: Path, days: int) -> None:
    plan = write_demo_traces(tmp_path, days=days, traces_per_day=20, last_day=LAST_DAY)
    assert len(plan.traces_per_day()) == days
    assert min(plan.traces_per_day()) == LAST_DAY - timedelta(days=days - 1)
    assert plan.text()


def test_the_text_states_what_was_planted(plan: DemoPlan) -> None:
    text = plan.text()
    assert plan.bad_release is not None
    assert f"{plan.num_traces:,} traces of 30 days, 2026-11-01 to 2026-11-30" in text
    assert f"bad release: shop {plan.bad_release.release}, {plan.bad_release.first_day} to {plan.bad_until}" in text
    assert f"{plan.num_of('outage', agent='support')} traces" in text
    for line in plan.broken_lines:
        assert f"{line.path}:{line.line}" in text
