"""What the screens read, on the known history of tests/factories.py."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import duckdb
import pytest

from grader.records import StateCounts
from grader.store.connect import Store
from grader.store.grades import report_json
from grader.store.read import TraceFilter, read_extent, read_facets, read_releases
from grader.store.read_alerts import read_alert_days, read_alert_reasons
from grader.store.read_days import read_day_numbers, read_reports, read_strata, report_from_json
from grader.store.read_runs import read_sums
from grader.store.read_trace import read_payload, read_trace
from grader.store.read_traces import ORDERS, Order, read_place, read_traces
from tests.factories import FIRST_DAY, LAST_DAY, known_history

EVERYTHING = TraceFilter(first=FIRST_DAY, last=LAST_DAY)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return known_history(tmp_path_factory.mktemp("read"))


@pytest.fixture
def connection(store: Store) -> Iterator[duckdb.DuckDBPyConnection]:
    with store.reading() as opened:
        yield opened


def test_what_there_is(connection: duckdb.DuckDBPyConnection) -> None:
    extent = read_extent(connection)
    assert (extent.first_day, extent.last_day, extent.num_traces, extent.num_graded) == (FIRST_DAY, LAST_DAY, 97, 97)
    facets = read_facets(connection)
    assert facets.agents == ("", "research", "shop", "support")
    assert facets.releases == ("2.3.1", "2.4.0", "2.4.1")
    assert facets.rules == ("guardrails", "latency", "response", "tool_errors", "turns")
    assert [(r.agent, r.release) for r in read_releases(connection)][4:6] == [("support", "2.4.0"), ("shop", "2.4.0")]


def test_a_report_comes_back_as_it_was_written(connection: duckdb.DuckDBPyConnection) -> None:
    reports = read_reports(connection, FIRST_DAY, LAST_DAY)
    assert [stored.report.date for stored in reports] == [date(2026, 3, day) for day in range(1, 13)]
    assert reports[4].report.avg_score is None  # the day without traces
    assert reports[8].report.regression.flagged
    for stored in reports:
        assert report_from_json(report_json(stored.report)) == stored.report


def test_numbers_of_all_traces_are_those_of_the_reports(connection: duckdb.DuckDBPyConnection) -> None:
    reports = [stored.report for stored in read_reports(connection, FIRST_DAY, LAST_DAY) if stored.report.num_traces]
    for numbers, report in zip(read_day_numbers(connection, EVERYTHING), reports, strict=True):
        assert (numbers.date, numbers.num_traces, numbers.counts) == (report.date, report.num_traces, report.counts)
        assert numbers.num_critical == report.num_critical
        for name in ("avg_score", "median_score", "min_score", "p10_score"):
            assert getattr(numbers, name) == pytest.approx(getattr(report, name))


def test_strata_leave_out_what_cannot_be_judged(connection: duckdb.DuckDBPyConnection) -> None:
    bad = next(day for day in read_strata(connection, EVERYTHING) if day.date == date(2026, 3, 9))
    low, middle, whole = bad.strata
    assert (low.num_traces, sorted(low.scores), low.num_failed) == (4, pytest.approx([5 / 15, 8 / 15]), 1)
    assert (middle.num_traces, len(middle.scores)) == (2, 0)
    assert (whole.num_traces, list(whole.scores)) == (5, pytest.approx([14 / 15]))


@pytest.mark.parametrize("order", ORDERS)
def test_walking_to_the_next_visits_the_whole_list_in_order(
    connection: duckdb.DuckDBPyConnection, order: Order
) -> None:
    wanted = TraceFilter(first=date(2026, 3, 9), last=date(2026, 3, 12), agents=("support", "shop"))
    listed = [row.trace_id for row in read_traces(connection, wanted, order=order, limit=1000).rows]
    walked: list[str] = []
    here: str | None = listed[0]
    while here is not None:
        place = read_place(connection, wanted, here, order=order)
        assert place is not None
        walked.append(here)
        assert (place.position, place.num_matching) == (len(walked), len(listed))
        assert place.previous == (walked[-2] if len(walked) > 1 else None)
        here = place.next
    assert walked == listed


def test_a_trace_outside_the_filter_has_no_place(connection: duckdb.DuckDBPyConnection) -> None:
    assert read_place(connection, TraceFilter(first=FIRST_DAY, last=FIRST_DAY), "0312-empty-8") is None


def test_text_is_searched_as_it_stands(connection: duckdb.DuckDBPyConnection) -> None:
    for text in ("%", "_rder", "'", "\\"):
        assert read_traces(connection, TraceFilter(first=FIRST_DAY, last=LAST_DAY, text=text)).num_matching == 0


def test_a_trace_with_its_judgement_failure_and_texts(store: Store, connection: duckdb.DuckDBPyConnection) -> None:
    judged = read_trace(connection, "0312-empty-8")
    assert judged is not None
    assert judged.judgement is not None
    assert judged.judgement.marks == {"relevance": 1, "accuracy": 1, "tone": 3}
    assert judged.failure is None
    failed = read_trace(connection, "0310-broken-9")
    assert failed is not None
    assert failed.judgement is None
    assert failed.failure is not None
    assert failed.failure.stage == "timeout"
    payload = read_payload(connection, store.folder, "0312-empty-8")
    assert payload is not None
    assert payload.final_output == ""
    assert read_trace(connection, "nobody") is None
    assert read_payload(connection, store.folder, "nobody") is None


def test_alerts_by_reason_and_day(connection: duckdb.DuckDBPyConnection) -> None:
    reasons = {reason.rule: reason.num_alerts for reason in read_alert_reasons(connection, EVERYTHING)}
    assert reasons == {"response": 7, "tool_errors": 4, "latency": 2, "turns": 2}
    assert [(day.date.day, day.num_alerts) for day in read_alert_days(connection, EVERYTHING)] == [
        (9, 3),
        (10, 3),
        (12, 1),
    ]


def test_sums_add_up(connection: duckdb.DuckDBPyConnection) -> None:
    sums = read_sums(connection)
    assert sums.counts == StateCounts(rules_only=66, judged=25, judge_pending=2, judge_failed=2, not_judgeable=2)
    assert (sums.num_traces, sums.num_not_graded, sums.num_quarantined) == (97, 0, 2)


def test_a_trace_graded_before_it_changed_says_so(tmp_path: Path) -> None:
    store = known_history(tmp_path)
    with store.writing() as connection:
        connection.execute("UPDATE traces SET content_hash = 99 WHERE trace_id = '0312-empty-8'")
    with store.reading() as connection:
        detail = read_trace(connection, "0312-empty-8")
    assert detail is not None
    assert detail.grade is not None
    assert not detail.grade.is_current
