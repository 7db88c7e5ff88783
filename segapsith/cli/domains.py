"""`domains`: list them, and rename, merge, split, reassign, retire or lock them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from segapsith.cli.context import Context, command, group
from segapsith.cli.options import SETS, All, Lang, Limit, MinUnits, Seed
from segapsith.cli.output import LISTED, Output, counted, on_terminal, write
from segapsith.errors import UsageError
from segapsith.model import Record, Result
from segapsith.settings import CLUSTERER

if TYPE_CHECKING:
    from segapsith.api.wire import Wire

__all__ = ["add_to", "path_of", "state", "word_list"]

MAX_PARTS = 10
"""Parts of a split whose words are printed."""

MAX_BARS = 14
"""Bars of a domain in the list."""


def add_to(app: typer.Typer) -> None:
    domains = group(default=list_domains)
    for edit in (rename, merge, split, reassign, retire, reopen, lock, unlock):
        domains.command(edit.__name__)(edit)
    app.add_typer(domains, name="domains")


# -- list ----------------------------------------------------------------------------------------


@command()
def list_domains(
    context: Context,
    *,
    min_units: MinUnits = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Words to show of each domain.")] = 10,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="DATE|RUN", help="Only domains with newer stories."),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="DATE|RUN", help="As they were at that time."),
    ] = None,
    limit: Limit = None,
    lang: Lang = None,
    everything: All = False,
) -> None:
    """List domains with their words, largest first; or edit them.

    Example: segapsith domains --min-units 15 --store wire.db
    """
    wire = context.reader()
    with_days = on_terminal() and not context.out.json
    with wire.reading():
        domains = wire.domains(
            min_units=min_units or 1, top=top, since=since, limit=limit, lang=lang, as_of=as_of,
            days=with_days,
        )  # fmt: skip
        n_forgotten = 0 if as_of is None else wire.domains.forgotten_since(as_of)
    if n_forgotten:
        context.out.say(
            f"segapsith: forgotten since then and not shown: {counted(n_forgotten, 'document')}"
        )
    most = None if everything or limit else LISTED
    context.show(
        domains,
        lambda out: _list(domains, out, since=since is not None, with_days=with_days, most=most),
    )


def _list(
    domains: Sequence[Record], out: Output, *, since: bool, with_days: bool, most: int | None = None
) -> None:
    """Print a line for each domain; on a terminal with bars by day, all on one axis."""
    from segapsith.domains.timeline import Timeline
    from segapsith.domains.trends import bars

    axis = Timeline.of(day for d in domains for day in d.get("days", ()))
    columns: dict[str, Callable[[Record], object]] = {
        "id": lambda d: d["id"],
        "units": lambda d: d["units"],
        **({"since": lambda d: d["units_since"]} if since else {}),
        "documents": lambda d: d["documents"],
        **({} if with_days else {"first": lambda d: (d["first"] or "")[:10]}),
        "last": lambda d: (d["last"] or "")[:10],
        **({"days": lambda d: "┊".join(bars(d["days"], axis, MAX_BARS))} if with_days else {}),
        "state": state,
        "label": lambda d: d["label"],
        **({} if with_days else {"words": lambda d: word_list(d["words"], out)}),
    }
    names = {"documents": "docs"} if with_days else {}
    out.table(
        ([cell(d) for cell in columns.values()] for d in domains),
        [names.get(name, name) for name in columns],
        cut=("words", "label"),
        most=most,
    )
    if with_days and axis.stretches:
        write(f"days: {axis.label}{' (marked ┊)' if axis.gaps else ''}")


def word_list(words: Sequence[Record], out: Output) -> str:
    """Return words in one line: with their weights, unless the line must fit a terminal."""
    if out.width is not None:
        return ", ".join(w["word"] for w in words)
    return ", ".join(f"{w['word']} {w['weight']:.2f}" for w in words)


def path_of(domain: Record) -> str:
    """Return the way to a domain: section › topic › domain."""
    return " › ".join(f"{step['level']} {step['id']} “{step['label']}”" for step in domain["path"])


def state(domain: Record) -> str:
    """Return the trend of a domain, or its status if it is closed, and whether it is locked."""
    marks = [str(domain["trend"]["state"])] if domain["status"] == "open" else [domain["status"]]
    undated = domain["undated"]
    text = " ".join([*marks, *(["locked"] if domain["locked"] else [])])
    if not undated or marks == ["undated"]:
        return text
    return f"{text}, {undated} undated"


# -- edit ----------------------------------------------------------------------------------------

Domains = Annotated[list[int], typer.Argument(metavar="ID…", help="Domains.")]
Domain = Annotated[int, typer.Argument(metavar="ID", help="A domain.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="With --auto: print the changes; make none.")
]


def _edit(
    context: Context,
    change: Callable[[Wire], Result],
    summary: Callable[[Record], str],
    domains: Sequence[int] = (),
) -> None:
    """Change domains in a run of its own; print what was done, ending with the names of `domains`.

    The names are those before the change: a domain without units has none.
    """
    with context.wire() as wire:
        labels = wire.domains.labels(domains)
        done = change(wire)
        if "merged" in done:
            labels.pop(done["domain"], None)
    names = ", ".join(f"{number} “{label}”" for number, label in labels.items())
    context.show(done, lambda out: out.line(f"run {done['run']}: {summary(done)}{names}"))


def _words(words: Sequence[Record]) -> str:
    return ", ".join(word["word"] for word in words)


def _run(done: Record) -> str:
    return f"run {done['run']}: " if done["run"] else ""


@command()
def rename(
    context: Context,
    domain: Domain,
    label: Annotated[
        str, typer.Argument(metavar="LABEL", help='Its name; "" for its heaviest words.')
    ],
) -> None:
    """Give a domain a name that stays whatever it learns.

    Example: segapsith domains rename 17 "Spring floods" --store wire.db
    """
    _edit(
        context,
        lambda wire: wire.domains.rename(domain, label),
        lambda done: (
            f"domain {domain} is named “{done['label']}”"
            if done["label"]
            else f"domain {domain} is named after its heaviest words"
        ),
    )


@command()
def merge(
    context: Context,
    domains: Annotated[
        list[int] | None, typer.Argument(metavar="ID…", help="Domains to merge.")
    ] = None,
    *,
    into: Annotated[
        int | None,
        typer.Option("--into", metavar="ID", help="The one that remains (default: the oldest)."),
    ] = None,
    auto: Annotated[
        bool, typer.Option("--auto", help="Merge all domains that are nearly the same.")
    ] = False,
    similarity: Annotated[
        float | None,
        typer.Option(
            "--similarity",
            metavar="S",
            help="With --auto: merge inactive small domains at this similarity or above.",
        ),
    ] = None,
    after: Annotated[
        int | None,
        typer.Option(
            "--after",
            metavar="N",
            min=0,
            help="With --auto: a small domain is inactive after N stories without one of its own.",
        ),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Merge domains: the oldest receives the units of the others.

    With --auto, as every night does: merge the domains that are nearly the same. `runs undo`
    separates them again.

    Example: segapsith domains merge 17 23 --store wire.db

    Example: segapsith domains merge --auto --dry-run --store wire.db
    """
    if auto:
        if domains or into is not None:
            raise UsageError("--auto finds the domains itself: leave out ids and --into")
        with context.wire() as wire:
            done = wire.domains.merge_similar(similarity=similarity, after=after, dry_run=dry_run)
        context.show(done, lambda out: _merged(done, dry_run, out))
        return
    if not domains:
        raise UsageError("name the domains to merge, or give --auto")
    if similarity is not None or after is not None or dry_run:
        raise UsageError("--similarity, --after and --dry-run need --auto")
    _edit(
        context,
        lambda wire: wire.domains.merge(domains, into),
        lambda done: (
            f"domain {done['domain']} “{done['label']}” ({_words(done['words'])})"
            f" received {counted(done['units'], 'unit')} of "
        ),
        domains,
    )


