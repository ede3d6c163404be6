"""How quality moves: the newest day against the one before, the trajectory, and what the days consist of."""

from __future__ import annotations

from datetime import date

import streamlit as st

from dashboard import data, text
from dashboard.charts import overview as charts
from dashboard.views import days as day_views
from dashboard.views import kpis, numbers, overview
from dashboard.views.days import Day
from dashboard.views.query import View, query_of
from dashboard.widgets import filters, page


def main() -> None:
    opened = page.opened_view()
    if opened is None:
        return
    view, facets = opened
    page.heading("Overview", page.days_of(view))
    filters.filter_bar(view, facets)
    days = days_of(view)
    newest, before = day_views.newest_two(days)
    if newest is None:
        st.info(text.no_match(view.num_filters), icon=":material/search_off:")
        return
    against = f", against {numbers.day(before.date)}" if before else ""
    st.subheader(f"{newest.date:%A}, {numbers.day(newest.date)}{against}", anchor=False)
    page.kpi_cards(kpis.kpis(days))
    show_trajectory(view, days)
    show_composition(view, days)


def days_of(view: View) -> tuple[Day, ...]:
    wanted = view.wanted
    if wanted.is_whole_days:
        return day_views.days_of_reports(data.reports(wanted.first, wanted.last), wanted.first, wanted.last)
    limit = data.workspace().settings.regression.day_to_day_limit
    strata = () if wanted.selects_by_grade else data.strata(wanted)
    return day_views.days_of_numbers(data.day_numbers(wanted), strata, wanted.first, wanted.last, drop_limit=limit)


def show_trajectory(view: View, days: tuple[Day, ...]) -> None:
    page.section(
        "Trajectory",
        "Average score mixes the judge's and the rules' scale; quality is on the judge's scale alone. "
        "Days without traces are gaps. Click a day to see its worst traces.",
    )
    wanted = view.wanted
    beginning = data.extent().first_day or wanted.first
    marks = overview.release_marks(
        data.releases(), wanted.first, wanted.last, agents=wanted.agents, beginning=beginning
    )
    picked = page.chart(
        "trajectory",
        lambda palette: charts.trajectory(days, marks, overview.judge_marks(days), palette),
        wanted,
        alt="Scores and critical share by day",
        on_select=True,
    )
    points = picked["selection"]["points"]
    if points:
        open_day(view, date.fromisoformat(str(points[0]["x"])[:10]))


def show_composition(view: View, days: tuple[Day, ...]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.subheader("What the days consist of", anchor=False, width="content")
        by = st.segmented_control(
            "Split by", ("Grade state", "Agent"), default="Grade state", required=True, label_visibility="collapsed"
        )
    by_state = by != "Agent"
    parts = overview.parts_by_state(days) if by_state else overview.parts_by_agent(data.agent_shares(view.wanted), days)
    page.chart(
        "composition",
        lambda palette: charts.composition(days, parts, palette, by_state=by_state),
        view.wanted,
        by_state,
        alt=f"Traces a day by {str(by).lower()}",
    )
    with st.expander("The days as a table", icon=":material/table_rows:"):
        table = overview.day_table(days)
        picked = page.picked_row(table, key="days", columns=day_columns(), alt="The days as a table")
        if picked is not None:
            open_day(view, date.fromisoformat(str(table["Day"][picked])))


def day_columns() -> dict[str, object]:
    score = st.column_config.NumberColumn(format="%.3f")
    return {
        "Day": st.column_config.DateColumn(format="ddd D MMM YYYY", pinned=True),
        **dict.fromkeys(("Average score", "Quality", "Median", "p10"), score),
        "Critical, %": st.column_config.NumberColumn(format="%.1f"),
    }


def open_day(view: View, day: date) -> None:
    st.switch_page("screens/worst.py", query_params=query_of(view.of_day(day)))


main()
