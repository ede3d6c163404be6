"""What the DuckDB file holds: DDL as ordered migrations, each applied in one transaction.

The file's version is the number of the last migration applied (`meta.schema_version`). A file with a higher version
than `SCHEMA_VERSION` is refused (`StoreNewerError`). Never edit a migration that has landed: add one.
"""

from __future__ import annotations

_ENUMS = """
CREATE TYPE trace_status AS ENUM ('completed', 'failed', 'interrupted', 'blocked', 'running', 'unknown');
CREATE TYPE outcome_state AS ENUM ('passed', 'failed', 'flagged', 'not_applicable');
CREATE TYPE grade_state AS ENUM ('rules_only', 'judged', 'judge_pending', 'judge_failed', 'not_judgeable');
CREATE TYPE failure_stage AS ENUM ('auth', 'billing', 'timeout', 'rate_limit', 'refusal', 'unparsed', 'server');
CREATE TYPE run_state AS ENUM ('running', 'done', 'done_with_failures', 'failed', 'killed');
"""

_TRACES = """
CREATE TABLE payload_files (
    file_id BIGINT PRIMARY KEY,
    path VARCHAR NOT NULL UNIQUE,          -- relative to the folder of the store
    num_rows BIGINT NOT NULL,
    first_day DATE NOT NULL,
    last_day DATE NOT NULL
);
CREATE TABLE traces (                      -- one row a trace_id; columns as in grader/arrow.py
    trace_id VARCHAR NOT NULL,
    day DATE NOT NULL,
    name VARCHAR, session_id VARCHAR, agent VARCHAR, release VARCHAR, model VARCHAR,
    started_at TIMESTAMPTZ, ended_at TIMESTAMPTZ,
    duration_ms DOUBLE CHECK (duration_ms >= 0 AND isfinite(duration_ms)),
    status trace_status NOT NULL,
    num_turns INTEGER CHECK (num_turns >= 0),
    tool_errors INTEGER CHECK (tool_errors >= 0),
    guardrails_triggered INTEGER CHECK (guardrails_triggered >= 0),
    content_captured BOOLEAN NOT NULL,
    answer_chars INTEGER CHECK (answer_chars >= 0),
    -- measured: compressing the previews takes as long as all other columns together (docs/performance.md)
    user_preview VARCHAR USING COMPRESSION uncompressed, answer_preview VARCHAR USING COMPRESSION uncompressed,
    tool_names VARCHAR[],
    input_tokens BIGINT, output_tokens BIGINT,
    cost_usd DOUBLE CHECK (isfinite(cost_usd)),
    tags MAP(VARCHAR, VARCHAR),
    num_spans INTEGER NOT NULL,
    notes VARCHAR[],
    content_hash UBIGINT NOT NULL,
    source_reader VARCHAR NOT NULL, source_path VARCHAR NOT NULL, source_line BIGINT NOT NULL,
    payload_file BIGINT NOT NULL,          -- payload_files.file_id
    run_id VARCHAR NOT NULL                -- the run that wrote this copy
);
CREATE TABLE superseded (                  -- contents that a later copy replaced: read again, they are duplicates
    trace_id VARCHAR NOT NULL,
    content_hash UBIGINT NOT NULL
);
CREATE TABLE quarantine (                  -- lines, or parts of lines, that could not be read
    reader VARCHAR NOT NULL, path VARCHAR NOT NULL, line BIGINT NOT NULL,
    reason VARCHAR NOT NULL, excerpt VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,               -- the run that saw it last
    first_seen_at TIMESTAMPTZ NOT NULL
);
"""

_RUNS = """
CREATE TABLE runs (
    run_id VARCHAR PRIMARY KEY,
    kind VARCHAR NOT NULL CHECK (kind IN ('ingest', 'grade')),
    state run_state NOT NULL,
    started_at TIMESTAMPTZ NOT NULL, ended_at TIMESTAMPTZ,
    scheduled_for DATE UNIQUE,             -- set by the scheduler: a scheduled day runs once
    lines_read BIGINT NOT NULL DEFAULT 0, lines_new BIGINT NOT NULL DEFAULT 0, lines_updated BIGINT NOT NULL DEFAULT 0,
    lines_duplicate BIGINT NOT NULL DEFAULT 0, lines_quarantined BIGINT NOT NULL DEFAULT 0,
    traces_new BIGINT NOT NULL DEFAULT 0, traces_updated BIGINT NOT NULL DEFAULT 0,
    canary_score DOUBLE CHECK (canary_score BETWEEN 0 AND 1),  -- the judge's score of a bad answer that asks for 5/5
    message VARCHAR,                       -- what a person should know: the error, why judging stopped
    CHECK (lines_read = lines_new + lines_updated + lines_duplicate + lines_quarantined)
);
"""

