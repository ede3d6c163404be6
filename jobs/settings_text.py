"""The settings in words: the commented file that `gradebook init` writes, and docs/settings.md.

Both are made from the types in grader/settings_sections.py; `python -m jobs.settings_text > docs/settings.md` writes
the page anew, and a test compares it.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from grader.settings_keys import is_mapping, model_of
from grader.settings_sections import SettingsFile

HEADER = """\
# Gradebook's settings. A line that starts with '#' and no space is a setting at its default: remove the '#' to
# change it. The environment wins over this file: GRADEBOOK_JUDGE__PROVIDER=offline sets provider in [judge].
# An empty text ("") means "not given".
"""
PAGE_HEADER = """\
# Settings

One `gradebook.toml` in the workspace; `gradebook init` writes one with every setting commented. An unknown key is an
error that names the nearest known one.

The environment wins over the file: `GRADEBOOK_` and the keys joined by `__`, such as
`GRADEBOOK_JUDGE__PROVIDER=offline`; lists and tables are JSON. An empty text (`""`) means "not given" for a setting
without a default. `GRADEBOOK_CONFIG` names the file, and `--config` wins over it. The judge's key is read from the
variable that `judge.api_key_env` names and is never printed.

This page is made from the code: `python -m jobs.settings_text > docs/settings.md`.
"""
SOURCE_PATH = "traces/**/*.jsonl"  # matches nothing in a new workspace, and is no error there
REPEATED = ("sources", "rules.custom", "judge.rubric.criteria")
EXAMPLES = {  # tables that repeat, or have a name of the user's own, have no default to show
    "rules.agents.NAME": '#[rules.agents."checkout-assistant"]\n#turns_limit = 3\n',
    "rules.custom": '#[[rules.custom]]\n#name = "expensive"\n#when = "cost_usd > 0.5"\n#value = "cost_usd"\n'
    '#deduction = 0.1\n#alert = "Cost: {value} USD"\n',
    "judge.rubric.criteria": '#[[judge.rubric.criteria]]\n#name = "relevance"\n'
    '#question = "Does the answer address what the user asked for?"\n',
}


def settings_template() -> str:
    """A gradebook.toml with every setting, its text and its default; as it stands it changes only `sources`."""
    parts = [HEADER]
    for name, model in _tables():
        lines = [f"# {_first_line(model)}"]
        if name == "sources":
            lines += ["[[sources]]", *_lines(model)]
        elif name in EXAMPLES:
            lines += [f"# {key}: {field.description}" for key, field in _settings_of(model)]
            lines += [EXAMPLES[name].rstrip()]
        else:
            lines += [f"[{name}]", *_lines(model)]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def settings_page() -> str:
    """docs/settings.md."""
    parts = [PAGE_HEADER]
    for name, model in _tables():
        rows = [
            f"| `{key}` | {_type_text(field)} | {_default_text(field)} | {field.description} |"
            for key, field in _settings_of(model)
        ]
        title = f"[[{name}]]" if name in REPEATED else f"[{name}]"
        parts.append(
            f"## `{title}`\n\n{_first_line(model)}\n\n| key | type | default | |\n|---|---|---|---|\n"
            + "\n".join(rows)
            + "\n"
        )
    return "\n".join(parts)


def _tables() -> Iterator[tuple[str, type[BaseModel]]]:
    """Every table with its dotted name, parents first."""
    return _tables_below("", SettingsFile)


def _tables_below(name: str, model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    for key, field in model.model_fields.items():
        inner = model_of(field.annotation)
        if inner is not None:
            inner_name = f"{name}{key}" + (".NAME" if is_mapping(field.annotation) else "")
            yield inner_name, inner
            yield from _tables_below(f"{inner_name}.", inner)


def _settings_of(model: type[BaseModel]) -> list[tuple[str, FieldInfo]]:
    return [(key, field) for key, field in model.model_fields.items() if model_of(field.annotation) is None]


def _lines(model: type[BaseModel]) -> Iterator[str]:
    for key, field in _settings_of(model):
        yield f"# {field.description}"
        yield f"{key} = {_toml(SOURCE_PATH)}" if field.is_required() else f"#{key} = {_toml(field.default)}"


def _toml(value: object) -> str:
    if value is None:
        return '""'
    if isinstance(value, Path):
        return json.dumps(str(value))
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _default_text(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    return "not given" if field.default is None else f"`{_toml(field.default)}`"


def _type_text(field: FieldInfo) -> str:
    return _type_name(field.annotation)


def _type_name(annotation: Any) -> str:
    if get_origin(annotation) is types.UnionType:
        return _type_name(next(part for part in get_args(annotation) if part is not type(None)))
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(annotation))
    if get_origin(annotation) is tuple:
        return "list of texts"
    return {int: "whole number", float: "number", str: "text", Path: "path"}[annotation]


def _first_line(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").splitlines()[0]


if __name__ == "__main__":
    sys.stdout.write(settings_page())
