"""Judge throughput as a share of the ideal, concurrency / latency, against a local model server."""

from __future__ import annotations

from bench.judge import measure_throughput, model_server
from bench.measure import measured
from bench.results import Goal, Result

LATENCY_MS = 200.0
GOALS = {32: 0.95, 64: 0.9}  # concurrency → share of the ideal


def measure_judging(num_calls: int) -> list[Result]:
    results = []
    for concurrency, share in GOALS.items():
        with model_server(latency_ms=LATENCY_MS) as base_url:
            run = measured(measure_throughput, base_url, concurrency, num_calls)
        what = f"judge at {LATENCY_MS:.0f} ms and concurrency {concurrency}"
        ideal = concurrency / (LATENCY_MS / 1_000)
        results += [
            Result(what=what, value=run.value, unit="judgements/s"),
            Result(what=what, value=run.cpu_seconds / num_calls * 1e3, unit="ms of CPU a call"),
            Result(what=what, value=run.value / ideal, unit="of the ideal", goal=Goal(bound=share, at_most=False)),
        ]
    return results
