"""Record the runs of agents built with the OpenAI Agents SDK, one JSON line a finished trace.

    from grader.capture.openai_agents import capture

    capture("traces/agent-{date}.jsonl")

The line is `{"format": "gradebook.openai_agents/1", "data": [trace, span, …]}`: the items are the SDK's own exports; a
`response` span (Responses API) has `input` and `response` besides, which the SDK's export leaves out. Where something
went wrong the line has a key `capture` that says so: `unfinished` (why the trace was written before its end),
`lost_spans` (of this trace), `cut_texts`, `lost_traces` (dropped since the last line, by this process).

Nothing here raises into the agent or makes it wait for the disk, and memory is bounded: see CaptureLimits.
"""

from __future__ import annotations

import atexit
import functools
import logging
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from grader.capture.limits import CaptureLimits, to_json
from grader.capture.line import line_bytes, span_item, trace_item
from grader.capture.writer import Line, LineWriter

if TYPE_CHECKING:
    from agents.tracing import Span, Trace, TracingProcessor

_REMEMBERED_TRACES = 4_096  # finished ones, whose late spans are written at once

logger = logging.getLogger(__name__)
Unfinished = Literal["shutdown", "too_many_open", "late"]


def capture(
    path: str | Path,
    *,
    metadata: Mapping[str, str] | None = None,
    replace: bool = False,
    limits: CaptureLimits | None = None,
) -> TraceCapture:
    """Record every trace of this process into `path`, and return the processor that does it.

    `{date}` in the path is the UTC day on which the trace ended: one file a day. `metadata` is added to every trace
    that has no such key itself; Gradebook shows `release` as the agent's version. `replace` takes away all other trace
    processors, the one that sends traces to OpenAI included. Raises ImportError where the SDK is not installed.
    """
    try:
        from agents import tracing  # noqa: PLC0415 - optional: only who records needs the SDK
    except ImportError as error:
        raise ImportError(
            f"the OpenAI Agents SDK cannot be imported ({error}): install it with pip install 'gradebook[agents]'"
        ) from error
    tracing.TracingProcessor.register(TraceCapture)
    recorder = TraceCapture(path, metadata=metadata, limits=limits)
    processor = cast("TracingProcessor", recorder)
    if replace:
        tracing.set_trace_processors([processor])
    else:
        tracing.add_trace_processor(processor)
    atexit.register(recorder.shutdown)
    return recorder


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptureStats:
    """What became of the traces so far: nothing is dropped without being counted here."""

    traces_written: int  # lines; a trace written in parts counts once for each
    traces_unfinished: int  # of them: written before their end
    traces_lost: int
    traces_waiting: int  # for the disk
    spans_lost: int  # over a limit of their trace
    texts_cut: int
    hook_errors: int  # surprises inside a hook, kept away from the agent
    write_errors: int
    last_error: str | None


@dataclass(slots=True)
class _OpenTrace:
    trace: Trace | None  # None: it began before the capture did, or was written once already
    items: list[bytes] = field(default_factory=list)
    open_spans: dict[str, Span[Any]] = field(default_factory=dict)
    num_bytes: int = 0
    lost_spans: int = 0
    cut_texts: int = 0


