"""`demo`: the whole program on the bundled sample wire."""

from __future__ import annotations

import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.domains import word_list
from segapsith.cli.options import ANNOTATOR, SEGMENTER, OutputPath
from segapsith.cli.output import Fields, Output, write
from segapsith.cli.validate import validation_lines

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("demo")(demo)


SampleFolder = Annotated[
    Path | None,
    typer.Option("--sample", metavar="DIR", help="Only write the sample wires there."),
]


@command(ANNOTATOR, SEGMENTER)
def demo(context: Context, *, output: OutputPath = None, sample: SampleFolder = None) -> None:
    """Run everything on the bundled sample wire, offline.

    The sample has English, French, German and Spanish stories. The store is temporary unless --store is given.

    Example: segapsith demo --output demo.html
    """
    from segapsith.demo import demonstrate

    if sample is not None:
        paths = _write_sample(sample)
        context.show({"files": paths}, lambda _: write("\n".join(paths)))
        return
    store = context.given.get("store")
    if store is None:
        folder = Path(tempfile.mkdtemp(prefix="segapsith-demo-"))
        context = context.with_store(str(folder / "demo.db"))
        page = output or folder / "report.html"
    else:
        page = output or Path(store).with_suffix(".html")
    with context.wire(create=True) as wire:
        context.out.say("reading the sample wire …")
        result: dict[str, Any] = {
            "store": context.path,
            "report": str(page),
            **demonstrate(wire),
        }
        page.write_text(wire.report(min_units=2, limit=60), encoding="utf-8")
    context.show(result, lambda out: _text(result, out))


def _write_sample(folder: Path) -> list[str]:
    """Write the sample wires into a folder, which is made; return their paths."""
    from segapsith.demo import sample

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for wire in sorted(files(sample).iterdir(), key=lambda one: one.name):
        if wire.name.startswith("wire."):
            (folder / wire.name).write_bytes(wire.read_bytes())
            written.append(str(folder / wire.name))
    return written


def _text(result: Fields, out: Output) -> None:
    for lang, one in result["languages"].items():
        out.line(f"\n{lang}: {one['summary']}")
        out.table(
            ((d["id"], d["units"], word_list(d["words"], out)) for d in one["domains"]),
            ("domain", "units", "words"),
            cut=("words",),
        )
        for line in validation_lines(one["validation"]):
            out.line(line, indent=" " * 8)
        ours, simple = one["agreement"], one["baseline"]
        out.line(
            f"agreement with the gold standard, by paragraph: B-cubed F1 {ours['f1']:.3f}"
            f" (precision {ours['precision']:.3f}, recall {ours['recall']:.3f});"
            f" TF-IDF single pass at its best threshold: {simple['f1']:.3f}"
        )
    write(f"\nstore: {result['store']}\nreport: {result['report']}")
