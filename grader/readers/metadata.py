"""The free-form metadata that users attach to traces → release and tags."""

from __future__ import annotations

from collections.abc import Mapping

from grader.readers.json_text import encode

_RELEASE_KEYS = ("release", "agent_version", "app_version", "version", "revision", "commit", "git_commit")


def release_of(metadata: Mapping[str, object]) -> str | None:
    """The agent's version, under the first of the usual keys that is there."""
    for key in _RELEASE_KEYS:
        value = metadata.get(key)
        if isinstance(value, (str, int, float)) and value != "":
            return str(value)
    return None


def labels(metadata: Mapping[str, object]) -> dict[str, str]:
    """Metadata as tags. A list of words becomes one tag a word, with the value "true", to filter by like any tag."""
    tags: dict[str, str] = {}
    for key, value in metadata.items():
        if key == "release" or value is None:
            continue
        if key in ("tags", "labels") and isinstance(value, list):
            tags.update({str(word): "true" for word in value})
        else:
            tags[str(key)] = value if isinstance(value, str) else encode(value)
    return tags
