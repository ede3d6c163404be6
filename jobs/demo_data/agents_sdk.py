"""Demo runs as the OpenAI Agents SDK records them (0.24): lines of our capture, or bodies of the SDK's own exporter.

The captured runs use the Responses API. The exporter would drop the texts of those, so its runs use chat completions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from grader.capture.line import FORMAT
from jobs.demo_data.run import DemoRun, Step
from jobs.demo_data.topics import Call

Item = dict[str, Any]

GUARDRAIL = "only_shop_topics"
_TOOL_FAILED = "An error occurred while running the tool. Please try again."


def capture_lines(run: DemoRun) -> list[str]:
    """One line, as `grader.capture` writes it."""
    return [_dump({"format": FORMAT, "data": [_trace_item(run), *_Recorder(run, chat=False).spans()]})]


def exporter_lines(run: DemoRun) -> list[str]:
    """Two request bodies, as the SDK's own exporter posts them: children come before their parents."""
    spans = _Recorder(run, chat=True).spans()
    half = len(spans) // 2
    return [_dump({"data": [_trace_item(run), *spans[:half]]}), _dump({"data": spans[half:]})]


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _trace_item(run: DemoRun) -> Item:
    return {
        "object": "trace",
        "id": f"trace_{run.trace_id}",
        "workflow_name": run.topic,
        "group_id": run.session_id,
        "metadata": {"release": run.release, **run.tags},
    }


