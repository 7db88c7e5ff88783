"""`cluster`: cluster the stored units, or a matrix file, from scratch."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.options import SETS, WORKERS, Lang, Seed
from segapsith.cli.output import Output, counted, on_terminal, write
from segapsith.errors import MissingInputError, UsageError
from segapsith.model import Record
from segapsith.settings import CLUSTERER

if TYPE_CHECKING:
    from segapsith.api.wire import Wire
    from segapsith.arrays import Rows

__all__ = ["add_to"]

TABLE_ENDINGS = (".csv", ".jsonl")
"""Files that units are written to with their clusters."""

MAX_SHOWN = 20
"""Clusters that are shown on a terminal."""


def add_to(app: typer.Typer) -> None:
    app.command("cluster")(cluster)


@command(SETS, WORKERS)
def cluster(
    context: Context,
    matrix: Annotated[
        Path | None,
        typer.Argument(
            metavar="[MATRIX]",
            help="An .npz count matrix instead of the store; labels.txt beside it has the classes.",
        ),
    ] = None,
    *,
    similarity: Annotated[
        str | None,
        typer.Option("--similarity", metavar="NAME", help="Plugin that compares two units."),
    ] = None,
    clusterer: Annotated[
        str, typer.Option("--clusterer", metavar="NAME", help="Plugin that groups them.")
    ] = CLUSTERER,
    k: Annotated[int | None, typer.Option("-k", min=1, help="Number of clusters.")] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights", metavar="counts|tf-idf", help="Default: tf-idf with a --similarity."
        ),
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", min=1, help="Cluster N units chosen at random.")
    ] = None,
    views: Annotated[
        str | None,
        typer.Option(
            "--views",
            metavar="NAME,…",
            help="Views of the units, for plugins that take several matrices: words, names,"
            " source, subjects, keywords.",
        ),
    ] = None,
    neighbours: Annotated[
        int | None,
        typer.Option(
            "--neighbours",
            min=1,
            metavar="M",
            help="Compare only the M most similar units of each, found in blocks by the workers.",
        ),
    ] = None,
    lang: Lang = None,
    seed: Seed = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Start even if the memory may not suffice.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the clusters to a .csv or .jsonl file."
        ),
    ] = None,
) -> None:
    """Cluster the stored units, or a matrix file, from scratch.

    Prints an estimate of memory and time first, and refuses what does not fit. Shows the size,
    the heaviest words and some headlines of each cluster; --output writes the cluster of each
    unit (unit, document, start, end, cluster), which `compare` accepts. --workers share the starts
    of a clusterer, or find neighbours.

    Example: segapsith cluster --similarity gvsm-cov --clusterer ahc -k 30 --store wire.db

    Example: segapsith cluster -k 30 --output clusters.csv --store wire.db

    Example: segapsith cluster --similarity gvsm-cov --clusterer ahc -k 30 --neighbours 20

    Example: segapsith cluster --similarity mvsim --views words,names,source --clusterer ahc -k 30
    """
    from segapsith.evaluation.views import parse_views

    names = None if views is None else parse_views(views)
    if names is not None and matrix is not None:
        raise UsageError("--views are made from the store; divide a matrix with --set views=N")
    _check_output(output, of_matrix=matrix is not None)
    choice: dict[str, Any] = {
        "clusterer": clusterer,
        "similarity": similarity,
        "settings": context.settings.plugins,
        "k": k,
        "weights": weights,
        "sample": sample,
        "seed": seed,
        "force": force,
        "neighbours": neighbours,
    }
    with context.wire(create=matrix is not None) as wire, context.out.progress() as progress:
        if neighbours is None and context.flags["workers"] is not None:
            _check_parts(wire, clusterer)

        def announce(cost: object) -> None:
            context.out.say(str(cost))
            progress.update("clustering …")

        progress.update("measuring a few units …")
        if matrix is not None:
            result: Record = _cluster_matrix(wire, matrix, on_estimate=announce, **choice)
        else:
            result = wire.cluster(lang=lang, views=names, on_estimate=announce, **choice)
    if output is not None:
        output.write_text(_assignment(result["assignment"], output.suffix), encoding="utf-8")
    context.show(result, lambda out: _text(result, output, out))


def _text(result: Record, output: Path | None, out: Output) -> None:
    run = f"run {result['run']}: " if "run" in result else ""
    out.line(
        f"{run}{counted(result['units'], 'unit')} in {counted(result['clusters'], 'cluster')}, {result['seconds']:.1f} s"
    )
    for name, value in result.get("scores", {}).items():
        write(f"{name:16} {value:.4f}")
    _show_groups(result.get("groups", []), out)
    if output is not None:
        out.line(f"the cluster of each unit is in {output}")


def _check_parts(wire: Wire, clusterer: str) -> None:
    """Raise an error if a clusterer does its work as one part, so that workers cannot share it."""
    from segapsith.plugin.contracts import clusters_in_parts

    registry = wire.factory.registry
    if not clusters_in_parts(registry.make("clusterer", clusterer)):
        raise UsageError(
            f"{clusterer} has no starts that --workers could share: give --neighbours M, leave out"
            f" --workers, or use {', '.join(registry.having('clusterer', clusters_in_parts))}"
        )


def _check_output(output: Path | None, *, of_matrix: bool) -> None:
    """Raise an error for a file that cannot be written, before anything is computed."""
    if output is None:
        return
    if output.suffix not in TABLE_ENDINGS and not of_matrix:
        raise UsageError(f"--output {output} should end in {' or '.join(TABLE_ENDINGS)}")
    if not output.absolute().parent.is_dir():
        raise MissingInputError(f"--output {output}: there is no directory {output.parent}")


def _assignment(rows: Sequence[Record], ending: str) -> str:
    """Return units with their clusters as a table; for other endings only the clusters, in lines."""
    if ending == ".jsonl":
        return "".join(json.dumps(dict(row.items()), ensure_ascii=False) + "\n" for row in rows)
    out = io.StringIO()
    if ending == ".csv":
        columns = list(rows[0]) if rows else ["unit", "document", "start", "end", "cluster"]
        table = csv.DictWriter(out, columns, lineterminator="\n")
        table.writeheader()
        table.writerows(dict(row.items()) for row in rows)
    else:
        out.writelines(f"{-1 if row['cluster'] is None else row['cluster']}\n" for row in rows)
    return out.getvalue()


def _show_groups(groups: Sequence[Record], out: Output) -> None:
    """Print the clusters, largest first: size, heaviest words, headlines."""
    shown = groups[:MAX_SHOWN] if on_terminal() and not out.wide else groups
    for group in shown:
        n_units = group["units"]
        write(f"\ncluster {group['cluster']}: {n_units} unit{'' if n_units == 1 else 's'}")
        out.cut(f"  {', '.join(group['words'])}")
        for headline in group["headlines"]:
            out.cut(f"  - {headline}")
    if len(shown) < len(groups):
        out.line(
            f"\n{len(groups) - len(shown)} smaller clusters are not shown"
            " (--wide, --output FILE or --json shows all)"
        )


def _cluster_matrix(
    wire: Wire, path: Path, *, weights: str | None, sample: int | None, seed: int, **choice: Any
) -> dict[str, Any]:
    """Cluster a matrix file, by the choice of a `Grouping`; with scores if it has labels."""
    from segapsith.api.clustering import Grouping, cluster_rows
    from segapsith.evaluation.clustering import sample_rows, weight_rows

    rows, classes = _read(path)
    grouping = Grouping(**{**choice, "settings": {"seed": seed, **choice["settings"]}})
    if classes is not None and grouping.k is None and grouping.similarity is None:
        grouping = replace(grouping, k=len(set(classes)))
    part, numbers = sample_rows(rows, sample or rows.shape[0], seed)
    part = weight_rows(part, weights, grouping.similarity)
    labels, cost, seconds = cluster_rows(wire.factory, part, grouping)
    result: dict[str, Any] = {
        "units": len(labels),
        "clusters": int(labels.max(initial=-1)) + 1,
        "assignment": [
            {"row": row, "cluster": None if label < 0 else label}
            for row, label in zip(numbers.tolist(), labels.tolist(), strict=True)
        ],
        "estimate": {"bytes": cost.bytes, "seconds": round(cost.seconds, 1)},
        "seconds": round(seconds, 3),
    }
    if classes is not None:
        result["scores"] = _scores(labels.tolist(), [classes[i] for i in numbers.tolist()])
    return result


def _scores(labels: list[int], classes: list[str]) -> dict[str, float]:
    from segapsith.evaluation import metrics

    return {
        "micro_precision": metrics.micro_precision(labels, classes),
        "nmi": metrics.nmi(labels, classes),
        "ari": metrics.ari(labels, classes),
        "f_measure": metrics.f_measure(labels, classes),
        "entropy": metrics.entropy(labels, classes),
        "purity": metrics.purity(labels, classes),
        "bcubed_f1": metrics.bcubed(labels, classes).f1,
    }


def _read(path: Path) -> tuple[Rows, list[str] | None]:
    """Return the matrix of a file, and the labels beside it if there are as many as rows."""
    from segapsith.io.count_matrices import read_matrix

    if not path.is_file():
        raise MissingInputError(f"{path}: there is no such file")
    rows = read_matrix(path).astype(float)
    beside = path.with_name("labels.txt")
    if not beside.is_file():
        return rows, None
    classes = beside.read_text(encoding="utf-8").splitlines()
    return rows, classes if len(classes) == rows.shape[0] else None
