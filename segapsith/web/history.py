"""What happened to a domain as a sentence, in the language of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segapsith.web.texts import Texts

__all__ = ["history_sentence"]


def history_sentence(event: Mapping[str, Any], texts: Texts) -> str:
    """Return a change of a domain in words; an unknown kind is returned as it is.

    >>> history_sentence({"kind": "merged", "into": 3, "units": 1}, Texts("en"))
    'merged into domain 3'
    >>> history_sentence({"kind": "took", "source": [4, 5]}, Texts("fr"))
    'a reçu les unités des domaines 4, 5'
    """
    t, kind = texts.text, str(event["kind"])
    match kind:
        case "merged":
            return t("merged into domain {n}", n=_numbers(event.get("into")))
        case "split":
            return t("split into domains {n}", n=_numbers(event.get("into")))
        case "took":
            return t("took the units of domains {n}", n=_numbers(event.get("source")))
        case "renamed":
            before = event.get("before") or {}
            return t("renamed, before “{label}”", label=before.get("label") or "–")
    simple = {
        "created": t("created"),
        "emptied": t("lost its last unit"),
        "retired": t("accepts no more units"),
        "opened": t("accepts units again"),
        "locked": t("protected from merging and splitting"),
        "unlocked": t("no longer protected"),
    }
    return simple.get(kind, kind)


def _numbers(value: Any) -> str:
    return ", ".join(map(str, value if isinstance(value, list) else [value]))
