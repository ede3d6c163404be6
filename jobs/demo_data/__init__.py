"""A month of made-up traces of three agents, for `gradebook demo` and for tests."""

from __future__ import annotations

from jobs.demo_data.plan import BrokenLine, DayCount, DemoPlan
from jobs.demo_data.write import write_demo_traces

__all__ = ["BrokenLine", "DayCount", "DemoPlan", "write_demo_traces"]
