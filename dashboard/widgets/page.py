"""The frame of every screen, and the pieces that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from dashboard import data, state, text
from dashboard.charts.base import PALETTES, Palette
from dashboard.views import numbers
from dashboard.views.kpis import Kpi
from dashboard.views.query import View, trace_query
from grader.errors import GradebookError
from grader.store.read import Facets

ASSETS = Path(__file__).parents[1] / "assets"
LOGO = ASSETS / "logo.svg"
ICON = ASSETS / "icon.svg"
STYLE = ASSETS / "style.html"
TALLEST_WHOLE_TABLE = 30  # rows; a longer table scrolls
TABLE_HEIGHT = 900
CHART_CONFIG = {"displayModeBar": False, "scrollZoom": False, "doubleClick": False}


@contextmanager
def frame() -> Iterator[None]:
    """What stands around every screen: the mark, the small style sheet, and a page for whatever goes wrong."""
    st.logo(str(LOGO), size="large")
    st.html(STYLE)
    try:
        yield
    except GradebookError as error:
        notice(text.of_error(error))


def palette() -> Palette:
    """The colours for the page as this reader sees it."""
    return PALETTES.get(st.context.theme.type or "light", PALETTES["light"])


def notice(page: text.Notice) -> None:
    """A page in the place of a screen: what is the matter, and the commands that help."""
    with st.container(key="notice", width=720):
        st.title(page.title, anchor=False)
        st.text(page.body)
        for number, step in enumerate(page.steps, start=1):
            with st.container(border=True):
                st.markdown(f"**{number}**&ensp;{step.what}" if len(page.steps) > 1 else step.what)
                st.code(step.command, language="bash")
        if page.detail:
            st.code(page.detail, language=None, wrap_lines=True)
        if page.can_retry:
            st.button("Try again", icon=":material/refresh:", type="primary")


def opened_view() -> tuple[View, Facets] | None:
    """The view that the address describes; None, with a notice shown, when nothing is graded yet."""
    extent = data.extent()
    if extent.first_day is None or extent.last_day is None:
        notice(text.nothing_graded(extent.num_traces))
        return None
    return state.current_view(extent.first_day, extent.last_day), data.facets()


def heading(title: str, about: str) -> None:
    """The screen's title, with what it is about (the days)."""
    with st.container(key="heading", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.title(title, anchor=False, width="content")
        st.caption(about, width="content")


def days_of(view: View) -> str:
    """The days of a view, for its heading."""
    return numbers.day_range(view.wanted.first, view.wanted.last)


def section(title: str, caption: str | None = None) -> None:
    """The head of a part of a screen, with a line of explanation close under it. No text of a trace goes in here."""
    with st.container(gap=None):
        st.subheader(title, anchor=False)
        if caption:
            st.caption(caption)


def chart(
    key: str, draw: Callable[[Palette], go.Figure], *depends_on: Hashable, alt: str, on_select: bool = False
) -> Any:
    """The figure that `draw` draws, remembered for `depends_on`. With `on_select`, returns the points clicked."""
    colours = palette()
    return st.plotly_chart(
        data.figure(key, lambda: draw(colours), colours, *depends_on),
        theme=None,
        key=key,
        alt=alt,
        config=CHART_CONFIG,
        on_select="rerun" if on_select else "ignore",
        selection_mode="points",
    )


def kpi_cards(kpis: Sequence[Kpi]) -> None:
    """The figures side by side, wrapping on a narrow page. Colour and arrow say whether a change is for the better."""
    colours = {"good": "normal", "bad": "inverse", "neutral": "off"}
    with st.container(key="kpis", horizontal=True, gap="small"):
        for kpi in kpis:
            with st.container(border=True, gap="xxsmall", height="stretch"):
                st.metric(
                    kpi.label,
                    kpi.value,
                    kpi.delta.replace(numbers.MINUS, "-") if kpi.delta else None,
                    delta_description="may be noise" if kpi.may_be_noise else None,
                    delta_color="off" if kpi.may_be_noise else colours[kpi.rising_is],  # type: ignore[arg-type]
                    help=kpi.help,
                )
                st.caption("  \n".join(kpi.notes))


def picked_row(rows: Mapping[str, Sequence[object]], *, key: str, columns: Mapping[str, Any], alt: str) -> int | None:
    """A table in which one row can be ticked; its index in `rows`, or None. Cells are plain text."""
    picked = st.dataframe(
        dict(rows),
        key=key,
        hide_index=True,
        column_config=dict(columns),
        on_select="rerun",
        selection_mode="single-row",  # with single-cell too, a click on a head sorts and picks
        placeholder=numbers.UNKNOWN,
        height="content" if len(next(iter(rows.values()))) <= TALLEST_WHOLE_TABLE else TABLE_HEIGHT,
        alt=alt,
    )
    selected = picked["selection"]["rows"]
    return int(selected[0]) if selected else None


def open_trace(view: View, trace_id: str) -> None:
    """Goes to the page of a trace, keeping the view for its way back and for previous and next."""
    st.switch_page("screens/trace.py", query_params=trace_query(view, trace_id))
