"""The demo workspace: a month of generated traces in three formats, and the settings to grade them offline."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from grader.errors import UsageError
from grader.settings import SETTINGS_FILE
from jobs.demo_data import DemoPlan, write_demo_traces

__all__ = ["DemoPlan", "make_workspace"]

_MADE = (
    "# Made by 'gradebook demo': seed {seed}, {traces_per_day} traces a day, {days} days up to {last_day}, {timezone}."
)
_MADE_PATTERN = re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^\\s,]+)", re.escape(_MADE)))
_SETTINGS = """\
# The traces are made up; the judge is the offline baseline, which needs no key and no network.

[day]
timezone = "{timezone}"

[[sources]]
path = "traces/support.flat/*.jsonl"

[[sources]]
path = "traces/shop.agents/*.jsonl"

[[sources]]
path = "traces/research.otlp/*.jsonl"

[judge]
provider = "offline"

# Reading papers takes time: 30 s are fine for this agent, 10 s for the others.
[rules.agents.research]
latency_limit_ms = 30000
"""


def make_workspace(
    folder: Path,
    *,
    seed: int = 7,
    days: int = 30,
    traces_per_day: int = 300,
    last_day: date | None = None,
    timezone: str = "UTC",
) -> DemoPlan:
    """Write gradebook.toml and the folder `traces` into `folder`, and return what was planted in the traces.

    `last_day` is yesterday unless given. In a workspace that an earlier demo made it stays as it was, so that the same
    traces are written again and grading changes nothing. Raises UsageError where other settings stand already, or a
    demo made with other arguments, or the folder cannot be written.
    """
    path = folder / SETTINGS_FILE
    try:
        made = _made_before(path)
        chosen = {
            "seed": str(seed),
            "traces_per_day": str(traces_per_day),
            "days": str(days),
            "last_day": str(last_day or (made or {}).get("last_day") or _yesterday(timezone)),
            "timezone": timezone,
        }
        if made is not None and made != chosen:
            raise UsageError(
                f"{str(folder)!r} holds a demo of {made['days']} days up to {made['last_day']} with seed "
                f"{made['seed']}: name another folder, or delete this one first"
            )
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(_MADE.format(**chosen) + "\n" + _SETTINGS.format(timezone=timezone), encoding="utf-8")
        return write_demo_traces(
            folder / "traces",
            seed=seed,
            days=days,
            traces_per_day=traces_per_day,
            last_day=date.fromisoformat(chosen["last_day"]),
            zone=ZoneInfo(timezone),
        )
    except OSError as error:
        raise UsageError(
            f"the demo cannot be written to {str(folder)!r} ({error.strerror}): name a folder of yours"
        ) from error


def _made_before(path: Path) -> dict[str, str] | None:
    """The arguments of the demo that made the settings file; None: there is no file. Raises UsageError, OSError."""
    if not path.exists():
        return None
    match = _MADE_PATTERN.match(path.read_text(encoding="utf-8", errors="replace"))
    if match is None:
        raise UsageError(f"{str(path)!r} exists already and is no demo: name another folder for the demo")
    return match.groupdict() | {"timezone": match["timezone"].rstrip(".")}


def _yesterday(timezone: str) -> date:
    return datetime.now(ZoneInfo(timezone)).date() - timedelta(days=1)
