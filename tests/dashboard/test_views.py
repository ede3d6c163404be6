"""View-models: pure functions from what the store says to what a screen shows."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.charts.base import DARK, LIGHT
from dashboard.charts.overview import trajectory
from dashboard.views import numbers
from dashboard.views.days import Day, days_of_numbers, newest_two
from dashboard.views.kpis import kpis
from dashboard.views.overview import judge_marks, parts_by_agent, parts_by_state, release_marks
from dashboard.views.query import LIMITS, View, default_view, query_of, view_from_query
from dashboard.views.timeline import timeline
from dashboard.views.trace import Content, conversation, cut, readable_message, steps
from grader.records import GRADE_STATES, STATUSES, Estimate, RuleOutcome, Span, StateCounts
from grader.settings import AgentRules, RulesSettings
from grader.stats.strata import StratumSample
from grader.store.read import Release, TraceFilter
from grader.store.read_days import AgentShare, DayNumbers, DayStrata
from grader.store.read_trace import TraceGrade
from grader.store.read_traces import ORDERS

FIRST, LAST = date(2026, 3, 1), date(2026, 3, 12)
START = datetime(2026, 3, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [(None, "–"), (0, "0 ms"), (840.4, "840 ms"), (12_340, "12.3 s"), (59_960, "1 min 00 s"), (245_000, "4 min 05 s"),
     (7_800_000, "2 h 10 min")],
)  # fmt: skip
def test_duration(duration_ms: float | None, text: str) -> None:
    assert numbers.duration(duration_ms) == text


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (numbers.score(0.8734), "0.873"),
        (numbers.score(None), "–"),
        (numbers.percent(3.14), "3.1 %"),
        (numbers.usd(0.0042), "$0.0042"),
        (numbers.usd(12.3), "$12.30"),
        (numbers.signed(-0.0625), "−0.062"),
        (numbers.signed(12, 0), "+12"),
        (numbers.counted(1, "trace"), "1 trace"),
        (numbers.counted(12_480, "trace"), "12,480 traces"),
        (numbers.day_range(FIRST, LAST), "1 Mar – 12 Mar 2026"),
        (numbers.day_range(FIRST, FIRST), "1 Mar 2026"),
        (numbers.file_size(5_000_000), "5.0 MB"),
    ],
)
def test_numbers(found: str, text: str) -> None:
    assert found == text


@given(st.text(max_size=200))
def test_inline_code_cannot_be_left(text: str) -> None:
    label = numbers.inline_code(text)
    assert label == "*(no name)*" or (label[0] == label[-1] == "`" and label.count("`") == 2 and "\n" not in label)


@given(st.text(max_size=200))
def test_plot_text_holds_no_tag(text: str) -> None:
    assert "<" not in numbers.plot_text(text)


days = st.dates(min_value=date(2020, 1, 1), max_value=date(2030, 12, 31))
names = st.lists(st.text(min_size=0, max_size=8), max_size=3, unique=True).map(tuple)


@given(
    first=days, length=st.integers(0, 400), agents=names, releases=names, text=st.text(max_size=12).map(str.strip),
    statuses=st.lists(st.sampled_from(STATUSES), unique=True).map(tuple),
    states=st.lists(st.sampled_from(GRADE_STATES), unique=True).map(tuple),
    critical=st.booleans(), order=st.sampled_from(ORDERS), limit=st.sampled_from(LIMITS),
)  # fmt: skip
def test_a_link_opens_the_view_that_it_was_made_from(
    first: date, length: int, agents: tuple[str, ...], releases: tuple[str, ...], text: str, statuses: tuple[str, ...],
    states: tuple[str, ...], critical: bool, order: str, limit: int,
) -> None:  # fmt: skip
    wanted = TraceFilter(
        first=first, last=first + timedelta(days=length), agents=agents, releases=releases, text=text,
        statuses=statuses, states=states, critical_only=critical,
    )  # fmt: skip
    view = View(wanted=wanted, order=order, limit=limit)  # type: ignore[arg-type]
    query = {name: value if isinstance(value, list) else [value] for name, value in query_of(view).items()}
    assert view_from_query(query, first_day=FIRST, last_day=LAST) == view


@given(
    st.dictionaries(st.sampled_from(["from", "to", "n", "order", "state", "status", "critical"]), st.lists(st.text()))
)
def test_any_link_opens_some_view(query: dict[str, list[str]]) -> None:
    view = view_from_query(query, first_day=FIRST, last_day=LAST)
    assert view.wanted.first <= view.wanted.last
    assert view.limit in LIMITS


def test_the_default_is_the_newest_thirty_days() -> None:
    wanted = default_view(date(2025, 1, 1), LAST).wanted
    assert (wanted.first, wanted.last) == (date(2026, 2, 11), LAST)
    assert default_view(FIRST, LAST).wanted.first == FIRST


def _part(day: date, average: float, *, critical: int = 0) -> DayNumbers:
    return DayNumbers(
        date=day, num_traces=10, avg_score=average, median_score=average, min_score=0.1, p10_score=0.2,
        num_critical=critical, counts=StateCounts(rules_only=10),
    )  # fmt: skip


def test_a_day_without_traces_is_a_gap_and_the_drop_is_against_the_day_before_it() -> None:
    found = days_of_numbers(
        [_part(FIRST, 0.9), _part(FIRST + timedelta(days=2), 0.7)], (), FIRST, FIRST + timedelta(days=3), drop_limit=0.1
    )
    assert [day.avg_score for day in found] == [0.9, None, 0.7, None]
    assert [day.drop for day in found] == [None, None, pytest.approx(-0.2), None]
    newest, before = newest_two(found)
    assert newest is found[2]
    assert before is found[0]


def test_quality_of_a_part_is_pooled_where_few_are_judged() -> None:
    def strata(score: float) -> tuple[StratumSample, ...]:
        return (
            StratumSample(num_traces=2, scores=(score, score)),
            StratumSample(num_traces=0, scores=()),
            StratumSample(num_traces=2, scores=(1.0, 1.0)),
        )

    second = FIRST + timedelta(days=1)
    found = days_of_numbers(
        [_part(FIRST, 0.9), _part(second, 0.9)],
        [DayStrata(date=FIRST, strata=strata(0.2)), DayStrata(date=second, strata=strata(0.6))],
        FIRST,
        second,
        drop_limit=0.1,
    )
    quality = found[1].quality
    assert quality is not None
    assert quality.value == pytest.approx((0.2 * 2 + 0.6 * 2 + 4) / 8)
    assert quality.note is not None
    assert quality.note.startswith("pooled over 2 days")


def test_a_change_within_the_interval_is_not_called_good_or_bad() -> None:
    def day(number: int, average: float) -> Day:
        interval = Estimate(value=average, low=average - 0.05, high=average + 0.05, n=10, n_missing=0, method="m")
        return Day(date=FIRST + timedelta(days=number), num_traces=10, avg_score=average, avg_interval=interval)

    assert kpis([day(0, 0.80), day(1, 0.82)])[0].may_be_noise
    assert not kpis([day(0, 0.70), day(1, 0.82)])[0].may_be_noise
    assert kpis([Day(date=FIRST)]) == ()


def test_releases_seen_from_the_beginning_are_no_marks() -> None:
    def seen(agent: str, release: str, day: int) -> Release:
        return Release(agent=agent, release=release, first_seen_at=START + timedelta(days=day))

    found = [seen("a", "1.0", 0), seen("a", "1.1", 3), seen("b", "1.1", 3), seen("b", "7", 3), seen("b", "8", 30)]
    marks = release_marks(found, FIRST, LAST, agents=(), beginning=FIRST)
    assert [(mark.date, mark.label) for mark in marks] == [(FIRST + timedelta(days=3), "1.1, 7")]
    assert [mark.label for mark in release_marks(found, FIRST, LAST, agents=("a",), beginning=FIRST)] == ["1.1"]


def _judged_day(number: int, version: str) -> Day:
    estimate = Estimate(value=0.8, low=0.7, high=0.9, n=5, n_missing=0, method="m")
    return Day(
        date=FIRST + timedelta(days=number), num_traces=5, avg_score=0.8, quality=estimate, critical=estimate,
        judge_version=version,
    )  # fmt: skip


def test_the_quality_line_breaks_where_the_judge_changes() -> None:
    row = [_judged_day(0, "a"), _judged_day(1, "a"), _judged_day(2, "b")]
    marks = judge_marks(row)
    assert [mark.date for mark in marks] == [row[2].date]
    figure = trajectory(row, (), marks, LIGHT)
    lines = [trace for trace in figure.data if trace.name == "Quality, with 95 % interval"]
    assert [len(line.x) for line in lines] == [2, 1]


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_the_trajectory_keeps_gaps_and_names_its_axes(palette: object) -> None:
    row = [_judged_day(0, "a"), Day(date=FIRST + timedelta(days=1)), _judged_day(2, "a")]
    figure = trajectory(row, (), (), palette)  # type: ignore[arg-type]
    average = next(trace for trace in figure.data if trace.name == "Average score")
    assert list(average.y) == [0.8, None, 0.8]
    assert average.connectgaps is False
    assert figure.layout.yaxis.title.text == "Score, 0 to 1"
    assert figure.layout.yaxis2.title.text == "Critical, %"


def test_parts_add_up_to_the_days() -> None:
    row = [
        Day(date=FIRST, num_traces=9, counts=StateCounts(rules_only=5, judged=3, judge_failed=1)),
        Day(date=FIRST + timedelta(days=1)),
    ]
    by_state = parts_by_state(row)
    assert [part.key for part in by_state] == ["rules_only", "judged", "judge_failed"]
    assert [sum(part.counts[number] for part in by_state) for number in (0, 1)] == [9, 0]
    shares = [AgentShare(date=FIRST, agent=f"agent {number}", num_traces=number + 1) for number in range(9)]
    by_agent = parts_by_agent(shares, row)
    assert len(by_agent) == 7
    assert by_agent[-1].label == "All others (3)"
    assert sum(part.counts[0] for part in by_agent) == 45


def _span(span_id: str, parent: str | None, start: int, length: int | None = 10, error: str | None = None) -> Span:
    began = START + timedelta(milliseconds=start)
    ended = None if length is None else began + timedelta(milliseconds=length)
    return Span(span_id=span_id, parent_id=parent, name=span_id, started_at=began, ended_at=ended, error=error)


def test_timeline_nests_children_in_order() -> None:
    shown = timeline(
        [_span("b", "root", 50), _span("root", None, 0, 100), _span("a", "root", 10), _span("a1", "a", 12)]
    )
    assert [(bar.name, bar.depth, bar.start_ms) for bar in shown.bars] == [
        ("root", 0, 0.0), ("a", 1, 10.0), ("a1", 2, 12.0), ("b", 1, 50.0),
    ]  # fmt: skip
    assert shown.total_ms == 100
    assert shown.note is None


def test_timeline_survives_circles_lost_parents_and_missing_times() -> None:
    shown = timeline([_span("x", "y", 0), _span("y", "x", 5, None), _span("lost", "gone", 7), Span(span_id="untimed")])
    assert sorted(bar.name for bar in shown.bars) == ["lost", "x", "y"]
    assert shown.note == "1 span without a start time cannot be drawn."


def test_timeline_of_very_many_keeps_failed_ones_with_their_parents() -> None:
    spans = [_span("root", None, 0, 5000)]
    spans += [_span(f"s{n}", "root", n, 5, error="boom" if n == 777 else None) for n in range(2000)]
    spans.append(_span("deep", "s778", 900, 1, error="boom"))
    shown = timeline(spans, most_bars=20)
    drawn = {bar.name for bar in shown.bars}
    assert len(shown.bars) == 20
    assert {"root", "s777", "s778", "deep"} <= drawn
    assert shown.note is not None
    assert shown.note.startswith("20 of 2,002 spans are drawn")


def _grade(outcomes: tuple[RuleOutcome, ...]) -> TraceGrade:
    return TraceGrade(
        rules_version="r", rule_score=0.0, outcomes=outcomes, alerts=(), state="rules_only", judge_version=None,
        judge_score=None, final_score=0.0, critical=True, selected_because=None, inclusion_probability=None,
        is_current=True,
    )  # fmt: skip


def test_steps_stop_at_zero_and_use_the_limits_of_the_agent() -> None:
    outcomes = (
        RuleOutcome(rule="latency", outcome="failed", value=4_000, deducted_milli=700),
        RuleOutcome(rule="response", outcome="failed", value=3, deducted_milli=500),
        RuleOutcome(rule="costs_much", outcome="flagged", value=0.75, deducted_milli=0),
        RuleOutcome(rule="guardrails", outcome="not_applicable", value=None, deducted_milli=0),
    )
    rules = RulesSettings(agents={"checkout": AgentRules(latency_limit_ms=3_000)})
    found = steps(_grade(outcomes), rules, "checkout")
    assert [(step.before, step.deducted) for step in found] == [(1.0, 0.7), (0.3, 0.3), (0.0, 0.0), (0.0, 0.0)]
    assert [step.limit for step in found] == ["at most 3.0 s", "at least 10", "–", "none"]
    assert [step.measured for step in found] == ["4.0 s", "3 characters", "0.75", "not known"]


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("plain", "plain"),
        ('[{"role": "assistant", "content": "hello"}]', "hello"),
        (
            '[{"role": "assistant", "parts": [{"type": "text", "content": "a"}, {"type": "tool_call", "name": "t"}]}]',
            "a",
        ),
        ('{"choices": [{"message": {"content": "deep"}}]}', "deep"),
        ('[{"type": "function_call", "name": "t"}]', ""),
        ("{broken", "{broken"),
    ],
)
def test_readable_message(output: str, text: str) -> None:
    assert readable_message(output) == text


def test_conversation_does_not_repeat_the_answer() -> None:
    spans = (
        Span(span_id="1", kind="model", output="I look it up."),
        Span(span_id="2", kind="model", output='[{"role": "assistant", "content": "Thursday."}]'),
        Span(span_id="3", kind="tool", output="not said"),
    )
    turns = conversation(Content(user_message="When?", final_output="Thursday.", tools=None, spans=spans))
    assert [(turn.label, turn.body.text) for turn in turns] == [
        ("Question", "When?"), ("Model", "I look it up."), ("Answer", "Thursday."),
    ]  # fmt: skip


def test_cut_says_how_much_is_left() -> None:
    assert cut("x" * 10, 10).is_cut is False
    assert cut("x" * 1_011, 10).text == "x" * 10 + "\n\n[… 1,001 more characters: download the text to read them all]"
