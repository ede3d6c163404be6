from __future__ import annotations

import hashlib
from collections import Counter
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.sampling import call_budget, choose, sample_sizes
from grader.settings import JudgeSettings

DAY = date(2026, 11, 3)
OPEN = JudgeSettings(provider="offline")


def graded(scores: list[int], *, unjudgeable: frozenset[int] = frozenset()) -> pa.Table:
    return pa.table(
        {
            "trace_id": [f"t{i:05}" for i in range(len(scores))],
            "rule_score_milli": pa.array(scores, pa.int16()),
            "judgeable": [i not in unjudgeable for i in range(len(scores))],
        }
    )


def rows(table: pa.Table, judge: JudgeSettings = OPEN, **arguments: Any) -> dict[str, dict[str, Any]]:
    chosen = choose(table, day=arguments.pop("day", DAY), judge=judge, judge_below=0.7, **arguments)
    return {row["trace_id"]: row for row in chosen.to_pylist()}


def picked(table: pa.Table, judge: JudgeSettings = OPEN, **arguments: Any) -> set[str]:
    found = rows(table, judge, **arguments)
    return {trace_id for trace_id, row in found.items() if row["selected_because"] is not None}


MIXED = [699] * 180 + [700] * 320 + [1000] * 500


@pytest.mark.parametrize(("score", "stratum"), [(0, 0), (699, 0), (700, 1), (999, 1), (1000, 2)], ids=str)
def test_strata_by_rule_score(score: int, stratum: int) -> None:
    (row,) = rows(graded([score])).values()
    assert row["stratum"] == stratum
    assert row["selected_because"] == ("low_rule_score" if stratum == 0 else "audit")
    assert row["inclusion_probability"] == 1.0


def test_the_limit_is_exact_in_thousandths() -> None:
    # 0.57 * 1000 is 569.9999999999999 in binary floats
    chosen = choose(graded([569, 570]), day=DAY, judge=OPEN, judge_below=0.57)
    assert dict(zip(chosen["trace_id"].to_pylist(), chosen["stratum"].to_pylist(), strict=True)) == {
        "t00000": 0,
        "t00001": 1,
    }


def test_without_a_budget_all_of_the_low_stratum_and_an_audit_of_the_others() -> None:
    found = rows(graded(MIXED))
    because = Counter((row["stratum"], row["selected_because"]) for row in found.values())
    assert because[0, "low_rule_score"] == 180
    assert because[1, "audit"] + because[2, "audit"] == 30  # 2 % of 820 would be 17
    assert (because[1, "audit"], because[2, "audit"]) == (12, 18)  # in proportion 320 : 500, as both spread alike
    for row in found.values():
        assert row["inclusion_probability"] == pytest.approx({0: 1.0, 1: 12 / 320, 2: 18 / 500}[row["stratum"]])


