"""The overview's figures: the trajectory of the scores, and what the days consist of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dashboard.charts.base import Palette, figure, style, translucent
from dashboard.views.days import Day
from dashboard.views.numbers import MINUS, plot_text
from dashboard.views.overview import Mark, Part

PATTERNS = {"judge_pending": "/", "judge_failed": "x", "not_judgeable": "."}
SPARSE_DAYS = 45  # up to here each day has a marker


def trajectory(days: Sequence[Day], releases: Sequence[Mark], judges: Sequence[Mark], palette: Palette) -> go.Figure:
    """Average score, quality with its interval and p10 above; the share of critical traces below."""
    chart = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.7, 0.3], vertical_spacing=0.07)
    style(chart, palette, height=440)
    _draw_quality(chart, days, {mark.date for mark in judges}, palette)
    _draw_scores(chart, days, palette)
    _draw_critical(chart, days, palette)
    _draw_drops(chart, days, palette)
    _draw_marks(chart, releases, palette, dash="dot")
    _draw_marks(chart, judges, palette, dash="dash")
    chart.update_layout(margin={"l": 8, "r": 8, "t": 44 if releases or judges else 8, "b": 8})
    if releases or judges:
        chart.update_layout(legend={"y": 1.12})
    lowest = min((value for day in days for value in _scores(day)), default=0.0)
    chart.update_yaxes(
        title_text="Score, 0 to 1", range=[max(0.0, lowest - 0.08), 1.02], tickformat=".1f", row=1, col=1
    )
    chart.update_yaxes(title_text="Critical, %", rangemode="tozero", row=2, col=1)
    _style_days(chart, days)
    return chart


def composition(days: Sequence[Day], parts: Sequence[Part], palette: Palette, *, by_state: bool) -> go.Figure:
    """Traces a day, stacked by grade state or by agent."""
    chart = figure(palette, height=260)
    state_colours = {
        "rules_only": translucent(palette.blue, 0.35),
        "judged": palette.blue,
        "judge_pending": palette.orange,
        "judge_failed": palette.red,
        "not_judgeable": palette.gray,
    }
    for number, part in enumerate(parts):
        colour = state_colours[part.key] if by_state else [*palette.categorical, palette.gray][number]
        pattern = PATTERNS.get(part.key, "") if by_state else ""
        chart.add_bar(
            x=_dates(days),
            y=part.counts,
            name=plot_text(part.label),
            hovertemplate="%{y:,}",
            marker={
                "color": colour,
                "line": {"width": 0},
                "pattern": {
                    "shape": pattern,
                    "fillmode": "overlay",
                    "fgcolor": palette.surface,
                    "size": 6,
                    "solidity": 0.3,
                },
            },
        )
    chart.update_layout(barmode="stack", bargap=0.25, legend={"traceorder": "normal"})
    chart.update_yaxes(title_text="Traces a day", rangemode="tozero", tickformat=",d")
    _style_days(chart, days)
    return chart


def _dates(days: Sequence[Day]) -> list[date]:
    return [day.date for day in days]


def _scores(day: Day) -> list[float]:
    low = day.quality.low if day.quality else None
    return [value for value in (day.avg_score, day.p10_score, low) if value is not None]


def _mode(days: Sequence[Day]) -> str:
    return "lines+markers" if len(days) <= SPARSE_DAYS else "lines"


def _draw_scores(chart: go.Figure, days: Sequence[Day], palette: Palette) -> None:
    chart.add_scatter(
        x=_dates(days),
        y=[day.p10_score for day in days],
        name="Worst tenth (p10)",
        mode=_mode(days),
        connectgaps=False,
        line={"color": palette.gray, "width": 1.5, "dash": "dot"},
        marker={"size": 4, "symbol": "square"},
        hovertemplate="%{y:.3f}",
        row=1,
        col=1,
    )
    chart.add_scatter(
        x=_dates(days),
        y=[day.avg_score for day in days],
        name="Average score",
        mode=_mode(days),
        connectgaps=False,
        line={"color": palette.blue, "width": 2.5},
        marker={"size": 7},
        customdata=[day.num_traces for day in days],
        hovertemplate="%{y:.3f} of %{customdata:,} traces",
        row=1,
        col=1,
    )


def _draw_quality(chart: go.Figure, days: Sequence[Day], breaks: set[date], palette: Palette) -> None:
    """Quality in stretches of one judge and without gaps: a band for the interval, and a line over it."""
    stretches: list[list[Day]] = [[]]
    for day in days:
        if day.quality is None or day.quality.value is None:
            stretches.append([])
            continue
        if day.date in breaks:
            stretches.append([])
        stretches[-1].append(day)
    is_first = True
    for stretch in filter(None, stretches):
        estimates = [day.quality for day in stretch if day.quality is not None]
        dates = _dates(stretch)
        banded = [
            (when, e) for when, e in zip(dates, estimates, strict=True) if e.low is not None and e.high is not None
        ]
        chart.add_scatter(
            x=[when for when, _ in banded] + [when for when, _ in reversed(banded)],
            y=[e.high for _, e in banded] + [e.low for _, e in reversed(banded)],
            fill="toself",
            fillcolor=translucent(palette.green, 0.14),
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
            legendgroup="quality",
            row=1,
            col=1,
        )
        chart.add_scatter(
            x=dates,
            y=[e.value for e in estimates],
            name="Quality, with 95 % interval",
            legendgroup="quality",
            showlegend=is_first,
            mode=_mode(days),
            line={"color": palette.green, "width": 2, "dash": "dash"},
            marker={"size": 7, "symbol": "diamond"},
            customdata=[(e.low, e.high, e.n) for e in estimates],
            hovertemplate="%{y:.3f} (%{customdata[0]:.3f}–%{customdata[1]:.3f}), %{customdata[2]:,} judged",
            row=1,
            col=1,
        )
        is_first = False


def _draw_critical(chart: go.Figure, days: Sequence[Day], palette: Palette) -> None:
    estimates = [day.critical for day in days]
    values = [e.value if e else None for e in estimates]
    above = [e.high - e.value if e and e.high is not None and e.value is not None else 0 for e in estimates]
    below = [e.value - e.low if e and e.low is not None and e.value is not None else 0 for e in estimates]
    chart.add_bar(
        x=_dates(days),
        y=values,
        name="Critical, with 95 % interval",
        marker={"color": translucent(palette.red, 0.75)},
        error_y={
            "type": "data",
            "array": above,
            "arrayminus": below,
            "symmetric": False,
            "color": palette.muted,
            "thickness": 1,
            "width": 2,
        },
        customdata=[(day.num_critical, day.num_traces) for day in days],
        hovertemplate="%{y:.1f} % (%{customdata[0]:,} of %{customdata[1]:,})",
        row=2,
        col=1,
    )


def _draw_drops(chart: go.Figure, days: Sequence[Day], palette: Palette) -> None:
    dropped = [day for day in days if day.drop is not None]
    if not dropped:
        return
    chart.add_scatter(
        x=_dates(dropped),
        y=[day.avg_score for day in dropped],
        name="Day-to-day drop",
        mode="markers",
        customdata=[f"{MINUS}{abs(day.drop or 0):.3f}" for day in dropped],
        marker={
            "symbol": "triangle-down",
            "size": 13,
            "color": palette.red,
            "line": {"color": palette.surface, "width": 1.5},
        },
        hovertemplate="%{customdata}",
        row=1,
        col=1,
    )
    for day in dropped:
        chart.add_annotation(
            x=day.date,
            y=day.avg_score,
            xref="x",
            yref="y",
            yshift=-20,
            text=f"<b>{MINUS}{abs(day.drop or 0):.2f}</b>",
            showarrow=False,
            bgcolor=palette.surface,
            borderpad=1,
            font={"size": 12, "color": palette.red},
        )


def _draw_marks(chart: go.Figure, marks: Sequence[Mark], palette: Palette, *, dash: str) -> None:
    for mark in marks:
        chart.add_vline(x=mark.date, line={"color": palette.muted, "width": 1, "dash": dash}, row="all", col=1)
        chart.add_annotation(
            x=mark.date,
            y=1,
            xref="x",
            yref="y domain",
            yanchor="bottom",
            text=plot_text(mark.label[:24]),
            showarrow=False,
            font={"size": 11, "color": palette.muted},
        )


def _style_days(chart: go.Figure, days: Sequence[Day]) -> None:
    if days:
        chart.update_xaxes(tickformat="%-d %b", hoverformat="%a %-d %b %Y", nticks=7, tickangle=0)
