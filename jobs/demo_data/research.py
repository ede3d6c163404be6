"""The research agent: finds papers, reads them, and answers with figures from them."""

from __future__ import annotations

from random import Random

from jobs.demo_data.topics import CallPlan, Facts, Topic

SUBJECTS = (
    ("heat pump efficiency in cold climates", "seasonal efficiency"),
    ("urban tree cover and night temperature", "cooling at night"),
    ("sleep duration in shift workers", "hours slept"),
    ("microplastics in alpine lakes", "particles found"),
    ("bicycle lanes and road injuries", "injuries avoided"),
    ("four-day weeks and staff turnover", "turnover"),
    ("soil carbon under cover crops", "carbon stored"),
    ("battery ageing at low temperature", "capacity lost"),
    ("reading comprehension on screens", "comprehension scores"),
    ("bird migration and wind farms", "collisions observed"),
    ("antibiotic use in dairy herds", "antibiotic doses"),
    ("school meals and attendance", "attendance"),
    ("noise exposure near airports", "noise exposure"),
    ("peer review speed in open journals", "days in review"),
)
AUTHORS = (
    "Okafor",
    "Lindqvist",
    "Moretti",
    "Tanaka",
    "Haddad",
    "Novak",
    "Silva",
    "Keller",
    "Osei",
    "Dubois",
    "Rossi",
    "Iyer",
)
JOURNALS = (
    "Energy and Buildings",
    "Journal of Applied Ecology",
    "Occupational Health",
    "Transport Reviews",
    "Soil Science",
    "Learning Research",
)
METHODS = (
    "a randomised trial",
    "a panel study",
    "satellite images",
    "a survey",
    "sensor records",
    "a review of earlier studies",
)


def facts(rng: Random) -> Facts:
    (subject, measure), (other_subject, _) = rng.sample(SUBJECTS, 2)
    author, other_author = rng.sample(AUTHORS, 2)
    first_year = rng.randint(2011, 2018)
    return {
        "subject": subject,
        "measure": measure,
        "other_subject": other_subject,
        "author": author,
        "other_author": other_author,
        "journal": rng.choice(JOURNALS),
        "method": rng.choice(METHODS),
        "year": rng.randint(2019, 2026),
        "other_year": first_year,
        "sample": rng.randint(120, 9800),
        "other_sample": rng.randint(120, 9800),
        "effect": f"{rng.randint(11, 48)}.{rng.randint(1, 9)}",
        "other_effect": f"{rng.randint(11, 48)}.{rng.randint(1, 9)}",
        "low": f"{rng.randint(10, 19)}.{rng.randint(1, 9)}",
        "high": f"{rng.randint(49, 66)}.{rng.randint(1, 9)}",
        "citations": rng.randint(14, 960),
        "papers": rng.randint(12, 140),
        "doi": f"10.{rng.randint(1000, 9999)}/gb.{rng.randint(10_000, 99_999)}",
    }


_SEARCH = CallPlan(
    tool="search_papers", arguments=("subject",), output=("papers", "author", "year", "doi", "journal", "subject")
)
_FETCH = CallPlan(
    tool="fetch_paper",
    arguments=("doi",),
    output=("doi", "author", "year", "subject", "measure", "method", "sample", "effect", "low", "high"),
)
_FETCH_OTHER = CallPlan(
    tool="fetch_paper",
    arguments=("other_author",),
    output=("other_author", "other_year", "other_sample", "other_effect"),
)