_GRADES = """
CREATE TABLE grades (                      -- the current grade of a trace; one row a graded trace
    trace_id VARCHAR NOT NULL,
    day DATE NOT NULL,
    content_hash UBIGINT NOT NULL,         -- of the copy that was graded
    rules_version VARCHAR NOT NULL,
    rule_score_milli SMALLINT NOT NULL CHECK (rule_score_milli BETWEEN 0 AND 1000),
    outcomes STRUCT(rule VARCHAR, outcome outcome_state, value DOUBLE, deducted_milli SMALLINT)[] NOT NULL,
    alerts VARCHAR[] NOT NULL,
    state grade_state NOT NULL,
    judge_version VARCHAR,                 -- null: no judge configured
    judge_score DOUBLE CHECK (judge_score BETWEEN 0 AND 1),
    final_score DOUBLE NOT NULL CHECK (final_score BETWEEN 0 AND 1),
    critical BOOLEAN NOT NULL,
    selected_because VARCHAR CHECK (selected_because IN ('low_rule_score', 'audit')),
    inclusion_probability DOUBLE CHECK (inclusion_probability > 0 AND inclusion_probability <= 1),
    stratum TINYINT NOT NULL CHECK (stratum BETWEEN 0 AND 2),  -- 0: under judge_below, 1: up to 1, 2: exactly 1
    CHECK ((state = 'judged') = (judge_score IS NOT NULL))
);
CREATE TABLE judgements (                  -- every usable reply, also of former rubrics and former copies
    trace_id VARCHAR NOT NULL,
    content_hash UBIGINT NOT NULL,
    judge_version VARCHAR NOT NULL,
    provider VARCHAR NOT NULL, model VARCHAR NOT NULL,
    marks MAP(VARCHAR, INTEGER) NOT NULL,
    score DOUBLE NOT NULL CHECK (score BETWEEN 0 AND 1),
    issues VARCHAR[] NOT NULL, suggestions VARCHAR[] NOT NULL,
    input_tokens BIGINT, output_tokens BIGINT,
    cost_usd DOUBLE CHECK (isfinite(cost_usd)),
    latency_ms DOUBLE NOT NULL CHECK (isfinite(latency_ms)),
    judged_at TIMESTAMPTZ NOT NULL,
    run_id VARCHAR NOT NULL,
    PRIMARY KEY (trace_id, content_hash, judge_version)
);
CREATE TABLE judge_failures (              -- the newest failure of a trace that has no judgement; gone once it has one
    trace_id VARCHAR NOT NULL,
    content_hash UBIGINT NOT NULL,
    judge_version VARCHAR NOT NULL,
    stage failure_stage NOT NULL,
    message VARCHAR NOT NULL,
    attempts INTEGER NOT NULL,
    failed_at TIMESTAMPTZ NOT NULL,
    run_id VARCHAR NOT NULL,
    PRIMARY KEY (trace_id, content_hash, judge_version)
);
"""

_REPORTS = """
CREATE TABLE day_reports (                 -- every revision; the highest of a date counts
    date DATE NOT NULL,
    revision INTEGER NOT NULL CHECK (revision >= 1),
    recorded_at TIMESTAMPTZ NOT NULL,
    run_id VARCHAR NOT NULL,
    num_traces BIGINT NOT NULL,
    avg_score DOUBLE CHECK (avg_score BETWEEN 0 AND 1),
    median_score DOUBLE CHECK (median_score BETWEEN 0 AND 1),
    min_score DOUBLE CHECK (min_score BETWEEN 0 AND 1),
    p10_score DOUBLE CHECK (p10_score BETWEEN 0 AND 1),
    pct_critical DOUBLE CHECK (pct_critical BETWEEN 0 AND 100),
    quality DOUBLE CHECK (quality BETWEEN 0 AND 1),
    day_to_day_drop BOOLEAN NOT NULL,
    report JSON NOT NULL,                  -- the whole DayReport
    PRIMARY KEY (date, revision),
    CHECK ((num_traces = 0) = (avg_score IS NULL))
);
CREATE TABLE alerts (                      -- critical traces, as of their day's last grading
    trace_id VARCHAR PRIMARY KEY,
    day DATE NOT NULL,
    score DOUBLE NOT NULL CHECK (score BETWEEN 0 AND 1),
    alerts VARCHAR[] NOT NULL,
    raised_at TIMESTAMPTZ NOT NULL         -- kept when the day is graded again
);
CREATE TABLE releases (                    -- seen in the traces
    agent VARCHAR NOT NULL,                -- '' where the traces name no agent
    release VARCHAR NOT NULL,
    first_seen_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (agent, release)
);
"""

MIGRATIONS: tuple[str, ...] = (_ENUMS + _TRACES + _RUNS + _GRADES + _REPORTS,)
SCHEMA_VERSION = len(MIGRATIONS)
