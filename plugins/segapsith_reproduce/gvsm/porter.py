"""The stemmer of M. F. Porter, *An algorithm for suffix stripping*, Program 14 (1980).

The sets of the papers were stemmed with it. No dependency of the package has it, so it is written
here, with the two changes of its author's own program: -bli becomes -ble, and -logi becomes -log. A word is a sequence of consonants and vowels, [C](VC)^m[V]; m is its measure.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["stem"]

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize",
    "bli": "ble", "logi": "log", "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize",
    "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful",
    "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_STEP_3 = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


def _letters(word: str) -> str:
    """Return the kind of each letter, c or v; y after a consonant is a vowel."""
    kinds = ""
    for letter in word:
        is_vowel = letter in "aeiou" or (letter == "y" and kinds[-1:] == "c")
        kinds += "v" if is_vowel else "c"
    return kinds


def _measure(word: str) -> int:
    """Return m, the number of vowels followed by a consonant.

    >>> [_measure(word) for word in ("tree", "trouble", "oaten")]
    [0, 1, 2]
    """
    return _letters(word).count("vc")


def _ends_short(word: str) -> bool:
    """Return whether a word ends in consonant, vowel, consonant, the last not w, x or y."""
    return _letters(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _longest(word: str, suffixes: tuple[str, ...]) -> str:
    return max((s for s in suffixes if word.endswith(s)), key=len, default="")


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """Return the stem of a word in lower case.

    >>> [stem(word) for word in ("relational", "hopping", "ponies", "electricity", "controller")]
    ['relat', 'hop', 'poni', 'electr', 'control']
    """
    if len(word) < 3:
        return word
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and "v" in _letters(word[:-1]):
        word = word[:-1] + "i"
    for endings in (_STEP_2, _STEP_3):
        suffix = _longest(word, tuple(endings))
        if suffix and _measure(base := word[: -len(suffix)]) > 0:
            word = base + endings[suffix]
    suffix = _longest(word, _STEP_4)
    base = word[: -len(suffix)] if suffix else ""
    if _measure(base) > 1 and (suffix != "ion" or base[-1] in "st"):
        word = base
    return _final(word)


def _plural(word: str) -> str:
    """Step 1a: remove the ending of a plural."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if re.search("[^s]s$", word) else word


def _past(word: str) -> str:
    """Step 1b: remove -ed and -ing, and repair the end."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    suffix = _longest(word, ("ed", "ing"))
    if not suffix or "v" not in _letters(base := word[: -len(suffix)]):
        return word
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if re.search(r"([^aeiouylsz])\1$", base):
        return base[:-1]
    return base + "e" if _measure(base) == 1 and _ends_short(base) else base


def _final(word: str) -> str:
    """Step 5: remove a last e, and one of two l."""
    if word.endswith("e"):
        m = _measure(word[:-1])
        if m > 1 or (m == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
