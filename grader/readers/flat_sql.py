"""The flat format as one SQL statement: a table of lines → one row a line, in the columns of grader/arrow.py.

Every member is taken as text and cast here: a cast that fails becomes a sentence in `problem`, never a silent null.
"""

from __future__ import annotations

from datetime import UTC, datetime

from grader.arrow import PREVIEW_CHARS
from grader.records import STATUSES

TEXT_FIELDS = ("name", "session_id", "agent", "release", "model")
TIME_FIELDS = ("started_at", "ended_at")
REAL_FIELDS = ("duration_ms", "cost_usd")
COUNT_FIELDS = ("num_turns", "tool_errors", "guardrails_triggered", "input_tokens", "output_tokens")
OTHER_FIELDS = (
    "trace_id",
    "status",
    "user_message",
    "final_output",
    "content_captured",
    "tools_called",
    "tags",
    "spans",
)
FIELDS = (*OTHER_FIELDS, *TEXT_FIELDS, *TIME_FIELDS, *REAL_FIELDS, *COUNT_FIELDS)

STATUS_WORDS = {  # what other systems call the same end of a run
    "ok": "completed",
    "success": "completed",
    "error": "failed",
    "cancelled": "interrupted",
    "in_progress": "running",
}
LARGEST_COUNT = 2**31 - 1
LARGEST_TOKENS = 2**53  # beyond, a JSON number is no longer exact
FIRST_YEAR, END_YEAR = 1971, 2200  # in these years seconds, ms, µs and ns since 1970 never share a value
NO_TRACE_IDS = ("", "0" * 16, "0" * 32)  # how exporters write that there is none
FOUND_CHARS = 60  # how much of a wrong value its message shows

_UNKNOWN_NUMBERS = "('', 'NaN', 'nan')"  # how exporters write a number that they do not know
_CALL = '{"name":"VARCHAR","arguments":"VARCHAR","output":"VARCHAR","error":"VARCHAR","span_id":"VARCHAR"}'
_HEX = "[0-9a-f]{32}|[0-9a-f]{16}"
_BASE64 = "[A-Za-z0-9+/]{21}[AQgw]==|[A-Za-z0-9+/]{10}[AEIMQUYcgkosw048]="  # of 16 and 8 bytes, no bit left over
_NO_CALLS = """(tool_list IS NULL
    OR len(list_filter(tool_list, lambda t: coalesce(t, '') = '')) > 0
    OR coalesce(len(list_filter(calls, lambda c: coalesce(c.name, '') = '')) > 0, false))"""
_TRACE_ID = f"""CASE
    WHEN regexp_full_match(trace_id, '{_HEX}') THEN trace_id
    WHEN regexp_full_match(trace_id, '(trace_|tr-)[0-9a-fA-F]{{32}}') THEN lower(right(trace_id, 32))
    WHEN regexp_full_match(lower(trace_id), '{_HEX}') THEN lower(trace_id)
    WHEN regexp_full_match(lower(trace_id), '0x[0-9a-f]{{1,32}}')
        THEN lpad(lower(trace_id)[3:], CASE WHEN length(trace_id) <= 18 THEN 16 ELSE 32 END, '0')
    WHEN regexp_full_match(trace_id, '{_BASE64}') THEN lower(hex(from_base64(trace_id)))
    ELSE trace_id END"""  # the same as ids.normalise_id, which a test checks


