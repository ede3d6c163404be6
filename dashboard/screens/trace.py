"""One trace: why it has its score, what was said, which tools were called, and how the time went."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

import streamlit as st

from dashboard import data, state, text
from dashboard.charts import trace as charts
from dashboard.views import numbers
from dashboard.views import trace as views
from dashboard.views.query import View, query_of, trace_query
from dashboard.views.timeline import timeline
from dashboard.widgets import page, recorded
from grader.store.read_trace import TraceDetail, TraceGrade
from grader.store.read_traces import Place


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """What the page is about."""

    view: View
    detail: TraceDetail
    content: views.Content


def main() -> None:
    trace_id = st.query_params.get("trace", "")
    opened_view = page.opened_view()
    if opened_view is None:
        return
    view = opened_view[0]
    detail = data.trace(trace_id) if trace_id else None
    if detail is None:
        show_missing(view, trace_id)
        return
    opened = Opened(view=view, detail=detail, content=views.content_of(data.payload(trace_id)))
    show_way(view, trace_id)
    show_header(detail)
    left, right = st.columns([9, 11], gap="large")
    with left:
        show_score(detail)
        show_judge(detail)
    with right:
        recorded.show_conversation(opened.content, is_captured=detail.content_captured)
        recorded.show_tools(opened.content.tools)
    show_timeline(opened)
    left, right = st.columns([9, 11], gap="large")
    with left:
        show_facts(detail)
    with right:
        show_raw(opened)


def show_missing(view: View, trace_id: str) -> None:
    st.title("No such trace" if trace_id else "Choose a trace", anchor=False)
    if trace_id:
        st.text(f"The store has no trace {numbers.shortened(trace_id, 120)!r}. Its link may be of another workspace.")
    st.page_link(
        "screens/worst.py", label="Back to the list", icon=":material/arrow_back:", query_params=query_of(view)
    )


def show_way(view: View, trace_id: str) -> None:
    """Back to the list, the neighbours in it, and the link to this view."""
    place = data.place(view.wanted, trace_id, order=view.order)
    with st.container(key="way", horizontal=True, vertical_alignment="center", gap="small"):
        st.page_link(
            "screens/worst.py", label="Back to the list", icon=":material/arrow_back:", query_params=query_of(view)
        )
        if place is None:
            st.caption("Not in the list that these filters make.", width="content")
        else:
            show_neighbours(view, place)
        st.space("stretch")
        with st.popover("Link", icon=":material/link:"):
            st.caption("This address opens exactly this view.")
            address = f"{st.context.url}?{urlencode(trace_query(view, trace_id), doseq=True)}"
            st.code(address, language=None, wrap_lines=True)


def show_neighbours(view: View, place: Place) -> None:
    for label, icon, trace_id in (
        ("Previous", ":material/chevron_left:", place.previous),
        ("Next", ":material/chevron_right:", place.next),
    ):
        # A page link to the page that is open changes the page and not the address (Streamlit 1.67).
        st.button(
            label,
            icon=icon,
            type="tertiary",
            disabled=trace_id is None,
            on_click=state.show,
            args=(trace_query(view, trace_id or ""),),
        )
        if label == "Previous":
            st.caption(f"{place.position:,} of {place.num_matching:,}", width="content")


def show_header(detail: TraceDetail) -> None:
    grade = detail.grade
    with st.container(key="trace_title", horizontal=True, vertical_alignment="center", gap="small"):
        st.title("Trace", anchor=False, width="content")
        st.code(detail.trace_id, language=None, width="content")
        if grade is not None:
            if grade.critical:
                st.badge("Critical", icon=":material/error:", color="red")
            st.badge(text.STATE_LABELS[grade.state], icon=":material/gavel:", color="gray")
        st.badge(
            f"Run {text.STATUS_LABELS[detail.status].lower()}", color="red" if detail.status == "failed" else "gray"
        )
    if grade is None:
        st.info("This trace is not graded yet. Run: gradebook grade", icon=":material/hourglass_empty:")
    else:
        st.markdown(views.verdict(grade, data.workspace().settings.alerts.critical_below))
        if not grade.is_current:
            st.warning("The trace has changed since it was graded. The next run grades it again.")
    for note in detail.notes:
        st.caption(text.NOTE_MEANINGS.get(note, "The reader noted something about this trace."))
    with st.container(key="kpis", horizontal=True, gap="small"):
        for label, value in header_figures(detail):
            with st.container(border=True, height="stretch"):
                st.metric(label, value)


def header_figures(detail: TraceDetail) -> list[tuple[str, str]]:
    grade = detail.grade
    return [
        ("Final score", numbers.score(grade.final_score if grade else None)),
        ("By rules", numbers.score(grade.rule_score if grade else None)),
        ("By the judge", numbers.score(grade.judge_score if grade else None)),
        ("Duration", numbers.duration(detail.duration_ms)),
        ("Turns", numbers.count(detail.num_turns)),
        ("Tool errors", numbers.count(detail.tool_errors)),
        ("Cost", numbers.usd(detail.cost_usd)),
    ]


def show_score(detail: TraceDetail) -> None:
    st.subheader("Why this score", anchor=False)
    grade = detail.grade
    if grade is None:
        st.caption("No score yet.")
        return
    steps = views.steps(grade, data.workspace().settings.rules, detail.agent)
    page.chart(
        "waterfall",
        lambda palette: charts.waterfall(steps, grade.rule_score, grade.judge_score, palette),
        detail.trace_id,
        alt="What each rule took off the score",
    )
    if grade.rules_version != data.rules_version():
        st.caption("Graded by earlier rules. The limits below are those of today's settings.")
    st.dataframe(views.step_table(steps), hide_index=True, alt="Rules: measured, limit, outcome, deduction")


def show_judge(detail: TraceDetail) -> None:
    st.subheader("What the judge said", anchor=False)
    grade, judgement = detail.grade, detail.judgement
    if grade is None:
        st.caption("Nothing yet.")
        return
    if judgement is None:
        show_why_not_judged(detail, grade)
        return
    offline = " It is the offline baseline, not a language model." if judgement.provider == "offline" else ""
    st.caption(f"{views.why_judged(grade) or ''}{offline}")
    scale_max = data.workspace().settings.judge.rubric.scale_max
    marks = {
        "Criterion": [name.replace("_", " ").capitalize() for name in judgement.marks],
        f"Mark, of {scale_max}": list(judgement.marks.values()),
    }
    st.dataframe(
        marks,
        hide_index=True,
        alt="The judge's marks",
        column_config={
            f"Mark, of {scale_max}": st.column_config.ProgressColumn(min_value=0, max_value=scale_max, format="%d")
        },
    )
    for title, lines in (("Issues", judgement.issues), ("Suggestions", judgement.suggestions)):
        st.markdown(f"**{title}**")
        st.text("\n".join(f"•  {line}" for line in lines) or "None.")
    judged_at = numbers.moment(judgement.judged_at, data.workspace().zone)
    st.text(f"{judgement.provider}, {judgement.model}, {judged_at}. Cost: {numbers.usd(judgement.cost_usd)}.")


def show_why_not_judged(detail: TraceDetail, grade: TraceGrade) -> None:
    st.text(text.STATE_MEANINGS[grade.state])
    because = views.why_judged(grade)
    if because:
        st.caption(because)
    failure = detail.failure
    if failure is not None:
        attempts = numbers.counted(failure.attempts, "attempt")
        st.text(f"{text.STAGE_LABELS[failure.stage]}, after {attempts}:")
        st.code(numbers.shortened(failure.message, 600), language=None, wrap_lines=True)


def show_facts(detail: TraceDetail) -> None:
    st.subheader("Circumstances", anchor=False)
    workspace = data.workspace()
    facts = views.facts(detail, workspace.zone, workspace.settings.root)
    st.dataframe(
        {"What": list(facts), "Value": list(facts.values())},
        hide_index=True,
        height="content",
        column_config={"What": st.column_config.TextColumn(width=90), "Value": st.column_config.TextColumn(width=310)},
        alt="Circumstances of the trace",
    )


def show_timeline(opened: Opened) -> None:
    shown = timeline(opened.content.spans)
    page.section("Timeline", shown.note)
    if shown.bars:
        page.chart("spans", lambda palette: charts.spans(shown, palette), opened.detail.trace_id, alt="Spans in time")


def show_raw(opened: Opened) -> None:
    st.subheader("Raw record", anchor=False)
    section = st.expander("The trace as JSON", icon=":material/data_object:", key="raw", on_change="rerun")
    with section:
        if not section.open:
            return
        whole = views.raw_record(opened.detail, opened.content)
        shown = views.cut(whole, views.LONGEST_RAW)
        recorded.download(f"Download ({numbers.file_size(len(whole.encode()))})", whole, "trace.json")
        st.code(shown.text, language=None if shown.is_cut else "json", height=480)


main()
