"""`network`: which words keep company, and what teaches it."""

from __future__ import annotations

from typing import Annotated

import typer

from segapsith.cli import context
from segapsith.cli.ingest import named_inputs
from segapsith.cli.options import (
    ChangeLearning,
    CommandJson,
    CommandQuiet,
    Config,
    NoPlugins,
    Sets,
    StorePath,
    StrictPlugins,
    Wait,
)
from segapsith.cli.output import Progress, say, show_json, table, write

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    network = typer.Typer(
        help="The collocation network: which words keep company.", no_args_is_help=True
    )
    network.command("status")(status)
    network.command("show")(show)
    network.command("build")(build)
    app.add_typer(network, name="network")


def status(
    store: StorePath = None,
    config: Config = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Words, links, pairs, and what they were made with.

    Example: segapsith network status --store wire.db
    """
    from segapsith.api.wire import Wire

    chosen = context.settings(store=store, config=config)
    found = Wire(str(chosen["store"]), chosen).network_status().as_json()
    if as_json:
        show_json(found)
        return
    if quiet:
        return
    for name, value in dict(found).items():
        if not isinstance(value, dict | list):
            write(f"{name:16} {value}")
    for lang, sizes in found["languages"].items():
        write(f"{lang:16} " + ", ".join(f"{n.replace('_', ' ')} {v}" for n, v in sizes.items()))
    for corpus in found["references"]:
        write(
            f"{'reference':16} run {corpus['run']}: {corpus['documents']} documents,"
            f" {corpus['words']} words ({corpus['lang']})"
        )


def show(
    word: Annotated[str, typer.Argument(metavar="WORD", help="A word, as the store has it.")],
    store: StorePath = None,
    lang: Annotated[
        str | None, typer.Option("--lang", metavar="en|fr", help="Language of the word.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Neighbours to show.")] = 20,
    config: Config = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """The words that keep a word company, the closest first.

    Example: segapsith network show inflation --top 10 --store wire.db
    """
    from segapsith.api.wire import Wire

    chosen = context.settings(store=store, config=config)
    found = Wire(str(chosen["store"]), chosen).neighbours(word, lang=lang, top=top)
    if as_json:
        show_json(found)
    elif not quiet:
        write(
            f"{found['word']} ({found['lang']}): {found['occurrences']} times,"
            f" significance {found['significance']:.2f}, {found['links']} links"
        )
        table(
            ((n["word"], n["cohesion"], n["met"]) for n in found["neighbours"]),
            ("word", "cohesion", "met"),
        )


def build(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="CORPUS…", help="Files, directories, - for stdin."),
    ],
    store: StorePath = None,
    format: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="Do not guess the format.")
    ] = None,
    lang: Annotated[
        str | None, typer.Option("--lang", metavar="en|fr|auto", help="Language of the texts.")
    ] = None,
    annotator: Annotated[
        str | None, typer.Option("--annotator", metavar="NAME", help="From text to lemmas.")
    ] = None,
    sets: Sets = None,
    change_learning: ChangeLearning = False,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes that annotate.")
    ] = None,
    config: Config = None,
    wait: Wait = None,
    strict_plugins: StrictPlugins = False,
    no_plugins: NoPlugins = False,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Read a reference corpus: it teaches the network, and nothing else.

    Its texts are not kept. The same corpus is taken once; `runs undo` takes it out again.

    Example: segapsith network build archive/ --store wire.db
    """
    chosen = context.settings(
        store=store, config=config, wait=wait, lang=lang, annotator=annotator, workers=workers,
        sets=sets,
    )  # fmt: skip
    with context.wire(
        chosen, strict=strict_plugins, only_own=no_plugins, change_learning=change_learning
    ) as wire:
        inputs = named_inputs(wire, sources, format)
        progress = Progress(not (quiet or as_json))
        try:
            found = wire.build_network(
                inputs,
                on_progress=lambda documents, words: progress.update(
                    f"{documents:,} documents, {words:,} words"
                ),
            )
        finally:
            progress.end()
    for failure in inputs.failures:
        say(f"segapsith: {failure}")
    if as_json:
        show_json(found)
    elif not quiet:
        write(
            f"run {found['run']}: {found['documents']} documents, {found['words']} words,"
            f" {found['rejected']} rejected, {found['seconds']:.1f} s"
        )
    raise typer.Exit(max((failure.exit_code for failure in inputs.failures), default=0))
