"""Settings: the file, the environment over it, and one sentence for whatever is wrong with either."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.errors import SettingsError
from grader.settings import Settings, SettingsFile, load_settings
from grader.settings_keys import all_keys, annotation_at


def write(folder: Path, text: str) -> Path:
    path = folder / "gradebook.toml"
    path.write_text(text, encoding="utf-8")
    return path


def load(folder: Path, text: str, environ: dict[str, str] | None = None) -> Settings:
    return load_settings(write(folder, text), environ or {})


def test_an_empty_file_gives_the_defaults_and_its_folder_as_root(tmp_path: Path) -> None:
    settings = load(tmp_path, "")
    assert settings == Settings(root=tmp_path)
    assert settings.resolve(settings.store.path) == tmp_path / "data/gradebook.duckdb"
    assert settings.resolve(Path("/elsewhere/store.duckdb")) == Path("/elsewhere/store.duckdb")


def test_every_table_is_read(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
        [[sources]]
        path = "traces/*.jsonl"
        format = "flat"
        [day]
        timezone = "Europe/Zurich"
        [rules]
        turns_limit = 12
        disabled = ["latency"]
        [rules.agents.Checkout-Bot]
        turns_limit = 3
        [[rules.custom]]
        name = "dear"
        when = "cost_usd > 0.5"
        alert = "Cost {value}"
        [judge]
        provider = "offline"
        temperature = ""
        [judge.rubric]
        criteria = [{name = "truth", question = "Is it true?"}]
        """,
    )
    assert settings.sources[0].format == "flat"
    assert settings.rules.turns_limit == 12
    assert settings.rules.disabled == ("latency",)
    assert settings.rules.agents["Checkout-Bot"].turns_limit == 3
    assert settings.rules.agents["Checkout-Bot"].latency_limit_ms is None
    assert settings.rules.custom[0].name == "dear"
    assert settings.judge.temperature is None
    assert [criterion.name for criterion in settings.judge.rubric.criteria] == ["truth"]


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        '[judge]\nprovider = "none"\nconcurrency = 4\n[rules.agents.Shop]\nturns_limit = 3\n',
        {
            "GRADEBOOK_JUDGE__PROVIDER": "offline",
            "GRADEBOOK_JUDGE__MAX_CALLS_PER_DAY": "",
            "GRADEBOOK_RULES__AGENTS__Shop__LATENCY_LIMIT_MS": "2500",
            "GRADEBOOK_RULES__DISABLED": '["turns"]',
            "GRADEBOOK_SOURCES": '[{"path": "a.jsonl"}]',
            "UNRELATED": "x",
        },
    )
    assert (settings.judge.provider, settings.judge.concurrency) == ("offline", 4)
    assert settings.judge.max_calls_per_day is None
    assert settings.rules.agents["Shop"].turns_limit == 3
    assert settings.rules.agents["Shop"].latency_limit_ms == 2500.0
    assert settings.rules.disabled == ("turns",)
    assert settings.sources[0].path == "a.jsonl"


def test_the_file_is_found_by_argument_then_variable_then_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("argument", "variable", "folder"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, "")
    monkeypatch.chdir(tmp_path / "folder")
    variable = {"GRADEBOOK_CONFIG": str(tmp_path / "variable/gradebook.toml")}
    assert load_settings(None, {}).root == tmp_path / "folder"
    assert load_settings(None, variable).root == tmp_path / "variable"
    assert load_settings(tmp_path / "argument/gradebook.toml", variable).root == tmp_path / "argument"