SIZES = [
    pytest.param((180, 320, 500), {}, (180, 12, 18), id="audit minimum"),
    pytest.param((0, 5000, 5000), {}, (0, 100, 100), id="audit fraction"),
    pytest.param((0, 2551, 0), {}, (0, 52, 0), id="the fraction rounds up"),
    pytest.param((5, 3, 4), {}, (5, 3, 4), id="fewer than the audit minimum"),
    pytest.param((5, 9000, 3), {}, (5, 179, 2), id="two of a tiny stratum"),
    pytest.param((5, 1, 9000), {}, (5, 1, 180), id="one of a stratum of one"),
    pytest.param((5, 0, 9000), {}, (5, 0, 180), id="an empty stratum"),
    pytest.param((0, 0, 0), {}, (0, 0, 0), id="a day without traces"),
    pytest.param((50, 400, 400), {"audit_minimum": 0, "audit_fraction": 0}, (50, 0, 0), id="audit switched off"),
    pytest.param((180, 320, 500), {"max_calls_per_day": 1000}, (180, 12, 18), id="a budget that is no limit"),
    pytest.param((180, 320, 500), {"max_calls_per_day": 210}, (180, 12, 18), id="a budget that just suffices"),
    pytest.param((180, 320, 500), {"max_calls_per_day": 100}, (70, 12, 18), id="the audit needs less than its share"),
    pytest.param((180, 320, 500), {"max_calls_per_day": 40}, (20, 8, 12), id="half for the others"),
    pytest.param(
        (10, 320, 500), {"max_calls_per_day": 30}, (10, 8, 12), id="what the low stratum leaves is the audit's"
    ),
    pytest.param((180, 320, 500), {"max_calls_per_day": 40, "audit_budget_share": 0}, (40, 0, 0), id="no share"),
    pytest.param((180, 320, 500), {"max_calls_per_day": 40, "audit_budget_share": 1}, (10, 12, 18), id="whole share"),
    pytest.param((180, 320, 500), {"max_calls_per_day": 6}, (2, 2, 2), id="two each"),
    pytest.param((180, 320, 500), {"max_calls_per_day": 4}, (2, 1, 1), id="low first when there are not two each"),
    pytest.param((180, 320, 500), {"max_calls_per_day": 3}, (2, 0, 1), id="as many calls as strata"),
    pytest.param((180, 320, 500), {"max_calls_per_day": 2}, (2, 0, 0), id="fewer calls than strata"),
    pytest.param((180, 320, 500), {"max_calls_per_day": 1}, (1, 0, 0), id="one call"),
    pytest.param((0, 320, 500), {"max_calls_per_day": 1}, (0, 0, 1), id="one call and nothing low"),
    pytest.param((180, 320, 500), {"max_calls_per_day": 0}, (0, 0, 0), id="no call"),
]


@pytest.mark.parametrize(("counts", "judge", "sizes"), SIZES)
def test_sample_sizes(counts: tuple[int, int, int], judge: dict[str, Any], sizes: tuple[int, int, int]) -> None:
    assert sample_sizes(counts, judge=JudgeSettings(**judge)) == sizes


def test_the_audit_leans_towards_the_stratum_where_the_judge_varies_more() -> None:
    assert sample_sizes((0, 500, 500), judge=OPEN, stratum_sds=(0.38, 0.4, 0.1)) == (0, 24, 6)
    assert sample_sizes((0, 500, 500), judge=OPEN, stratum_sds=(0.38, 0.0, 0.0)) == (0, 15, 15)


@pytest.mark.parametrize(
    ("judge", "unit_cost_usd", "budget"),
    [
        pytest.param({}, 0.01, None, id="no limit"),
        pytest.param({"max_calls_per_day": 7}, None, 7, id="calls"),
        pytest.param({"max_usd_per_day": 0.3}, 0.1, 3, id="dollars, exactly"),
        pytest.param({"max_usd_per_day": 0.29}, 0.1, 2, id="dollars, rounded down"),
        pytest.param({"max_usd_per_day": 0.05}, 0.1, 0, id="less than one call"),
        pytest.param({"max_usd_per_day": 1}, None, None, id="dollars without a price"),
        pytest.param({"max_usd_per_day": 0}, None, 0, id="no dollars"),
        pytest.param({"max_usd_per_day": 0}, 0.0, None, id="free calls"),
        pytest.param({"max_usd_per_day": 1, "max_calls_per_day": 7}, 0.1, 7, id="calls are less"),
        pytest.param({"max_usd_per_day": 1, "max_calls_per_day": 70}, 0.1, 10, id="dollars are less"),
    ],
)
def test_calls_and_dollars_both_limit(judge: dict[str, Any], unit_cost_usd: float | None, budget: int | None) -> None:
    assert call_budget(JudgeSettings(**judge), unit_cost_usd) == budget


