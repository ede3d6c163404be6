"""Grading a batch: Arrow in, Arrow out, nothing else touched."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from grader.arrow import TRACE_SCHEMA
from grader.errors import SettingsError, UsageError
from grader.rules.compile import CompiledRules
from grader.rules.sandbox import locked_down_connection


def grade_batch(batch: pa.Table, rules: CompiledRules) -> pa.Table:
    """The rule grades of a batch of traces, one row a trace, in the batch's order.

    `batch` has `trace_id` and the columns of `rules.columns`; others are ignored. The result has

    - `trace_id` string, `rule_score_milli` int16, 0 to 1000;
    - `outcomes` list<struct<rule, outcome, value: double, deducted_milli: int16>>, in the order of `rules.names`; rule
      and outcome are dictionary-encoded strings. A rule that is switched off for the trace's agent, or meant for other
      agents, has no entry. `value` is null exactly when the outcome is `not_applicable`. `deducted_milli` is what the
      rule takes off by itself, at most 1000: where they add up to more, the score stays 0;
    - `alerts` list<string>, one text for each rule that failed or flagged; empty, never null.

    Raises UsageError where a column is missing or of a wrong type, and SettingsError where the custom rules cannot be
    run at all (too much memory).
    """
    needed = ("trace_id", *rules.columns)
    missing = [name for name in needed if name not in batch.column_names]
    if missing:
        raise UsageError(f"the batch lacks the columns {', '.join(missing)}: rules need {', '.join(needed)}")
    # Declared types, so that an expression that was checked against them means the same here.
    schema = pa.schema([pa.field(name, TRACE_SCHEMA.field(name).type) for name in needed])
    try:
        table = batch.select(needed).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UsageError(f"the batch's columns have other types than grader.arrow.TRACE_SCHEMA: {error}") from error
    with locked_down_connection() as connection:
        connection.register("batch", table)
        try:
            return connection.sql(rules.sql("batch")).to_arrow_table()
        except duckdb.Error as error:
            if not rules.has_custom:
                raise
            first_line = str(error).splitlines()[0]
            raise SettingsError(f"the custom rules could not be run ({first_line}): check rules.custom") from error
