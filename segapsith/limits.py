"""All limits on input. Sizes count the bytes that are produced, not the bytes that are declared."""

from __future__ import annotations

__all__ = [
    "MAX_ARCHIVE_DEPTH",
    "MAX_ARCHIVE_MEMBERS",
    "MAX_BAG_WORDS",
    "MAX_BATCH_CHARS",
    "MAX_DECODED_BYTES",
    "MAX_DIRECTORY_BYTES",
    "MAX_EXPANSION",
    "MAX_FETCHED_BYTES",
    "MAX_ITEM_CHARS",
    "MAX_JSON_VALUES",
    "MAX_LEARNED_BYTES",
    "MAX_LINE_BYTES",
    "MAX_PAGE_BYTES",
    "MAX_TEXT_CHARS",
    "MAX_TRANSFERRED_BYTES",
    "MAX_UID_CHARS",
    "MAX_WHOLE_BYTES",
    "MAX_WORD_CHARS",
    "MAX_XML_ATTRIBUTES",
    "MAX_XML_DEPTH",
    "MAX_XML_ELEMENTS",
    "SMALL_BYTES",
]

MAX_TEXT_CHARS = 10_000_000
"""Characters of one document: about 1.5 million words."""

MAX_LEARNED_BYTES = 800_000
"""Bytes of one document, in UTF-8, that are learned: about 130,000 words, 250 pages. The rest is
stored and searched."""

MAX_BATCH_CHARS = 2_000_000
"""Characters at which a batch ends, whatever its number of documents."""

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Bytes of one line of JSON."""

MAX_DECODED_BYTES = 8 * 1024**3
"""Bytes that one compressed file may produce."""

MAX_FETCHED_BYTES = 15 * 1024**2
"""Bytes of one fetched body, decompressed."""

MAX_TRANSFERRED_BYTES = 60_000_000
"""Bytes that one fetch may receive over all redirects; with buffered data, below 64 MB."""

MAX_UID_CHARS = 1000
"""Characters of an id."""

MAX_WORD_CHARS = 100
"""Characters of a word; longer ones are not learned."""

MAX_BAG_WORDS = 5_000_000
"""Words, with repetitions, of a pre-segmented unit."""

MAX_WHOLE_BYTES = 64 * 1024 * 1024
"""Bytes of a plain text file, which is one document."""

MAX_PAGE_BYTES = 8 * 1024 * 1024
"""Bytes of an HTML page."""

MAX_ITEM_CHARS = 16 * 1024 * 1024
"""Characters, with markup, of one item of a feed, of a wire or of an array."""

MAX_XML_DEPTH = 200
"""How deep the elements of one item may be nested."""

MAX_XML_ELEMENTS = 200_000
"""Elements of one item."""

MAX_XML_ATTRIBUTES = 1_000
"""Attributes of one element."""

MAX_JSON_VALUES = 2_000_000
"""Commas and brackets of one JSON value, which limit the objects that it creates."""

MAX_ARCHIVE_MEMBERS = 100_000
"""Members of one archive."""

MAX_ARCHIVE_DEPTH = 2
"""Levels of nested archives: an archive, and archives in it."""

MAX_DIRECTORY_BYTES = 16 * 1024 * 1024
"""Bytes of the list of members of a zip archive."""

SMALL_BYTES = 256 * 1024 * 1024
"""Bytes that a compressed file of any size may produce."""

MAX_EXPANSION = 200
"""Above `SMALL_BYTES`, a compressed file may produce this many times its size; news has 3 to 50."""
