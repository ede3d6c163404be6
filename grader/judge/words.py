"""Words, figures and names of a text in any language: what the offline baseline counts."""

from __future__ import annotations

import re
import unicodedata

# capitals of the scripts that have them (Latin, Greek, Cyrillic, Armenian)
_CAPITAL = "[" + "".join(char for char in map(chr, range(0x557)) if char.isupper()) + "]"
# scripts that put no spaces between words: Thai, Lao, Myanmar, Khmer, kana, Chinese characters
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_LETTER = r"[^\W\d_]"
_WORD = re.compile(rf"{_LETTER}+(?:['’]{_LETTER}+)*")
_CAPITALISED = re.compile(rf"\b{_CAPITAL}")
_ALL_CAPITALS = re.compile(rf"\b{_CAPITAL}{{2,}}\b")
# each begins with the rarest character, which the engine finds fast, and looks back from there
_NAME = re.compile(rf"{_CAPITAL}(?<=[\w,] .){_LETTER}*(?: {_CAPITAL}{_LETTER}*)+")  # not at the start of a sentence
_DIGIT_IN_CODE = re.compile(rf"\d(?<={_LETTER}.)")
_CODE = re.compile(rf"\b{_LETTER}+\d\w*\b")  # letters, then digits: a flight, a voucher
_FIGURE = re.compile(r"\d(?<![^\W_].)[\d.,'’\u00a0\u202f]*\d")
_ORDINAL = re.compile(r"^\s*\d+[.)]\s", re.MULTILINE)  # "1. ", "2) " at the start of a line number a list

STEM_CHARS = 5  # "refund" and "refunded" start alike; longer stems miss inflections, shorter ones mix words up
SHORT_WORD_CHARS = 3  # in spaced scripts words up to this long are mostly grammar
CAPITALISED_SHARE = 0.3  # above it capitals mean no names: German nouns, headings, shouting
MIN_SHOUTED_LETTERS = 20


def words(text: str) -> set[str]:
    """The words of a text, case-folded."""
    return set(_WORD.findall(text.casefold()))


def stems(text: str) -> set[str]:
    """What the content words of a text start with; for unspaced scripts each pair of characters."""
    content = {word for word in words(text) if len(word) > SHORT_WORD_CHARS}
    if text.isascii():
        return {word[:STEM_CHARS] for word in content}
    found = {word[:STEM_CHARS] for word in content if not _UNSPACED.match(word)}
    for run in _UNSPACED.findall(text):
        found.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
    return found


def figures(text: str) -> set[str]:
    """The numbers in a text with two digits or more, without separators: 1,299.00 and 1299 are the same."""
    found = {_plain(figure) for figure in set(_FIGURE.findall(_ORDINAL.sub("", text)))}
    return {plain for plain in found if len(plain) > 1}


def names(text: str) -> set[str]:
    """Runs of two or more capitalised words inside a sentence, and codes of letters and digits such as LH454.

    Where much is capitalised, capitals say nothing and only the codes count.
    """
    codes = set(_CODE.findall(text)) if _DIGIT_IN_CODE.search(text) else set()
    runs = set(_NAME.findall(text))
    if runs and len(_CAPITALISED.findall(text)) > CAPITALISED_SHARE * len(_WORD.findall(text)):
        return codes
    return codes | runs


def is_shouting(text: str) -> bool:
    """Whether more than half of the letters of a text stand in words of capitals only."""
    shouted = sum(map(len, _ALL_CAPITALS.findall(text)))
    return shouted >= MIN_SHOUTED_LETTERS and shouted > sum(map(str.isalpha, text)) / 2


def _plain(figure: str) -> str:
    """A figure as digits and at most one decimal point."""
    if not figure.isascii():
        figure = "".join(str(unicodedata.decimal(char, char)) for char in figure)
    whole, point, decimals = _split_decimals(figure)
    digits = re.sub(r"\D", "", whole).lstrip("0") or "0"
    decimals = decimals.rstrip("0")
    return f"{digits}{point}{decimals}" if decimals else digits


def _split_decimals(figure: str) -> tuple[str, str, str]:
    """Before and after the decimal separator: a last point or comma that is not followed by exactly three digits."""
    at = max(figure.rfind("."), figure.rfind(","))
    decimals = figure[at + 1 :]
    if at < 0 or (len(decimals) == 3 and figure[:at] != "0"):
        return figure, "", ""
    return figure[:at], ".", decimals