def flat_statement(lines: str, zone: str) -> str:
    """A SELECT over the table `lines` (line, row, path, line_number, file_time), in no particular order.

    Gives the columns of TRACE_SCHEMA, `row`, and `problem`: null for a trace; '' for a line that is not JSON, not an
    object or without trace_id; else what is wrong with it. `zone`: IANA name of the time zone that days are of.
    """
    members = ",".join(f'"{field}":"VARCHAR"' for field in FIELDS)
    return f"""
    WITH parsed AS MATERIALIZED (
        SELECT row, path, line_number, file_time, md5_number_lower(line) AS content_hash,
               unnest(TRY(json_transform(line, '{{{members}}}')))
        FROM {lines}
    ), typed AS (
        SELECT *,
            {", ".join(f"{_time(field)} AS {field}_time" for field in TIME_FIELDS)},
            {", ".join(f"{_number(field)} AS {field}_number" for field in (*REAL_FIELDS, *COUNT_FIELDS))},
            {_status()} AS status_word,
            coalesce(lower(content_captured) <> 'false', true) AS captured,
            CASE WHEN tools_called <> '' THEN TRY(json_transform(tools_called, '["VARCHAR"]')) END AS tool_list,
            CASE WHEN tags <> '' THEN TRY(json_transform(tags, '"MAP(VARCHAR, VARCHAR)"')) END AS tag_map,
        FROM parsed
    ), checked AS (
        SELECT *,
            CASE WHEN contains(tools_called, '{{') THEN {_calls()} END AS calls,
            CASE WHEN duration_ms_number IS NOT NULL THEN duration_ms_number
                 ELSE (epoch_us(ended_at_time) - epoch_us(started_at_time)) / 1000.0 END AS measured_ms
        FROM typed
    )
    SELECT row, {_problem()} AS problem, {_TRACE_ID} AS trace_id,
        CAST(timezone('{zone}', coalesce(started_at_time, ended_at_time, file_time)) AS DATE) AS day,
        {", ".join(f"nullif({field}, '') AS {field}" for field in TEXT_FIELDS)},
        started_at_time AS started_at, ended_at_time AS ended_at,
        CASE WHEN measured_ms >= 0 THEN measured_ms END AS duration_ms,
        status_word AS status,
        TRY_CAST(num_turns_number AS INTEGER) AS num_turns,
        {_tool_errors()} AS tool_errors,
        TRY_CAST(guardrails_triggered_number AS INTEGER) AS guardrails_triggered,
        captured AS content_captured,
        CASE WHEN captured OR final_output <> '' THEN coalesce(length(final_output), 0) END AS answer_chars,
        left(user_message, {PREVIEW_CHARS}) AS user_preview,
        left(final_output, {PREVIEW_CHARS}) AS answer_preview,
        CASE WHEN calls IS NULL THEN tool_list ELSE list_transform(calls, lambda c: c.name) END AS tool_names,
        TRY_CAST(input_tokens_number AS BIGINT) AS input_tokens,
        TRY_CAST(output_tokens_number AS BIGINT) AS output_tokens,
        cost_usd_number AS cost_usd,
        {_tags()} AS tags,
        0 AS num_spans,
        {_notes()} AS notes,
        content_hash,
        'flat' AS source_reader, path AS source_path, line_number AS source_line,
        NULL AS head, user_message, final_output,
        to_json(coalesce(calls, list_transform(tool_list, lambda t: {{'name': t}}))) AS tools_called,
        spans
    FROM checked
    """


def _number(field: str) -> str:
    """NaN is how some exporters write "not known"."""
    return f"nullif(TRY_CAST({field} AS DOUBLE), 'nan'::DOUBLE)"