@given(
    st.tuples(*[st.integers(0, 400)] * 3),
    st.none() | st.integers(0, 900),
    st.floats(0, 1),
    st.integers(0, 60),
    st.floats(0, 1),
    st.tuples(*[st.floats(0, 0.5)] * 3),
)
@settings(max_examples=500, deadline=None)
def test_sizes_stay_within_strata_and_budget_and_waste_none_of_it(
    counts: tuple[int, int, int],
    budget: int | None,
    fraction: float,
    minimum: int,
    share: float,
    sds: tuple[float, float, float],
) -> None:
    judge = JudgeSettings(
        max_calls_per_day=budget, audit_fraction=fraction, audit_minimum=minimum, audit_budget_share=share
    )
    unlimited = sum(sample_sizes(counts, judge=judge.model_copy(update={"max_calls_per_day": None}), stratum_sds=sds))
    sizes = sample_sizes(counts, judge=judge, stratum_sds=sds)
    assert all(0 <= size <= count for size, count in zip(sizes, counts, strict=True))
    assert sum(sizes) == (unlimited if budget is None else min(budget, unlimited))
    others = sizes[1] + sizes[2]
    assert all(size >= min(count, 2, others // 2) for size, count in zip(sizes[1:], counts[1:], strict=True))


def test_traces_without_content_are_never_chosen_and_count_for_nothing() -> None:
    hidden = frozenset(range(0, 1000, 2))
    found = rows(graded(MIXED, unjudgeable=hidden))
    assert len(found) == 1000
    for trace_id, row in found.items():
        if int(trace_id[1:]) in hidden:
            assert row["selected_because"] is None and row["inclusion_probability"] is None
    low = [row for row in found.values() if row["selected_because"] == "low_rule_score"]
    assert len(low) == 90 and {row["inclusion_probability"] for row in low} == {1.0}


def test_probabilities_are_those_of_the_draw_and_null_where_nobody_is_drawn() -> None:
    found = rows(graded(MIXED), JudgeSettings(max_calls_per_day=40, audit_budget_share=0))
    assert {(row["stratum"], row["inclusion_probability"]) for row in found.values()} == {
        (0, 40 / 180),
        (1, None),
        (2, None),
    }
    assert sum(row["inclusion_probability"] or 0 for row in found.values()) == pytest.approx(40)


def test_the_same_choice_again_and_whatever_the_order_of_the_rows() -> None:
    judge = JudgeSettings(max_calls_per_day=60)
    table = graded(MIXED)
    shuffled = table.take(np.random.default_rng(5).permutation(len(table)))
    assert picked(table, judge) == picked(table, judge) == picked(shuffled, judge)
    assert len(picked(table, judge)) == 60


def test_the_draw_is_the_same_in_every_version() -> None:
    """A known draw: should it change, days that were judged before would be judged again, and be paid for again."""
    chosen = picked(graded([1000] * 40), JudgeSettings(audit_minimum=4))
    assert chosen == {"t00004", "t00009", "t00029", "t00033"}

    def by_hand(trace_id: str) -> str:
        return hashlib.md5(f"2026-11-03/0/{trace_id}".encode()).hexdigest()

    assert chosen == set(sorted((f"t{i:05}" for i in range(40)), key=by_hand)[:4])


def test_another_day_or_seed_is_another_choice() -> None:
    table = graded(MIXED)
    first = picked(table)
    assert first != picked(table, day=date(2026, 11, 4))
    assert first != picked(table, OPEN.model_copy(update={"seed": 1}))


def test_never_worst_first() -> None:
    """With a tenth of the low stratum in the budget, every rule score has the same chance."""
    scores = [0, 200, 400, 600] * 100
    judge = JudgeSettings(max_calls_per_day=40, audit_minimum=0, audit_fraction=0)
    drawn: Counter[int] = Counter()
    for seed in range(20):
        for trace_id in picked(graded(scores), judge.model_copy(update={"seed": seed})):
            drawn[scores[int(trace_id[1:])]] += 1
    assert sum(drawn.values()) == 800
    assert all(abs(drawn[score] - 200) < 47 for score in (0, 200, 400, 600))  # 4 standard deviations


def test_a_late_trace_changes_only_a_little() -> None:
    judge = JudgeSettings(max_calls_per_day=60)
    before, after = picked(graded(MIXED), judge), picked(graded([*MIXED, 1000, 0]), judge)
    assert len(before - after) <= 2
    assert len(after) == 60


def test_a_day_without_traces() -> None:
    chosen = choose(graded([]), day=DAY, judge=OPEN, judge_below=0.7)
    assert chosen.num_rows == 0
    assert chosen.schema.names == ["trace_id", "stratum", "selected_because", "inclusion_probability"]
    assert chosen.schema.field("stratum").type == pa.int8()
    assert chosen.schema.field("inclusion_probability").type == pa.float64()
