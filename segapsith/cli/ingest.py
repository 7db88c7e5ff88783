"""`ingest`: from named inputs to domains."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segapsith.cli import context
from segapsith.cli.options import (
    AllowHosts,
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
from segapsith.cli.output import Progress, say, show_json, write
from segapsith.errors import InputError, UsageError, worst
from segapsith.settings import BUILT_IN_PLACEMENT

if TYPE_CHECKING:
    from segapsith.api.wire import Wire
    from segapsith.engine.runs import RunSummary
    from segapsith.io.inputs import Inputs

__all__ = ["add_to", "named_inputs", "one_line", "warn_of_languages"]


def add_to(app: typer.Typer) -> None:
    app.command("ingest")(ingest)


def ingest(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="SOURCE…", help="Files, directories, - for stdin, http(s) feeds."),
    ],
    store: StorePath = None,
    format: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="Do not guess the format.")
    ] = None,
    lang: Annotated[
        str | None, typer.Option("--lang", metavar="en|fr|auto", help="Language of the documents.")
    ] = None,
    batch: Annotated[
        str, typer.Option("--batch", metavar="NAME", help="A name for this delivery.")
    ] = "",
    annotator: Annotated[
        str | None, typer.Option("--annotator", metavar="NAME", help="From text to lemmas.")
    ] = None,
    segmenter: Annotated[
        str | None, typer.Option("--segmenter", metavar="NAME", help="From text to units.")
    ] = None,
    placement: Annotated[
        str | None,
        typer.Option(
            "--placement",
            metavar="NAME",
            help=f"{BUILT_IN_PLACEMENT}, or the name of any similarity.",
        ),
    ] = None,
    sets: Sets = None,
    preset: Annotated[
        str | None, typer.Option("--preset", metavar="default|paper", help="Learning values.")
    ] = None,
    change_learning: ChangeLearning = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen; change nothing.")
    ] = False,
    as_units: Annotated[
        bool, typer.Option("--as-units", help="Each document is one thematic unit.")
    ] = False,
    bag: Annotated[
        bool, typer.Option("--bag", help="The input holds units already made: words with counts.")
    ] = False,
    full_text: Annotated[
        bool | None,
        typer.Option("--full-text", help="Follow the link of items that carry only a summary."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes that annotate.")
    ] = None,
    refine: Annotated[
        int | None,
        typer.Option(
            "--refine", metavar="N", min=0, help="Then place all units again, N times (own run)."
        ),
    ] = None,
    rejects: Annotated[
        Path | None,
        typer.Option("--rejects", metavar="FILE", help="Write refused items there, with reasons."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="A refused item makes the exit code 65.")
    ] = False,
    allow_host: AllowHosts = None,
    config: Config = None,
    wait: Wait = None,
    strict_plugins: StrictPlugins = False,
    no_plugins: NoPlugins = False,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Read newswire and learn from it.

    Running it twice changes nothing; after a kill the same command goes on. The store keeps what
    it was learned with (annotator, segmenter, placement, threshold …): a later run uses the same
    unless you add --change-learning to others.

    Example: segapsith ingest wire.jsonl.gz --store wire.db
    """
    if as_units and segmenter not in (None, "none"):
        raise UsageError(f"--as-units and --segmenter {segmenter} say different things")
    if refine and dry_run:
        raise UsageError("--refine changes the store, and --dry-run does not")
    chosen = context.settings(
        store=store, config=config, wait=wait, lang=lang, annotator=annotator,
        segmenter="none" if as_units else segmenter, placement=placement, preset=preset,
        workers=workers, full_text=full_text, sets=sets, refine=refine,
        allow_hosts=context.joined(allow_host),
    )  # fmt: skip
    with context.wire(
        chosen, strict=strict_plugins, only_own=no_plugins, change_learning=change_learning
    ) as wire:
        inputs = named_inputs(wire, sources, format, bag, dry_run)
        progress = Progress(not (quiet or as_json))
        refused = _Rejects(inputs, rejects)

        def watch(summary: RunSummary) -> None:
            progress.update(
                f"{summary.read:,} read, {summary.new:,} new, {summary.units:,} units,"
                f" {summary.domains_new:,} new domains"
            )

        try:
            summary = wire.ingest(refused, name=batch, dry_run=dry_run, on_batch=watch)
        finally:
            progress.end()
            refused.close()
        passes = 0 if dry_run else int(chosen["refine"])
        refined = wire.refine(passes) if passes else None
        if not dry_run:
            resting = wire.resting()
            if resting and not quiet:
                say(f"segapsith: the target that the store keeps was not followed: {resting}")
    warn_of_languages(summary, quiet)
    if as_json:
        show_json(summary.as_json() | ({"refined": refined} if refined else {}))
    elif not quiet:
        write(("dry run: " if dry_run else f"run {summary.run}: ") + one_line(summary))
        if refined:
            write((f"run {refined['run']}: " if refined["run"] else "") + _moved(refined))
    raise typer.Exit(_exit_code(inputs, summary, strict))


