"""`sections`: the few large subjects of the wire, made of topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.options import SETS
from segapsith.cli.output import Output
from segapsith.cli.topics import renamed
from segapsith.errors import UsageError
from segapsith.model import Record
from segapsith.settings import SECTION_CLUSTERER, SECTION_SIMILARITY

__all__ = ["add_to"]


PROPOSED = "iptc"
"""Value of `--name` that shows the names which the IPTC codes of stories propose."""


def add_to(app: typer.Typer) -> None:
    app.command("sections")(sections)


@command(SETS)
def sections(
    context: Context,
    *,
    similarity: Annotated[
        str, typer.Option("--similarity", metavar="NAME", help="Plugin that compares domains.")
    ] = SECTION_SIMILARITY,
    clusterer: Annotated[
        str, typer.Option("--clusterer", metavar="NAME", help="Plugin that groups them.")
    ] = SECTION_CLUSTERER,
    k: Annotated[
        int | None,
        typer.Option(
            "-k", min=1, help="Sections of each language (default: 4 to 20, by stability)."
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Words to show of each section.")] = 10,
    kept: Annotated[
        bool, typer.Option("--kept", help="Show the last sections; do not make them again.")
    ] = False,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="DATE|RUN", help="As they were at that time."),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            metavar="ID=NAME|iptc",
            help="Name a section; the name stays with it. iptc: show what the codes propose.",
        ),
    ] = None,
) -> None:
    """Group topics into sections and show them, largest first.

    Sections are the top level: each topic is in one section, each domain in one topic. Their number
    is chosen from the data. A section keeps its id while most of its units stay together.

    Example: segapsith sections --store wire.db
    """
    if names == [PROPOSED]:
        context.require_store()
        proposals = context.reader().sections.propose()
        context.show(proposals, lambda out: _proposals(proposals, out))
        return
    renames = [renamed(entry) for entry in names or []]
    if as_of is not None:
        if renames:
            raise UsageError("--as-of shows earlier sections; --name needs the present ones")
        context.require_store()
        then = context.reader().sections.at(as_of, top=top)
        context.show(then, lambda out: _text(then, out))
        return
    if kept and not renames:
        context.require_store()
        last = context.reader().sections(top=top, regroup=False)
        context.show(last, lambda out: _text(last, out))
        return
    with (
        context.wire() as wire,
        context.out.progress() as progress,
        progress.following("grouping"),
    ):
        for section, name in renames:
            wire.sections.rename(section, name)
        result = wire.sections(
            similarity=similarity,
            clusterer=clusterer,
            settings=dict(context.settings.plugins),
            k=k,
            top=top,
            regroup=not (kept or renames),
        )
    context.show(result, lambda out: _text(result, out))


def _text(sections: Sequence[Record], out: Output) -> None:
    several = len({s["lang"] for s in sections}) > 1
    out.table(
        (
            (s["id"], *([s["lang"]] if several else []), f"{100 * s['share']:.1f} %",
             len(s["topics"]), s["units"], s["label"], ", ".join(w["word"] for w in s["words"]))
            for s in sections
        ),
        ("id", *(["lang"] if several else []), "share", "topics", "units", "label", "words"),
        cut=("words",),
    )  # fmt: skip


def _proposals(proposals: Sequence[Record], out: Output) -> None:
    out.table(
        (
            (p["id"], p["label"], p["name"] or "-", f"{100 * p['share']:.0f} %", p["stories"])
            for p in proposals
        ),
        ("id", "label", "proposed", "share", "stories with codes"),
        cut=("label",),
    )
    for p in proposals:
        if p["name"] and p["name"] != p["label"]:
            out.line(f'accept: segapsith sections --name "{p["id"]}={p["name"]}"')
