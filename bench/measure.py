"""Running a piece of work in a process of its own, so that time and peak memory are its own too."""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")
_MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured(Generic[Value]):
    """What a piece of work gave and took."""

    value: Value
    seconds: float
    cpu_seconds: float  # of all threads
    peak_bytes: int  # resident, of the whole process, interpreter and libraries included


def measured(work: Callable[..., Value], *args: object) -> Measured[Value]:
    """Calls `work` in a fresh process and measures it, the start of the process and imports left out.

    `work` and its arguments must be importable and picklable. Raises RuntimeError when the process dies.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_report, args=(theirs, work, args))
    process.start()
    theirs.close()
    try:
        result: Measured[Value] = ours.recv()
    except EOFError:
        process.join()
        name = f"{work.__module__}.{work.__qualname__}"
        raise RuntimeError(f"{name} ended with exit code {process.exitcode}: see its error above") from None
    process.join()
    return result


def _report(to: Connection, work: Callable[..., Any], args: tuple[object, ...]) -> None:
    cpu_seconds, started = time.process_time(), time.perf_counter()
    value = work(*args)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_seconds
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_BYTES
    to.send(Measured(value=value, seconds=seconds, cpu_seconds=cpu_seconds, peak_bytes=peak_bytes))