def test_the_judges_key_comes_from_the_named_variable_and_is_never_shown(tmp_path: Path) -> None:
    settings = load(tmp_path, '[judge]\napi_key_env = "MY_KEY"\n', {"MY_KEY": "sk-secret", "OPENAI_API_KEY": "other"})
    assert settings.judge_api_key is not None
    assert settings.judge_api_key.get_secret_value() == "sk-secret"
    assert "sk-secret" not in repr(settings) + str(settings) + settings.model_dump_json()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param(
            '[judge]\nprovder = "none"\n',
            "unknown key 'provder' in [judge]: did you mean 'provider'?",
            id="unknown key, near one in its table",
        ),
        pytest.param(
            '[store]\ntimezone = "UTC"\n',
            "unknown key 'timezone' in [store]: the nearest is 'timezone' in [day]",
            id="unknown key, near one in another table",
        ),
        pytest.param(
            "[schedul]\n", "unknown key 'schedul' in the top of the file: did you mean 'schedule'?", id="unknown table"
        ),
        pytest.param(
            "[rules.agents.shop]\nturn_limit = 3\n",
            "unknown key 'turn_limit' in [rules.agents.shop]: did you mean 'turns_limit'?",
            id="unknown key of an agent",
        ),
        pytest.param(
            '[[sources]]\npath = "a"\n[[sources]]\npath = "b"\nformt = "flat"\n',
            "unknown key 'formt' in [[sources]] number 2: did you mean 'format'?",
            id="unknown key of a repeated table",
        ),
        pytest.param('root = "/"\n', "unknown key 'root' in the top of the file", id="root is not a key of the file"),
        pytest.param('judge_api_key = "sk-1"\n', "unknown key 'judge_api_key'", id="a secret in the file"),
        pytest.param("[[sources]]\n", "[[sources]] number 1 has no 'path': add it", id="missing key"),
        pytest.param(
            '[rules]\nturns_limit = "many"\n', "rules.turns_limit is 'many': expected a valid integer", id="no number"
        ),
        pytest.param("[rules]\nturns_limit = true\n", "rules.turns_limit is True: expected a value of", id="true"),
        pytest.param(
            f"[rules]\nturns_limit = {10**20}\n", "rules.turns_limit is 1000", id="a number that no column holds"
        ),
        pytest.param("[judge]\nseed = -99999999999\n", "judge.seed is -99999999999: expected a number up", id="seed"),
        pytest.param('[[sources]]\npath = ""\n', "sources[1].path is ''", id="a source of no name"),
        pytest.param(
            '[[rules.custom]]\nname = "x"\nwen = "true"\nalert = "a"\n',
            "unknown key 'wen' in [[rules.custom]] number 1: did you mean 'when'?",
            id="the mistyped key, rather than the missing one",
        ),
        pytest.param('[sources]\npath = "a"\n', "sources cannot be used: expected a list", id="one table for a list"),
        pytest.param('[day]\ntimezone = "localtime"\n', "day.timezone is 'localtime'", id="zone of no engine"),
        pytest.param("[rules]\nturns_limit = 1.5\n", "rules.turns_limit is 1.5: expected", id="not whole"),
        pytest.param(
            "[rules]\nlatency_limit_ms = nan\n",
            "rules.latency_limit_ms is nan: expected greater than or equal to 0",
            id="not a number at all",
        ),
        pytest.param(
            "[alerts]\ncritical_below = 1.1\n",
            "alerts.critical_below is 1.1: expected less than or equal to 1",
            id="out of range",
        ),
        pytest.param(
            '[judge]\nprovider = "gpt"\n',
            "judge.provider is 'gpt': expected 'openai', 'offline' or 'none'",
            id="not in the closed set",
        ),
        pytest.param(
            '[day]\ntimezone = "Europe/Zürich"\n',
            "day.timezone is 'Europe/Zürich': expected an IANA time zone such as 'Europe/Zurich' or 'UTC'",
            id="bad zone",
        ),
        pytest.param(
            '[day]\ntimezone = "../etc/passwd"\n', "day.timezone is '../etc/passwd'", id="zone out of its tree"
        ),
        pytest.param("sources = 3\n", "sources is 3: expected a list", id="no list"),
        pytest.param('judge = "offline"\n', "judge is 'offline': expected a table", id="no table"),
        pytest.param(
            "[judge.rubric]\nscale_min = 5\n", "judge.rubric cannot be used: expected 0 <= scale_min", id="no scale"
        ),
        pytest.param("[day]\nquiet_minutes = -1\n[alerts]\nx = 1\n", "(1 more after this one)", id="two errors"),
        pytest.param(
            "[judge\n", "this is not valid TOML: expected ']' at the end of a table declaration (at line 1", id="TOML"
        ),
    ],
)
def test_what_is_wrong_in_the_file_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, text)
    message = str(caught.value)
    assert sentence in message
    assert message.startswith(str(tmp_path / "gradebook.toml"))
    assert "\n" not in message
    assert "sk-1" not in message


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        pytest.param(
            "GRADEBOOK_JUDGE__PROVIDR",
            "none",
            "GRADEBOOK_JUDGE__PROVIDR names no setting: did you mean GRADEBOOK_JUDGE__PROVIDER?",
            id="unknown",
        ),
        pytest.param("GRADEBOOK_ROOT", "/", "GRADEBOOK_ROOT names no setting", id="root"),
        pytest.param("GRADEBOOK_CONFG", "x", "did you mean GRADEBOOK_CONFIG?", id="near the file's variable"),
        pytest.param(
            "GRADEBOOK_JUDGE__CONCURRENCY",
            "0",
            "GRADEBOOK_JUDGE__CONCURRENCY is '0': expected greater than or equal to 1",
            id="out of range",
        ),
        pytest.param("GRADEBOOK_SOURCES", "traces/", "GRADEBOOK_SOURCES is not valid JSON", id="no JSON"),
        pytest.param(
            "GRADEBOOK_JUDGE__API_KEY_ENV", "sk-12-34", "cannot be used: expected text that matches", id="a key"
        ),
    ],
)
def test_what_is_wrong_in_the_environment_is_one_sentence(
    tmp_path: Path, variable: str, value: str, sentence: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, "", {variable: value})
    assert sentence in str(caught.value)
    assert "sk-12" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"there is no settings file .*gradebook init"):
        load_settings(tmp_path / "none.toml", {})
    with pytest.raises(SettingsError, match="Is a directory"):
        load_settings(tmp_path, {})
    (tmp_path / "latin.toml").write_bytes('[judge]\nmodel = "\xe9"'.encode("latin-1"))
    with pytest.raises(SettingsError, match="byte 17 is not UTF-8"):
        load_settings(tmp_path / "latin.toml", {})


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    assert load(tmp_path, "\ufeff[judge]\nconcurrency = 2\n").judge.concurrency == 2


def test_every_key_has_a_type_and_a_text() -> None:
    keys = list(all_keys())
    assert len(keys) == len(set(keys)) > 60
    assert all(annotation_at(key) is not None for key in keys)
    assert ("rules", "agents", "NAME", "turns_limit") in keys
    assert {key[0] for key in keys} == set(SettingsFile.model_fields)
