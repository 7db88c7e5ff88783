"""`network`: the co-occurrence network: its size, the neighbours of a word, a reference corpus."""

from __future__ import annotations

from typing import Annotated

import typer

from segapsith.cli.context import Context, command, group
from segapsith.cli.ingest import named_inputs
from segapsith.cli.options import ANNOTATOR, LANG, SETS, WORKERS, ChangeLearning
from segapsith.cli.output import Output, say
from segapsith.model import Record

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    network = group(help="The co-occurrence network: which words occur together.")
    network.command("status")(status)
    network.command("show")(show)
    network.command("build")(build)
    app.add_typer(network, name="network")


@command()
def status(context: Context) -> None:
    """Show the size of the network and its settings.

    Example: segapsith network status --store wire.db
    """
    facts = context.reader().network.status()
    context.show(facts, lambda out: _status(facts, out))


def _status(facts: Record, out: Output) -> None:
    shown = {name: value for name, value in facts.items() if not isinstance(value, dict | list)}
    for lang, sizes in facts["languages"].items():
        shown[lang] = ", ".join(
            f"{name.replace('_', ' ')} {round(n, 3)}" for name, n in sizes.items()
        )
    out.fields(shown.items())
    for corpus in facts["references"]:
        out.line(
            f"reference corpus of run {corpus['run']}: {corpus['documents']} documents,"
            f" {corpus['words']} words ({corpus['lang']})"
        )


@command()
def show(
    context: Context,
    word: Annotated[str, typer.Argument(metavar="WORD", help="A word, as the store has it.")],
    *,
    lang: Annotated[
        str | None, typer.Option("--lang", metavar="en|fr", help="Language of the word.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Neighbours to show.")] = 20,
) -> None:
    """Show the words that occur most significantly with a word.

    Example: segapsith network show inflation --top 10 --store wire.db
    """
    result = context.reader().network.neighbours(word, lang=lang, top=top)
    context.show(result, lambda out: _neighbours(result, out))


def _neighbours(result: Record, out: Output) -> None:
    out.line(
        f"{result['word']} ({result['lang']}): {result['occurrences']} occurrences,"
        f" significance {result['significance']:.2f}, {result['links']} links"
    )
    out.table(
        ((n["word"], n["cohesion"], n["met"]) for n in result["neighbours"]),
        ("word", "cohesion", "together"),
    )


@command(LANG, ANNOTATOR, SETS, WORKERS)
def build(
    context: Context,
    sources: Annotated[
        list[str],
        typer.Argument(metavar="CORPUS…", help="Files, directories, or - for standard input."),
    ],
    *,
    format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="Source plugin (default: detected)."),
    ] = None,
    change_learning: ChangeLearning = False,
) -> None:
    """Build the network from a reference corpus.

    Nothing else is learned from it, and its texts are not stored. The same corpus is counted once; `runs undo` removes it.

    Example: segapsith network build archive/ --store wire.db
    """
    with (
        context.wire(create=True, change_learning=change_learning) as wire,
        context.out.progress() as progress,
    ):
        inputs = named_inputs(wire, sources, format=format)
        result = wire.network.build(
            inputs,
            on_progress=lambda documents, words: progress.update(
                f"{documents:,} documents, {words:,} words"
            ),
        )
    for failure in inputs.failures:
        say(f"segapsith: {failure}")
    context.show(
        result,
        lambda out: out.line(
            f"run {result['run']}: {result['documents']} documents, {result['words']} words,"
            f" {result['rejected']} rejected, {result['seconds']:.1f} s"
        ),
    )
    raise typer.Exit(max((failure.exit_code for failure in inputs.failures), default=0))