def _moved(refined: Any) -> str:
    return f"{refined['moved']} units moved to a nearer domain"


def one_line(summary: RunSummary) -> str:
    """A summary that a cron mail can carry."""
    apart = f", {summary.other_languages} in other languages" if summary.other_languages else ""
    held = f", {summary.embargoed} under embargo" if summary.embargoed else ""
    refused = f", {summary.forgotten} refused as forgotten" if summary.forgotten else ""
    return (
        f"{summary.read} read, {summary.new} new, {summary.duplicate} duplicate,"
        f" {summary.corrected} corrected, {summary.rejected} rejected{refused}{apart}{held};"
        f" {summary.units} units"
        f" ({summary.units_kept} kept), {summary.domains_joined} joined,"
        f" {summary.domains_new} new domains, {summary.seconds:.1f} s"
    )


def warn_of_languages(summary: RunSummary, quiet: bool) -> None:
    """Warn of stories in languages that have no dictionary."""
    if summary.apart and not quiet:
        say(f"segapsith: warning: {summary.apart}")


def named_inputs(
    wire: Wire, names: list[str], format: str | None, bag: bool = False, dry_run: bool = False
) -> Inputs:
    """What was named, with the sources that can read it."""
    from segapsith.io.inputs import Inputs

    kinds = wire.registry.names("source") if format is None else [format]
    if bag and format is None:
        kinds = ["jsonl"]
    made = {name: wire.registry.make("source", name) for name in kinds}
    fetcher = None
    if any("://" in name for name in names) or wire.settings["full_text"]:
        from segapsith.operations.feeds import FeedFetcher, prefetch_named

        fetcher = FeedFetcher(wire.settings, None if dry_run else lambda: wire.writer)
        if not dry_run:
            prefetch_named(wire, fetcher, made, names)
    fetch = None if fetcher is None else fetcher.fetch
    follow = None if fetcher is None else fetcher.full_text()
    return Inputs(names, made, format or ("jsonl" if bag else None), bag, fetch, follow)


class _Rejects:
    """The items of the inputs, with refused ones also written to a file."""

    def __init__(self, inputs: Inputs, path: Path | None) -> None:
        self._inputs = inputs
        self.key = inputs.key
        self._out = None if path is None else path.open("w", encoding="utf-8")

    def items(self) -> Any:
        from segapsith.engine.arrivals import sound
        from segapsith.model import FeedState, Reject

        if self._out is None:
            yield from self._inputs.items()
            return
        for item in self._inputs.items():
            checked = item if isinstance(item, FeedState) else sound(item)
            if isinstance(checked, Reject):
                line = {"name": checked.name, "reason": checked.reason}
                self._out.write(json.dumps(line, ensure_ascii=False) + "\n")
            yield checked

    def close(self) -> None:
        if self._out is not None:
            self._out.close()


def _exit_code(inputs: Inputs, summary: RunSummary, strict: bool) -> int:
    for failure in inputs.failures:
        say(f"segapsith: {failure}")
    codes = {failure.exit_code for failure in inputs.failures}
    if strict and summary.rejected:
        say(f"segapsith: {summary.rejected} items were refused (--strict)")
        codes.add(InputError.exit_code)
    return worst(codes)
