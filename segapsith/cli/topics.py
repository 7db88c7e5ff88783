"""`topics`: the general domains."""

from __future__ import annotations

from typing import Annotated

import typer

from segapsith.cli import context
from segapsith.cli.options import (
    CommandJson,
    CommandQuiet,
    Config,
    NoPlugins,
    Sets,
    StorePath,
    StrictPlugins,
    Wait,
)
from segapsith.cli.output import Progress, show_json, table
from segapsith.cli.status import must_exist
from segapsith.errors import UsageError
from segapsith.settings import TOPIC_CLUSTERER, TOPIC_SIMILARITY

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("topics")(topics)


def topics(
    store: StorePath = None,
    similarity: Annotated[
        str, typer.Option("--similarity", metavar="NAME", help="What compares two domains.")
    ] = TOPIC_SIMILARITY,
    clusterer: Annotated[
        str, typer.Option("--clusterer", metavar="NAME", help="What groups them.")
    ] = TOPIC_CLUSTERER,
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Topics of each language (default: a cut).")
    ] = None,
    cut: Annotated[
        float | None,
        typer.Option("--cut", min=0.0, max=2.0, help="Distance at which joining stops."),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Words to show of each.")] = 10,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Show at most.")] = None,
    kept: Annotated[
        bool, typer.Option("--kept", help="Show the last grouping; do not group again.")
    ] = False,
    names: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="ID=NAME", help="Name a topic; the name stays with it."),
    ] = None,
    sets: Sets = None,
    config: Config = None,
    wait: Wait = None,
    strict_plugins: StrictPlugins = False,
    no_plugins: NoPlugins = False,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """The general domains: domains grouped by what they have in common, largest first.

    Topics keep their ids as long as most of their units stay together. A domain made after the
    last grouping has no topic until the next one.

    Example: segapsith topics --similarity gvsm-cov --clusterer ahc --store wire.db
    """
    if k is not None and cut is not None:
        raise UsageError(f"-k {k} and --cut {cut}: give one of them")
    given = [_named(entry) for entry in names or []]
    chosen = context.settings(store=store, config=config, wait=wait, sets=sets)
    must_exist(str(chosen["store"]))
    settings = dict(chosen.plugins) | ({} if cut is None else {"clusterer.distance": cut})
    progress = Progress(not (quiet or as_json))
    with context.wire(chosen, strict=strict_plugins, only_own=no_plugins) as wire:
        progress.update("grouping …")
        try:
            for topic, name in given:
                wire.name_topic(topic, name)
            found = wire.topics(
                similarity=similarity,
                clusterer=clusterer,
                settings=settings,
                k=k,
                top=top,
                limit=limit,
                regroup=not (kept or given),
            )
        finally:
            progress.end()
    if as_json:
        show_json(found)
    elif not quiet:
        table(
            (
                (t["id"], t["units"], len(t["domains"]), t["lang"], t["label"],
                 ", ".join(f"{w['word']} {w['weight']:.2f}" for w in t["words"]))
                for t in found
            ),
            ("id", "units", "domains", "lang", "label", "words"),
        )  # fmt: skip


def _named(entry: str) -> tuple[int, str]:
    number, sign, name = entry.partition("=")
    if not sign or not number.strip().isdigit():
        raise UsageError(f"--name {entry!r} should be ID=NAME, for example 12=elections")
    return int(number), name.strip()
