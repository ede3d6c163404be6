"""What happens on which day of the demo month: traffic, releases, outages, late and copied traces, broken lines."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

from jobs.demo_data.run import AgentProfile

SUPPORT = AgentProfile(
    name="support",
    source="support.flat",
    model="gpt-4.1-mini",
    provider="openai",
    usd_per_million_input_tokens=0.4,
    usd_per_million_output_tokens=1.6,
    model_call_ms=(600, 1_700),
    tool_call_ms=(60, 450),
    share_of_traffic=0.38,
)
SHOP = AgentProfile(
    name="shop",
    source="shop.agents",
    model="gpt-4.1",
    provider="openai",
    usd_per_million_input_tokens=2.0,
    usd_per_million_output_tokens=8.0,
    model_call_ms=(700, 1_900),
    tool_call_ms=(40, 380),
    share_of_traffic=0.42,
)
RESEARCH = AgentProfile(
    name="research",
    source="research.otlp",
    model="mistral-medium-2508",
    provider="mistral_ai",
    usd_per_million_input_tokens=0.4,
    usd_per_million_output_tokens=2.0,
    model_call_ms=(1_200, 3_200),
    tool_call_ms=(250, 1_600),
    share_of_traffic=0.20,
)
AGENTS = (SUPPORT, SHOP, RESEARCH)

_BY_WEEKDAY = (1.15, 1.18, 1.14, 1.12, 1.05, 0.70, 0.66)  # Monday first; the mean is 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    agent: str
    release: str
    first_day: date


@dataclass(frozen=True, kw_only=True, slots=True)
class Outage:
    agent: str
    tool: str
    day: date


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """The planted events. Shorter months have fewer of them; the bad release needs ten days, outages seven."""

    days: tuple[date, ...]
    releases: tuple[Release, ...]
    bad_release: Release | None
    bad_until: date | None  # the last day on which the bad release ran
    outages: tuple[Outage, ...]
    late_days: tuple[date, ...]  # a part of their traces stands in the file of two days later
    copied_days: tuple[date, ...]  # a part of their traces stands in the next day's file too
    broken_days: tuple[date, ...]  # their files hold lines that cannot be read

    def release_of(self, agent: str, day: date) -> str:
        """The release that `agent` runs on `day`."""
        return max((r for r in self.releases if r.agent == agent and r.first_day <= day), key=_first_day).release

    def is_bad(self, agent: str, day: date) -> bool:
        bad = self.bad_release
        return bad is not None and agent == bad.agent and self.release_of(agent, day) == bad.release

    def outage_on(self, agent: str, day: date) -> str | None:
        """The tool of `agent` that fails on `day`."""
        return next((outage.tool for outage in self.outages if (outage.agent, outage.day) == (agent, day)), None)


def make_schedule(days: int, last_day: date) -> Schedule:
    """`days` days up to `last_day`, with events at fixed shares of the period."""
    dates = tuple(last_day - timedelta(days=days - 1 - number) for number in range(days))
    bad_from, bad_length = (days * 2) // 3, 4
    releases = [
        Release(agent="support", release="1.8.0", first_day=dates[0]),
        Release(agent="shop", release="3.2.0", first_day=dates[0]),
        Release(agent="research", release="0.7.1", first_day=dates[0]),
    ]
    bad, bad_until = None, None
    if days >= 10:
        start = _tuesday(dates, bad_from)
        bad = Release(agent="shop", release="3.3.0", first_day=dates[start])
        fixed = min(start + bad_length, days - 1)
        bad_until = dates[fixed - 1]
        releases += [
            bad,
            Release(agent="shop", release="3.3.1", first_day=dates[fixed]),
            Release(agent="support", release="1.9.0", first_day=dates[days // 3]),
            Release(agent="research", release="0.8.0", first_day=dates[days // 4]),
        ]
    return Schedule(
        days=dates,
        releases=tuple(releases),
        bad_release=bad,
        bad_until=bad_until,
        outages=_outages(dates),
        late_days=tuple(dates[at] for at in (days // 5, days // 2, days - 5) if 0 <= at < days - 2),
        copied_days=tuple(dates[at] for at in (days // 6, days - 8) if 0 <= at < days - 1),
        broken_days=tuple(sorted({dates[days // 7], dates[days // 2], dates[days - 1]})),
    )


def num_runs(agent: AgentProfile, day: date, traces_per_day: int, rng: Random) -> int:
    """How many runs of `agent` start on `day`: fewer at weekends, and a little up and down."""
    expected = traces_per_day * agent.share_of_traffic * _BY_WEEKDAY[day.weekday()]
    return max(1, round(expected * rng.uniform(0.92, 1.08)))


def _outages(dates: tuple[date, ...]) -> tuple[Outage, ...]:
    if len(dates) < 7:
        return ()
    return (
        Outage(agent="shop", tool="check_stock", day=dates[len(dates) // 3 - 1]),
        Outage(agent="support", tool="lookup_account", day=dates[len(dates) // 2 + 1]),
        Outage(agent="research", tool="fetch_paper", day=dates[-3]),
    )


def _tuesday(dates: tuple[date, ...], at: int) -> int:
    """The first Tuesday from `at` on, when releases go out; `at` itself where the period has none left."""
    return next((index for index in range(at, len(dates) - 2) if dates[index].weekday() == 1), at)


def _first_day(release: Release) -> date:
    return release.first_day
