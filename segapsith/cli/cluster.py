"""`cluster`: a clustering recomputed with any measure and any clusterer."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from segapsith.cli.output import Progress, on_terminal, say, show_json, write
from segapsith.cli.status import must_exist
from segapsith.errors import MissingInputError, UsageError
from segapsith.settings import CLUSTERER

if TYPE_CHECKING:
    from segapsith.api.wire import Wire
    from segapsith.arrays import Rows

__all__ = ["add_to"]

TABLES = (".csv", ".jsonl")
"""Endings of files that units are written to with their clusters."""

MOST_SHOWN = 20
"""Clusters that are shown on a terminal."""


def add_to(app: typer.Typer) -> None:
    app.command("cluster")(cluster)


def cluster(
    matrix: Annotated[
        Path | None,
        typer.Argument(
            metavar="[MATRIX]",
            help="An .npz count matrix instead of the store; labels.txt beside it is the gold.",
        ),
    ] = None,
    similarity: Annotated[
        str | None, typer.Option("--similarity", metavar="NAME", help="What compares two units.")
    ] = None,
    clusterer: Annotated[
        str, typer.Option("--clusterer", metavar="NAME", help="What groups them.")
    ] = CLUSTERER,
    k: Annotated[int | None, typer.Option("-k", min=1, help="Number of clusters.")] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights", metavar="counts|tf-idf", help="Default: tf-idf if a similarity is named."
        ),
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", min=1, help="Cluster so many units drawn at random.")
    ] = None,
    views: Annotated[
        str | None,
        typer.Option(
            "--views",
            metavar="NAME,…",
            help="Sides to see the units from: words, names, source, subjects, keywords;"
            " for what takes several matrices.",
        ),
    ] = None,
    lang: Annotated[str | None, typer.Option("--lang", help="Only this language.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of what is random.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Start although memory is short.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the clusters there: .csv or .jsonl."
        ),
    ] = None,
    store: StorePath = None,
    sets: Sets = None,
    config: Config = None,
    wait: Wait = None,
    strict_plugins: StrictPlugins = False,
    no_plugins: NoPlugins = False,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Recompute a clustering of the stored units, or of a matrix file.

    Says first how much memory and time it will take, and refuses what does not fit. Shows the size,
    the best words and some headlines of each cluster; --output writes the cluster of each unit (unit,
    document, start, end, cluster). `compare` takes such a file.

    Example: segapsith cluster --similarity gvsm-cov --clusterer ahc -k 30 --store wire.db

    Example: segapsith cluster -k 30 --output clusters.csv --store wire.db

    Example: segapsith cluster --similarity mvsim --views words,names,source --clusterer ahc -k 30
    """
    from segapsith.evaluation.views import parse_views

    sides = None if views is None else parse_views(views)
    if sides is not None and matrix is not None:
        raise UsageError("--views are made from the store; cut a matrix with --set views=N")
    _check_output(output, of_matrix=matrix is not None)
    chosen = context.settings(store=store, config=config, wait=wait, sets=sets)
    if matrix is None:
        must_exist(str(chosen["store"]))
    progress = Progress(not (quiet or as_json))

    def told(cost: Any) -> None:
        if not quiet:
            say(str(cost))
        progress.update("clustering …")

    with context.wire(chosen, strict=strict_plugins, only_own=no_plugins) as wire:
        progress.update("trying on a few units …")
        try:
            if matrix is not None:
                result = _matrix(
                    wire,
                    matrix,
                    clusterer,
                    similarity,
                    k,
                    weights,
                    sample,
                    seed,
                    force,
                    told,
                )
            else:
                result = wire.cluster(
                    clusterer=clusterer, similarity=similarity, settings=chosen.plugins, k=k,
                    weights=weights, sample=sample, seed=seed, lang=lang, force=force,
                    views=sides, on_estimate=told,
                ).as_json()  # fmt: skip
        finally:
            progress.end()
    if output is not None:
        output.write_text(_assignment(result["assignment"], output.suffix), encoding="utf-8")
    if as_json:
        show_json(result)
    elif not quiet:
        where = f"run {result['run']}: " if "run" in result else ""
        write(
            f"{where}{result['units']} units in {result['clusters']} clusters,"
            f" {result['seconds']:.1f} s"
        )
        for name, value in result.get("scores", {}).items():
            write(f"{name:16} {value:.4f}")
        _show_groups(result.get("groups", []))
        if output is not None:
            write(f"the cluster of each unit is in {output}")


