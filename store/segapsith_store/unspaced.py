"""Texts in scripts without spaces between words, and in Korean, for the full-text index.

The tokenizer of SQLite takes everything between two spaces for a word. In the index of these texts
every character is a word of its own, so that a query is a phrase of characters: it finds a word
wherever it is written, whichever words an annotator sees, and does not depend on an extra.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["is_unspaced", "joined", "separated"]

_BLOCKS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F40, 0x0FBC),  # Tibetan
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17D3),  # Khmer
    (0x3005, 0x3007),  # signs for repetition and zero
    (0x3040, 0x30FF),  # kana
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Chinese characters
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),  # Korean syllables: words have endings without a space
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9D),  # narrow kana
    (0x20000, 0x3FFFD),
)

_SEPARATOR = "\u200b"
"""Between the characters; it has no width, and no tokenizer takes it for a part of a word."""


@lru_cache(maxsize=1)
def _character() -> re.Pattern[str]:
    """Return what matches one character of these scripts, with the marks that follow it."""
    every = "".join(f"{chr(first)}-{chr(last)}" for first, last in _BLOCKS)
    small = (code for first, last in _BLOCKS if last < 0x3400 for code in range(first, last + 1))
    marks = "".join(c for c in map(chr, small) if unicodedata.category(c) in ("Mn", "Mc"))
    return re.compile(f"[{every}][{marks}]*")


def is_unspaced(text: str) -> bool:
    """Return whether a text has a character of these scripts.

    >>> is_unspaced("中国银行"), is_unspaced("Bank of China")
    (True, False)
    """
    return not text.isascii() and _character().search(text) is not None


def separated(text: str) -> str:
    """Return a text with every such character apart, as it is indexed and searched."""
    return _character().sub(f"{_SEPARATOR}\\g<0>{_SEPARATOR}", text)


def joined(text: str) -> str:
    """Return such a text as it is read.

    >>> joined(separated("在中国银行 2026"))
    '在中国银行 2026'
    """
    return text.replace(_SEPARATOR, "")
