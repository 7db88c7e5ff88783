"""`ingest`: read documents and learn from them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.options import (
    ALLOW_HOSTS,
    ANNOTATOR,
    AS_UNITS,
    FULL_TEXT,
    LANG,
    PLACEMENT,
    PRESET,
    REFINE,
    SEGMENTER,
    SETS,
    WORKERS,
    ChangeLearning,
)
from segapsith.cli.output import Output, counted, say
from segapsith.errors import InputError, UsageError, worst
from segapsith.model import Record
from segapsith.settings import BAG_SOURCE

if TYPE_CHECKING:
    from segapsith.api.wire import Wire
    from segapsith.engine.runs import RunSummary
    from segapsith.io.following import Following
    from segapsith.io.inputs import Inputs
    from segapsith.model import Document, Item, Reject

__all__ = ["add_to", "named_inputs", "summary_line", "warn_of_languages"]


def add_to(app: typer.Typer) -> None:
    app.command("ingest")(ingest)


@command(
    LANG, ANNOTATOR, SEGMENTER, AS_UNITS, PLACEMENT, SETS, PRESET, FULL_TEXT, WORKERS, REFINE,
    ALLOW_HOSTS,
)  # fmt: skip
def ingest(
    context: Context,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE…", help="Files, directories, - for standard input, http(s) feeds."
        ),
    ],
    *,
    format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="Source plugin (default: detected)."),
    ] = None,
    batch: Annotated[
        str, typer.Option("--batch", metavar="NAME", help="A name for this run.")
    ] = "",
    change_learning: ChangeLearning = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would happen; change nothing.")
    ] = False,
    bag: Annotated[
        bool, typer.Option("--bag", help="The input has units already: words with counts.")
    ] = False,
    rejects: Annotated[
        Path | None,
        typer.Option("--rejects", metavar="FILE", help="Write rejected items and reasons there."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 65 if an item is rejected.")
    ] = False,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Wait for more when the input ends; stop with Ctrl-C."),
    ] = False,
    commit_after: Annotated[
        float,
        typer.Option(
            "--commit-after",
            metavar="SECONDS",
            min=0.1,
            max=3600,
            help="With --follow: store a story at the latest this long after it arrived.",
        ),
    ] = 10.0,
) -> None:
    """Read newswire and learn from it.

    Running it twice changes nothing; after an interruption the same command continues. A store
    records its learning settings (annotator, segmenter, placement, threshold …). Later runs use
    the same ones unless --change-learning permits others.

    With --follow a growing file, standard input or a Redis stream stays open. A signal ends it
    after what was read is stored.

    Example: segapsith ingest wire.jsonl.gz --store wire.db
    """
    following = _following(context, sources, dry_run, commit_after) if follow else None
    passes = 0 if dry_run else context.settings.maintenance.refine_passes
    if dry_run and context.flags["refine"]:
        raise UsageError("--refine changes the store, --dry-run does not: give one of them")
    from segapsith.engine.runs import collector_paused

    with (
        _stopped_by_signals(following) as signals,
        context.wire(create=True, change_learning=change_learning) as wire,
    ):
        inputs = named_inputs(
            wire, sources, format=format, bag=bag, dry_run=dry_run, following=following
        )
        wire.check_learning()
        logged = _RejectLog(inputs, rejects)
        if not logged.begin():  # nothing could be read: make neither a store nor a run
            logged.close()
            raise typer.Exit(_exit_code(inputs, signals=signals))
        with context.out.progress() as progress, collector_paused() as collect:

            def watch(summary: RunSummary) -> None:
                collect()
                progress.update(
                    f"{summary.read:,} read, {summary.new:,} new, {summary.units:,} units,"
                    f" {summary.domains_new:,} new domains"
                )

            try:
                summary = wire.ingest(logged, name=batch, dry_run=dry_run, on_batch=watch)
            finally:
                logged.close()
        refined = wire.domains.refine(passes) if passes else None
        reason = None if dry_run else wire.threshold.override_reason()
    if reason:
        context.out.say(f"segapsith: the stored target was not followed: {reason} has priority")
    warn_of_languages(summary, context.out)
    _explain_rejects(summary, rejects, context.out)
    context.show(
        summary.as_json() | ({"refined": refined} if refined else {}),
        lambda out: _text(summary, refined, dry_run, out),
    )
    raise typer.Exit(_exit_code(inputs, summary.rejected if strict else 0, signals))


def _following(context: Context, sources: list[str], dry_run: bool, seconds: float) -> Following:
    """Check what --follow is combined with."""
    from segapsith.io.following import Following

    if dry_run:
        raise UsageError("--follow does not end, --dry-run stores nothing: give one of them")
    if len(sources) != 1 or os.path.isdir(sources[0]):
        raise UsageError("--follow reads one file, `-` or one address of a live stream")
    if context.settings.reading.full_text:
        raise UsageError("--follow does not fetch pages: leave out --full-text")
    return Following(seconds)


@contextlib.contextmanager
def _stopped_by_signals(following: Following | None) -> Iterator[list[int]]:
    """Let the first signal end the following; give the list of the signals that came.

    A second signal has its usual effect.
    """
    came: list[int] = []
    if following is None:
        yield came
        return
    before: dict[int, Any] = {}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def stop(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        following.stop()
        restore()

    before |= {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield came
    finally:
        restore()


def _text(summary: RunSummary, refined: Record | None, dry_run: bool, out: Output) -> None:
    out.line(("dry run: " if dry_run else f"run {summary.run}: ") + summary_line(summary))
    if refined:
        run = f"run {refined['run']}: " if refined["run"] else ""
        out.line(f"{run}{counted(refined['moved'], 'unit')} moved to a nearer domain")


def summary_line(summary: RunSummary) -> str:
    """Return the counts of a run in one line."""
    apart = f", {summary.other_languages} in other languages" if summary.other_languages else ""
    held = f", {summary.embargoed} under embargo" if summary.embargoed else ""
    forgotten = f", {summary.forgotten} rejected as forgotten" if summary.forgotten else ""
    return (
        f"{summary.read} read, {summary.new} new, {summary.duplicate} duplicate,"
        f" {summary.corrected} corrected, {summary.rejected} rejected{forgotten}{apart}{held};"
        f" {counted(summary.units, 'unit')} ({summary.units_kept} learned from),"
        f" {summary.domains_joined} joined, {counted(summary.domains_new, 'new domain')},"
        f" {summary.seconds:.1f} s"
    )


def warn_of_languages(summary: RunSummary, out: Output) -> None:
    """Warn of stories in languages that have no dictionary."""
    if summary.apart:
        out.say(f"segapsith: warning: {summary.apart}")


def _explain_rejects(summary: RunSummary, file: Path | None, out: Output) -> None:
    """Name the first rejected items with their reasons, and where all of them are."""
    for reject in summary.rejects:
        out.say(f"segapsith: rejected: {reject}")
    if others := summary.rejected - len(summary.rejects):
        where = f"they are in {file}" if file else "--rejects FILE writes all of them"
        out.say(f"segapsith: {others:,} more rejected; {where}")


def named_inputs(
    wire: Wire,
    names: list[str],
    *,
    format: str | None,
    bag: bool = False,
    dry_run: bool = False,
    following: Following | None = None,
) -> Inputs:
    """Return the named inputs; addresses among them are requested before the store is locked."""
    from segapsith.io.inputs import Live

    factory = wire.factory
    if not factory.needs_fetcher(names):
        return factory.inputs(names, format=format, bag=bag, live=Live(following=following))
    from segapsith.operations.feeds import FeedFetcher, positions, prefetch_named

    sources = factory.sources(BAG_SOURCE if bag and format is None else format)
    live = Live(positions(wire, sources, names), following)
    fetcher = FeedFetcher(wire.settings, None if dry_run else lambda: wire.writer)
    if not dry_run:
        prefetch_named(wire, fetcher, sources, names)
    return factory.inputs(
        names, format=format, bag=bag, fetcher=fetcher, sources=sources, live=live
    )


class _RejectLog:
    """Inputs whose rejected items are also written to a file."""

    def __init__(self, inputs: Inputs, path: Path | None) -> None:
        self._inputs = inputs
        self.key = inputs.key
        self._file = None if path is None else path.open("w", encoding="utf-8")
        self._first: list[Item] = []
        self._rest: Iterator[Item] = iter(())

    def begin(self) -> bool:
        """Read the first item; return False if there is none because every input failed."""
        self._rest = iter(self._inputs.items())
        self._first = list(islice(self._rest, 1))
        return bool(self._first) or not self._inputs.failures

    def items(self) -> Iterator[Item]:
        from segapsith.model import EndOfBatch, FeedState, Positioned

        items = chain(self._first, self._rest)
        if self._file is None:
            yield from items
            return
        for item in items:
            if isinstance(item, FeedState | EndOfBatch):
                yield item
            elif isinstance(item, Positioned):
                yield replace(item, item=self._noted(item.item))
            else:
                yield self._noted(item)

    def _noted(self, item: Document | Reject) -> Document | Reject:
        """Return the item cleaned; write it to the file if it is rejected."""
        from segapsith.engine.arrivals import sound
        from segapsith.model import Reject

        checked = sound(item)
        if isinstance(checked, Reject) and self._file is not None:
            line = {"name": checked.name, "reason": checked.reason}
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
        return checked

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _exit_code(inputs: Inputs, refused: int = 0, signals: Sequence[int] = ()) -> int:
    """Print the failures; return the exit code.

    Items that are `refused` make it a failure. A signal decides if nothing failed.
    """
    for failure in inputs.failures:
        say(f"segapsith: {failure}")
    codes = {failure.exit_code for failure in inputs.failures}
    if refused:
        say(f"segapsith: {refused} items were rejected (--strict)")
        codes.add(InputError.exit_code)
    return worst(codes) or (128 + signals[0] if signals else 0)
