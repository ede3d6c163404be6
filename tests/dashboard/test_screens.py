"""The screens on the known history: what they say, to the figure."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from grader.store.connect import Store
from tests.dashboard.conftest import Open
from tests.factories import HOSTILE, empty_store, known_history, write_settings

PICKED = {"rows": [], "columns": [], "cells": []}


def metrics(app: AppTest) -> dict[str, tuple[str, str]]:
    return {metric.label: (metric.value, metric.delta) for metric in app.metric}


def texts(app: AppTest) -> str:
    kinds = (app.title, app.subheader, app.caption, app.text, app.markdown, app.info, app.success, app.warning)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def test_overview_compares_the_newest_day_with_the_day_before(known: Path, open_app: Open) -> None:
    app = open_app(known)
    assert not app.exception
    assert metrics(app) == {
        "Average score": ("0.833", "-0.062"),  # 7.5 / 9 against 7.166667 / 8
        "Quality (offline judge)": ("0.600", "-0.133"),  # (14 + 8 + 5) / 45 against (14 + 8) / 30
        "Critical": ("11.1 %", "+11.1 pp"),
        "Median score": ("0.933", "-0.033"),
        "Traces": ("9", "+1"),
        "Not judged": ("0", ""),
    }
    said = texts(app)
    assert "Thursday, 12 Mar 2026, against 11 Mar 2026" in said
    assert "1 of 9  \n95 % interval 2.0–43.5 %" in said  # Wilson of 1 in 9
    assert "3 of 9 judged" in said


def test_overview_of_a_bad_day_counts_what_is_not_judged(known: Path, open_app: Open) -> None:
    app = open_app(known, from_="2026-03-08", to="2026-03-10")
    assert metrics(app)["Average score"] == ("0.700", "")  # the day before is as bad
    assert metrics(app)["Critical"][0] == "25.0 %"
    assert metrics(app)["Not judged"][0] == "3"
    assert "1 waiting, 1 failed  \n1 without texts" in texts(app)


def test_overview_of_one_agent_is_computed_from_its_traces(known: Path, open_app: Open) -> None:
    app = open_app(known, agent="support")
    # traces 0, 4 and 8 of the newest day: clean 1, slow 0.8, empty 5 / 15
    assert metrics(app)["Average score"][0] == "0.711"
    assert metrics(app)["Traces"] == ("3", "+1")
    assert metrics(app)["Critical"][0] == "33.3 %"


def test_overview_does_not_estimate_quality_of_traces_chosen_by_their_grade(known: Path, open_app: Open) -> None:
    app = open_app(known, state="judged")
    assert metrics(app)["Quality"][0] == "–"
    assert metrics(app)["Traces"][0] == "3"


def test_a_day_of_the_table_opens_its_worst_traces(known: Path, open_app: Open) -> None:
    app = open_app(known)
    app.session_state["days"] = {"selection": {**PICKED, "rows": [0]}}
    app.run()
    assert app.title[0].value == "Worst traces"
    assert app.query_params == {"from": "2026-03-12", "to": "2026-03-12"}


def test_worst_traces_come_worst_first(known: Path, open_app: Open) -> None:
    app = open_app(known, "worst")
    assert not app.exception
    table = app.dataframe[0].value
    assert list(table["Trace id"]) == [
        "0309-broken-9", "0310-broken-9", "0309-empty-8", "0310-empty-8", "0312-empty-8", "0309-pending-10",
        "0310-pending-10", "0309-no-content-11", "0310-no-content-11", "0301-long-loop-7",
    ]  # fmt: skip
    assert table["Score"].round(3).tolist() == [0, 0, 0.333, 0.333, 0.333, 0.4, 0.4, 0.5, 0.5, 0.533]
    assert "10 of 97 traces" in texts(app)


@pytest.mark.parametrize(
    ("query", "num_matching", "first"),
    [
        ({"agent": "research"}, 24, "0309-pending-10"),
        ({"agent": ""}, 24, "0309-no-content-11"),
        ({"release": "2.4.1"}, 17, "0312-empty-8"),
        ({"status": "failed"}, 2, "0309-broken-9"),
        ({"state": ["judge_pending", "judge_failed"]}, 4, "0309-broken-9"),
        ({"rule": "guardrails"}, 11, "0301-guarded-6"),
        ({"critical": "1"}, 7, "0309-broken-9"),
        ({"q": "blue JACKET"}, 24, "0309-broken-9"),
        ({"q": "0312-empty"}, 1, "0312-empty-8"),
        ({"order": "newest"}, 97, "0312-empty-8"),
        ({"from_": "2026-03-04", "to": "2026-03-06"}, 16, "0304-long-loop-7"),
        ({"state": "no such state", "order": "sideways", "n": "7"}, 97, "0309-broken-9"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_filters_of_a_link(
    known: Path, open_app: Open, query: dict[str, str | list[str]], num_matching: int, first: str
) -> None:
    app = open_app(known, "worst", **query)
    assert not app.exception
    shown = len(app.dataframe[0].value)
    assert app.dataframe[0].value["Trace id"][0] == first
    expected = f"{shown} of {num_matching} traces" if shown < num_matching else f"{num_matching} trace"
    assert expected in texts(app)


def test_a_filter_goes_into_the_address_and_follows_to_the_next_page(known: Path, open_app: Open) -> None:
    app = open_app(known, "worst")
    app.multiselect(key="w_agents").set_value(["shop"]).run()
    assert app.query_params == {"from": "2026-03-01", "to": "2026-03-12", "agent": "shop"}
    assert "10 of 24 traces" in texts(app)
    app.query_params.clear()  # what the menu does
    app.switch_page("screens/alerts.py").run()
    assert app.query_params["agent"] == "shop"
    assert "2 critical traces in 12 days" in texts(app)


def test_nothing_matches(known: Path, open_app: Open) -> None:
    app = open_app(known, "worst", q="no trace says this")
    assert "No trace matches these filters" in texts(app)


def test_picking_a_row_opens_its_trace_with_the_same_view(known: Path, open_app: Open) -> None:
    app = open_app(known, "worst", agent="shop")
    app.session_state["worst"] = {"selection": {**PICKED, "rows": [1]}}
    app.run()
    assert app.title[0].value == "Trace"
    assert app.query_params["trace"] == "0310-broken-9"
    assert app.query_params["agent"] == "shop"
    assert "2 of 24" in texts(app)


def test_trace_page_shows_the_way_of_the_score(known: Path, open_app: Open) -> None:
    app = open_app(known, "trace", trace="0309-broken-9")
    assert not app.exception
    assert metrics(app) == {
        "Final score": ("0.000", ""), "By rules": ("0.000", ""), "By the judge": ("–", ""), "Duration": ("31.0 s", ""),
        "Turns": ("22", ""), "Tool errors": ("3", ""), "Cost": ("$0.0042", ""),
    }  # fmt: skip
    steps = app.dataframe[0].value
    assert list(steps["Rule"]) == ["Latency", "Turns", "Tool errors", "Guardrails", "Answer length"]
    assert list(steps["Measured"]) == ["31.0 s", "22 turns", "3 errors", "0 triggered", "0 characters"]
    assert list(steps["Limit"]) == ["at most 10.0 s", "at most 15", "none", "none", "at least 10"]
    assert list(steps["Outcome"]) == ["Failed", "Failed", "Failed", "Passed", "Failed"]
    assert list(steps["Deducted"]) == ["−0.2", "−0.3", "−0.3", "–", "−0.5 (0.2 was left)"]
    said = texts(app)
    assert "Critical: 0.000 is under 0.5. The judge was asked and gave no usable reply." in said
    assert "Timed out, after 4 attempts" in said
    assert "Tool calls: 4, 3 failed" in said
    assert "1 of 97" in said


def test_trace_page_shows_what_the_judge_said(known: Path, open_app: Open) -> None:
    app = open_app(known, "trace", trace="0312-empty-8")
    marks = app.dataframe[1].value
    assert dict(zip(marks["Criterion"], marks["Mark, of 5"], strict=True)) == {"Relevance": 1, "Accuracy": 1, "Tone": 3}
    said = texts(app)
    assert "•  The answer does not say where the order is." in said
    assert "the rule score" not in said
    assert "its rule score is low (chance of being chosen: 100.0 %)" in said
    assert "It is the offline baseline, not a language model." in said


@pytest.mark.parametrize(
    ("trace_id", "said"),
    [
        ("0309-pending-10", "Chosen for the judge and not judged yet"),
        ("0309-no-content-11", "The exporter was told not to record texts."),
        ("0301-clean-0", "The rules alone decide"),
        ("0301-guarded-6", "This trace has no spans"),
        ("0311-slow-4", "60 of 2,000 spans are drawn"),
    ],
)
def test_trace_page_of_every_kind(known: Path, open_app: Open, trace_id: str, said: str) -> None:
    app = open_app(known, "trace", trace=trace_id)
    assert not app.exception
    assert said in texts(app)


def test_five_million_characters_are_cut_with_a_mark(known: Path, open_app: Open) -> None:
    app = open_app(known, "trace", trace="0311-slow-4")
    answer = next(text.value for text in app.text if text.value.startswith("word word"))
    assert len(answer) < 6_200
    assert "4,994,000 more characters" in answer
    assert any(button.label == "Download the whole answer" for button in app.get("download_button"))


def test_an_unknown_trace_leads_back_to_the_list(known: Path, open_app: Open) -> None:
    app = open_app(known, "trace", trace="nobody")
    assert app.title[0].value == "No such trace"


def test_alerts_list_reasons_newest_first(known: Path, open_app: Open) -> None:
    app = open_app(known, "alerts")
    assert not app.exception
    table = app.dataframe[0].value
    assert list(table["Trace id"]) == [
        "0312-empty-8", "0310-broken-9", "0310-empty-8", "0310-pending-10", "0309-broken-9", "0309-empty-8",
        "0309-pending-10",
    ]  # fmt: skip
    assert (
        table["Reasons"][1] == "High latency: 31000ms, Too many turns: 22, 3 tool error(s), Empty or too short response"
    )
    assert "7 critical traces in 12 days" in texts(app)


def test_no_alerts_is_good_news(known: Path, open_app: Open) -> None:
    app = open_app(known, "alerts", from_="2026-03-01", to="2026-03-04")
    assert app.success[0].value == "No trace on these days scored under 0.5."


def test_data_screen_adds_up(known: Path, open_app: Open) -> None:
    app = open_app(known, "status")
    assert not app.exception
    runs, states, formats, failures, quarantine = (frame.value for frame in app.dataframe)
    run = runs.iloc[0]
    assert run["Lines read"] == run["New"] + run["Updated"] + run["Duplicate"] + run["Quarantined"] == 103
    assert dict(zip(states["State"], states["Traces"], strict=True)) == {
        "Rules only": 66, "Judged": 25, "Waiting for the judge": 2, "Judge failed": 2, "Not judgeable": 2,
        "Not graded yet": 0, "All traces": 97,
    }  # fmt: skip
    assert formats.iloc[0].tolist() == ["flat", 11, 97, "1 Mar – 12 Mar 2026"]
    assert failures.iloc[0].tolist() == ["Timed out", 2, "no reply within 60 s", "10 Mar 2026, 23:00:00"]
    assert list(quarantine["Line"]) == [17, 3]


def test_times_are_in_the_configured_zone(known: Path, tmp_path: Path, open_app: Open) -> None:
    settings = write_settings(tmp_path, store=known.parent / "gradebook.duckdb", zone="Asia/Tokyo")
    app = open_app(settings, "trace", trace="0309-broken-9")
    facts = app.dataframe[1].value
    assert dict(zip(facts["What"], facts["Value"], strict=True))["Started"] == "10 Mar 2026, 02:15:00"


PAGES = ("overview", "worst", "alerts", "status", "trace")


@pytest.mark.parametrize("page", PAGES)
def test_without_a_store_the_first_steps_are_shown(tmp_path: Path, open_app: Open, page: str) -> None:
    app = open_app(write_settings(tmp_path), page)
    assert not app.exception
    assert app.title[0].value == "No traces yet"
    assert [code.value for code in app.code] == ["gradebook demo", "gradebook init", "gradebook grade --all"]


@pytest.mark.parametrize("page", PAGES)
def test_an_empty_store_says_so(tmp_path: Path, open_app: Open, page: str) -> None:
    empty_store(tmp_path)
    app = open_app(write_settings(tmp_path), page)
    assert not app.exception
    assert app.title[0].value == "The store is empty"


@pytest.mark.parametrize("page", PAGES)
def test_a_busy_store_says_so_and_shows_no_error_of_the_database(tmp_path: Path, open_app: Open, page: str) -> None:
    store = empty_store(tmp_path)
    with store.writing():
        app = open_app(write_settings(tmp_path), page)
    assert not app.exception
    assert app.title[0].value == "The store is busy"
    assert app.button[0].label == "Try again"


def test_a_damaged_store_names_the_file_and_the_way_out(tmp_path: Path, open_app: Open) -> None:
    (tmp_path / "gradebook.duckdb").write_bytes(b"not a database" * 1000)
    app = open_app(write_settings(tmp_path))
    assert not app.exception
    assert app.title[0].value == "The store cannot be read"
    assert any("gradebook.duckdb" in code.value for code in app.code)


def test_a_newer_store_is_refused(tmp_path: Path, open_app: Open) -> None:
    store = empty_store(tmp_path)
    with store.writing() as connection:
        connection.execute("UPDATE meta SET value = '999' WHERE key = 'schema_version'")
    app = open_app(write_settings(tmp_path))
    assert app.title[0].value == "The store is newer than this app"


def test_wrong_settings_are_quoted(tmp_path: Path, open_app: Open) -> None:
    settings = tmp_path / "gradebook.toml"
    settings.write_text("[day]\ntimezon = 'UTC'\n")
    app = open_app(settings)
    assert app.title[0].value == "The settings cannot be used"
    assert "timezone" in app.code[0].value


def test_a_commit_to_the_store_shows_on_the_next_run(tmp_path: Path, open_app: Open) -> None:
    store: Store = empty_store(tmp_path)
    settings = write_settings(tmp_path)
    app = open_app(settings)
    assert app.title[0].value == "The store is empty"
    known_history(tmp_path)
    assert store.version()
    app.run()
    assert metrics(app)["Traces"][0] == "9"


def test_text_of_traces_never_reaches_markdown(tmp_path: Path, open_app: Open) -> None:
    known_history(tmp_path, hostile=True)
    settings = write_settings(tmp_path)
    for page in PAGES:
        app = open_app(settings, page, trace="0312-long-loop-7")
        assert not app.exception
        read_as_markdown = (app.markdown, app.caption, app.title, app.subheader, app.info, app.warning, app.success)
        for kind in read_as_markdown:
            assert not any("<img" in str(element.value) or "$x^2$" in str(element.value) for element in kind), page
    assert any(HOSTILE in text.value for text in app.text)
