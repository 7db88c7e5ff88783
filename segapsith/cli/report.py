"""`report` and `demo`: for people who would rather look than read."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segapsith.cli import context
from segapsith.cli.options import CommandJson, CommandQuiet, Config, NoPlugins, StorePath
from segapsith.cli.output import say, show_json, write
from segapsith.cli.validate import validation_lines
from segapsith.settings import BUILT_IN_PLACEMENT

if TYPE_CHECKING:
    from segapsith.api.wire import Wire

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("report")(report)
    app.command("demo")(demo)


def report(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the page.")
    ] = Path("report.html"),
    store: StorePath = None,
    min_units: Annotated[
        int, typer.Option("--min-units", min=1, help="Only domains of at least so many units.")
    ] = 2,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Domains to show.")] = 100,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="RUN|DATE", help="News since then (default: since the last report)."
        ),
    ] = None,
    similarity: Annotated[
        str, typer.Option("--similarity", metavar="NAME", help="What map and tree are drawn by.")
    ] = BUILT_IN_PLACEMENT,
    config: Config = None,
    quiet: CommandQuiet = False,
) -> None:
    """One self-contained HTML page: what changed, map and tree, validation, nights, domains.

    An earlier page in the same place says when the last report was; without one, news are what
    the last night brought.

    Example: segapsith report --output wire.html --store wire.db
    """
    from segapsith.api.wire import Wire
    from segapsith.report.page import last_run_of

    chosen = context.settings(store=store, config=config)
    wire = Wire(str(chosen["store"]), chosen)
    page = wire.report(
        min_units=min_units,
        limit=limit,
        since=last_run_of(output) if since is None else since,
        similarity=similarity,
    )
    output.write_text(page, encoding="utf-8")
    if not quiet:
        write(f"report written to {output}")


def demo(
    store: StorePath = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where the page goes.")
    ] = None,
    annotator: Annotated[
        str | None, typer.Option("--annotator", metavar="NAME", help="From text to lemmas.")
    ] = None,
    segmenter: Annotated[
        str | None, typer.Option("--segmenter", metavar="NAME", help="From text to units.")
    ] = None,
    config: Config = None,
    no_plugins: NoPlugins = False,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """The whole line on the bundled sample wire, English and French, offline.

    Example: segapsith demo --output demo.html
    """
    from segapsith.demo import demonstrate

    if store is not None:
        result = _demo(store, output, annotator, segmenter, config, no_plugins, demonstrate)
    else:
        folder = Path(tempfile.mkdtemp(prefix="segapsith-demo-"))
        page = output or folder / "report.html"
        path = str(folder / "demo.db")
        result = _demo(path, page, annotator, segmenter, config, no_plugins, demonstrate)
    if as_json:
        show_json(result)
        return
    if quiet:
        return
    for lang, found in result["languages"].items():
        write(f"\n{lang}: {found['summary']}")
        for domain in found["domains"]:
            words = ", ".join(f"{w['word']} {w['weight']:.2f}" for w in domain["words"])
            write(f"  domain {domain['id']:<4} {domain['units']:>3} units  {words}")
        for line in validation_lines(found["validation"]):
            write(f"  {line}")
        ours, plain = found["agreement"], found["baseline"]
        write(
            f"  agreement with the gold, paragraph by paragraph: B-cubed F1 {ours['f1']:.3f}"
            f" (precision {ours['precision']:.3f}, recall {ours['recall']:.3f});"
            f" TF-IDF single pass at its best threshold: {plain['f1']:.3f}"
        )
    write(f"\nstore: {result['store']}\nreport: {result['report']}")


def _demo(
    path: str,
    output: Path | None,
    annotator: str | None,
    segmenter: str | None,
    config: str | None,
    no_plugins: bool,
    demonstrate: Any,
) -> dict[str, Any]:
    chosen = context.settings(store=path, config=config, annotator=annotator, segmenter=segmenter)
    page = output or Path(path).with_suffix(".html")
    wire: Wire
    with context.wire(chosen, only_own=no_plugins) as wire:
        say("reading the sample wire …")
        result: dict[str, Any] = demonstrate(wire)
        page.write_text(wire.report(min_units=2, limit=60), encoding="utf-8")
    return {"store": path, "report": str(page), **result}
