"""Demo runs as flat JSON lines: the names of the trace record, one object a run."""

from __future__ import annotations

import json
from datetime import timedelta

from jobs.demo_data.run import DemoRun


def flat_lines(run: DemoRun) -> list[str]:
    ended_at = run.started_at + timedelta(milliseconds=run.duration_ms)
    record = {
        "trace_id": run.trace_id,
        "name": run.topic,
        "session_id": run.session_id,
        "agent": run.agent.name,
        "release": run.release,
        "model": run.agent.model,
        "started_at": run.started_at.isoformat(timespec="milliseconds"),
        "ended_at": ended_at.isoformat(timespec="milliseconds"),
        "duration_ms": run.duration_ms,
        "status": run.status,
        "num_turns": run.num_turns,
        "tool_errors": run.tool_errors,
        "guardrails_triggered": int(run.guardrail is not None),
        "user_message": run.question,
        "final_output": run.answer,
        "tools_called": [
            {"name": call.tool, "arguments": call.arguments, "output": call.output, "error": call.error}
            for call in run.calls
        ],
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "cost_usd": run.cost_usd(),
        "tags": dict(run.tags),
    }
    return [json.dumps(record, ensure_ascii=False)]
