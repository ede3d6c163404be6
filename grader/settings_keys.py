"""Which keys `gradebook.toml` may have, and where: read off the types of grader/settings_sections.py.

A location is a path of keys from the top of the file; a number stands for an entry of a repeated table.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from grader.settings_sections import SettingsFile

Location = tuple[str | int, ...]


def model_of(annotation: object) -> type[BaseModel] | None:
    """The table that a field of this type holds (also inside a tuple, a mapping or `| None`); None: it holds none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := model_of(part))), None)


def annotation_at(location: Location) -> Any:
    """The type of the setting at `location`; None where there is no such setting."""
    annotation: Any = SettingsFile
    for key in location:
        if isinstance(key, int) or is_mapping(annotation):
            annotation = model_of(annotation)
        else:
            model = model_of(annotation)
            field = model.model_fields.get(key) if model else None
            annotation = field.annotation if field else None
        if annotation is None:
            return None
    return annotation


def is_mapping(annotation: object) -> bool:
    """Whether the setting is a table with names of the user's own, such as [rules.agents]."""
    return get_origin(annotation) is Mapping


def keys_at(location: Location) -> tuple[str, ...]:
    """The keys of the table at `location`; empty where there is no table, or one with names of the user's own."""
    annotation = annotation_at(location)
    model = None if is_mapping(annotation) else model_of(annotation)
    return tuple(model.model_fields) if model else ()


def all_keys(location: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every key of the file, tables included; a name of the user's own is NAME."""
    for key in keys_at(location):
        inner = (*location, key)
        yield inner
        yield from all_keys((*inner, "NAME") if is_mapping(annotation_at(inner)) else inner)


def table_name(location: Location) -> str:
    """A table as the file writes it: `[judge]`, or `[[sources]] number 2`; the top of the file has no name there."""
    name = ".".join(key for key in location if isinstance(key, str))
    numbers = [key for key in location if isinstance(key, int)]
    if not name:
        return "the top of the file"
    return f"[[{name}]] number {numbers[-1] + 1}" if numbers else f"[{name}]"


def nearest_key(location: Location) -> str:
    """The valid key most like the unknown one at `location`, with its table, as the end of a sentence."""
    *table, unknown = location
    here = difflib.get_close_matches(str(unknown), keys_at(tuple(table)), n=1)
    if here:
        return f"did you mean {here[0]!r}?"
    by_key = {keys[-1]: keys for keys in reversed(list(all_keys()))}
    elsewhere = difflib.get_close_matches(str(unknown), by_key, n=1, cutoff=0)[0]
    return f"the nearest is {elsewhere!r} in {table_name(by_key[elsewhere][:-1])}"
