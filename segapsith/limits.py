"""How much of anything is taken, in one place. Sizes count bytes produced, never bytes declared."""

from __future__ import annotations

__all__ = [
    "MAX_BAG_WORDS",
    "MAX_DECODED_BYTES",
    "MAX_LINE_BYTES",
    "MAX_TEXT_CHARS",
    "MAX_UID_CHARS",
    "MAX_WORD_CHARS",
]

MAX_TEXT_CHARS = 20_000_000
"""Characters of one document: about three million words."""

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Bytes of one line of JSON."""

MAX_DECODED_BYTES = 8 * 1024**3
"""Bytes that one compressed file may produce."""

MAX_UID_CHARS = 1000
"""Characters of an identity."""

MAX_WORD_CHARS = 100
"""Characters of a word that is learned; longer ones are not words."""

MAX_BAG_WORDS = 5_000_000
"""Words, with repetitions, of a unit that was made elsewhere."""
