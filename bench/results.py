"""What the parts of the bench report, and how it is shown: a table on the terminal, or Markdown for docs/."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.table import Table

_LIBRARIES = ("duckdb", "pyarrow", "openai", "aiohttp")
GIB = 1 << 30


@dataclass(frozen=True, kw_only=True, slots=True)
class Goal:
    """A bound on a measured number."""

    bound: float
    at_most: bool  # else at least

    def is_met_by(self, value: float) -> bool:
        return value <= self.bound if self.at_most else value >= self.bound

    def __str__(self) -> str:
        return f"{'≤' if self.at_most else '≥'} {self.bound:,.4g}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """One measured number."""

    what: str
    value: float
    unit: str
    goal: Goal | None = None  # None: measured as a yardstick, or for interest

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return ""
        return "met" if self.goal.is_met_by(self.value) else "MISSED"

    def cells(self) -> tuple[str, str, str, str]:
        goal = "" if self.goal is None else f"{self.goal} {self.unit}"
        return self.what, f"{_rounded(self.value)} {self.unit}", goal, self.verdict


HEADINGS = ("what", "measured", "goal", "")


def _rounded(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def rich_table(title: str, results: Sequence[Result]) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in ("what", "") else "right")
    for result in results:
        style = {"met": "green", "MISSED": "bold red"}.get(result.verdict, "")
        table.add_row(*result.cells(), style=style)
    return table


def markdown_table(title: str, results: Sequence[Result]) -> str:
    rows = [HEADINGS, ("---", "--:", "--:", "---"), *(result.cells() for result in results)]
    return f"### {title}\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def circumstances() -> dict[str, str]:
    """When, and on what machine in which state, a run took place."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "machine": f"{_processor()}, {os.cpu_count()} cores, {memory_gib:.0f} GiB",
        "load before": f"{os.getloadavg()[0]:.1f} (mean number of busy cores in the last minute)",
        "software": ", ".join(
            [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in _LIBRARIES)]
        ),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
