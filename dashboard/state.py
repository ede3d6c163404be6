"""Filters ↔ query parameters. The address is the truth: widgets show what it says, and their changes go back into it.

So every view is a link. Streamlit's menu drops the parameters when it opens another page; the filters last used are put
back then, so that they follow the user from page to page.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import streamlit as st

from dashboard.views.query import VIEW_NAMES, Query, View, query_of, view_from_query

_LAST_QUERY = "last_query"


def current_view(first_day: date, last_day: date) -> View:
    """What the address says, or else the filters last used in this session, or else the newest days."""
    given = {name: st.query_params.get_all(name) for name in st.query_params}
    if not VIEW_NAMES & given.keys() and _LAST_QUERY in st.session_state:
        show({**given, **st.session_state[_LAST_QUERY]})
        given = {name: st.query_params.get_all(name) for name in st.query_params}
    view = view_from_query(given, first_day=first_day, last_day=last_day)
    if VIEW_NAMES & given.keys():
        st.session_state[_LAST_QUERY] = query_of(view)
    return view


def show(query: Query) -> None:
    """Makes `query` the address."""
    st.query_params.from_dict(query)


def show_view(view: View) -> None:
    """Makes `view` the address of the page, and the view of the pages opened next."""
    st.session_state[_LAST_QUERY] = query_of(view)
    show(query_of(view))


def bound(key: str, value: object, changed: Callable[[Any], View]) -> dict[str, Any]:
    """Arguments for a widget that shows `value`; a change by the user shows the view that `changed` makes of it."""
    st.session_state[key] = value

    def on_change() -> None:
        show_view(changed(st.session_state[key]))

    return {"key": key, "on_change": on_change}