def _check_output(output: Path | None, *, of_matrix: bool) -> None:
    """Refuse a file that could not be written, before anything is computed."""
    if output is None:
        return
    if output.suffix not in TABLES and not of_matrix:
        raise UsageError(f"--output {output} should end in {' or '.join(TABLES)}")
    if not output.absolute().parent.is_dir():
        raise MissingInputError(f"--output {output}: there is no directory {output.parent}")


def _assignment(rows: list[dict[str, Any]], ending: str) -> str:
    """Units and their clusters as a table; only the clusters, one a line, for other endings."""
    if ending == ".jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    out = io.StringIO()
    if ending == ".csv":
        columns = list(rows[0]) if rows else ["unit", "document", "start", "end", "cluster"]
        table = csv.DictWriter(out, columns, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    else:
        out.writelines(f"{-1 if row['cluster'] is None else row['cluster']}\n" for row in rows)
    return out.getvalue()


def _show_groups(groups: list[dict[str, Any]]) -> None:
    """The clusters, largest first: size, best words, headlines."""
    shown = groups[:MOST_SHOWN] if on_terminal() else groups
    for group in shown:
        n_units = group["units"]
        write(f"\ncluster {group['cluster']}: {n_units} unit{'' if n_units == 1 else 's'}")
        write(f"  {', '.join(group['words'])}")
        for headline in group["headlines"]:
            write(f"  - {headline}")
    if len(shown) < len(groups):
        write(
            f"\n{len(groups) - len(shown)} smaller clusters are not shown (--output FILE, --json)"
        )


def _matrix(
    wire: Wire,
    path: Path,
    clusterer: str,
    similarity: str | None,
    k: int | None,
    weights: str | None,
    sample: int | None,
    seed: int,
    force: bool,
    told: Any,
) -> dict[str, Any]:
    """A clustering of a matrix file, with scores if there are labels beside it."""
    from segapsith.api.clustering import cluster_rows
    from segapsith.evaluation.clustering import sample_rows, weight_rows

    rows, classes = _read(path)
    if classes is not None and k is None and similarity is None:
        k = len(set(classes))
    part, chosen = sample_rows(rows, sample or rows.shape[0], seed)
    settings = {"seed": seed, **wire.settings.plugins}
    part = weight_rows(part, weights, similarity)
    labels, cost, seconds = cluster_rows(
        wire.factory, part, clusterer, similarity, settings, k, force, told
    )
    result: dict[str, Any] = {
        "units": len(labels),
        "clusters": int(labels.max(initial=-1)) + 1,
        "assignment": [
            {"row": row, "cluster": None if label < 0 else label}
            for row, label in zip(chosen.tolist(), labels.tolist(), strict=True)
        ],
        "estimate": {"bytes": cost.bytes, "seconds": round(cost.seconds, 1)},
        "seconds": round(seconds, 3),
    }
    if classes is not None:
        result["scores"] = _scores(labels.tolist(), [classes[i] for i in chosen.tolist()])
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
    """The matrix of a file, and the labels beside it if there are as many as rows."""
    from segapsith.io.count_matrices import read_matrix

    if not path.is_file():
        raise MissingInputError(f"{path}: there is no such file")
    rows = read_matrix(path).astype(float)
    beside = path.with_name("labels.txt")
    if not beside.is_file():
        return rows, None
    classes = beside.read_text(encoding="utf-8").splitlines()
    return rows, classes if len(classes) == rows.shape[0] else None
