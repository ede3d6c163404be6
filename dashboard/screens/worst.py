"""The traces to look at first: a list in an order, filtered, each row a way to its trace."""

from __future__ import annotations

import streamlit as st

from dashboard import data, text
from dashboard.views import worst
from dashboard.widgets import filters, page


def main() -> None:
    opened = page.opened_view()
    if opened is None:
        return
    view, facets = opened
    page.heading("Worst traces", page.days_of(view))
    filters.filter_bar(view, facets, searchable=True)
    found = data.traces(view.wanted, order=view.order, limit=view.limit)
    if not found.rows:
        st.info(text.no_match(view.num_filters), icon=":material/search_off:")
        return
    with st.container(key="list_head", horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(
            f"{worst.summary(found)}. Tick a row to open its trace; click a column's head to sort.", width="content"
        )
        st.space("stretch")
        filters.order_controls(view)
    columns = worst.table(found.rows, data.workspace().zone)
    picked = page.picked_row(columns, key="worst", columns=column_formats(), alt="Traces, worst first")
    if picked is not None:
        page.open_trace(view, found.rows[picked].trace_id)


def column_formats() -> dict[str, object]:
    number = st.column_config.NumberColumn
    return {
        "Score": st.column_config.ProgressColumn(
            min_value=0.0, max_value=1.0, format="%.3f", width=110, pinned=True, help="Final score, 0 to 1"
        ),
        "Grade": st.column_config.TextColumn(width=195),
        "Reasons": st.column_config.TextColumn(width=290, help="What the rules found"),
        "Question": st.column_config.TextColumn(width=260),
        "Answer": st.column_config.TextColumn(width=200),
        "Agent": st.column_config.TextColumn(width=110),
        "Rules": number(format="%.3f", help="Score by rules, 0 to 1"),
        "Judge": number(format="%.3f", help="Score by the judge, 0 to 1"),
        "Duration, s": number(format="%.1f"),
        "Run": st.column_config.TextColumn(help="How the run itself ended"),
        "Started": st.column_config.DatetimeColumn(
            format="D MMM YYYY, HH:mm:ss", help=f"In {data.workspace().settings.day.timezone}"
        ),
        "Cost, $": number(format="%.4f"),
    }


main()
