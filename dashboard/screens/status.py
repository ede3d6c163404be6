"""What was read and what became of it: nothing is dropped in silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from dashboard import data, text
from dashboard.views import numbers, status
from dashboard.widgets import page

MOST_RUNS = 20
MOST_LINES = 200


def main() -> None:
    sums = data.sums()
    runs = data.runs(limit=MOST_RUNS)
    if not sums.num_traces and not runs:
        page.notice(text.nothing_graded(0))
        return
    workspace = data.workspace()
    zone = workspace.zone
    page.heading("Data", "What was read, what became of it, what waits and what failed")
    with st.container(key="kpis", horizontal=True, gap="small"):
        for figure in status.figures(sums):
            with st.container(border=True, gap="xxsmall", height="stretch"):
                st.metric(figure.label, figure.value)
                st.caption(figure.note)
    table("Runs", "Lines read = new + updated + duplicate + quarantined.", status.run_table(runs, zone), "No run yet.")
    left, right = st.columns([3, 2], gap="large")
    with left:
        table("Traces by grade state", "Every trace is in exactly one state.", status.state_table(sums), "")
    with right:
        table("Traces by format", "Which reader brought them.", status.format_table(data.formats()), "No traces.")
    table(
        "Judge failures",
        "Calls that ended without a usable reply. They are missing data, never a low score.",
        status.failure_table(data.failures(), zone),
        "No judge call has failed.",
    )
    shown = min(sums.num_quarantined, MOST_LINES)
    table(
        "Quarantine",
        f"Lines that could not be read: {shown:,} of {sums.num_quarantined:,}, newest first.",
        status.quarantine_table(data.quarantine(limit=MOST_LINES), zone),
        "Every line could be read.",
    )
    st.caption(f"Times are in {workspace.settings.day.timezone}. The store:")
    st.code(str(workspace.store.path), language=None)


def table(title: str, caption: str, columns: Mapping[str, Sequence[object]], empty: str) -> None:
    is_empty = not next(iter(columns.values()))
    page.section(title, empty if is_empty else caption)
    if is_empty:
        return
    counts = {
        name: st.column_config.NumberColumn(format="localized")
        for name, values in columns.items()
        if isinstance(values[0], int)
    }
    wide = {
        name: st.column_config.TextColumn(width="large") for name in ("Message", "Meaning", "Reason", "Newest message")
    }
    st.dataframe(
        dict(columns),
        hide_index=True,
        height="content" if len(next(iter(columns.values()))) <= MOST_RUNS else 420,
        column_config={**counts, **wide},
        placeholder=numbers.UNKNOWN,
        alt=title,
    )


main()
