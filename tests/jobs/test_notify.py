"""The configured command gets the report; whatever it does, the job goes on."""

from __future__ import annotations

import json
import sys
from datetime import date
from pathlib import Path

import pytest

from jobs.notify import notify
from tests.jobs.reports import a_report


def test_the_command_gets_the_report_in_its_workspace(tmp_path: Path) -> None:
    assert notify("sh -c 'cat > got.json'", a_report(), folder=tmp_path) is None
    got = json.loads((tmp_path / "got.json").read_text(encoding="utf-8"))
    assert got["date"] == "2026-03-09"
    assert got["critical_alerts"][0]["trace_id"] == "t-1"


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        pytest.param("/no/such/program --now", "cannot be run", id="no such program"),
        pytest.param(
            "sh -c 'echo the line is busy >&2; exit 3'", "ended with code 3 (the line is busy)", id="it fails"
        ),
        pytest.param("sh -c 'exit 4'", "ended with code 4", id="it fails without a word"),
        pytest.param("echo 'open quote", "cannot be run (No closing quotation)", id="it cannot be split"),
        pytest.param(
            f"{sys.executable} -c 'import time; time.sleep(60)'", "was stopped after 1 seconds", id="it hangs"
        ),
    ],
)
def test_what_goes_wrong_is_a_sentence(tmp_path: Path, command: str, sentence: str) -> None:
    problem = notify(command, a_report(date(2026, 3, 9)), folder=tmp_path, timeout_seconds=1.0)
    assert problem is not None
    assert sentence in problem
    assert "\n" not in problem


def test_a_command_that_reads_nothing_is_no_failure(tmp_path: Path) -> None:
    assert notify("true", a_report(), folder=tmp_path) is None
