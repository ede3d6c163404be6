"""Custom rule expressions: what of SQL they may use, checked on DuckDB's own parse tree.

An expression is pure: it computes one value from the columns of one trace. It names no table, holds no subquery,
aggregate or window, and calls nothing that reads the clock, settings, files or chance, because the same trace must
always get the same grade. Everything that is not known to be harmless is refused.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import duckdb
import orjson

from grader.arrow import TRACE_SCHEMA
from grader.errors import SettingsError

INTERNAL_COLUMNS = ("head",)  # how a reader remembers a half-read trace: no fact about the trace
EXPRESSION_COLUMNS: tuple[str, ...] = tuple(name for name in TRACE_SCHEMA.names if name not in INTERNAL_COLUMNS)

ALLOWED_CLASSES = frozenset(
    {"BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT"}
    | {"FUNCTION", "LAMBDA", "OPERATOR", "TYPE"}
)
CLASS_WORDS: Mapping[str, str] = {
    "SUBQUERY": "a subquery",
    "WINDOW": "a window function",
    "STAR": "* or COLUMNS(…)",
    "PARAMETER": "a parameter",
    "POSITIONAL_REFERENCE": "a column by its position",
}
# Macros of DuckDB whose definitions were read: each is an expression over its own arguments.
ALLOWED_MACROS = frozenset(
    {"if", "nullif", "split_part", "fdiv", "date_add", "days_in_month", "json", "array_to_string", "map_contains_value"}
    | {"list_avg", "list_count", "list_first", "list_last", "list_max", "list_median", "list_min", "list_sum"}
    | {"list_append", "list_prepend", "list_reverse", "list_string_agg", "list_bool_and", "list_bool_or"}
)
# Scalar by DuckDB's own account, and yet: the current date, other SQL text, the program instead of the trace.
REFUSED_FUNCTIONS = {"age", "version", "json_serialize_sql", "json_serialize_plan", "json_deserialize_sql"}
NUMERIC_TYPES = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL"}
    | {"UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"}
)


class ExpressionChecker:
    """Checks expressions on one locked-down connection; makes the table `batch` there, empty, for their types."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        connection.register("batch", TRACE_SCHEMA.empty_table())
        self._functions = _pure_functions(connection)
        self._bare_select = self._parse("1") | {"select_list": []}

    def check(self, expression: str, *, kind: Literal["boolean", "numeric"], where: str) -> frozenset[str]:
        """The trace columns that `expression` names.

        `where` names the setting in messages. Raises SettingsError that quotes the expression and says what is wrong.
        """
        try:
            columns = frozenset(self._columns(expression))
            self._check_type(expression, kind)
        except duckdb.Error as error:
            raise SettingsError(f"{where} = {expression!r}: {_first_line(error)}") from error
        except _RefusedError as error:
            raise SettingsError(f"{where} = {expression!r}: {error}") from None
        return columns

    def _columns(self, expression: str) -> Iterator[str]:
        if not expression.strip():
            raise _RefusedError("it is empty; write an expression over the trace columns, like cost_usd > 0.5")
        node = self._parse(expression)
        if node | {"select_list": []} != self._bare_select or len(node["select_list"]) != 1:
            raise _RefusedError("only a single expression is allowed, with no FROM, WHERE, ORDER BY or second value")
        (tree,) = node["select_list"]
        if tree["alias"]:
            raise _RefusedError(f"an expression has no name, leave out {tree['alias']!r}")
        yield from self._visit(tree, ())

    def _parse(self, expression: str) -> dict[str, Any]:
        query = f"SELECT\n{expression}\n"  # on a line of its own, so that a comment in it ends with it
        ((text,),) = self._connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
        reply = orjson.loads(text)
        if reply["error"]:
            if reply["error_type"] == "not implemented":
                raise _RefusedError("only a single expression is allowed, and no other statement")
            raise _RefusedError(reply["error_message"].strip())
        if len(reply["statements"]) != 1:
            raise _RefusedError("only a single expression is allowed, and no second statement")
        node: dict[str, Any] = reply["statements"][0]["node"]
        return node

    def _visit(self, node: object, lambda_names: tuple[str, ...]) -> Iterator[str]:
        if isinstance(node, list):
            for child in node:
                yield from self._visit(child, lambda_names)
        if not isinstance(node, dict):
            return
        match node.get("class"):
            case None:
                pass
            case "COLUMN_REF":
                yield from _column(node["column_names"], lambda_names)
                return
            case "FUNCTION":
                self._check_function(node["function_name"])
            case "LAMBDA" if node["syntax_type"] != "SINGLE_ARROW":  # with one, a -> b may also be a JSON path
                parameters = tuple(_names(node["lhs"]))
                yield from self._visit(node["expr"], lambda_names + parameters)
                return
            case name if name not in ALLOWED_CLASSES:
                raise _RefusedError(f"{CLASS_WORDS.get(name, name.lower())} is not allowed here")
        for child in node.values():
            yield from self._visit(child, lambda_names)

    def _check_function(self, name: str) -> None:
        if name.lower() not in self._functions:
            hint = did_you_mean(name.lower(), sorted(self._functions))
            raise _RefusedError(
                f"the function {name!r} is not allowed here{hint}; a rule may only use functions that compute one "
                "value from the values of one trace, like length, lower, contains or regexp_matches"
            )

    def _check_type(self, expression: str, kind: Literal["boolean", "numeric"]) -> None:
        rows = self._connection.execute(f"DESCRIBE SELECT TRY((\n{expression}\n)) FROM batch").fetchall()
        found = str(rows[0][1])
        fits = found == "BOOLEAN" if kind == "boolean" else found.partition("(")[0] in NUMERIC_TYPES
        if not fits:
            wanted = "true or false, like cost_usd > 0.5" if kind == "boolean" else "a number, like cost_usd * 1000"
            raise _RefusedError(f"it gives {found}; it must give {wanted}")


class _RefusedError(Exception):
    """What is wrong with an expression, in words."""


def _pure_functions(connection: duckdb.DuckDBPyConnection) -> frozenset[str]:
    rows = connection.execute(
        "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE function_type = 'scalar' "
        "AND stability = 'CONSISTENT' AND NOT starts_with(function_name, '__') "
        "EXCEPT SELECT lower(function_name) FROM duckdb_functions() WHERE stability = 'VOLATILE'"
    ).fetchall()
    return (frozenset(name for (name,) in rows) - REFUSED_FUNCTIONS) | ALLOWED_MACROS


def _column(path: Sequence[str], lambda_names: tuple[str, ...]) -> Iterator[str]:
    name = path[0].lower()
    if name in lambda_names:
        return
    if len(path) > 1:
        raise _RefusedError(f"{'.'.join(path)!r} is not a column; write a key of a map as tags['key']")
    if name not in EXPRESSION_COLUMNS:
        raise _RefusedError(f"there is no column {path[0]!r}{did_you_mean(name, EXPRESSION_COLUMNS)}")
    yield name


def _names(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if node.get("class") == "COLUMN_REF":
            yield node["column_names"][0].lower()
        for child in node.values():
            yield from _names(child)
    elif isinstance(node, list):
        for child in node:
            yield from _names(child)


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """The known name most like `name`, in brackets for the middle of a sentence; '' where none is like it."""
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    return f" (did you mean {found[0]!r}?)" if found else ""


def _first_line(error: duckdb.Error) -> str:
    return str(error).splitlines()[0].strip()
