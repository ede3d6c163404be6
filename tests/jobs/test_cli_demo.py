"""`gradebook demo` as a newcomer runs it: the whole month, without the app."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.jobs.command import called


@pytest.mark.slow
def test_the_demo_grades_a_month_and_states_what_was_planted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "demo"
    ended = called(capsys, "demo", folder, "--no-dashboard")
    assert ended.code == 0
    days = re.findall(r"^(\d{4}-\d\d-\d\d) +1 +([\d,]+) .*?(regression)?$", ended.out, flags=re.MULTILINE)
    assert len(days) == 30
    stated = re.search(r"^- ([\d,]+) traces of 30 days", ended.out, flags=re.MULTILINE)
    bad = re.search(r"^- bad release: \S+ \S+, (\S+) to", ended.out, flags=re.MULTILINE)
    unread = re.search(r"^- (\d+) lines that cannot be read", ended.out, flags=re.MULTILINE)
    assert stated and bad and unread
    assert sum(int(count.replace(",", "")) for _, count, _ in days) == int(stated[1].replace(",", ""))
    assert [day for day, _, mark in days if mark] == [bad[1]]
    assert f" {unread[1]} quarantined." in ended.out

    again = called(capsys, "grade", "--json", "--config", folder / "gradebook.toml").object
    assert again["days"] == []
    status = called(capsys, "status", "--json", "--config", folder / "gradebook.toml").object
    assert status["num_traces"] == sum(status["graded"].values()) == int(stated[1].replace(",", ""))
    assert status["broken_sums"] == []