TOPICS: tuple[Topic, ...] = (
    Topic(
        name="finding",
        facts=facts,
        calls=(_SEARCH, _FETCH),
        questions=(
            "What does recent research say about {subject}?",
            "Find a recent study on {subject} and give me its main result.",
            "What is known about {subject}? One good source is enough.",
            "Summarise the main result of the research on {subject}.",
        ),
        answers=(
            "Recent research on {subject} has a good source in {author} ({year}), {journal}: the main result of "
            "the study, {method} with {sample} cases, is a change of {measure} by {effect} per cent (95 % "
            "interval {low} to {high}).",
            "To summarise what is known about {subject}: the main result of {author} ({year}) is that {measure} "
            "changed by {effect} per cent. The recent study used {method}, {sample} cases. Source: {doi}.",
        ),
    ),
    Topic(
        name="comparison",
        facts=facts,
        calls=(_SEARCH, _FETCH, _FETCH_OTHER),
        questions=(
            "Do {author} and {other_author} agree on {subject}?",
            "Compare the results of {author} and {other_author} about {subject}.",
            "Why do {author} ({year}) and {other_author} ({other_year}) report different results on {subject}?",
        ),
        answers=(
            "On {subject}, {author} ({year}) and {other_author} ({other_year}) do not fully agree. To compare "
            "the results: {author} report {effect} per cent with {sample} cases, {other_author} {other_effect} "
            "per cent with {other_sample}. They differ because the samples are of different size.",
            "The results about {subject} are different: {effect} per cent in {author} ({year}, {method}), "
            "against {other_effect} per cent in {other_author} ({other_year}). Both agree on the direction; "
            "compare the samples, {sample} and {other_sample} cases, which they report.",
        ),
    ),
    Topic(
        name="sample size",
        facts=facts,
        calls=(_SEARCH, _FETCH),
        questions=(
            "How large was the sample in {author} ({year}) on {subject}?",
            "Which method and how many cases did {author} use for {subject}?",
            "Was the study of {author} on {subject} large enough to trust its result?",
        ),
        answers=(
            "The sample in {author} ({year}) on {subject} was {sample} cases large, and the method they did use "
            "was {method}. Its result has an interval of {low} to {high} per cent, so trust it with care.",
            "{author} had a study with {sample} cases for {subject} and the method was {method}. That is large "
            "enough to trust the direction of the result, {effect} per cent, given the interval {low} to {high}.",
        ),
    ),
    Topic(
        name="literature",
        facts=facts,
        calls=(
            _SEARCH,
            CallPlan(tool="count_citations", arguments=("doi",), output=("doi", "citations", "author", "year")),
        ),
        questions=(
            "How many papers are there on {subject}, and which is cited most?",
            "What is the most cited paper about {subject}?",
            "Give me the key reference for {subject} with its number of citations.",
        ),
        answers=(
            "There are {papers} papers on {subject}; the most cited one is {author} ({year}) in {journal}, which "
            "has {citations} citations.",
            "The key reference for {subject}, and the most cited paper, is {author} ({year}), {doi}, with a "
            "number of {citations} citations among {papers} papers.",
        ),
    ),
    Topic(
        name="calculation",
        facts=facts,
        calls=(
            _SEARCH,
            _FETCH,
            CallPlan(tool="run_calculation", arguments=("effect", "sample"), output=("low", "high")),
        ),
        questions=(
            "Work out the confidence interval of the effect in {author} ({year}) on {subject}.",
            "How certain is the effect on {measure} that {author} found for {subject}?",
            "What range of effects on {measure} is consistent with {author} ({year})?",
        ),
        answers=(
            "The effect in {author} ({year}) on {subject} is {effect} per cent; worked out from {sample} cases, "
            "the confidence interval is {low} to {high}. How certain: the range of effects on {measure} that is "
            "consistent with what they found stays on one side of zero.",
            "I worked out the confidence interval for {author} ({year}): the effect of {subject} on {measure} is "
            "{effect} per cent, and the range {low} to {high} is consistent with the {sample} cases found, so it "
            "is fairly certain.",
        ),
    ),
    Topic(
        name="reading list",
        facts=facts,
        calls=(_SEARCH, _FETCH_OTHER),
        questions=(
            "Suggest two papers on {subject} to start reading with.",
            "I am new to {subject}. What should I read first?",
            "Which two papers give a good introduction to {subject}?",
        ),
        answers=(
            "To start reading on {subject} I suggest two papers that give a good introduction: {author} ({year}) "
            "in {journal}, then {other_author} ({other_year}), which has {other_sample} cases.",
            "As you are new to {subject}, read {author} ({year}, {doi}) first; of the two papers it is the good "
            "introduction. You should then start on {other_author} ({other_year}).",
        ),
    ),
)

TOOL_ERRORS = (
    "HTTP 429 from the paper index",
    "TimeoutError: the paper did not load within 15 s",
    "PDF could not be parsed",
)