class _Recorder:
    """Makes the spans of one run, in the order in which they end."""

    def __init__(self, run: DemoRun, *, chat: bool) -> None:
        self.run = run
        self.chat = chat
        self.messages: list[Item] = [{"role": "user", "content": run.question}]
        self.items: list[Item] = []
        self.made = 0

    def spans(self) -> list[Item]:
        run = self.run
        task, agent = self._new_id(), self._new_id()
        blocked = run.status == "blocked"
        names = [run.agent.name, run.handoff_to] if run.handoff_to else [run.agent.name]
        turns = list(_turns(run.steps))
        if blocked:
            self._blocked_turn(agent)
            self._agent(agent, task, names[0], 0, run.duration_ms - 4, None)
        else:
            first = turns[:1] if run.handoff_to else turns
            self._guardrail(agent, triggered=False)
            self._agent_with_turns(agent, task, names[0], first, number=1)
            if run.handoff_to:
                self._agent_with_turns(self._new_id(), task, run.handoff_to, turns[1:], number=2)
        data: Item = {"sdk_span_type": "task", "name": run.topic}
        if turns:
            data["usage"] = _usage(run.input_tokens, run.output_tokens) | {"requests": len(turns)}
        self._add(task, None, 0, run.duration_ms, {"type": "custom", "name": "task", "data": data})
        return self.items

    def _blocked_turn(self, agent: str) -> None:
        turn = self._new_id()
        self._guardrail(turn, triggered=True)
        data = {"sdk_span_type": "turn", "turn": 1, "agent_name": self.run.agent.name}
        error = {"message": "Guardrail tripwire triggered", "data": {"guardrail": GUARDRAIL}}
        end_ms = self.run.duration_ms - 6
        self._add(turn, agent, 1, end_ms, {"type": "custom", "name": "turn", "data": data}, error)

    def _guardrail(self, parent: str, *, triggered: bool) -> None:
        data = {"type": "guardrail", "name": GUARDRAIL, "triggered": triggered}
        self._add(self._new_id(), parent, 1, 3, data)

    def _agent_with_turns(self, agent: str, task: str, name: str, turns: list[list[Step]], *, number: int) -> None:
        error = None
        for offset, steps in enumerate(turns):
            self._turn(agent, name, number + offset, steps)
            if steps[0].error:
                error = {"message": "Error in agent run", "data": {"error": steps[0].error}}
        if turns:
            self._agent(agent, task, name, turns[0][0].start_ms - 1, turns[-1][-1].end_ms + 4, error)

    def _agent(self, agent: str, task: str, name: str, start_ms: int, end_ms: int, error: Item | None) -> None:
        tools = sorted({call.tool for call in self.run.calls})
        handoffs = [self.run.handoff_to] if self.run.handoff_to and name == self.run.agent.name else []
        data = {"type": "agent", "name": name, "handoffs": handoffs, "tools": tools, "output_type": "str"}
        self._add(agent, task, start_ms, end_ms, data, error)

    def _turn(self, agent: str, name: str, number: int, steps: list[Step]) -> None:
        turn, model = self._new_id(), steps[0]
        hands_off = self.run.handoff_to is not None and number == 1
        handoff_to = self.run.handoff_to if hands_off else None
        if self.chat:
            self._generation(turn, model, number, handoff_to=handoff_to)
        else:
            self._response(turn, model, number, handoff_to=handoff_to)
        if hands_off:
            data: Item = {"type": "handoff", "from_agent": name, "to_agent": self.run.handoff_to}
            self._add(self._new_id(), turn, model.end_ms, model.end_ms + 1, data)
        for step in steps[1:]:
            assert step.call is not None
            self._function(turn, step, step.call)
        usage = _usage(model.input_tokens, model.output_tokens)
        data = {"sdk_span_type": "turn", "turn": number, "agent_name": name, "usage": usage}
        self._add(
            turn, agent, model.start_ms - 1, steps[-1].end_ms + 1, {"type": "custom", "name": "turn", "data": data}
        )

    def _function(self, turn: str, step: Step, call: Call) -> None:
        error = None
        if call.error:
            error = {
                "message": "Error running tool (non-fatal)",
                "data": {"tool_name": call.tool, "error": call.error},
            }
        data = {
            "type": "function",
            "name": call.tool,
            "input": call.arguments,
            "output": _TOOL_FAILED if call.error else call.output,
            "mcp_data": None,
        }
        self._add(self._new_id(), turn, step.start_ms, step.end_ms, data, error)

    def _response(self, turn: str, step: Step, number: int, *, handoff_to: str | None) -> None:
        data: Item = {"type": "response", "response_id": None, "usage": None, "input": None, "response": None}
        error = None
        if step.error:
            error = {"message": "Error getting response", "data": {"error": step.error}}
        else:
            response_id = f"resp_{self.run.trace_id[:16]}{number:04d}"
            data |= {
                "response_id": response_id,
                "usage": _usage(step.input_tokens, step.output_tokens) | {"requests": 1},
                "input": self._input(number),
                "response": {
                    "id": response_id,
                    "object": "response",
                    "status": "completed",
                    "model": self.run.agent.model,
                    "output": _output(step, number, handoff_to=handoff_to),
                },
            }
        self._add(self._new_id(), turn, step.start_ms, step.end_ms, data, error)

    def _generation(self, turn: str, step: Step, number: int, *, handoff_to: str | None) -> None:
        """A chat completion: it is sent the whole conversation, and answers with one message."""
        error = {"message": "Error getting response", "data": {"error": step.error}} if step.error else None
        reply: Item = {"role": "assistant", "content": step.text}
        if step.text is None:
            reply["tool_calls"] = [
                {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
                for call_id, name, arguments in _asked(step, number, handoff_to)
            ]
        data: Item = {
            "type": "generation",
            "input": self.messages,
            "output": None if error else [reply],
            "model": self.run.agent.model,
            "model_config": {"base_url": "https://api.openai.com/v1/"},
            "usage": None if error else _usage(step.input_tokens, step.output_tokens),
        }
        self._add(self._new_id(), turn, step.start_ms, step.end_ms, data, error)
        results = [{"role": "tool", "tool_call_id": f"call_{number}_0", "content": _dump({"assistant": handoff_to})}]
        if handoff_to is None:
            results = [
                {"role": "tool", "tool_call_id": call_id, "content": _TOOL_FAILED if call.error else call.output or ""}
                for (call_id, _, _), call in zip(_asked(step, number, None), step.asks, strict=True)
            ]
        self.messages = [*self.messages, reply, *results]

    def _input(self, number: int) -> list[Item]:
        """What is new to the model: the server keeps the conversation (`previous_response_id`)."""
        if number == 1:
            return [{"role": "user", "content": self.run.question}]
        before = list(_turns(self.run.steps))[number - 2]
        return [
            {
                "type": "function_call_output",
                "call_id": f"call_{number - 1}_{index}",
                "output": _TOOL_FAILED if step.call and step.call.error else step.call and step.call.output,
            }
            for index, step in enumerate(before[1:])
        ] or [
            {"type": "function_call_output", "call_id": "call_1_0", "output": _dump({"assistant": self.run.handoff_to})}
        ]

    def _add(
        self, span: str, parent: str | None, start_ms: int, end_ms: int, data: Item, error: Item | None = None
    ) -> None:
        self.items.append(
            {
                "object": "trace.span",
                "id": span,
                "trace_id": f"trace_{self.run.trace_id}",
                "parent_id": parent,
                "started_at": self._time(start_ms),
                "ended_at": self._time(end_ms),
                "span_data": data,
                "error": error,
            }
        )

    def _new_id(self) -> str:
        self.made += 1
        return f"span_{self.run.trace_id[:20]}{self.made:04x}"

    def _time(self, offset_ms: int) -> str:
        return (self.run.started_at + timedelta(milliseconds=offset_ms)).isoformat(timespec="microseconds")


def _turns(steps: tuple[Step, ...]) -> Iterable[list[Step]]:
    """Each model call with the tool calls that follow it."""
    turn: list[Step] = []
    for step in steps:
        if step.call is None and turn:
            yield turn
            turn = []
        turn.append(step)
    if turn:
        yield turn


def _usage(input_tokens: int, output_tokens: int) -> Item:
    return {"input_tokens": input_tokens, "output_tokens": output_tokens, "total_tokens": input_tokens + output_tokens}


def _output(step: Step, number: int, *, handoff_to: str | None) -> list[Item]:
    if step.text is not None:
        content = [{"type": "output_text", "text": step.text, "annotations": []}]
        return [{"type": "message", "role": "assistant", "status": "completed", "content": content}]
    return [
        {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
        for call_id, name, arguments in _asked(step, number, handoff_to)
    ]


def _asked(step: Step, number: int, handoff_to: str | None) -> list[tuple[str, str, str]]:
    """Id, tool and arguments of each call that a model call asks for; a handoff is asked for like a tool."""
    asked = [(call.tool, call.arguments) for call in step.asks]
    if handoff_to:
        asked = [(f"transfer_to_{handoff_to.replace(' ', '_')}", "{}")]
    return [(f"call_{number}_{index}", name, arguments) for index, (name, arguments) in enumerate(asked)]
