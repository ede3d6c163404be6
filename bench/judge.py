"""How much of the ideal judge throughput (concurrency / latency) is reached, against a server in its own process.

python -m bench.judge --latency-ms 200 --concurrency 32 64 --calls 2000
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator

from pydantic import SecretStr

from grader.judge import JudgeInput, judge_all, make_judge
from grader.records import JudgeFailure, Judgement, ToolCall
from grader.settings import JudgeSettings


def judge_input(number: int) -> JudgeInput:
    """A trace of a customer service agent; its prompt has about 3,000 characters."""
    parcels = ", ".join(f'{{"parcel": {parcel}, "status": "in transit"}}' for parcel in range(30))
    return JudgeInput(
        trace_id=f"trace-{number}",
        content_hash=number,
        question=f"Where is my order {number}, and when will it arrive?",
        answer=f"Order {number} left our warehouse yesterday and will arrive tomorrow. " * 5,
        tools=(ToolCall(name="find_parcels", arguments=f'{{"order": {number}}}', output=f"[{parcels}]"),),
        duration_ms=1_234.0,
        num_turns=3,
    )


@contextlib.contextmanager
def model_server(*, latency_ms: float) -> Iterator[str]:
    """The test suite's model server in a process of its own; gives its base URL."""
    command = [sys.executable, "-m", "tests.servers.model_server", "--latency-ms", str(latency_ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def measure_throughput(base_url: str, concurrency: int, calls: int) -> float:
    """Judgements a second, from the first call to the last, connecting included.

    One trace is judged before the clock starts: the first judging of a process imports the OpenAI client (about a
    second), which is no matter of throughput.
    """
    settings = JudgeSettings(provider="openai", base_url=base_url, concurrency=concurrency)
    judge = make_judge(settings, SecretStr("bench"))
    assert judge is not None
    results: list[Judgement | JudgeFailure] = []
    judge_all(judge, [judge_input(calls)], on_result=results.append)
    started = time.perf_counter()
    summary = judge_all(judge, map(judge_input, range(calls)), on_result=results.append)
    seconds = time.perf_counter() - started
    if summary.judged != calls:
        raise RuntimeError(f"expected {calls} judgements, got {summary}")
    return calls / seconds


def main() -> None:
    """Print a line for each concurrency: judgements a second, share of the ideal, CPU of this process a call."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency-ms", type=float, default=200.0)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[32, 64])
    parser.add_argument("--calls", type=int, default=2_000)
    options = parser.parse_args()
    for concurrency in options.concurrency:
        with model_server(latency_ms=options.latency_ms) as base_url:
            measure_throughput(base_url, concurrency, 1)
            cpu_seconds = time.process_time()
            rate = measure_throughput(base_url, concurrency, options.calls)
            cpu_ms = (time.process_time() - cpu_seconds) / options.calls * 1_000
        ideal = concurrency / (options.latency_ms / 1_000)
        print(f"concurrency {concurrency:3d}: {rate:6.1f}/s, {rate / ideal:.3f} of ideal, CPU {cpu_ms:.2f} ms a call")


if __name__ == "__main__":
    main()
