"""`topics`: domains grouped by what they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.domains import word_list
from segapsith.cli.options import SETS, All, Limit
from segapsith.cli.output import LISTED, Output
from segapsith.errors import UsageError
from segapsith.model import Record
from segapsith.settings import TOPIC_CLUSTERER, TOPIC_SIMILARITY

__all__ = ["add_to", "renamed"]


def add_to(app: typer.Typer) -> None:
    app.command("topics")(topics)


@command(SETS)
def topics(
    context: Context,
    *,
    similarity: Annotated[
        str, typer.Option("--similarity", metavar="NAME", help="Plugin that compares domains.")
    ] = TOPIC_SIMILARITY,
    clusterer: Annotated[
        str, typer.Option("--clusterer", metavar="NAME", help="Plugin that groups them.")
    ] = TOPIC_CLUSTERER,
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Topics of each language (default: by --cut).")
    ] = None,
    cut: Annotated[
        float | None,
        typer.Option("--cut", min=0.0, max=2.0, help="Distance at which grouping stops."),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Words to show of each topic.")] = 10,
    limit: Limit = None,
    everything: All = False,
    kept: Annotated[
        bool, typer.Option("--kept", help="Show the last grouping; do not group again.")
    ] = False,
    names: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="ID=NAME", help="Name a topic; the name stays with it."),
    ] = None,
) -> None:
    """Group domains into topics and show them, largest first.

    A topic keeps its id while most of its units stay together. A domain created after the last
    grouping has no topic until the next one.

    Example: segapsith topics --similarity gvsm-cov --clusterer ahc --store wire.db
    """
    if k is not None and cut is not None:
        raise UsageError(f"-k {k} and --cut {cut}: give one of them")
    renames = [renamed(entry) for entry in names or []]
    plugin_settings = dict(context.settings.plugins)
    if cut is not None:
        plugin_settings["clusterer.distance"] = cut
    most = None if everything or limit else LISTED
    if kept and not renames:
        context.require_store()
        last = context.reader().topics(top=top, limit=limit, regroup=False)
        context.show(last, lambda out: _text(last, out, most))
        return
    with (
        context.wire() as wire,
        context.out.progress() as progress,
        progress.following("grouping"),
    ):
        for topic, name in renames:
            wire.topics.rename(topic, name)
        result = wire.topics(
            similarity=similarity,
            clusterer=clusterer,
            settings=plugin_settings,
            k=k,
            top=top,
            limit=limit,
            regroup=not (kept or renames),
        )
    context.show(result, lambda out: _text(result, out, most))


def _text(topics: Sequence[Record], out: Output, most: int | None) -> None:
    out.table(
        (
            (t["id"], t["units"], len(t["domains"]), t["lang"], t["label"],
             word_list(t["words"], out))
            for t in topics
        ),
        ("id", "units", "domains", "lang", "label", "words"),
        cut=("words", "label"),
        most=most,
    )  # fmt: skip


def renamed(entry: str) -> tuple[int, str]:
    """Return the number and the name of an entry ID=NAME."""
    number, sign, name = entry.partition("=")
    if not sign or not number.strip().isdigit():
        raise UsageError(f"--name {entry!r} should be ID=NAME, for example 12=elections")
    return int(number), name.strip()