class TraceCapture:
    """A TracingProcessor of the SDK (registered as one by `capture`), thread-safe and safe across `fork`."""

    def __init__(
        self,
        path: str | Path,
        *,
        metadata: Mapping[str, str] | None = None,
        limits: CaptureLimits | None = None,
    ) -> None:
        self._path = str(Path(path).absolute())  # the agent may change its folder
        self._metadata = dict(metadata or {})
        self._limits = limits or CaptureLimits()
        self._writer = LineWriter(self._limits, loss_line=self._loss_line)
        self._reset()
        this = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: recorder._after_fork() if (recorder := this()) else None)

    def on_trace_start(self, trace: Trace) -> None:
        with self._guard("on_trace_start"), self._lock:
            self._finished.pop(trace.trace_id, None)
            self._open_trace(trace.trace_id).trace = trace

    def on_span_start(self, span: Span[Any]) -> None:
        with self._guard("on_span_start"), self._lock:
            if span.trace_id in self._finished:
                return
            entry = self._open_trace(span.trace_id)
            if len(entry.items) + len(entry.open_spans) < self._limits.max_spans_per_trace:
                entry.open_spans[span.span_id] = span

    def on_span_end(self, span: Span[Any]) -> None:
        with self._guard("on_span_end"):
            recorded = self._record(span)  # now: the agent goes on changing the objects
            with self._lock:
                if recorded is None:
                    self._open_trace(span.trace_id).lost_spans += 1
                    return
                item, num_cut = recorded
                if span.trace_id in self._finished:
                    self._write(_OpenTrace(None, [item], {}, len(item), 0, num_cut), unfinished="late")
                    return
                entry = self._open_trace(span.trace_id)
                entry.open_spans.pop(span.span_id, None)
                self._add(entry, item, num_cut)
                while self._open_bytes > self._limits.max_open_bytes and self._open:
                    self._evict()

    def on_trace_end(self, trace: Trace) -> None:
        with self._guard("on_trace_end"), self._lock:
            entry = self._open.pop(trace.trace_id, None) or _OpenTrace(trace)
            entry.trace = trace
            self._open_bytes -= entry.num_bytes
            self._finished[trace.trace_id] = None
            if len(self._finished) > _REMEMBERED_TRACES:
                self._finished.popitem(last=False)
            self._write(entry, unfinished=None)

    def force_flush(self) -> None:
        """Wait until all finished traces are on the disk, for `flush_seconds` at most."""
        with self._guard("force_flush"):
            self._writer.flush(self._limits.flush_seconds)

    def shutdown(self, timeout: float | None = None) -> None:
        """Write everything, open traces as unfinished, and end the thread. A second call does nothing more."""
        with self._guard("shutdown"):
            with self._lock:
                while self._open:
                    self._evict("shutdown")
            self._writer.close(self._limits.flush_seconds if timeout is None else timeout)

    def stats(self) -> CaptureStats:
        writer = self._writer.stats()
        with self._lock:
            return CaptureStats(
                traces_written=writer.lines_written,
                traces_unfinished=self._unfinished,
                traces_lost=writer.lines_lost,
                traces_waiting=writer.lines_waiting,
                spans_lost=self._spans_lost,
                texts_cut=self._texts_cut,
                hook_errors=self._hook_errors,
                write_errors=writer.write_errors,
                last_error=self._last_error or writer.last_error,
            )

    def _reset(self) -> None:
        self._lock = threading.RLock()  # re-entrant: exporting a span may run code that ends another one
        self._open: OrderedDict[str, _OpenTrace] = OrderedDict()  # oldest first
        self._open_bytes = 0
        self._finished: OrderedDict[str, None] = OrderedDict()
        self._unfinished = self._spans_lost = self._texts_cut = self._hook_errors = 0
        self._last_error: str | None = None

    def _after_fork(self) -> None:
        self._reset()
        self._writer.reset()

    @contextmanager
    def _guard(self, hook: str) -> Iterator[None]:
        """Whatever goes wrong in a hook stays here: recording must never break what is recorded."""
        try:
            yield
        except Exception as error:  # noqa: BLE001
            self._note(hook, error)

    def _note(self, where: str, error: Exception) -> None:
        with self._lock:
            self._hook_errors += 1
            self._last_error = f"{where}: {type(error).__name__}: {error}"
            first = self._hook_errors == 1
        if first:
            logger.warning("Gradebook capture failed in %s; the agent is not affected", where, exc_info=error)

    def _record(self, span: Span[Any]) -> tuple[bytes, int] | None:
        """The span as JSON and how many of its texts were cut; None, counted, when it cannot be had."""
        try:
            return to_json(span_item(span), self._limits)
        except Exception as error:  # noqa: BLE001 - one odd span must not lose the trace
            with self._lock:
                self._spans_lost += 1
            self._note("recording a span", error)
            return None

    def _open_trace(self, trace_id: str) -> _OpenTrace:
        entry = self._open.get(trace_id)
        if entry is None:
            while len(self._open) >= self._limits.max_open_traces:
                self._evict()
            entry = self._open[trace_id] = _OpenTrace(None)
        return entry

    def _add(self, entry: _OpenTrace, item: bytes, num_cut: int) -> None:
        if (
            len(entry.items) >= self._limits.max_spans_per_trace
            or entry.num_bytes + len(item) > self._limits.max_trace_bytes
        ):
            entry.lost_spans += 1
            self._spans_lost += 1
            return
        entry.items.append(item)
        entry.num_bytes += len(item)
        entry.cut_texts += num_cut
        self._open_bytes += len(item)

    def _evict(self, reason: Unfinished = "too_many_open") -> None:
        """Write the oldest open trace with what it has; what still comes of it becomes a line of its own."""
        _, entry = self._open.popitem(last=False)
        self._open_bytes -= entry.num_bytes
        for recorded in map(self._record, list(entry.open_spans.values())):
            if recorded is None:
                entry.lost_spans += 1
            else:
                entry.items.append(recorded[0])
                entry.cut_texts += recorded[1]
        self._write(entry, unfinished=reason)

    def _write(self, entry: _OpenTrace, *, unfinished: Unfinished | None) -> None:
        items = entry.items
        if entry.trace is not None:
            items = [to_json(trace_item(entry.trace, self._metadata), self._limits)[0], *items]
        notes = {"unfinished": unfinished, "lost_spans": entry.lost_spans, "cut_texts": entry.cut_texts}
        self._texts_cut += entry.cut_texts
        self._unfinished += unfinished is not None
        self._writer.put(self._line(items, notes))

    def _line(self, items: list[bytes], notes: Mapping[str, object]) -> Line:
        path = Path(self._path.replace("{date}", datetime.now(UTC).date().isoformat()))
        return Line(
            path=path,
            content=functools.partial(line_bytes, tuple(items), notes),
            num_bytes=sum(map(len, items)) + 200,
        )

    def _loss_line(self, _num_lost: int) -> Line:
        return self._line([], {})
