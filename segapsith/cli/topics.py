"""`topics`: domains grouped by what they have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from segapsith.cli.context import Context, command, group
from segapsith.cli.domains import word_list
from segapsith.cli.options import SETS, All, Lang, Limit
from segapsith.cli.output import LISTED, Output
from segapsith.errors import UsageError
from segapsith.model import Record
from segapsith.settings import TOPIC_CLUSTERER, TOPIC_SIMILARITY

__all__ = ["add_to", "renamed"]


def add_to(app: typer.Typer) -> None:
    level = group(default=topics)
    level.command("link")(link)
    app.add_typer(level, name="topics")


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
    """Group domains into topics and show them, largest first; or propose links.

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


@command()
def link(
    context: Context,
    *,
    across: Annotated[
        bool, typer.Option("--across", help="Between topics of different languages (required).")
    ] = False,
    lang: Lang = None,
    min_units: Annotated[
        int, typer.Option("--min-units", min=1, help="Only topics with at least this many units.")
    ] = 1,
    min_score: Annotated[
        float | None,
        typer.Option("--min-score", min=0.0, max=1.0, help="Least score of a proposal."),
    ] = None,
    limit: Limit = None,
    everything: All = False,
) -> None:
    """Propose links between topics of different languages.

    Two topics are proposed if their stories share names, numbers and dates. The topics are those
    of the last grouping. A proposal is only printed: the store does not change.

    Example: segapsith topics link --across --store wire.db
    """
    if not across:
        raise UsageError("topics link: give --across, for links between languages")
    context.require_store()
    wire = context.reader()
    with (
        wire.reading(),
        context.out.progress() as progress,
        progress.following("reading topics"),
    ):
        links = wire.topics.propose_links(
            lang=lang, min_units=min_units, min_score=min_score, limit=limit
        )
        languages = {} if links else wire.status().languages
    most = None if everything or limit else LISTED
    context.show(links, lambda out: _links(links, languages, out, most))


def _links(
    links: Sequence[Record], languages: Mapping[str, int], out: Output, most: int | None
) -> None:
    if not links:
        out.line(_no_links(languages))
        return
    out.table(
        (
            (
                f"{x['score']:.2f}{'' if x['mutual'] else ' (one-sided)'}",
                *(f"{x[side]['id']} {x[side]['lang']} “{x[side]['label']}”" for side in _SIDES),
                ", ".join([*x["names"], *x["numbers"], *x["dates"]]),
            )
            for x in links
        ),
        ("proposal", "topic", "and topic", "both mention"),
        cut=("topic", "and topic", "both mention"),
        most=most,
    )


_SIDES = ("left", "right")


def _no_links(languages: Mapping[str, int]) -> str:
    """Return why there are no proposals.

    >>> _no_links({"en": 7})
    'no links to propose: every story of this store is in one language (en)'
    """
    if len(languages) < 2:
        known = f" ({next(iter(languages))})" if languages else ""
        return f"no links to propose: every story of this store is in one language{known}"
    return (
        "no links to propose: no two topics of different languages share names, numbers and"
        " dates; `segapsith topics` groups new domains first"
    )


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
