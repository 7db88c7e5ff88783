"""`cite`: how to cite the program and a store in a paper."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.output import Output, write
from segapsith.errors import UsageError

__all__ = ["add_to"]

TITLE = "SEGAPSITH"
AUTHOR = "The SEGAPSITH founders"
ABOUT = "groups newswire stories by subject as they arrive"
METHODS = (
    "Ferret, O., Grau, B., Jardino, M. (2001). A cross-comparison of two clustering methods."
    " ACL Workshop on Evaluation Methodologies for Language and Dialogue Systems."
)
FORMATS = ("text", "bibtex", "json")


def add_to(app: typer.Typer) -> None:
    app.command("cite")(cite)


@command()
def cite(
    context: Context,
    *,
    to: Annotated[
        str, typer.Option("--to", metavar="|".join(FORMATS), help="How the reference is written.")
    ] = "text",
) -> None:
    """Print how to cite the program, and what identifies the store in a paper.

    The reference, the digest of the store, the versions, and the settings that it was learned with.
    Without a store, only the program is cited.

    Example: segapsith cite --to bibtex --store wire.db
    """
    if to not in FORMATS:
        raise UsageError(f"--to {to!r} should be {', '.join(FORMATS)}")
    facts = _facts(context)
    if to == "json" and not context.out.json:
        write(json.dumps(facts, ensure_ascii=False, indent=2))
        return
    context.show(facts, lambda out: _bibtex(facts) if to == "bibtex" else _text(facts, out))


def _facts(context: Context) -> dict[str, Any]:
    """Return what identifies the program and, if there is one, the store."""
    from segapsith.operations.versions import versions

    wire = context.reader()
    store = None
    exists = Path(context.path).is_file()
    with wire.reading() if exists else contextlib.nullcontext():
        if exists:
            status = wire.status()
            store = {
                name: status[name] for name in ("digest", "schema", "documents", "units", "domains")
            }
        settings = {
            name: entry["value"]
            for name, entry in wire.settings.as_json().items()
            if entry["origin"] == "store"
        }
    used = versions()
    return {
        "title": TITLE,
        "author": AUTHOR,
        "version": used["segapsith"],
        "reference": f"{AUTHOR}. {TITLE} {used['segapsith']}: {ABOUT} [computer software].",
        "methods": METHODS,
        "store": store,
        "versions": used,
        "settings": settings,
    }


def _text(facts: Mapping[str, Any], out: Output) -> None:
    out.line(facts["reference"])
    out.line(facts["methods"])
    out.fields([("digest", (facts["store"] or {}).get("digest")), *_details(facts)])


def _details(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the store, the versions and the settings as names and values."""
    store = facts["store"]
    counts = ("documents", "units", "domains")
    return [
        *([("store", ", ".join(f"{store[name]} {name}" for name in counts))] if store else []),
        ("versions", _pairs(facts["versions"])),
        *([("settings", _pairs(facts["settings"]))] if facts["settings"] else []),
    ]


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if value != "")


def _bibtex(facts: Mapping[str, Any]) -> None:
    store = facts["store"]
    digest = [f"store digest {store['digest']}"] if store else []
    note = "; ".join([*digest, *(f"{name}: {value}" for name, value in _details(facts))])
    fields = {
        "title": f"{{{facts['title']}}}: {ABOUT}",
        "author": f"{{{facts['author']}}}",
        "version": facts["version"],
        "note": _escaped(note),
    }
    write("@software{segapsith,")
    for name, value in fields.items():
        write(f"  {name} = {{{value}}},")
    write("}")


def _escaped(text: str) -> str:
    r"""Return a text in which the signs that TeX reads are marked.

    >>> _escaped("a_b 5 %")
    'a\\_b 5 \\%'
    """
    return "".join(f"\\{sign}" if sign in "_%&#${}" else sign for sign in text)
