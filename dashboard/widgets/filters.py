"""The filters: each shows what the address says, and its changes go back into the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import streamlit as st

from dashboard import data, state, text
from dashboard.views.query import LIMITS, View
from grader.records import GRADE_STATES, STATUSES
from grader.store.read import Facets, TraceFilter
from grader.store.read_traces import ORDERS, Order

RANGES: Mapping[str, int | None] = {"7 days": 7, "30 days": 30, "90 days": 90, "All": None}


def filter_bar(view: View, facets: Facets, *, searchable: bool = False) -> None:
    """The filters of a screen in one row. `searchable` adds the text search."""
    extent = data.extent()
    if extent.first_day is None or extent.last_day is None:
        return
    with st.container(key="filters", horizontal=True, vertical_alignment="center", gap="small"):
        _range_controls(view, extent.first_day, extent.last_day)
        _choice("Agent", "agents", view, facets.agents, text.NO_AGENT, width=240)
        if searchable:
            _search(view)
        hidden = view.with_filter(agents=(), text="" if searchable else view.wanted.text).num_filters
        with st.popover(f"More filters ({hidden})" if hidden else "More filters", icon=":material/filter_list:"):
            _choice("Release", "releases", view, facets.releases, text.NO_RELEASE)
            _choice("Model", "models", view, facets.models, text.NO_MODEL)
            _choice("Rule failed or flagged", "rules", view, facets.rules, "", labels=text.RULE_LABELS)
            _choice("Grade state", "states", view, GRADE_STATES, "", labels=text.STATE_LABELS)
            _choice("Run status", "statuses", view, STATUSES, "", labels=text.STATUS_LABELS)
            st.toggle(
                "Critical only",
                **state.bound(
                    "w_critical", view.wanted.critical_only, lambda value: view.with_filter(critical_only=bool(value))
                ),
            )
        if view.num_filters:
            cleared = replace(view, wanted=TraceFilter(first=view.wanted.first, last=view.wanted.last))
            st.button("Clear", type="tertiary", icon=":material/close:", on_click=state.show_view, args=(cleared,))


def order_controls(view: View) -> None:
    """The order and the length of a list."""

    def of_order(order: Order) -> View:
        return replace(view, order=order)

    def of_limit(limit: int) -> View:
        return replace(view, limit=limit)

    st.selectbox(
        "Order",
        ORDERS,
        format_func=lambda order: text.ORDER_LABELS[order],
        label_visibility="collapsed",
        width=200,
        **state.bound("w_order", view.order, of_order),
    )
    st.selectbox(
        "How many",
        LIMITS,
        format_func=lambda limit: f"{limit} traces",
        label_visibility="collapsed",
        width=130,
        **state.bound("w_limit", view.limit, of_limit),
    )


def _range_controls(view: View, first_day: date, last_day: date) -> None:
    wanted = view.wanted
    ranges = {name: last_day - timedelta(days=n - 1) if n else first_day for name, n in RANGES.items()}
    shown = {name: max(first, first_day) for name, first in ranges.items()}
    current = next((name for name, first in shown.items() if (first, last_day) == (wanted.first, wanted.last)), None)

    def of_range(name: object) -> View:
        return view.with_filter(first=shown[str(name)], last=last_day) if name in shown else view

    def of_days(days: object) -> View:
        chosen = days if isinstance(days, tuple) else (days,)
        return view.with_filter(first=chosen[0], last=chosen[1]) if len(chosen) == 2 else view

    st.segmented_control(
        "Days", tuple(RANGES), **state.bound("w_range", current, of_range), label_visibility="collapsed"
    )
    st.date_input(
        "From and to",
        min_value=min(first_day, wanted.first),
        max_value=max(last_day, wanted.last),
        format="YYYY-MM-DD",
        label_visibility="collapsed",
        width=230,
        **state.bound("w_days", (wanted.first, wanted.last), of_days),
    )


def _choice(
    label: str,
    field: str,
    view: View,
    options: Sequence[str],
    unnamed: str,
    *,
    labels: Mapping[Any, str] | None = None,
    width: Any = "stretch",
) -> None:
    chosen = getattr(view.wanted, field)
    # A link may name what is not there (any more): shown as chosen, so that it can be taken away.
    offered = tuple(dict.fromkeys((*options, *chosen)))

    def name(option: str) -> str:
        return (labels or {}).get(option, option) or unnamed

    inline = width != "stretch"
    st.multiselect(
        label,
        offered,
        format_func=name,
        placeholder=f"All {label.lower()}s" if inline else "All",
        label_visibility="collapsed" if inline else "visible",
        width=width,
        **state.bound(f"w_{field}", list(chosen), lambda values: view.with_filter(**{field: tuple(values)})),
    )


def _search(view: View) -> None:
    st.text_input(
        "Search",
        placeholder="Search question, answer, trace id",
        icon=":material/search:",
        label_visibility="collapsed",
        width=270,
        **state.bound("w_text", view.wanted.text, lambda value: view.with_filter(text=str(value or "").strip())),
    )
