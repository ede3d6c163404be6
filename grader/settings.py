"""Settings: `gradebook.toml` + `GRADEBOOK_*` environment → one frozen `Settings`, read once at the edge, passed down.

Nothing in `grader/` reads the environment by itself. Secrets (the judge's key) never stand in the file: the file names
the environment variable that holds them. The tables themselves are in grader/settings_sections.py.
"""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError
from pydantic_core import ErrorDetails

from grader.errors import SettingsError
from grader.settings_keys import Location, all_keys, annotation_at, is_mapping, model_of, nearest_key, table_name
from grader.settings_sections import (
    DEFAULT_CRITERIA,
    AgentRules,
    AlertSettings,
    Criterion,
    CustomRule,
    DaySettings,
    JudgeProvider,
    JudgeSettings,
    NotifySettings,
    RegressionSettings,
    RubricSettings,
    RuleLimits,
    RulesSettings,
    ScheduleSettings,
    Section,
    SettingsFile,
    SourceFormat,
    SourceSettings,
    StoreSettings,
)

__all__ = [
    "DEFAULT_CRITERIA",
    "SETTINGS_FILE",
    "AgentRules",
    "AlertSettings",
    "Criterion",
    "CustomRule",
    "DaySettings",
    "JudgeProvider",
    "JudgeSettings",
    "NotifySettings",
    "RegressionSettings",
    "RubricSettings",
    "RuleLimits",
    "RulesSettings",
    "ScheduleSettings",
    "Section",
    "Settings",
    "SourceFormat",
    "SourceSettings",
    "StoreSettings",
    "load_settings",
]

SETTINGS_FILE = "gradebook.toml"
CONFIG_VARIABLE = "GRADEBOOK_CONFIG"
ENV_PREFIX = "GRADEBOOK_"
TOML_WORDS = {"tuple_type": "a list", "model_type": "a table", "mapping_type": "a table", "string_type": "text"}
SHOWN_BY_NAME_ONLY = ("api_key_env",)  # where a key itself may have been written by mistake


class Settings(SettingsFile):
    """All settings of one workspace. Relative paths are relative to `root`, the folder of the settings file."""

    root: Path = Path()
    judge_api_key: SecretStr | None = None  # from the variable that judge.api_key_env names

    def resolve(self, path: Path) -> Path:
        """`path` as it is when absolute, else below `root`."""
        return path if path.is_absolute() else self.root / path


def load_settings(config: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of a workspace, from its file and the environment, which wins.

    The file is `config`, else the one that GRADEBOOK_CONFIG names, else `gradebook.toml` in the current folder.
    A variable is GRADEBOOK_ + the keys joined by `__` (GRADEBOOK_JUDGE__PROVIDER); lists are JSON. `environ` is
    `os.environ` unless given. Raises SettingsError, one sentence, for whatever is wrong with either.
    """
    environ = os.environ if environ is None else environ
    path = config or Path(environ.get(CONFIG_VARIABLE) or SETTINGS_FILE)
    values = _read_file(path)
    variables = _override(values, environ)
    try:
        file = SettingsFile.model_validate(values)
    except ValidationError as error:
        raise SettingsError(_sentence(path, variables, error.errors(include_url=False))) from None
    key = environ.get(file.judge.api_key_env)
    return Settings(**dict(file), root=path.absolute().parent, judge_api_key=SecretStr(key) if key else None)


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise SettingsError(
            f"there is no settings file {str(path)!r}: run 'gradebook init' to write one, or name one with --config"
        ) from None
    except OSError as error:
        raise SettingsError(f"the settings file {str(path)!r} cannot be read ({error.strerror}): name a file") from None
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"{path}: byte {error.start} is not UTF-8 text: save the file as UTF-8, or name another with --config"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: this is not valid TOML: {str(error)[:1].lower()}{str(error)[1:]}") from None


def _override(values: dict[str, Any], environ: Mapping[str, str]) -> dict[Location, str]:
    """Sets in `values` what the environment says; returns the location of each such value → its variable."""
    locations: dict[Location, str] = {}
    for variable in sorted(environ):
        if not variable.startswith(ENV_PREFIX) or variable == CONFIG_VARIABLE:
            continue
        *tables, key = location = _location_of(variable)
        table = values
        for name in tables:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise SettingsError(f"{variable} sets a part of {name!r}, which is no table in the settings file")
        table[key] = _parsed(variable, environ[variable], annotation_at(location))
        locations[location] = variable
    return locations


def _location_of(variable: str) -> tuple[str, ...]:
    """The keys that a variable names; agents' names keep their case, all else is written in small letters."""
    location: tuple[str, ...] = ()
    for part in variable.removeprefix(ENV_PREFIX).split("__"):
        location = (*location, part if is_mapping(annotation_at(location)) else part.lower())
        if annotation_at(location) is None:
            known = [CONFIG_VARIABLE, *(ENV_PREFIX + "__".join(keys).upper() for keys in all_keys())]
            nearest = difflib.get_close_matches(variable, known, n=1, cutoff=0)[0]
            raise SettingsError(f"the environment variable {variable} names no setting: did you mean {nearest}?")
    return location


def _parsed(variable: str, text: str, annotation: object) -> Any:
    is_list_or_table = model_of(annotation) is not None or "tuple" in str(annotation)
    if not text or not is_list_or_table:
        return text  # Pydantic reads numbers out of text
    try:
        return json.loads(text)
    except ValueError as error:
        raise SettingsError(
            f"the environment variable {variable} is not valid JSON ({error}): write a JSON list or object"
        ) from None


def _sentence(path: Path, variables: Mapping[Location, str], errors: list[ErrorDetails]) -> str:
    """The first of Pydantic's errors in one sentence, and how many more there are."""
    # An unknown key is often the mistyped form of one that is then missing: it tells more
    error = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
    location = error["loc"]
    more = f" ({len(errors) - 1} more after this one)" if len(errors) > 1 else ""
    variable = variables.get(location)
    if error["type"] == "extra_forbidden":
        return f"{path}: unknown key {location[-1]!r} in {table_name(location[:-1])}: {nearest_key(location)}{more}"
    if error["type"] == "missing":
        return f"{path}: {table_name(location[:-1])} has no {location[-1]!r}: add it{more}"
    where = f"the environment variable {variable}" if variable else f"{path}: {_dotted(location)}"
    expected = _expected(error)
    if location[-1] in SHOWN_BY_NAME_ONLY or isinstance(error["input"], dict):
        return f"{where} cannot be used: expected {expected}{more}"
    return f"{where} is {_shortened(error['input'])}: expected {expected}{more}"


def _expected(error: ErrorDetails) -> str:
    """What Pydantic wanted: 'Input should be a valid integer, unable to parse …' → 'a valid integer'."""
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    if error["type"] == "string_pattern_mismatch":
        return f"text that matches {error['ctx']['pattern']}"
    if error["type"] in TOML_WORDS:
        return TOML_WORDS[error["type"]]
    return error["msg"].removeprefix("Input should be ").split(", unable")[0]


def _dotted(location: Location) -> str:
    return "".join(f"[{key + 1}]" if isinstance(key, int) else f".{key}" for key in location).lstrip(".")


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
