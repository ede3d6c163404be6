"""Numbers, dates and trace texts as people read them. `None` reads as a dash: not known is never zero."""

from __future__ import annotations

from datetime import date, datetime, tzinfo

from grader.records import Estimate

UNKNOWN = "–"
MINUS = "−"


def score(value: float | None) -> str:
    """A score of 0 to 1 with three places: 0.873."""
    return UNKNOWN if value is None else f"{value:.3f}"


def signed(value: float | None, places: int = 3) -> str | None:
    """A change with its sign: +0.012. None where there is none to tell, 0 included in the caller's hands."""
    if value is None:
        return None
    text = f"{abs(value):,.{places}f}"
    return f"{MINUS if value < 0 else '+'}{text}"


def percent(value: float | None) -> str:
    """A share of 0 to 100: 3.1 %."""
    return UNKNOWN if value is None else f"{value:.1f} %"


def count(value: int | None) -> str:
    """A whole number with thousands marked: 12,480."""
    return UNKNOWN if value is None else f"{value:,}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: 1 trace, 12 traces."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def duration(duration_ms: float | None) -> str:
    """A length of time in the unit that reads best: 840 ms, 12.3 s, 4 min 05 s, 2 h 10 min."""
    if duration_ms is None:
        return UNKNOWN
    if duration_ms < 1_000:
        return f"{duration_ms:.0f} ms"
    seconds = duration_ms / 1_000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def usd(value: float | None) -> str:
    """An amount of money: $0.0042 under a dollar, else $12.30."""
    if value is None:
        return UNKNOWN
    return f"${value:,.4f}" if abs(value) < 1 else f"${value:,.2f}"


def tokens(input_tokens: int | None, output_tokens: int | None) -> str:
    """Tokens into and out of the model: 1,200 in, 180 out."""
    if input_tokens is None and output_tokens is None:
        return UNKNOWN
    return f"{count(input_tokens)} in, {count(output_tokens)} out"


def file_size(num_bytes: int) -> str:
    """A size of text: 840 B, 12.3 kB, 5.0 MB."""
    if num_bytes < 1_000:
        return f"{num_bytes} B"
    return f"{num_bytes / 1_000:.1f} kB" if num_bytes < 1_000_000 else f"{num_bytes / 1_000_000:.1f} MB"


def day(value: date | None) -> str:
    """A date: 12 Mar 2026."""
    return UNKNOWN if value is None else f"{value.day} {value:%b %Y}"


def short_day(value: date) -> str:
    """A date where the year is clear: 12 Mar."""
    return f"{value.day} {value:%b}"


def day_range(first: date, last: date) -> str:
    """Two dates: 1 Mar – 12 Mar 2026; one date when they are the same."""
    if first == last:
        return day(first)
    return f"{short_day(first) if first.year == last.year else day(first)} – {day(last)}"


def moment(value: datetime | None, zone: tzinfo) -> str:
    """A time in the workspace's zone: 12 Mar 2026, 16:15:00."""
    if value is None:
        return UNKNOWN
    local = value.astimezone(zone)
    return f"{day(local.date())}, {local:%H:%M:%S}"


def interval(estimate: Estimate, *, as_percent: bool = False) -> str | None:
    """The 95 % interval: "95 % interval 0.783–0.883"; None where there is none."""
    if estimate.low is None or estimate.high is None:
        return None
    if as_percent:
        return f"95 % interval {estimate.low:.1f}–{estimate.high:.1f} %"
    return f"95 % interval {estimate.low:.3f}–{estimate.high:.3f}"


def shortened(text: str, limit: int) -> str:
    """`text` on one line, cut at `limit` characters with an ellipsis."""
    line = " ".join(text[: limit * 4].split())
    return line if len(line) <= limit and len(text) <= limit * 4 else f"{line[: limit - 1]}…"


def inline_code(text: str, limit: int = 60) -> str:
    """Text of a trace for a place that reads Markdown (a label): as inline code, in which nothing has a meaning."""
    line = shortened(text.replace("`", "'"), limit).strip()
    return f"`{line}`" if line else "*(no name)*"


def plot_text(text: str) -> str:
    """Text of a trace for Plotly, which reads a few HTML tags in every label."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
