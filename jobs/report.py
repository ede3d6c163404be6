"""One day's report for people to read: Markdown, or an HTML page that needs nothing else."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined

from grader.records import DayReport, Estimate

NOT_KNOWN = "–"

COUNT_NAMES = (
    ("rules_only", "graded by rules"),
    ("judged", "judged"),
    ("judge_pending", "waiting for the judge"),
    ("judge_failed", "judge call failed"),
    ("not_judgeable", "without recorded texts, so not judgeable"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    """One number of the day, as text, with what it rests on."""

    name: str
    value: str
    note: str


def numbers(report: DayReport) -> tuple[Number, ...]:
    """The day's numbers; a number without a value is a dash, never 0."""
    return (
        Number(name="Traces", value=f"{report.num_traces:,}", note=""),
        Number(name="Average score", value=_score(report.avg_score), note=_interval(report.avg_score_interval, 3)),
        Number(name="Median score", value=_score(report.median_score), note=""),
        Number(name="Lowest score", value=_score(report.min_score), note=""),
        Number(
            name="Critical",
            value=NOT_KNOWN if report.pct_critical is None else f"{report.pct_critical:.1f} %",
            note=", ".join(
                part for part in (_traces(report.num_critical), _interval(report.pct_critical_interval, 1)) if part
            ),
        ),
        Number(
            name="Quality",
            value=_score(report.quality.value),
            note=_interval(report.quality, 3) or report.quality.note or "",
        ),
    )


def comparison(report: DayReport) -> str:
    """How the day compares with the one before, in a sentence."""
    change = report.regression
    if change.change is None or change.previous_date is None:
        return "There is no earlier day to compare with." if report.num_traces else "The day brought no traces."
    verdict = f"a drop of more than {change.limit:g}" if change.flagged else f"within the limit of {change.limit:g}"
    return f"The average changed by {change.change:+.3f} against {change.previous_date}: {verdict}."


def shown(report: DayReport) -> str:
    """How many of the critical traces the report names, in a sentence."""
    if len(report.critical_alerts) == report.num_critical:
        return f"{_traces(report.num_critical)}, the worst first."
    return f"The {len(report.critical_alerts)} worst of {_traces(report.num_critical)}."


def markdown(report: DayReport) -> str:
    """The report as Markdown; texts of traces cannot become markup."""
    lines = [f"# Gradebook: {report.date}", "", f"Revision {report.revision}. {comparison(report)}", ""]
    lines += ["| | | |", "|---|---:|---|"]
    lines += [f"| {number.name} | {number.value} | {_cell(number.note)} |" for number in numbers(report)]
    lines += ["", "## What the day consists of", "", "| state | traces |", "|---|---:|"]
    lines += [f"| {name} | {count:,} |" for name, count in _counts(report)]
    lines += ["", "## Critical alerts", ""]
    if not report.critical_alerts:
        return "\n".join([*lines, "None.", ""])
    lines += [shown(report), ""]
    lines += ["| trace | score | reasons |", "|---|---:|---|"]
    lines += [
        f"| {_cell(alert.trace_id)} | {alert.score:.3f} | {_cell('; '.join(alert.alerts))} |"
        for alert in report.critical_alerts
    ]
    return "\n".join([*lines, ""])


def html(report: DayReport) -> str:
    """The report as one HTML page that loads nothing."""
    environment = Environment(loader=PackageLoader("jobs"), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("report.html.j2").render(
        report=report,
        numbers=numbers(report),
        comparison=comparison(report),
        counts=_counts(report),
        shown=shown(report),
    )


def _counts(report: DayReport) -> list[tuple[str, int]]:
    counts = asdict(report.counts)
    return [(name, counts[state]) for state, name in COUNT_NAMES]


def _traces(count: int) -> str:
    return "1 trace" if count == 1 else f"{count:,} traces"


def _score(value: float | None) -> str:
    return NOT_KNOWN if value is None else f"{value:.3f}"


def _interval(estimate: Estimate, digits: int) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    missing = f", {estimate.n_missing:,} missing" if estimate.n_missing else ""
    return f"95 % interval {estimate.low:.{digits}f} to {estimate.high:.{digits}f}, n = {estimate.n:,}{missing}"


def _cell(text: str) -> str:
    """Text that cannot break out of a Markdown table cell or become markup."""
    for character in "\\`*_[]<>|":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())
