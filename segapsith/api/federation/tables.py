"""The files of a federated view: a page, JSON, and tables that spreadsheets open."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from segapsith.report.federation import page

__all__ = ["files"]

LEVELS = ("domains", "topics")


def files(federation: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the content of each file by its name, from the JSON form of a federation."""
    text = json.dumps(federation, ensure_ascii=False, indent=1, sort_keys=False)
    return {
        "index.html": page(federation).encode("utf-8"),
        "federation.json": (text + "\n").encode("utf-8"),
        "subjects.csv": _csv(_subjects(federation)),
        "members.csv": _csv(_members(federation)),
        "links.csv": _csv(_links(federation)),
    }


def _subjects(federation: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Yield a row per subject, with the units of each store."""
    for level in LEVELS:
        units = {(one["store"], one["id"]): one["units"] for one in federation[level]["groups"]}
        for subject in federation[level]["subjects"]:
            held = {store: units[store, number] for store, number in subject["members"]}
            yield {
                "level": level,
                "subject": subject["id"],
                "label": subject["label"],
                "lang": subject["lang"],
                "stores": len(held),
                "units": subject["units"],
                "first": subject["first"],
                "last": subject["last"],
                "words": " ".join(subject["words"]),
                **{
                    f"units {one['name']}": held.get(one["name"], 0) for one in federation["stores"]
                },
            }


def _members(federation: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Yield a row per domain and topic, with its subject."""
    for level in LEVELS:
        subject_of = {
            (store, number): subject["id"]
            for subject in federation[level]["subjects"]
            for store, number in subject["members"]
        }
        for one in federation[level]["groups"]:
            subject = subject_of[one["store"], one["id"]]
            yield {"level": level, "subject": subject, **one, "words": " ".join(one["words"])}


def _links(federation: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for level in LEVELS:
        labels = {(one["store"], one["id"]): one["label"] for one in federation[level]["groups"]}
        for one in federation[level]["links"]:
            yield {
                "level": level,
                **one,
                "left_label": labels[one["left_store"], one["left"]],
                "right_label": labels[one["right_store"], one["right"]],
            }


def _csv(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return rows as CSV with a byte-order mark, which spreadsheets need for accents."""
    out = io.StringIO()
    listed: Sequence[Mapping[str, Any]] = list(rows)
    if listed:
        writer = csv.DictWriter(out, fieldnames=list(listed[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _no_formula(v) for name, v in row.items()} for row in listed)
    return out.getvalue().encode("utf-8-sig")


def _no_formula(value: Any) -> Any:
    """Return a text that no spreadsheet takes for a formula."""
    if isinstance(value, str) and value.startswith(("=", "+", "@", "-", "\t", "\r")):
        return "'" + value
    return value
