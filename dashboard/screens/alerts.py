"""Critical traces, newest first, with their reasons."""

from __future__ import annotations

import streamlit as st

from dashboard import data
from dashboard.charts import alerts as charts
from dashboard.views import alerts as views
from dashboard.views.query import View
from dashboard.widgets import filters, page

MOST_ROWS = 500


def main() -> None:
    opened = page.opened_view()
    if opened is None:
        return
    view, facets = opened
    page.heading("Alerts", page.days_of(view))
    filters.filter_bar(view, facets, searchable=True)
    found = data.alerts(view.wanted, limit=MOST_ROWS)
    if not found.rows:
        st.success(no_alerts(view), icon=":material/check_circle:")
        return
    wanted = view.wanted
    show_counts(view)
    num_days = (wanted.last - wanted.first).days + 1
    page.section("Critical traces", f"{views.summary(found, num_days)}. Tick a row to open its trace.")
    picked = page.picked_row(
        views.table(found.rows), key="alerts", columns=column_formats(), alt="Critical traces, newest day first"
    )
    if picked is not None:
        page.open_trace(view, found.rows[picked].trace_id)


def show_counts(view: View) -> None:
    wanted = view.wanted
    left, right = st.columns([3, 2], gap="large")
    with left:
        page.section("By day", "Days without a bar had no critical trace.")
        days = views.day_counts(data.alert_days(wanted), wanted.first, wanted.last)
        page.chart("alert_days", lambda palette: charts.by_day(days, palette), wanted, alt="Critical traces by day")
    with right:
        page.section("By reason", views.SEVERAL_REASONS)
        counts = views.reason_counts(data.alert_reasons(wanted))
        page.chart(
            "alert_reasons", lambda palette: charts.by_reason(counts, palette), wanted, alt="Critical traces by reason"
        )


def no_alerts(view: View) -> str:
    limit = data.workspace().settings.alerts.critical_below
    among = "that these filters select" if view.num_filters else "on these days"
    return f"No trace {among} scored under {limit:g}."


def column_formats() -> dict[str, object]:
    return {
        "Day": st.column_config.DateColumn(format="ddd D MMM YYYY", width=130, pinned=True),
        "Score": st.column_config.ProgressColumn(min_value=0.0, max_value=1.0, format="%.3f", width=110),
        "Reasons": st.column_config.TextColumn(width=340),
        "Agent": st.column_config.TextColumn(width=110),
        "Question": st.column_config.TextColumn(width=320),
    }


main()
