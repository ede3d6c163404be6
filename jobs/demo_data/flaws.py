"""What goes wrong in the demo's answers: evasive, wrong, rude, off the point."""

from __future__ import annotations

import re
from random import Random

EVASIVE = (
    "It depends on several things. You could look around on the website.",
    "That is hard to say from here. Maybe somebody else knows.",
    "There are many possibilities. Let me know if you have another topic.",
    "You may find something about it in the app, under the menu.",
)
CURT = ("No idea.", "Not sure.", "See above.", "Ask later.")  # under ten characters, or barely over
MADE_UP = (
    "I cannot see that. Call 0800 555 {a} and quote case {b}, or wait {c} business days.",
    "This can't be found here. It is usually section {a} or {b}, page {c}.",
    "That was denied for reason {a}. Try code {b} in {c} hours.",
    "Couldn't find it. As far as anybody knows it was {a} at first, later {b}, then {c}.",
)
RUDE = (
    "That is a ridiculous and stupid thing to ask. Look it up yourself, number {a} or {b}.",
    "Read before you write. It says {a} and {b}, and only a lazy or stupid reader would ask twice.",
    "What nonsense. Everybody can see it is {a}, at most {b}. Do not be lazy.",
)
REFUSALS = (
    "I am sorry, I cannot help with that. I am happy to answer questions about your own contract or order.",
    "Sorry, that is not something I can do here. Please contact us by mail if you need more help.",
)
UNAVAILABLE = (
    "I am sorry: I cannot answer your question at the moment, because {tool} is not available. Please try again later.",
    "Sorry, {tool} gives no answer today, so I could not check this for you. Please come back in a few hours.",
)

_FIGURE = re.compile(r"(?<![\w.])\d{2,}(?:\.\d+)?( (?:October|November|December))?")


def wrong_figures(answer: str, rng: Random) -> str:
    """The answer with other figures in place of its own of two digits or more; with one made up where it has none."""
    changed = _FIGURE.sub(lambda match: _another_day(match, rng) if match[1] else _another(match[0], rng), answer)
    return changed if changed != answer else f"{answer} The number is {rng.randint(1000, 9999)}."


def bad_answer(rng: Random) -> str:
    """An answer of a release that went wrong: made up, rude, evasive or cut short."""
    texts = rng.choices((MADE_UP, RUDE, EVASIVE, CURT), weights=(45, 38, 5, 12))[0]
    return _filled(rng.choice(texts), rng)


def weak_answer(answer: str, rng: Random) -> str:
    """One of the few weak answers of a sound release: evasive, or right in form with wrong figures."""
    return wrong_figures(answer, rng) if rng.random() < 0.6 else rng.choice(EVASIVE)


def unavailable(tool: str, rng: Random) -> str:
    return rng.choice(UNAVAILABLE).format(tool=tool.replace("_", " "))


def _filled(text: str, rng: Random) -> str:
    return text.format(a=rng.randint(100, 999), b=rng.randint(1000, 9999), c=rng.randint(11, 60))


def _another_day(match: re.Match[str], rng: Random) -> str:
    days = [str(day) for day in range(10, 29) if str(day) != match[0].split()[0]]
    return rng.choice(days) + match[1]


def _another(figure: str, rng: Random) -> str:
    shifted = "".join(str((int(char) + rng.randint(1, 8)) % 10) if char.isdigit() else char for char in figure)
    return ("7" + shifted[1:]) if shifted[0] == "0" else shifted
