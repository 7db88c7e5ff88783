#!/usr/bin/env python
"""The nightly steps on two months of French agency news: seconds of each step and kappa, by night.

The data is `orangesum-fr`, May and June 2020, with the default settings, cut into batches of equal
size. Each night ingests one batch, merges and splits domains, reassigns units, validates, and writes
the report.

    scripts/bench nights                              30 nights
    scripts/bench nights --nights 5 --articles 600    a small run
    scripts/bench nights --stability 0                without clustering halves of the units
    scripts/bench nights --seeds 5                    kappa after the last night only, by five seeds
    scripts/bench nights --seeds 5 --units passages   the same with the default segmenter
    scripts/bench nights --seeds 5 --units passages --set segmenter.penalty=1.6

Writes nights.csv, nights-kappa.svg and nights-seconds.svg into --output (default: out/) after every
night, so that an interrupted run has its charts. Seconds are processor time. With --seeds nothing is
written.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from segapsith.api.wire import Wire
from segapsith.report.charts import curves
from segapsith.report.charts.svg import number, picture, standalone, tag, text
from segapsith.settings import resolve

DATA = Path(
    os.environ.get("SEGAPSITH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
MONTHS = ("2020-05", "2020-06")
STEPS = ("ingest", "merge", "split", "reassign", "validate", "report")
COLUMNS = ("night", "articles", *STEPS, "stable", "share", "kappa", "low", "high", "ari",
           "n_merged", "n_split", "n_moved")  # fmt: skip
COLOURS = ("#1f6f8b", "#7a9e3f", "#c2702b", "#8a5ba8", "#b9434c", "#8b98a5")


def articles(most: int | None) -> list[dict[str, Any]]:
    """Return the stories of the two months in the order of their dates."""
    with gzip.open(DATA / "orangesum-fr" / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        items = [item for line in lines if (item := json.loads(line))["date"][:7] in MONTHS]
    items.sort(key=lambda item: (item["date"], str(item["id"])))
    return [
        {
            "id": str(i["id"]),
            "date": i["date"],
            "lang": "fr",
            "title": i["title"],
            "text": i["text"],
        }
        for i in items[:most]
    ]


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    result = work()
    return round(time.process_time() - began, 2), result


def maintain(wire: Wire, batch: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Ingest a batch and maintain domains; return the seconds of each step and the changes."""
    row: dict[str, Any] = {"articles": len(batch)}
    looked = wire.writer.number(
        "SELECT coalesce(max(id), 0) FROM runs WHERE command IN ('ingest', 'merge --auto', 'split --auto')"
    )
    row["ingest"], _ = timed(lambda: wire.ingest(batch))
    row["merge"], merges = timed(lambda: wire.domains.merge_similar(since=looked))
    row["split"], splits = timed(lambda: wire.domains.split_broad(after=looked))
    row["reassign"], moves = timed(wire.domains.reassign)
    counts = {"n_merged": merges["merged"], "n_split": splits["split"], "n_moved": moves["moved"]}
    return row | counts


def night(wire: Wire, batch: Sequence[Mapping[str, Any]], stability: int) -> dict[str, Any]:
    """Run one night; return the seconds of each step and the validation."""
    row = maintain(wire, batch)
    row["validate"], found = timed(lambda: wire.validate(stability=stability))
    row["report"], _ = timed(wire.report)
    interval = found["kappa_interval"] or {}
    return row | {
        "stable": found["domains"], "share": found["share"], "kappa": found["kappa"]["greedy"],
        "low": interval.get("low"), "high": interval.get("high"), "ari": found["ari"],
    }  # fmt: skip


def print_seeds(wire: Wire, n_seeds: int) -> None:
    """Print the share of units in stable domains, and kappa by seeds of the recomputed clusters."""
    found = [wire.validate(stability=0, seed=seed) for seed in range(n_seeds)]
    kappas = [one["kappa"]["greedy"] for one in found]
    print(f"stable {found[0]['domains']} share {found[0]['share']:.3f}", end=" ")
    print(f"kappa {sum(kappas) / n_seeds:.3f}:", *(f"{kappa:.3f}" for kappa in kappas))


def seconds(rows: Sequence[Mapping[str, Any]]) -> Markup:
    """Draw the steps of every night as stacked bars."""
    width, height, left, foot = 960.0, 260.0, 46.0, 40.0
    most = max(sum(row[step] for step in STEPS) for row in rows)
    step_width = (width - left - 20) / len(rows)
    parts = []
    for share in (0.0, 0.5, 1.0):
        y = height - foot - (height - foot - 16) * share
        parts.append(tag("path", d=f"M{left} {number(y)}H{width - 20}", class_="rule"))
        parts.append(text(left - 6, y + 4, f"{most * share:.0f} s", "tick", "end"))
    for place, row in enumerate(rows):
        y = height - foot
        for step, colour in zip(STEPS, COLOURS, strict=True):
            tall = (height - foot - 16) * row[step] / most
            y -= tall
            told = tag("title", f"night {row['night']}, {step}: {row[step]} s")
            parts.append(
                tag("rect", told, x=left + place * step_width + 1, y=y,
                    width=max(step_width - 2, 1), height=tall, fill=colour)
            )  # fmt: skip
        if place % 5 == 0:
            middle = left + (place + 0.5) * step_width
            parts.append(text(middle, height - 24, str(row["night"]), "tick", "middle"))
    for place, (step, colour) in enumerate(zip(STEPS, COLOURS, strict=True)):
        parts.append(
            tag("rect", x=left + 130 * place, y=height - 14, width=12, height=10, fill=colour)
        )
        parts.append(text(left + 130 * place + 17, height - 5, step, "tick"))
    return picture(width, height, "seconds of processor of each step, night by night", parts)


def write(output: Path, rows: Sequence[Mapping[str, Any]], history: Sequence[Any]) -> None:
    output.mkdir(parents=True, exist_ok=True)
    with (output / "nights.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(rows)
    kappa = curves.over_time(
        history, "kappa and the share of units in stable domains, night by night"
    )
    for name, drawn in (("nights-kappa.svg", kappa), ("nights-seconds.svg", seconds(rows))):
        (output / name).write_text(standalone(drawn), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--articles", type=int, default=None, help="number of articles to read")
    parser.add_argument(
        "--stability", type=int, default=3, help="number of halves of the units to cluster"
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=0,
        help="validate after the last night only, by this many seeds",
    )
    parser.add_argument("--units", choices=("articles", "passages"), default="articles")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a number for a setting of a plugin, such as segmenter.penalty=1.6",
    )
    parser.add_argument("--output", type=Path, default=Path("out"))
    chosen = parser.parse_args()
    stories = articles(chosen.articles)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        whole = {"segmenter": "none"} if chosen.units == "articles" else {}
        given = (one.partition("=") for one in chosen.set)
        plugins = {name: float(value) for name, _, value in given}
        settings = resolve({"lang": "fr", **whole}, plugins, environment={})
        with Wire(Path(place) / "nights.db", settings) as wire:
            for n in range(chosen.nights):
                first, last = (len(stories) * i // chosen.nights for i in (n, n + 1))
                if chosen.seeds:
                    maintain(wire, stories[first:last])
                    continue
                found = night(wire, stories[first:last], chosen.stability)
                rows.append({"night": n + 1, **found})
                print(" ".join(f"{k} {rows[-1][k]}" for k in COLUMNS), flush=True)
                write(chosen.output, rows, wire.validation.history())
            if chosen.seeds:
                print_seeds(wire, chosen.seeds)


if __name__ == "__main__":
    main()