def _merged(done: Record, dry_run: bool, out: Output) -> None:
    for one in done["merges"]:
        others = "; ".join(f"{d['id']} ({d['label']})" for d in one["merged"])
        out.line(f"{one['similarity']:.3f}  {one['domain']} ({one['label']}) ← {others}")
        out.cut(f"       {', '.join(one['words'])}")
    verb = "would be merged" if dry_run else "merged"
    out.line(f"{_run(done)}{done['merged']} of {done['domains']} domains {verb}")


@command(SETS)
def split(
    context: Context,
    domain: Annotated[int | None, typer.Argument(metavar="ID", help="The domain to split.")] = None,
    *,
    units: Annotated[
        list[int] | None,
        typer.Option("--unit", metavar="ID", help="Separate this unit (repeatable)."),
    ] = None,
    parts: Annotated[
        int | None, typer.Option("--parts", min=2, help="Number of parts (default: 2).")
    ] = None,
    clusterer: Annotated[
        str, typer.Option("--clusterer", metavar="NAME", help="Plugin that finds the parts.")
    ] = CLUSTERER,
    similarity: Annotated[
        str | None,
        typer.Option("--similarity", metavar="NAME", help="Plugin that compares the units."),
    ] = None,
    seed: Seed = 0,
    auto: Annotated[
        bool, typer.Option("--auto", help="Split all domains that cover several subjects.")
    ] = False,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", metavar="S", help="With --auto: similarity within each part."),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Split a domain, by a clusterer or by naming units.

    Every part gets a new id. With --auto, as every night does: split the domains that cover several subjects. `runs undo`
    joins them again.

    Example: segapsith domains split 17 --parts 3 --store wire.db

    Example: segapsith domains split --auto --dry-run --store wire.db
    """
    if auto:
        if domain is not None or units or parts is not None:
            raise UsageError("--auto finds the domains itself: leave out ID, --unit and --parts")
        with context.wire() as wire:
            done = wire.domains.split_broad(threshold=threshold, dry_run=dry_run)
        context.show(done, lambda out: _split(done, dry_run, out))
        return
    if domain is None:
        raise UsageError("name the domain to split, or give --auto")
    if threshold is not None or dry_run:
        raise UsageError("--threshold and --dry-run need --auto")
    _edit(
        context,
        lambda wire: wire.domains.split(
            domain, units, parts=parts or 2, clusterer=clusterer, similarity=similarity,
            settings=wire.settings.plugins, seed=seed,
        ),
        lambda done: f"domain {domain} became"
        + "".join(
            f"\n  {part['id']} “{part['label']}” ({counted(part['units'], 'unit')}): {_words(part['words'])}"
            for part in done["parts"]
        ),
    )  # fmt: skip


def _split(done: Record, dry_run: bool, out: Output) -> None:
    for one in done["splits"]:
        out.line(
            f"{one['domain']} ({one['label']}; {counted(one['units'], 'unit')}) → {counted(len(one['parts']), 'part')}"
        )
        for size, words in list(zip(one["parts"], one["words"], strict=True))[:MAX_PARTS]:
            out.cut(f"  {counted(size, 'unit')}: {', '.join(words)}")
        if len(one["parts"]) > MAX_PARTS:
            sizes = ", ".join(map(str, one["parts"][MAX_PARTS:]))
            out.cut(f"  and {sizes} units")
    verb = "would be split" if dry_run else "split"
    out.line(f"{_run(done)}{done['split']} of {done['domains']} domains {verb}")


@command()
def reassign(
    context: Context,
    *,
    similarity: Annotated[
        float | None,
        typer.Option("--similarity", metavar="S", help="Move a unit at this similarity or above."),
    ] = None,
) -> None:
    """Move units to the nearest stable domain.

    Every night does this too; `runs undo` moves them back.

    Example: segapsith domains reassign --store wire.db
    """
    with context.wire() as wire:
        done = wire.domains.reassign(similarity=similarity)
    context.show(
        done, lambda out: out.line(f"{_run(done)}{done['moved']} units moved to a stable domain")
    )


@command()
def retire(context: Context, domains: Domains) -> None:
    """Close domains: they receive no more units.

    Example: segapsith domains retire 17 23 --store wire.db
    """
    _edit(
        context,
        lambda wire: wire.domains.retire(domains),
        lambda _: "retired ",
        domains,
    )


@command()
def reopen(context: Context, domains: Domains) -> None:
    """Let retired domains receive units again.

    Example: segapsith domains reopen 17 --store wire.db
    """
    _edit(
        context,
        lambda wire: wire.domains.reopen(domains),
        lambda _: "reopened ",
        domains,
    )


@command()
def lock(context: Context, domains: Domains) -> None:
    """Protect domains from being merged, split or retired.

    They continue to learn.

    Example: segapsith domains lock 17 --store wire.db
    """
    _edit(
        context,
        lambda wire: wire.domains.lock(domains),
        lambda _: "locked ",
        domains,
    )


@command()
def unlock(context: Context, domains: Domains) -> None:
    """Permit domains to be merged, split and retired again.

    Example: segapsith domains unlock 17 --store wire.db
    """
    _edit(
        context,
        lambda wire: wire.domains.unlock(domains),
        lambda _: "unlocked ",
        domains,
    )
