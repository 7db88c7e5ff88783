"""`explain`: why a unit is in its domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.output import Output, counted, write
from segapsith.errors import MissingInputError
from segapsith.model import Record

__all__ = ["add_to", "topic_of"]

RATIOS = {
    "domain_weight": "of the domain's weight is on shared words",
    "domain_occurrences": "of the domain's occurrences",
    "unit_weight": "of the unit's weight",
    "unit_occurrences": "of the unit's occurrences",
}
MAX_TEXT = 300
"""Characters of the unit that are shown."""

MAX_WORDS = 20
"""Shared words that are shown on a terminal."""


def add_to(app: typer.Typer) -> None:
    app.command("explain")(explain)


@command()
def explain(
    context: Context,
    wanted: Annotated[
        str,
        typer.Argument(metavar="ID", help="A unit or a document; `show` and `search` list them."),
    ],
) -> None:
    """Explain why a unit is in its domain, or each unit of a document.

    Shows the shared words, the four ratios of eq. 7, the runner-up and the margin. A number is a
    unit, unless only a document has it.

    Example: segapsith explain 341 --store wire.db

    Example: segapsith explain urn:story:9 --store wire.db
    """
    wire = context.reader()
    with wire.reading():
        try:
            result = wire.explain(int(wanted)) if wanted.isdecimal() else None
        except MissingInputError:
            result, document = None, wire.explain_document(wanted)
            if document is None:
                raise
        else:
            document = wire.explain_document(wanted) if result is None else None
    if result is not None:
        context.show(result, lambda out: _text(result, out))
        return
    if document is None:
        raise MissingInputError(
            f"no unit or document is called {wanted!r}; `segapsith search` finds ids"
        )
    context.show(document, lambda out: _document(document, out))


def _document(document: Record, out: Output) -> None:
    """Print the units of a document one after the other."""
    copy = f", a copy of {document['duplicate_of']}" if document["duplicate_of"] else ""
    out.line(f"document {document['document']}{copy}: {document['title']}")
    for unit in document["units"]:
        write("")
        _text(unit, out)
    for unit in document["unplaced"]:
        write("")
        out.line(f"unit {unit['unit']} is in no domain: {unit['reason']}")


def _text(result: Record, out: Output) -> None:
    domain = result["domain"]
    out.line(f"unit {result['unit']} of {result['document']}: {_shorter(result['text'])}")
    out.line(
        f"domain {domain['id']} “{domain['label']}” ({counted(domain['units'], 'unit')},"
        f" {domain['status']}{topic_of(domain)}):"
        f" score {result['score']:.3f}, margin {result['margin']:.3f}"
    )
    _ratios(result["ratios"])
    words = result["words"]
    shown = words if out.width is None else words[:MAX_WORDS]
    out.table(
        (
            (w["word"] + (" (inferred)" if w["inferred"] else ""), w["unit_weight"], w["count"],
             w["domain_weight"], w["occurrences"])
            for w in shown
        ),
        ("shared word", "in unit", "times", "in domain", "units"),
    )  # fmt: skip
    if len(shown) < len(words):
        write(f"… and {len(words) - len(shown)} more shared words (--wide)")
    others = ", ".join(w["word"] for w in result["only_in_unit"])
    if others:
        out.cut(f"only in the unit: {others}")
    _runner_up(result["runner_up"], out)
    _history(result, out)


def _runner_up(other: Record | None, out: Output) -> None:
    if other is None:
        write("runner-up: none")
        return
    merged = f" (it received {other['instead_of']})" if other["instead_of"] else ""
    out.line(
        f"runner-up: domain {other['id']} “{other['label']}”{merged}, score {other['score']:.3f}"
    )
    _ratios(other["ratios"])


def _history(result: Record, out: Output) -> None:
    """Print how the unit came into its domain, and what has changed since."""
    joined = result["joined"]
    how = "started the domain" if joined["founded"] else f"joined with {joined['score']:.3f}"
    if joined["threshold"] is not None:
        by = f"placed by {joined['placement']}, " if joined["placement"] else ""
        how += f" ({by}threshold {joined['threshold']:.3f})"
    changed = "; the domain has changed since" if result["changed"] else ""
    out.line(f"in run {joined['run']} it {how}, runner-up {joined['runner_up_score']:.3f}{changed}")
    if joined["placement"] not in (None, result["measure"]):
        out.line(
            "the ratios and the other scores are those of eq. 7;"
            f" {joined['placement']} placed the unit"
        )
    if result["without"]:
        out.line(f"without this unit the domain's score would be {result['without']['score']:.3f}")


def _shorter(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def topic_of(domain: Record) -> str:
    """Return the topic of a domain as part of a line; nothing if it has none."""
    return "" if domain["topic"] is None else f", topic {domain['topic']}"


def _ratios(ratios: Mapping[str, float]) -> None:
    for name, meaning in RATIOS.items():
        write(f"  {100 * ratios[name]:5.1f} % {meaning}")
