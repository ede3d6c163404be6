"""Appends lines to a file from a background thread, so that whoever hands them over never waits for the disk.

A line is one `os.write` on a file opened with O_APPEND: several processes can share a file. While the disk refuses,
the line is tried again; meanwhile lines queue up to a bound, and beyond it new ones are dropped and counted.
"""

from __future__ import annotations

import logging
import os
import stat
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from grader.capture.limits import CaptureLimits

logger = logging.getLogger(__name__)

_RETRY_SECONDS = (0.1, 0.5, 2.0, 5.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One trace on its way to the file."""

    path: Path
    content: Callable[[int], bytes]  # number of traces lost before it → the bytes, with the line break
    num_bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class WriterStats:
    lines_written: int
    lines_lost: int  # dropped because the queue was full, or given up at the end
    lines_waiting: int
    write_errors: int  # attempts that failed; most are made good by a later one
    last_error: str | None


class LineWriter:
    """A bounded queue of lines and the thread that writes them. `put` never blocks; all methods are thread-safe."""

    def __init__(self, limits: CaptureLimits, *, loss_line: Callable[[int], Line | None]) -> None:
        """`loss_line` makes the line that reports losses at the end, when no other line is left to carry them."""
        self._limits = limits
        self._loss_line = loss_line
        self.reset()

    def reset(self) -> None:
        """Start empty: in a forked child the thread is gone and the queued lines are the parent's."""
        self._changed = threading.Condition()
        self._queue: deque[Line] = deque()  # a line stays in front until it is written
        self._queued_bytes = 0
        self._thread: threading.Thread | None = None
        self._closing = False
        self._failing = False
        self._written = self._lost = self._lost_reported = self._errors = 0
        self._last_error: str | None = None

    def put(self, line: Line) -> None:
        with self._changed:
            full = len(self._queue) >= self._limits.max_queued_lines
            if self._closing or full or self._queued_bytes + line.num_bytes > self._limits.max_queued_bytes:
                self._lost += 1
                if self._lost == 1:
                    logger.warning("Gradebook capture drops traces: %s cannot be written fast enough", line.path)
                return
            self._queue.append(line)
            self._queued_bytes += line.num_bytes
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="gradebook-capture", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self, timeout: float) -> bool:
        """Wait until everything handed over is written; False: it is not, because of time or a disk that refuses."""
        with self._changed:
            self._changed.wait_for(lambda: not self._queue or self._failing, timeout)
            return not self._queue

    def close(self, timeout: float) -> None:
        """Write what waits, try a failing line once more, end the thread; what is left after `timeout` s is lost."""
        with self._changed:
            self._closing = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None:
            thread.join(timeout)
        with self._changed:
            if self._queue:
                logger.warning("Gradebook capture gives up %d traces that could not be written", len(self._queue))

    def stats(self) -> WriterStats:
        with self._changed:
            waiting = len(self._queue)
            given_up = waiting if self._closing and not (self._thread and self._thread.is_alive()) else 0
            return WriterStats(
                lines_written=self._written,
                lines_lost=self._lost + given_up,
                lines_waiting=waiting - given_up,
                write_errors=self._errors,
                last_error=self._last_error,
            )

    def _run(self) -> None:
        failures = 0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._closing)
                if not self._queue:
                    break
                line, lost, closing = self._queue[0], self._lost, self._closing
            error = _append(line, lost - self._lost_reported)
            with self._changed:
                if error is None:
                    failures = 0
                    self._succeeded(lost)
                else:
                    failures += 1
                    self._failed(line, error)
                    if closing:
                        return
                    pause = _RETRY_SECONDS[min(failures, len(_RETRY_SECONDS)) - 1]
                    self._changed.wait_for(lambda: self._closing, pause)
        self._report_losses()

    def _succeeded(self, lost: int) -> None:
        self._queued_bytes -= self._queue.popleft().num_bytes
        self._written += 1
        self._lost_reported = lost
        self._failing = False
        self._changed.notify_all()

    def _failed(self, line: Line, error: Exception) -> None:
        self._errors += 1
        self._last_error = f"{line.path}: {error}"
        self._failing = True
        if self._errors == 1:
            logger.warning("Gradebook capture cannot write to %s, and tries again: %s", line.path, error)
        self._changed.notify_all()

    def _report_losses(self) -> None:
        unreported = self._lost - self._lost_reported
        line = self._loss_line(unreported) if unreported else None
        if line is not None and _append(line, unreported) is None:
            self._lost_reported = self._lost


def _append(line: Line, lost: int) -> Exception | None:
    try:
        append_line(line.path, line.content(lost))
    except Exception as error:  # noqa: BLE001 - whatever it is, the thread must live on and the agent not notice
        return error
    return None


def append_line(path: Path, data: bytes) -> None:
    """Append `data`, a line with its line break, in one write; folders are made. Raises OSError.

    A torn last line, left by a full disk or a crash, gets its line break first, so that it spoils no other.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    is_file = not path.exists() or stat.S_ISREG(path.stat().st_mode)
    access = os.O_RDWR if is_file else os.O_WRONLY  # a pipe opened for reading too would talk to itself
    descriptor = os.open(path, access | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if is_file and _is_torn(descriptor):
            data = b"\n" + data
        rest = memoryview(data)
        while rest:  # only a full disk or a pipe takes less than all of it
            rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)


def _is_torn(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
