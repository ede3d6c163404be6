"""Who is judged, and with which probability (STATISTICS.md section 2).

Traces of a day fall into three strata by rule score. The low one comes first (the contract sends every such trace to
the judge), at random within a budget, never worst first: only then does a judged trace stand for the others. A random
audit of the other two shows what the rules cannot see. The draw is a stable hash, so a re-run chooses the same traces,
and a late trace displaces at most one for each place that it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import ROUND_CEILING, Decimal

import pyarrow as pa

from grader.engine import TABLE_ENGINES
from grader.settings import JudgeSettings
from grader.stats.quality import PRIOR_SDS

LOW_STRATUM = 0  # rule score under judge_below
NUM_STRATA = 3  # 1: from there to under 1; 2: exactly 1
LEAST_PER_STRATUM = 2  # a stratum of which nobody is judged leaves the day without a quality estimate


def choose(
    graded: pa.Table,
    *,
    day: date,
    judge: JudgeSettings,
    judge_below: float,
    unit_cost_usd: float | None = None,
    stratum_sds: Sequence[float] = PRIOR_SDS,
) -> pa.Table:
    """The stratum of every trace of `day`, and which of them the judge gets.

    `graded` has trace_id (unique), rule_score_milli and judgeable (bool: its content was captured), one row a trace in
    any order. `unit_cost_usd` is what one judge call costs; None: not known, and `judge.max_usd_per_day` limits nothing
    here. `stratum_sds` are the standard deviations of judge scores by stratum in recent days; they share out the audit.

    The result has one row a trace, in no particular order: trace_id; stratum 0, 1 or 2 (int8); selected_because
    'low_rule_score', 'audit' or null; inclusion_probability, chosen / judgeable traces of the stratum, for chosen and
    unchosen ones alike; null where nobody of the stratum is chosen, and for a trace that cannot be judged.
    """
    with TABLE_ENGINES.connection() as connection:
        connection.register("graded", graded.select(["trace_id", "rule_score_milli", "judgeable"]))
        stratum = (
            f"CASE WHEN rule_score_milli < {Decimal(str(judge_below)) * 1000} THEN 0 "
            "WHEN rule_score_milli < 1000 THEN 1 ELSE 2 END"
        )
        connection.execute(f"CREATE TEMP VIEW strata AS SELECT *, CAST({stratum} AS TINYINT) AS stratum FROM graded")
        found = connection.execute("SELECT stratum, count(*) FROM strata WHERE judgeable GROUP BY stratum").fetchall()
        counts = tuple(dict(found).get(h, 0) for h in range(NUM_STRATA))
        sizes = sample_sizes(counts, judge=judge, unit_cost_usd=unit_cost_usd, stratum_sds=stratum_sds)
        draws = [_draw_sql(h, sizes[h], counts[h], f"{day.isoformat()}/{judge.seed}/") for h in range(NUM_STRATA)]
        probabilities = " ".join(f"WHEN {h} THEN {sizes[h]} / {counts[h]}" for h in range(NUM_STRATA) if sizes[h] > 0)
        return connection.sql(
            f"""SELECT trace_id, stratum,
                   CASE WHEN NOT judgeable OR trace_id NOT IN ({" UNION ALL ".join(draws)}) THEN NULL
                        WHEN stratum = {LOW_STRATUM} THEN 'low_rule_score' ELSE 'audit' END AS selected_because,
                   CAST(CASE WHEN judgeable THEN {f"CASE stratum {probabilities} END" if probabilities else "NULL"} END
                        AS DOUBLE) AS inclusion_probability
               FROM strata"""
        ).to_arrow_table()


def _draw_sql(stratum: int, size: int, count: int, salt: str) -> str:
    of_stratum = f"SELECT trace_id FROM strata WHERE judgeable AND stratum = {stratum}"
    if size == count:
        return of_stratum  # nothing to draw, and no hash to compute
    return f"(SELECT trace_id FROM ({of_stratum}) ORDER BY md5('{salt}' || trace_id), trace_id LIMIT {size})"


def sample_sizes(
    counts: Sequence[int],
    *,
    judge: JudgeSettings,
    unit_cost_usd: float | None = None,
    stratum_sds: Sequence[float] = PRIOR_SDS,
) -> tuple[int, int, int]:
    """How many of the judgeable traces of each stratum are judged; `counts` says how many there are.

    Without a budget: the whole low stratum and the audit of the others, max(audit_minimum, audit_fraction of them).
    With one: the low stratum up to the budget less audit_budget_share of it, and the audit with the rest. As far as the
    budget goes, every stratum that has traces and is meant to be judged gets two.
    """
    low, *others = counts
    audit = _audit_size(sum(others), judge)
    budget = call_budget(judge, unit_cost_usd)
    if budget is not None and low + audit > budget:
        kept = int(budget * Decimal(str(judge.audit_budget_share)))
        low_least = min(low, LEAST_PER_STRATUM)
        if kept:
            audit_least = sum(min(count, LEAST_PER_STRATUM) for count in others)
            kept = max(kept, min(audit_least, budget - low_least))
        low = min(low, max(budget - min(audit, kept), min(low_least, budget)))
        audit = min(audit, budget - low)
    return (low, *_neyman(audit, (others[0], others[1]), (stratum_sds[1], stratum_sds[2])))


def call_budget(judge: JudgeSettings, unit_cost_usd: float | None) -> int | None:
    """How many calls the settings allow for one day of traces; None: no limit."""
    limits = [] if judge.max_calls_per_day is None else [judge.max_calls_per_day]
    if judge.max_usd_per_day is not None:
        if unit_cost_usd:
            limits.append(int(Decimal(str(judge.max_usd_per_day)) // Decimal(str(unit_cost_usd))))
        elif judge.max_usd_per_day == 0 and unit_cost_usd is None:
            limits.append(0)  # what a call costs is not known, but it is not nothing
    return min(limits, default=None)


def _audit_size(num_others: int, judge: JudgeSettings) -> int:
    share = (num_others * Decimal(str(judge.audit_fraction))).to_integral_value(ROUND_CEILING)
    return min(num_others, max(judge.audit_minimum, int(share)))


def _neyman(total: int, counts: tuple[int, int], sds: tuple[float, float]) -> tuple[int, int]:
    """`total` shared out by count times standard deviation (Neyman 1934), at least two each where possible."""
    weights = [count * sd for count, sd in zip(counts, sds, strict=True)]
    if not sum(weights):  # the judge always said the same: no stratum needs more than its share
        weights = [float(count) for count in counts]
    if not sum(weights):
        return 0, 0
    least = [min(count, LEAST_PER_STRATUM, total // 2) for count in counts]
    wanted = round(total * weights[0] / sum(weights))
    first = min(max(wanted, least[0], total - counts[1]), counts[0], total - least[1])
    return first, total - first
