"""The command line as tests run it, on workspaces of a few traces that they know by heart."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jobs.cli import run

SCRIPT = Path(sys.executable).with_name("gradebook")
FIRST, SECOND = "2026-03-08", "2026-03-09"
EVIL = "<script>alert(1)</script>"
SETTINGS = """\
[[sources]]
path = "traces/*.jsonl"

[store]
lock_timeout_seconds = 0.2

[[rules.custom]]
name = "stuck"
when = "num_turns = 9"
value = "num_turns"
deduction = 0.0
alert = "<script>alert(1)</script> after {value} turns"
"""


def trace(trace_id: str, **changes: object) -> dict[str, object]:
    """A sound trace of FIRST: score 1.0."""
    return {
        "trace_id": trace_id, "agent": "support", "started_at": f"{FIRST}T10:00:00Z", "duration_ms": 1200,
        "num_turns": 2, "tool_errors": 0, "user_message": "Where is my order 4711?",
        "final_output": "Your order 4711 arrives on Monday.", "tools_called": ["find_order"], **changes,
    }  # fmt: skip


BAD = trace(f"{EVIL}|x", started_at=f"{SECOND}T10:00:00Z", duration_ms=12_000, num_turns=9, final_output="")  # 0.3
LINES = (
    trace("sound-1"),
    trace("sound-2", tool_errors=1, tools_called=[{"name": "find_order", "error": "timeout"}]),  # 0.9
    trace("sound-3", started_at=f"{SECOND}T09:00:00Z"),
    trace("private", started_at=f"{SECOND}T09:30:00Z", content_captured=False, final_output=None),
    BAD,
    BAD,  # a duplicate
)
BROKEN_LINE = "{not json\n"


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What a command left: its exit code, its result and its notes."""

    code: int
    out: str
    err: str

    @property
    def object(self) -> Any:
        """The one JSON value that makes up the whole of standard output."""
        assert self.out.count("\n") == 1
        return json.loads(self.out)

    @property
    def sentence(self) -> str:
        """The one line on standard error, and nothing beside it."""
        assert self.out == ""
        assert self.err.count("\n") == 1, self.err
        assert self.err.startswith("gradebook: ")
        return self.err.removeprefix("gradebook: ").strip()


def make_workspace(folder: Path, *, settings: str = SETTINGS, broken: bool = True) -> Path:
    """Writes settings and one file of traces; returns the path of the settings."""
    (folder / "traces").mkdir(parents=True)
    text = "".join(json.dumps(line) + "\n" for line in LINES) + (BROKEN_LINE if broken else "")
    (folder / "traces" / "a.jsonl").write_text(text, encoding="utf-8")
    config = folder / "gradebook.toml"
    config.write_text(settings, encoding="utf-8")
    return config


def called(capsys: pytest.CaptureFixture[str], *arguments: object) -> Ended:
    """Runs a command in this process."""
    capsys.readouterr()
    code = run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return Ended(code=code, out=captured.out, err=captured.err)


def executed(*arguments: object, folder: Path, environ: Mapping[str, str] | None = None) -> Ended:
    """Runs the installed script as a process of its own."""
    ended = subprocess.run(
        [SCRIPT, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, **(environ or {})},
    )  # fmt: skip
    return Ended(code=ended.returncode, out=ended.stdout, err=ended.stderr)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
