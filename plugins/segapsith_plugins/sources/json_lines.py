"""JSON lines: each object is a document, or a pre-segmented unit.

An array of such objects, or one object over several lines, is also accepted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from segapsith import Document, Reject, hookimpl
from segapsith_plugins.sources._json_values import beginning, document_of, is_by_lines, values


class JsonLines:
    """A source of objects with `text` and optionally `id title date lang source`.

    An object with `words` (word to count) and no text is a pre-segmented unit. Every other field
    becomes metadata. Anything else is a reject, and reading continues.
    """

    def sniff(self, head: bytes) -> float:
        first = beginning(head)
        if not first:
            return 0.0
        if first.startswith("["):
            return 0.5 if first[1:].lstrip()[:1] in ("{", "") else 0.3
        line, separator, _ = first.partition("\n")
        if not separator:
            return 0.6
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            return 0.4
        return 0.9

    def follows(self, head: bytes) -> bool:
        return is_by_lines(head)

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        for item in values(stream, name):
            if isinstance(item, Reject):
                yield item
            else:
                yield document_of(*item)


@hookimpl
def register_sources() -> Mapping[str, type[JsonLines]]:
    return {"jsonl": JsonLines}