def _time(field: str) -> str:
    """ISO 8601, or a number since 1970 in the unit by which it lies in our years; null for any other year."""
    number, iso = f"TRY_CAST({field} AS DOUBLE)", f"TRY_CAST({field} AS TIMESTAMPTZ)"
    first, end = ((datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (FIRST_YEAR, END_YEAR))
    epochs = " ".join(
        f"WHEN {number} >= {first * units} AND {number} < {end * units}"
        f" THEN make_timestamptz(CAST({number} * {1e6 / units} AS BIGINT))"
        for units in (1, 10**3, 10**6, 10**9)  # a second has
    )
    in_years = f"{iso} >= make_timestamptz({first * 1e6:.0f}) AND {iso} < make_timestamptz({end * 1e6:.0f})"
    return f"CASE WHEN {in_years} THEN {iso} {epochs} END"


def _status() -> str:
    words = " ".join(f"WHEN '{word}' THEN '{status}'" for word, status in STATUS_WORDS.items())
    return f"""CASE WHEN status IN {STATUSES} THEN status
        ELSE CASE lower(coalesce(status, '')) WHEN '' THEN 'unknown' {words} ELSE lower(status) END END"""


def _calls() -> str:
    """The elements of `tool_list`, names and objects alike, as calls."""
    return f"""list_transform(tool_list, lambda t:
        CASE WHEN starts_with(t, '{{') AND json_valid(t) THEN json_transform(t, '{_CALL}')
             ELSE json_transform(json_object('name', t), '{_CALL}') END)"""


def _tool_errors() -> str:
    """Counted where every element says whether it failed: a bare name does not."""
    return """CASE WHEN tool_errors_number IS NOT NULL THEN TRY_CAST(tool_errors_number AS INTEGER)
        WHEN len(tool_list) = 0 THEN 0
        WHEN len(list_filter(tool_list, lambda t: NOT starts_with(t, '{'))) = 0
        THEN len(list_filter(calls, lambda c: c.error <> '')) END"""


def _tags() -> str:
    return """CASE WHEN tag_map IS NULL THEN MAP {} WHEN NOT contains(tags, 'null') THEN tag_map
        ELSE map_from_entries(list_filter(map_entries(tag_map), lambda e: e.value IS NOT NULL)) END"""


def _problem() -> str:
    counts = {field: LARGEST_TOKENS if field.endswith("_tokens") else LARGEST_COUNT for field in COUNT_FIELDS}
    checks = (
        ("duration_ms", _is_no_number("duration_ms", "false"), "a number"),
        ("cost_usd", _is_no_number("cost_usd", "cost_usd_number < 0"), "a number of at least 0"),
        *(
            (
                field,
                _is_no_number(
                    field, f"{field}_number NOT BETWEEN 0 AND {largest} OR {field}_number <> trunc({field}_number)"
                ),
                "a whole number of at least 0",
            )
            for field, largest in counts.items()
        ),
        *(
            (field, f"{field} <> '' AND {field}_time IS NULL", "a time like 2026-11-30T08:15:00Z")
            for field in TIME_FIELDS
        ),
        ("status", f"status_word NOT IN {STATUSES}", f"one of {', '.join(STATUSES)}"),
        ("content_captured", "lower(content_captured) NOT IN ('', 'true', 'false')", "true or false"),
        ("tools_called", f"tools_called <> '' AND {_NO_CALLS}", "a list of names, or of calls with a name"),
        ("tags", "tags <> '' AND tag_map IS NULL", "an object of names and values"),
        ("spans", "spans <> '' AND NOT starts_with(spans, '[')", "a list of spans"),
    )
    cases = " ".join(
        f"WHEN {condition} THEN '{field}: expected {expected}, found ''' || left({field}, {FOUND_CHARS}) || ''''"
        for field, condition, expected in checks
    )
    return f"CASE WHEN coalesce(trim(trace_id), '') IN {NO_TRACE_IDS} THEN '' {cases} END"


def _is_no_number(field: str, out_of_range: str) -> str:
    number = f"{field}_number"
    return f"({field} NOT IN {_UNKNOWN_NUMBERS} AND ({number} IS NULL OR NOT isfinite({number}) OR {out_of_range}))"


def _notes() -> str:
    notes = {
        "clock_skew": "coalesce(ended_at_time < started_at_time OR measured_ms < 0, false)",
        "no_start": "started_at_time IS NULL",
        "no_end": "ended_at_time IS NULL AND measured_ms IS NULL",
        "no_content": "NOT captured",
        "future_start": "coalesce(started_at_time > now(), false)",
    }
    listed = ", ".join(f"CASE WHEN {condition} THEN '{note}' END" for note, condition in notes.items())
    return f"CASE WHEN {' OR '.join(notes.values())} THEN list_filter([{listed}], lambda n: n IS NOT NULL) ELSE [] END"
