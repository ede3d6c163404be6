"""What the screens ask the store first: which traces a view is about, and what there is to choose from.

Every function takes a connection of `Store.reading()`, runs one or two statements and returns frozen values; nothing
is grouped or sorted outside SQL. The siblings `read_*.py` hold the questions of single screens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import duckdb

NO_NAME = ""  # stands for "the trace names none" in filters and facets, as in the releases table


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceFilter:
    """Which graded traces a view is about. An empty tuple or text restricts nothing; NO_NAME selects the unnamed."""

    first: date
    last: date  # included
    agents: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()  # traces on which at least one of these rules failed or flagged something
    critical_only: bool = False
    text: str = ""  # anywhere in the trace id or in the stored start of the question or the answer, case ignored

    @property
    def is_whole_days(self) -> bool:
        """Whether nothing but the days is restricted, so that the stored day reports answer."""
        return self == TraceFilter(first=self.first, last=self.last)

    @property
    def selects_by_grade(self) -> bool:
        """Whether it selects by what judging made of the traces: then the judged ones are no sample of them."""
        return bool(self.states or self.critical_only)


@dataclass(frozen=True, kw_only=True, slots=True)
class Extent:
    """What the store holds at all. Days are None in an empty store."""

    first_day: date | None  # of the graded days, days without traces included
    last_day: date | None
    num_traces: int
    num_graded: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Facets:
    """The values that filters offer, sorted; NO_NAME is among them where a trace names none."""

    agents: tuple[str, ...]
    releases: tuple[str, ...]
    models: tuple[str, ...]
    rules: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """The first sight of a release of an agent."""

    agent: str  # NO_NAME where the traces name no agent
    release: str
    first_seen_at: datetime


def graded(*parts_of_query: str) -> str:
    """The tables behind a query over grades `g` and traces `t`: the traces only where a part speaks of them.

    At a million traces the join costs 0.1 s and more, the grades alone 0.04 s. Every grade has its trace.
    """
    needs_traces = any(re.search(r"\bt\.", part) for part in parts_of_query)
    return "grades g JOIN traces t ON t.trace_id = g.trace_id AND t.day = g.day" if needs_traces else "grades g"


_CONDITIONS: tuple[tuple[str, str], ...] = (
    ("agents", "list_contains($agents, coalesce(t.agent, ''))"),
    ("releases", "list_contains($releases, coalesce(t.release, ''))"),
    ("models", "list_contains($models, coalesce(t.model, ''))"),
    ("statuses", "list_contains($statuses, t.status::VARCHAR)"),
    ("states", "list_contains($states, g.state::VARCHAR)"),
    (
        "rules",
        "len(list_filter(g.outcomes, lambda o: o.outcome IN ('failed', 'flagged')"
        " AND list_contains($rules, o.rule))) > 0",
    ),
    (
        "text",
        "contains(lower(concat_ws(chr(10), t.trace_id, t.user_preview, t.answer_preview)), lower($text))",
    ),
)


def condition(wanted: TraceFilter) -> tuple[str, dict[str, Any]]:
    """`wanted` as a WHERE condition over grades `g` and traces `t` (see `graded`), and the values that it binds."""
    parts = ["g.day BETWEEN $first AND $last"]
    values: dict[str, Any] = {"first": wanted.first, "last": wanted.last}
    for name, sql in _CONDITIONS:
        value = getattr(wanted, name)
        if value:
            parts.append(sql)
            values[name] = list(value) if isinstance(value, tuple) else value
    if wanted.critical_only:
        parts.append("g.critical")
    return " AND ".join(parts), values


def rows(
    connection: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The rows of one statement, as dictionaries by column name."""
    result = connection.execute(sql, dict(values)) if values else connection.execute(sql)
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def read_extent(connection: duckdb.DuckDBPyConnection) -> Extent:
    """How much there is, and from which day to which."""
    (row,) = rows(
        connection,
        """SELECT (SELECT min(date) FROM day_reports) AS first_day, (SELECT max(date) FROM day_reports) AS last_day,
                  (SELECT count(*) FROM traces) AS num_traces, (SELECT count(*) FROM grades) AS num_graded""",
    )
    return Extent(**row)


def read_facets(connection: duckdb.DuckDBPyConnection) -> Facets:
    """What filters can choose from, over all days."""
    found = {
        name: tuple(
            row["value"]
            for row in rows(connection, f"SELECT DISTINCT coalesce({column}, '') AS value FROM traces ORDER BY value")
        )
        for name, column in (("agents", "agent"), ("releases", "release"), ("models", "model"))
    }
    # Every grade of one version of the rules has the same rules, so one grade a version is enough to name them all.
    rules = rows(
        connection,
        """SELECT DISTINCT unnest(list_transform(outcomes, lambda o: o.rule)) AS value
           FROM (SELECT any_value(outcomes) AS outcomes FROM grades GROUP BY rules_version) ORDER BY value""",
    )
    return Facets(**found, rules=tuple(row["value"] for row in rules))


def read_releases(connection: duckdb.DuckDBPyConnection) -> tuple[Release, ...]:
    """Every release ever seen, oldest first."""
    found = rows(
        connection, "SELECT agent, release, first_seen_at FROM releases ORDER BY first_seen_at, agent, release"
    )
    return tuple(Release(**row) for row in found)
