"""Views as query parameters: what a link says, and back. Whatever a link holds that makes no sense is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import get_args

from grader.records import GRADE_STATES, STATUSES
from grader.store.read import TraceFilter
from grader.store.read_traces import ORDERS, Order

DEFAULT_DAYS = 30
DEFAULT_LIMIT = 10
LIMITS = (10, 25, 50, 100, 250)

# field of TraceFilter → name in the link
_LISTS = {
    "agents": "agent",
    "releases": "release",
    "models": "model",
    "statuses": "status",
    "states": "state",
    "rules": "rule",
}
_CLOSED: Mapping[str, Sequence[str]] = {"statuses": STATUSES, "states": GRADE_STATES}
VIEW_NAMES = frozenset({"from", "to", "q", "critical", "order", "n", *_LISTS.values()})

Query = dict[str, str | list[str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """What the filters of every screen say together."""

    wanted: TraceFilter
    order: Order = "worst"
    limit: int = DEFAULT_LIMIT

    def of_day(self, day: date) -> View:
        """The same view of a single day."""
        return replace(self, wanted=replace(self.wanted, first=day, last=day))

    def with_filter(self, **changes: object) -> View:
        """The same view with some filters changed."""
        return replace(self, wanted=replace(self.wanted, **changes))  # type: ignore[arg-type]

    @property
    def num_filters(self) -> int:
        """How many filters besides the days restrict the view."""
        wanted = self.wanted
        return sum(bool(getattr(wanted, name)) for name in (*_LISTS, "text", "critical_only"))


def default_view(first_day: date, last_day: date) -> View:
    """The newest thirty days of what there is."""
    return View(wanted=TraceFilter(first=max(first_day, last_day - timedelta(days=DEFAULT_DAYS - 1)), last=last_day))


def view_from_query(query: Mapping[str, Sequence[str]], *, first_day: date, last_day: date) -> View:
    """The view that a link describes; what it leaves out is as in `default_view`."""
    view = default_view(first_day, last_day)
    first, last = _date(query, "from"), _date(query, "to")
    if first is not None and last is not None and first <= last:
        view = view.with_filter(first=first, last=last)
    for field, name in _LISTS.items():
        allowed = _CLOSED.get(field)
        values = dict.fromkeys(value for value in query.get(name, ()) if allowed is None or value in allowed)
        view = view.with_filter(**{field: tuple(values)})
    view = view.with_filter(text=_one(query, "q"), critical_only=_one(query, "critical") == "1")
    order = _one(query, "order")
    limit = _one(query, "n")
    return replace(
        view,
        order=order if order in ORDERS else view.order,
        limit=int(limit) if limit.isascii() and limit.isdigit() and int(limit) in LIMITS else view.limit,
    )


def query_of(view: View) -> Query:
    """The link that describes `view`: the days always, everything else where it is not the default."""
    wanted = view.wanted
    query: Query = {"from": wanted.first.isoformat(), "to": wanted.last.isoformat()}
    for field, name in _LISTS.items():
        values = getattr(wanted, field)
        if values:
            query[name] = list(values)
    if wanted.text:
        query["q"] = wanted.text
    if wanted.critical_only:
        query["critical"] = "1"
    if view.order != get_args(Order)[0]:
        query["order"] = view.order
    if view.limit != DEFAULT_LIMIT:
        query["n"] = str(view.limit)
    return query


def trace_query(view: View, trace_id: str) -> Query:
    """The link to one trace within a view, so that previous and next mean the same there."""
    return {"trace": trace_id, **query_of(view)}


def _one(query: Mapping[str, Sequence[str]], name: str) -> str:
    values = query.get(name, ())
    return values[-1] if values else ""


def _date(query: Mapping[str, Sequence[str]], name: str) -> date | None:
    try:
        return date.fromisoformat(_one(query, name))
    except ValueError:
        return None
