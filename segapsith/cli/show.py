"""`show`: one domain in full."""

from __future__ import annotations

from typing import Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.domains import path_of, state
from segapsith.cli.events import event_table
from segapsith.cli.options import All
from segapsith.cli.output import LISTED, Output, minute
from segapsith.model import Record

__all__ = ["add_to"]

EVENTS = 10
"""Number of events that are printed; JSON has more of them."""


def add_to(app: typer.Typer) -> None:
    app.command("show")(show)


@command()
def show(
    context: Context,
    number: Annotated[int, typer.Argument(metavar="ID", help="A domain.")],
    *,
    top: Annotated[int, typer.Option("--top", min=1, help="Words to show.")] = 40,
    everything: All = False,
) -> None:
    """Show one domain in full.

    Stories with their units, words, days, bursts, typical sentences, nearest domains, events, history.

    Example: segapsith show 17 --store wire.db
    """
    domain = context.reader().domains.show(number, top=top)
    context.show(domain, lambda out: _text(domain, out, everything=everything))


def _text(domain: Record, out: Output, *, everything: bool) -> None:
    from segapsith.domains.trends import sparkline

    out.line(
        f"domain {domain['id']} “{domain['label']}” ({domain['lang']}): {domain['units']} units in"
        f" {domain['documents']} documents, {_times(domain)}"
    )
    if len(domain["path"]) > 1:
        out.line(f"in {path_of(domain)}")
    most = None if everything else LISTED
    out.table(
        (
            ((s["date"] or "")[:10], s["source"], ", ".join(map(str, s["unit_ids"])), s["title"])
            for s in domain["stories"]
        ),
        ("date", "source", "unit", "story"),
        cut=("story",),
        most=most,
    )
    out.table(
        ((w["word"], w["weight"], w["occurrences"]) for w in domain["words"]),
        ("word", "weight", "units"),
        most=most,
    )
    if domain["days"]:
        first, last = min(domain["days"]), max(domain["days"])
        out.line(f"days: {first} {sparkline(domain['days'])} {last}  ({state(domain)})")
    if domain["media_topics"]:
        topics = (f"{topic['name']} {topic['stories']}" for topic in domain["media_topics"])
        out.line(f"IPTC topics: {'; '.join(topics)}")
    for burst in domain["bursts"]:
        out.line(f"burst: {burst['day']}  {burst['units']} units, {burst['expected']:.1f} expected")
    for sentence in domain["sentences"]:
        out.line(f"{sentence['document']}: {sentence['text']}")
    if domain["near"]:
        out.table(
            ((near["id"], near["similarity"], near["label"]) for near in domain["near"]),
            ("near", "similarity", "label"),
            cut=("label",),
        )
    if domain["events"]:
        event_table(domain["events"][:EVENTS], out)
    for entry in domain["history"]:
        undone = ", undone since" if entry.get("undone") else ""
        out.line(
            f"{minute(entry['at'])}  {entry['kind']}{_relatives(entry)} (run {entry['run']}{undone})"
        )


def _times(domain: Record) -> str:
    """Return the dates of the first and the last story, and the number of undated units."""
    undated = [f"{domain['undated']} undated"] if domain["undated"] else []
    dated = [f"{minute(domain['first'])} to {minute(domain['last'])}"] if domain["first"] else []
    return ", ".join([*dated, *undated])


def _relatives(entry: Record) -> str:
    """Return the other domains of an entry of the history."""
    text = ""
    for name, word in (("source", "from"), ("into", "into")):
        if name in entry:
            numbers = entry[name] if isinstance(entry[name], list) else [entry[name]]
            text += f" {word} {', '.join(map(str, numbers))}"
    return text
