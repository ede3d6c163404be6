from __future__ import annotations

from typing import get_args

import pytest

from grader.errors import ReadError
from grader.readers import READERS, reader_for
from grader.settings import SourceFormat


def test_every_format_of_the_settings_has_one_reader() -> None:
    names = [reader.name for reader in READERS]
    assert len(set(names)) == len(names)
    assert {*names, "auto"} == set(get_args(SourceFormat))


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b'{"object": "trace", "id": "trace_1"}', "openai_agents"),
        (b'{"resourceSpans": []}', "otlp"),
        (b'{"trace_id": "1", "final_output": "x", "num_turns": 2}', "flat"),
    ],
)
def test_auto_sniffs(head: bytes, name: str) -> None:
    assert reader_for("auto", head).name == name


def test_a_named_format_is_not_sniffed() -> None:
    assert reader_for("otlp", b"anything").name == "otlp"


def test_an_unknown_format_names_the_known_ones() -> None:
    with pytest.raises(ReadError, match=r"'csv'.*openai_agents, otlp, flat, auto"):
        reader_for("csv", b"")
    with pytest.raises(ReadError, match=r"no reader knows this format .*known: openai_agents, otlp, flat"):
        reader_for("auto", b"a,b,c")
