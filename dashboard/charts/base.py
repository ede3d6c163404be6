"""Colours and the common look of the figures, for a light and a dark page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import plotly.graph_objects as go

FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", sans-serif'


@dataclass(frozen=True, kw_only=True, slots=True)
class Palette:
    """Colours that people with any colour vision can tell apart (after Okabe and Ito), tuned for one background."""

    text: str
    muted: str
    grid: str
    surface: str
    blue: str
    green: str
    orange: str
    red: str
    purple: str
    sky: str
    gray: str

    @property
    def categorical(self) -> tuple[str, ...]:
        return (self.blue, self.orange, self.green, self.purple, self.sky, self.red)


LIGHT = Palette(
    text="#1c2733",
    muted="#5b6875",
    grid="#e6eaee",
    surface="#ffffff",
    blue="#0b6bab",
    green="#00875f",
    orange="#d98a00",
    red="#c8501e",
    purple="#a8558a",
    sky="#5aaee0",
    gray="#a3adb7",
)
DARK = Palette(
    text="#e4e9ee",
    muted="#9aa7b4",
    grid="#26303b",
    surface="#10161d",
    blue="#5ab0e8",
    green="#2fb891",
    orange="#f0b040",
    red="#f0835a",
    purple="#d992c0",
    sky="#8fd0f5",
    gray="#5d6975",
)
PALETTES: Mapping[str, Palette] = {"light": LIGHT, "dark": DARK}


def figure(palette: Palette, *, height: int) -> go.Figure:
    """An empty figure in the common look."""
    chart = go.Figure()
    style(chart, palette, height=height)
    return chart


def style(chart: go.Figure, palette: Palette, *, height: int) -> None:
    """Gives `chart` the common look: quiet grid, small type, no toolbar clutter."""
    chart.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 13, "color": palette.text},
        hoverlabel={
            "bgcolor": palette.surface,
            "bordercolor": palette.grid,
            "font": {"family": FONT, "color": palette.text},
        },
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "font": {"color": palette.muted}},
        hovermode="x unified",
        dragmode=False,
    )
    axis = {
        "gridcolor": palette.grid,
        "linecolor": palette.grid,
        "zeroline": False,
        "automargin": True,
        "tickfont": {"color": palette.muted},
        "title": {"font": {"color": palette.muted, "size": 12}, "standoff": 6},
    }
    chart.update_xaxes(**axis, showgrid=False)
    chart.update_yaxes(**axis)


def translucent(colour: str, opacity: float) -> str:
    """A #rrggbb colour as rgba."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"
