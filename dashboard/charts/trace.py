"""The trace page's figures: the way from 1 to the score, and the spans in time."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dashboard import text
from dashboard.charts.base import Palette, figure, translucent
from dashboard.views.numbers import MINUS, UNKNOWN, duration, plot_text, shortened
from dashboard.views.timeline import LONGEST_NAME, Bar, Timeline
from dashboard.views.trace import Step

ROW_HEIGHT = 34
BAR_HEIGHT = 21
NAMES_WIDTH = 190
INDENT_WIDTH = 10
DEEPEST_INDENT = 8


def waterfall(steps: Sequence[Step], rule_score: float, judge_score: float | None, palette: Palette) -> go.Figure:
    """From 1 downwards: a bar for what each rule took off, then the score by rules, and the judge's beside it."""
    ends = [("Score by rules", rule_score, palette.blue)]
    if judge_score is not None:
        ends.append(("Judge's score", judge_score, palette.green))
    chart = figure(palette, height=56 + ROW_HEIGHT * (len(steps) + len(ends)))
    colours = {"failed": palette.red, "flagged": palette.orange, "passed": palette.gray, "not_applicable": palette.gray}
    for step in steps:
        chart.add_bar(
            y=[plot_text(step.label)],
            x=[-step.deducted],
            base=[step.before],
            orientation="h",
            width=0.55,
            marker={"color": palette.red},
            text=[f"{MINUS}{step.deducted:.3g}"] if step.deducted else None,
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            hoverinfo="skip",
            constraintext="none",
            insidetextfont={"color": palette.surface, "size": 12},
        )
        if not step.deducted:
            chart.add_scatter(
                y=[plot_text(step.label)],
                x=[step.before],
                mode="markers+text",
                text=[f"  {text.OUTCOME_LABELS[step.outcome].lower()}"],
                textposition="middle left",
                textfont={"color": palette.muted, "size": 12},
                marker={"symbol": "line-ns", "size": 14, "line": {"width": 3, "color": colours[step.outcome]}},
                hoverinfo="skip",
            )
    for name, value, colour in ends:
        chart.add_bar(
            y=[f"<b>{name}</b>"],
            x=[value],
            orientation="h",
            width=0.55,
            marker={"color": colour},
            text=[f"<b>{value:.3f}</b>"],
            textposition="outside",
            cliponaxis=False,
            hoverinfo="skip",
        )
    chart.update_layout(barmode="overlay", showlegend=False, hovermode=False)
    chart.update_xaxes(range=[0, 1.12], title_text="Score, 0 to 1", tickvals=[0, 0.25, 0.5, 0.75, 1], showgrid=True)
    chart.update_yaxes(autorange="reversed", showgrid=False)
    chart.update_yaxes(tickfont={"color": palette.text})
    return chart


def spans(shown: Timeline, palette: Palette) -> go.Figure:
    """Spans as bars from left to right, children indented under their parents; failed ones in red and marked."""
    chart = figure(palette, height=70 + BAR_HEIGHT * len(shown.bars))
    colours = {
        "model": palette.blue,
        "tool": palette.orange,
        "agent": palette.gray,
        "guardrail": palette.purple,
        "handoff": palette.purple,
        "retriever": palette.green,
        "embedding": palette.green,
    }
    legend: dict[str, list[int]] = {}
    for row, bar in enumerate(shown.bars):
        legend.setdefault("failed" if bar.error else bar.kind, []).append(row)
    smallest = shown.total_ms / 250 or 1.0  # so that an instant still shows
    for group, members in legend.items():
        bars = [shown.bars[row] for row in members]
        colour = palette.red if group == "failed" else colours.get(group, palette.sky)
        chart.add_bar(
            y=members,
            x=[max(bar.duration_ms or 0.0, smallest) / 1000 for bar in bars],
            base=[bar.start_ms / 1000 for bar in bars],
            orientation="h",
            width=0.62,
            name=group.capitalize(),
            marker={
                "color": colour,
                "pattern": {
                    "shape": "/" if group == "failed" else "",
                    "fillmode": "overlay",
                    "fgcolor": translucent(palette.surface, 0.6),
                    "size": 5,
                },
            },
            text=[_length(bar) for bar in bars],
            textposition="outside",
            cliponaxis=False,
            constraintext="none",
            textfont={"size": 11, "color": palette.muted},
            customdata=[_hover(bar) for bar in bars],
            hovertemplate="%{customdata}<extra></extra>",
        )
    chart.update_layout(barmode="overlay", hovermode="closest")
    chart.update_xaxes(
        title_text="Time from the start, s", showgrid=True, range=[0, max(shown.total_ms, 1.0) / 1000 * 1.09]
    )
    chart.update_yaxes(range=[len(shown.bars) - 0.4, -0.6], showgrid=False, showticklabels=False, automargin=False)
    chart.update_layout(margin={"l": NAMES_WIDTH})
    for row, bar in enumerate(shown.bars):
        # Tick labels can only be flush right; names are flush left, so that nesting shows.
        chart.add_annotation(
            x=0,
            xref="paper",
            xanchor="left",
            xshift=INDENT_WIDTH * min(bar.depth, DEEPEST_INDENT) - NAMES_WIDTH,
            y=row,
            text=_label(bar),
            showarrow=False,
            align="left",
            font={"size": 12, "color": palette.red if bar.error else palette.text},
        )
    return chart


def _label(bar: Bar) -> str:
    mark = "✕ " if bar.error else ""
    room = LONGEST_NAME - min(bar.depth, DEEPEST_INDENT)
    return mark + plot_text(shortened(bar.name, room))


def _length(bar: Bar) -> str:
    return duration(bar.duration_ms) if bar.duration_ms is not None else f"{UNKNOWN} no end"


def _hover(bar: Bar) -> str:
    lines = [f"<b>{plot_text(bar.name)}</b> ({bar.kind})", f"{_length(bar)}, from {duration(bar.start_ms)}"]
    if bar.model:
        lines.append(plot_text(bar.model))
    if bar.error:
        lines.append(f"Error: {plot_text(bar.error)}")
    return "<br>".join(lines)
