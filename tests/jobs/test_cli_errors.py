"""Whatever goes wrong is one sentence and the documented exit code, never a traceback (DESIGN.md section 9)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest

from grader.pipeline.runs import active_run
from grader.store.connect import Store
from jobs.cli import run
from jobs.workspace import LOG_FILE, UnexpectedError, unexpected_errors_logged
from tests.jobs.command import SCRIPT, SECOND, SETTINGS, called, executed, make_workspace

STORE = Path("data/gradebook.duckdb")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return make_workspace(tmp_path, broken=False)


@pytest.fixture(scope="module")
def graded_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = make_workspace(tmp_path_factory.mktemp("graded"), broken=False)
    assert run(["grade", "--config", str(config)]) == 0
    return config.parent


@pytest.fixture
def store(config: Path, graded_folder: Path) -> Store:
    """The store of `config`, with two graded days."""
    shutil.copytree(graded_folder / "data", config.parent / "data")
    return Store(path=config.parent / STORE)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["grade", "--day", "9.3.2026"], "'9.3.2026': expected a date", id="no date"),
        pytest.param(["grade", "--day", SECOND, "--all"], "exclude each other", id="day and all"),
        pytest.param(["grade", "--from", "2026-03-09", "--to", "2026-03-01"], "lies after", id="from after to"),
        pytest.param(["grade", "--every"], "No such option", id="unknown option"),
        pytest.param(["grad"], "No such command 'grad'", id="unknown command"),
        pytest.param(["report", SECOND, "--format", "pdf"], "'pdf' is not one of", id="unknown format"),
        pytest.param(["report", "2031-01-01"], "2031-01-01 has no report", id="a day without a report"),
        pytest.param(["ingest", "/no/such/file.jsonl"], "does not exist", id="no such source"),
        pytest.param(["export", "grades", "-o", "grades.xls"], "does not end in .csv", id="unknown suffix"),
        pytest.param(["export", "grades", "-o", "/no/such/folder/g.csv"], "cannot be written", id="no such folder"),
        pytest.param(["export", "everything", "-o", "g.csv"], "'everything' is not one of", id="unknown rows"),
    ],
)
def test_wrong_use_ends_with_2(
    store: Store, config: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    ended = called(capsys, *arguments, *([] if arguments == ["grad"] else ["--config", config]))
    assert ended.code == 2
    assert words in ended.sentence
    assert "Value error" not in ended.sentence


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(
            "[judge]\nprovidr = 'none'\n", "unknown key 'providr' in [judge]: did you mean 'provider'", id="key"
        ),
        pytest.param("[jugde]\n", "did you mean 'judge'", id="table"),
        pytest.param("[day]\ntimezone = 'Mars/Olympus'\n", "an IANA time zone", id="zone"),
        pytest.param(
            "[rules]\nturns_limit = 'many'\n", "rules.turns_limit is 'many': expected a valid integer", id="type"
        ),
        pytest.param("[schedule]\ncron = 'daily'\n", "schedule.cron is 'daily'", id="cron"),
        pytest.param("[[sources]]\npath = 'nowhere/a.jsonl'\n", "does not exist", id="source"),
        pytest.param("[judge\n", "not valid TOML", id="TOML"),
        pytest.param(
            "[[rules.custom]]\nname = 'x'\nwhen = 'no_such_column > 1'\nalert = 'x'\n",
            "no_such_column",
            id="custom rule",
        ),
    ],
)
def test_wrong_settings_end_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: str, words: str
) -> None:
    config = make_workspace(tmp_path, settings=settings)
    ended = called(capsys, "grade", "--json", "--config", config)
    assert ended.code == 2
    assert words in ended.sentence


def test_without_settings_or_store_the_sentence_says_what_to_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = called(capsys, "grade", "--config", tmp_path / "none.toml")
    assert (ended.code, "run 'gradebook init'" in ended.sentence) == (2, True)
    config = make_workspace(tmp_path)
    ended = called(capsys, "status", "--json", "--config", config)
    assert (ended.code, "there is no store" in ended.sentence) == (2, True)


@pytest.mark.parametrize(
    "arguments", [["status"], ["grade", "--json"], ["report", SECOND], ["export", "grades", "-o", "g.csv"]], ids=str
)
def test_a_busy_store_ends_with_3(
    store: Store, config: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], tmp_path: Path
) -> None:
    arguments = [str(tmp_path / "g.csv") if part == "g.csv" else part for part in arguments]
    with store.writing():
        ended = called(capsys, *arguments, "--config", config)
    assert ended.code == 3
    assert "was busy for 0.2 seconds" in ended.sentence


@pytest.mark.slow
def test_an_active_run_ends_others_with_3(store: Store, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with active_run(store, "grade"):
        ended = executed("grade", "--json", folder=config.parent)
        assert ended.code == 3
        assert "another run is active" in ended.sentence
        assert called(capsys, "status", "--config", config).code == 0  # looking is allowed


@pytest.mark.parametrize("size", [0, 100, 20_000], ids=lambda size: f"{size} bytes left")
def test_a_damaged_store_ends_with_4(store: Store, config: Path, capsys: pytest.CaptureFixture[str], size: int) -> None:
    with store.path.open("r+b") as file:
        file.truncate(size)
        file.write(b"" if size else b"this is no store")
    for arguments in (["status"], ["grade", "--json"]):
        ended = called(capsys, *arguments, "--config", config)
        assert ended.code == 4
        assert "restore it from a backup" in ended.sentence


def test_a_store_of_a_newer_gradebook_ends_with_4_and_stays_as_it_is(
    store: Store, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with store.writing() as connection:
        connection.execute("UPDATE meta SET value = '999' WHERE key = 'schema_version'")
    before = store.path.read_bytes()
    for arguments in (["status", "--json"], ["grade", "--json"], ["report", SECOND]):
        ended = called(capsys, *arguments, "--config", config)
        assert ended.code == 4
        assert "has version 999" in ended.sentence
    assert store.path.read_bytes() == before


def test_a_file_of_somebody_elses_ends_with_4(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = config.parent / STORE
    path.parent.mkdir()
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE invoices (number INTEGER)")
    ended = called(capsys, "grade", "--json", "--config", config)
    assert (ended.code, "not a Gradebook store" in ended.sentence) == (4, True)
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("SHOW TABLES").fetchall() == [("invoices",)]


def test_a_judge_without_a_key_leaves_traces_waiting_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    config = make_workspace(tmp_path, settings=SETTINGS + "[judge]\nprovider = 'openai'\n", broken=False)
    found = called(capsys, "grade", "--json", "-c", config).object
    assert "OPENAI_API_KEY" in found["message"]
    assert [day["counts"]["judge_pending"] for day in found["days"]] == [2, 2]
    assert found["judging"] is None


def test_an_unforeseen_error_is_one_sentence_and_a_log(tmp_path: Path) -> None:
    with pytest.raises(UnexpectedError, match="a defect in Gradebook") as caught, unexpected_errors_logged(tmp_path):
        raise ZeroDivisionError("division by zero")
    assert str(tmp_path / LOG_FILE) in str(caught.value)
    assert "Traceback" in (tmp_path / LOG_FILE).read_text(encoding="utf-8")
    assert caught.value.exit_code == 1


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_failure(store: Store, config: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        ended = subprocess.run([SCRIPT, "status", "-c", config], stdout=closed, stderr=subprocess.PIPE, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
