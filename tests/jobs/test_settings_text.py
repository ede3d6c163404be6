"""The settings in words say what the code holds."""

from __future__ import annotations

import re
from pathlib import Path

from grader.settings import Settings, SourceSettings, load_settings
from grader.settings_keys import all_keys
from jobs.settings_text import settings_page, settings_template

DOCS = Path(__file__).parents[2] / "docs"


def test_the_written_file_loads_and_changes_nothing_but_the_sources(tmp_path: Path) -> None:
    path = tmp_path / "gradebook.toml"
    path.write_text(settings_template(), encoding="utf-8")
    assert load_settings(path, {}) == Settings(root=tmp_path, sources=(SourceSettings(path="traces/**/*.jsonl"),))


def test_every_setting_in_the_file_is_at_its_default(tmp_path: Path) -> None:
    without_examples = re.sub(r"#\[.*?(?=\n\n|\Z)", "", settings_template(), flags=re.DOTALL)
    uncommented = re.sub(r"^#(?=[a-z])", "", without_examples, flags=re.MULTILINE)
    assert uncommented.count("turns_limit = 15") == 1
    path = tmp_path / "gradebook.toml"
    path.write_text(uncommented, encoding="utf-8")
    settings = load_settings(path, {})
    assert settings == Settings(root=tmp_path, sources=(SourceSettings(path="traces/**/*.jsonl"),))
    scalars = [key for key in all_keys() if re.search(rf"^{key[-1]} = ", uncommented, flags=re.MULTILINE)]
    assert len(scalars) > 50


def test_the_examples_load_too(tmp_path: Path) -> None:
    path = tmp_path / "gradebook.toml"
    path.write_text(re.sub(r"^#(?=[a-z\[])", "", settings_template(), flags=re.MULTILINE), encoding="utf-8")
    settings = load_settings(path, {})
    assert settings.rules.agents["checkout-assistant"].turns_limit == 3
    assert settings.rules.custom[0].name == "expensive"
    assert [criterion.name for criterion in settings.judge.rubric.criteria] == ["relevance"]


def test_every_setting_stands_in_the_file_and_on_the_page_with_its_text() -> None:
    for text in (settings_template(), settings_page()):
        missing = [key for key in all_keys() if key[-1] not in text]
        assert not missing
        assert "None" not in text


def test_the_page_in_the_docs_is_up_to_date() -> None:
    assert (DOCS / "settings.md").read_text(encoding="utf-8") == settings_page()
