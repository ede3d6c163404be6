"""The alerts screen's figures."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import plotly.graph_objects as go

from dashboard.charts.base import Palette, figure
from dashboard.views.alerts import Count
from dashboard.views.numbers import plot_text

HEIGHT = 230


def by_day(days: Sequence[tuple[date, int]], palette: Palette) -> go.Figure:
    """Alerts a day."""
    chart = figure(palette, height=HEIGHT)
    chart.add_bar(
        x=[day for day, _ in days],
        y=[number for _, number in days],
        marker={"color": palette.red},
        name="Alerts",
        hovertemplate="%{y:,}",
    )
    chart.update_layout(bargap=0.25, showlegend=False)
    chart.update_xaxes(tickformat="%-d %b", hoverformat="%a %-d %b %Y", nticks=7, tickangle=0)
    chart.update_yaxes(title_text="Critical traces a day", rangemode="tozero", tickformat=",d")
    return chart


def by_reason(counts: Sequence[Count], palette: Palette) -> go.Figure:
    """Alerts by the rules that failed."""
    chart = figure(palette, height=HEIGHT)
    chart.add_bar(
        y=[plot_text(count.label) for count in counts],
        x=[count.number for count in counts],
        orientation="h",
        marker={"color": palette.blue},
        text=[f"{count.number:,}" for count in counts],
        textposition="outside",
        cliponaxis=False,
        hoverinfo="skip",
        width=0.6,
    )
    most = max((count.number for count in counts), default=1)
    chart.update_layout(showlegend=False, hovermode=False)
    chart.update_xaxes(title_text="Critical traces", range=[0, most * 1.12], showgrid=True, tickformat=",d")
    chart.update_yaxes(autorange="reversed", showgrid=False, tickfont={"color": palette.text})
    return chart
