"""Real exports against the truth of the scripted runs (`EXPECTED_scenarios.json`, written from the script, not from an
export), and against golden facts that the truth does not hold.

`NOT_HELD` lists every fact that an export does not hold, with the reason. There the reader must say "not known".
`GRADEBOOK_UPDATE_GOLDEN=1 pytest tests/grader/readers/test_corpus.py` writes the golden file anew.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from grader.readers import reader_for
from grader.readers.contract import Fragment
from grader.records import Trace

GOLDEN = Path(__file__).parent / "golden" / "corpus.json"
EXPORTS: Mapping[str, tuple[str, ...]] = {
    "sdk chat": ("openai-agents/chat.processor.jsonl",),
    "sdk resp": ("openai-agents/resp.processor.jsonl",),
    "genai": ("otlp-genai/latest/spans.otlp.jsonl",),
    "genai with logs": ("otlp-genai/latest/logs.otlp.jsonl", "otlp-genai/latest/spans.otlp.jsonl"),
    "genai events": ("otlp-genai/event/spans.otlp.jsonl", "otlp-genai/event/logs.otlp.jsonl"),
    "genai nocontent": ("otlp-genai/nocontent/spans.otlp.jsonl",),
    "openinference": ("openinference/otlp_json_hex.lines.jsonl",),
    "sdk custom endpoint": ("openai-agents/backend_ingest_custom_endpoint/*.json",),
    "sdk sanitized": ("openai-agents/backend_ingest_openai_sanitized/*.json",),
}
STATUS = {"ok": "completed", "error": "failed", "blocked": "blocked"}
FACTS = ("num_turns", "tool_calls", "tool_errors", "guardrails_triggered", "status", "final_output", "user_message")
NOT_KNOWN: Mapping[str, object] = {"status": "unknown"}  # every other fact that is not known is None

NO_INPUT = "the guardrail stopped the run before any model call: no span of any export holds what the user said"
NO_GUARDRAILS = "the GenAI instrumentation has no guardrail spans"
GENAI_BLOCK = (
    "an input guardrail leaves no trace in the GenAI instrumentation: two spans without status, and nothing else"
)
FAILED_CALL = "a failed Responses API call has neither input nor response on its span"
NO_RESPONSES = "the SDK's exporter sends no text of Responses API calls"
NO_CONTENT = "content capture is switched off"
NEVER_RAN = "the run crashed at once (its server cannot stream the Responses API): a head or an empty root is all"
NO_NAMES = "without content the name of the tool asked for is not recorded, nor which tools were offered"

Exception_ = tuple[str, str]  # scenario ("*": all), fact

NOT_HELD: Mapping[str, Mapping[Exception_, str]] = {
    "sdk chat": {("chat:input_guardrail", "user_message"): NO_INPUT},
    "sdk resp": {
        ("resp:input_guardrail", "user_message"): NO_INPUT,
        ("resp:model_500", "user_message"): FAILED_CALL,
        ("resp:model_400", "user_message"): FAILED_CALL,
        ("resp:streamed", "*"): NEVER_RAN,
    },
    "genai": {
        ("*", "guardrails_triggered"): NO_GUARDRAILS,
        ("*:input_guardrail", "user_message"): NO_INPUT,
        ("*:input_guardrail", "status"): GENAI_BLOCK,
        ("resp:streamed", "user_message"): NEVER_RAN,
        ("resp:streamed", "status"): NEVER_RAN,
    },
    "openinference": {
        ("*:input_guardrail", "user_message"): NO_INPUT,
        ("resp:streamed", "user_message"): NEVER_RAN,
        ("resp:streamed", "status"): NEVER_RAN,
        ("resp:streamed", "guardrails_triggered"): NEVER_RAN,
    },
    "sdk custom endpoint": {
        ("chat:input_guardrail", "user_message"): NO_INPUT,
        ("resp:*", "user_message"): NO_RESPONSES,
        ("resp:*", "final_output"): NO_RESPONSES,
        ("resp:streamed", "*"): NEVER_RAN,
    },
    "genai nocontent": {
        ("*", "guardrails_triggered"): NO_GUARDRAILS,
        ("*", "user_message"): NO_CONTENT,
        ("*", "final_output"): NO_CONTENT,
        ("*:input_guardrail", "status"): GENAI_BLOCK,
        ("*:unknown_tool", "tool_calls"): NO_NAMES,
        ("*:unknown_tool", "tool_errors"): NO_NAMES,
        ("*:unknown_tool", "status"): NO_NAMES,
    },
}
SAME_AS = {"genai with logs": "genai", "genai events": "genai", "sdk sanitized": "sdk custom endpoint"}
# Stopped by the output guardrail: told by the agent's error, the one guardrail fact that GenAI spans hold.
HELD_AFTER_ALL = {("genai", "output_guardrail", "guardrails_triggered")}
# An empty root is a run of which nothing is recorded: no turn and no tool are what its spans show.
SHOWN = {("resp:streamed", "num_turns"): 0, ("resp:streamed", "tool_calls"): []}
# The truth says null where the script did not write the answer down; `*.outcomes.json` has it.
ANSWERS = {
    "emoji": "Done 👩\u200d👩\u200d👧\u200d👦🏳️\u200d🌈 — naïve café, עברית, \u202ertl\u202c, nul:\\u0000 ok",
    "streamed": "It is sunny in Zürich, 21°C. ",
}


@pytest.fixture(scope="module")
def exports(corpus: Path, read_fragments: Any) -> Mapping[str, list[Fragment]]:
    found = {}
    for export, patterns in EXPORTS.items():
        paths = [path for pattern in patterns for path in sorted(corpus.glob(pattern))]
        assert paths, f"no files for {export}"
        reader = reader_for("auto", paths[-1].read_bytes()[: 64 << 10])
        found[export] = read_fragments(reader, paths)
    return found


@pytest.fixture(scope="module")
def truth(corpus: Path) -> Mapping[str, Mapping[str, Any]]:
    scenarios = json.loads((corpus / "EXPECTED_scenarios.json").read_text())["scenarios"]
    return dict(scenarios)


def scenario_of(trace: Trace) -> str:
    assert trace.name is not None
    return "implicit" if trace.name == "implicit workflow" else trace.name.split(":")[1]


def full_name(trace: Trace) -> str:
    """`<chat|resp>:<scenario>`. Both runs of the implicit workflow have one name: their model spans tell them apart."""
    if trace.name != "implicit workflow":
        return trace.name or ""
    call = next(span for span in trace.spans if span.kind == "model")
    is_response = "resp_" in str(call.attributes) or "response" in (call.name.lower(), call.attributes.get("type"))
    return "resp:implicit" if is_response else "chat:implicit"


def is_exempt(export: str, name: str, fact: str) -> bool:
    api, scenario = name.split(":")
    export = SAME_AS.get(export, export)
    if (export.split()[0], scenario, fact) in HELD_AFTER_ALL:
        return False
    rules = NOT_HELD.get(export, {})
    return any((where, what) in rules for where in ("*", f"*:{scenario}", f"{api}:*", name) for what in (fact, "*"))


@pytest.mark.parametrize("export", EXPORTS)
def test_every_scenario_has_the_facts_that_its_export_holds(
    export: str, exports: Mapping[str, list[Fragment]], truth: Mapping[str, Mapping[str, Any]], put_together: Any
) -> None:
    traces: list[Trace] = put_together(exports[export])
    wrong = []
    for trace in traces:
        name = full_name(trace)
        expected = truth[scenario_of(trace)]
        got = facts_of(trace)
        for fact in FACTS:
            want = wanted(export, name, fact, expected)
            if got[fact] != want:
                wrong.append(f"{name}: {fact} is {got[fact]!r:.80}, expected {want!r:.80}")
    assert not wrong, "\n".join(wrong)
    assert {scenario_of(trace) for trace in traces} == set(truth)


def wanted(export: str, name: str, fact: str, expected: Mapping[str, Any]) -> object:
    if name == "resp:streamed" and (name, fact) in SHOWN and not export.startswith("sdk"):
        return SHOWN[name, fact]
    if is_exempt(export, name, fact):
        return NOT_KNOWN.get(fact)
    value = expected[fact]
    if fact == "status":
        return STATUS[value]
    if fact == "final_output":
        return ANSWERS.get(name.split(":")[1], value) if name != "resp:streamed" else None
    return sorted(value) if fact == "tool_calls" else value


def facts_of(trace: Trace) -> Mapping[str, object]:
    tools = None if trace.tools_called is None else sorted(call.name for call in trace.tools_called)
    facts = {fact: getattr(trace, fact, None) for fact in FACTS}
    return {**facts, "tool_calls": tools}


@pytest.mark.parametrize("export", EXPORTS)
def test_every_exception_by_name_meets_a_trace(
    export: str, exports: Mapping[str, list[Fragment]], put_together: Any
) -> None:
    """That an exempt fact is really missing is checked above: there "not known" is the only right answer."""
    rules = NOT_HELD.get(export, {})
    names = {full_name(trace) for trace in put_together(exports[export])}
    for where, _ in rules:
        if "*" not in where:
            assert where in names


@pytest.mark.parametrize("export", ["sdk chat", "sdk resp", "genai", "openinference"])
def test_spans_in_any_order_and_over_many_files_give_the_same_trace(
    export: str, exports: Mapping[str, list[Fragment]], put_together: Any
) -> None:
    fragments = [
        Fragment(trace_id=fragment.trace_id, head=fragment.head, spans=(span,))
        for fragment in exports[export]
        for span in fragment.spans
    ] + [fragment for fragment in exports[export] if not fragment.spans]
    expected = {trace.trace_id: trace for trace in put_together(exports[export])}
    shuffle = random.Random(3)
    for _ in range(3):
        shuffle.shuffle(fragments)
        assert {trace.trace_id: trace for trace in put_together(fragments)} == expected


def test_the_two_forms_of_one_run_agree_on_tokens(exports: Mapping[str, list[Fragment]], put_together: Any) -> None:
    """The scripted server counts alike for every exporter: three formats, one number."""
    tokens: dict[str, set[tuple[int | None, int | None]]] = {}
    for export in ("sdk chat", "sdk resp", "genai", "genai nocontent", "openinference"):
        for trace in put_together(exports[export]):
            name = full_name(trace)
            tokens.setdefault(name, set()).add((trace.input_tokens, trace.output_tokens))
    assert {name: found for name, found in tokens.items() if len(found) > 1} == {}
    assert tokens["chat:handoff"] == {(302, 124)}
    assert tokens["chat:streamed"] == {(None, None)}


def test_the_golden_facts(exports: Mapping[str, list[Fragment]], put_together: Any) -> None:
    found = {
        export: {
            full_name(trace): {
                "agent": trace.agent,
                "session_id": trace.session_id,
                "release": trace.release,
                "model": trace.model,
                "num_spans": len(trace.spans),
                "duration_ms": None if trace.duration_ms is None else round(trace.duration_ms, 3),
                "tokens": [trace.input_tokens, trace.output_tokens],
                "tags": sorted(trace.tags),
                "notes": list(trace.notes),
            }
            for trace in put_together(exports[export])
        }
        for export in ("sdk chat", "sdk resp", "sdk sanitized", "genai", "openinference")
    }
    if os.environ.get("GRADEBOOK_UPDATE_GOLDEN"):
        GOLDEN.write_text(json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            "pydantic-ai/instrumentation_v6.otlp.json",
            [
                ("completed", 2, 0, 109, "WEATHER please", "It is sunny in Zürich, 21°C."),
                ("completed", 2, 1, 110, "TOOLERR now", "It is sunny in Zürich, 21°C."),
                ("failed", 1, 0, None, "HTTP400", None),
                ("completed", 2, 1, 146, "BADARGS", "It is sunny in Zürich, 21°C."),
            ],
        ),
        (
            "mistral/sdk_spans.otlp.json",
            [("completed", 3, None, None, "REFUND my order #W123", "Hello! How can I help you today? ")],
        ),
        ("langfuse/sdk_otlp/0001_api_public_otel_v1_traces.otlp.json", [("unknown", None, None, None, None, None)]),
    ],
    ids=["pydantic-ai", "mistral", "langfuse (its own attributes: not read yet)"],
)
def test_other_otlp_exports(
    path: str, expected: list[tuple[object, ...]], corpus: Path, read_fragments: Any, put_together: Any
) -> None:
    file = corpus / path
    reader = reader_for("auto", file.read_bytes()[: 64 << 10])
    assert reader.name == "otlp"
    traces = put_together(read_fragments(reader, [file]))
    assert [
        (t.status, t.num_turns, t.tool_errors, t.input_tokens, t.user_message, t.final_output) for t in traces
    ] == expected
