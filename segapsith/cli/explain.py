"""`explain` and `classify`: why a unit is where it is, and where a text would go."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from segapsith.cli import context
from segapsith.cli.options import CommandJson, CommandQuiet, Config, NoPlugins, Sets, StorePath
from segapsith.cli.output import show_json, table, write
from segapsith.errors import InputError, MissingInputError

__all__ = ["add_to"]

RATIOS = {
    "domain_weight": "of the domain's weight lies on shared words",
    "domain_occurrences": "of the domain's occurrences",
    "unit_weight": "of the unit's weight",
    "unit_occurrences": "of the unit's occurrences",
}


def add_to(app: typer.Typer) -> None:
    app.command("explain")(explain)
    app.command("classify")(classify)


def explain(
    unit: Annotated[int, typer.Argument(metavar="UNIT_ID", help="A unit; `show` lists them.")],
    store: StorePath = None,
    config: Config = None,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Why this unit is in this domain: shared words, the ratios of eq. 7, runner-up, margin.

    Example: segapsith explain 341 --store wire.db
    """
    from segapsith.api.wire import Wire

    chosen = context.settings(store=store, config=config)
    found = Wire(str(chosen["store"]), chosen).explain(unit)
    if as_json:
        show_json(found)
        return
    if quiet:
        return
    home, joined = found["domain"], found["joined"]
    write(f"unit {unit} of {found['document']}: {' '.join(found['text'].split())[:300]}")
    write(
        f"domain {home['id']} “{home['label']}” ({home['units']} units, {home['status']}{_topic(home)}):"
        f" score {found['score']:.3f}, margin {found['margin']:.3f}"
    )
    _ratios(found["ratios"])
    table(
        (
            (w["word"] + (" (inferred)" if w["inferred"] else ""), w["unit_weight"], w["count"],
             w["domain_weight"], w["occurrences"])
            for w in found["words"]
        ),
        ("shared word", "in unit", "times", "in domain", "units"),
    )  # fmt: skip
    alone = ", ".join(w["word"] for w in found["only_in_unit"])
    if alone:
        write(f"only in the unit: {alone}")
    other = found["runner_up"]
    if other is None:
        write("runner-up: none")
    else:
        took = f", which took {other['instead_of']}," if other["instead_of"] else ""
        write(
            f"runner-up: domain {other['id']} “{other['label']}”{took} score {other['score']:.3f}"
        )
        _ratios(other["ratios"])
    how = "founded it" if joined["founded"] else f"joined with {joined['score']:.3f}"
    other_measure = joined["placement"] not in (None, found["measure"])
    if joined["threshold"] is not None:
        by = f"placed by {joined['placement']}, " if joined["placement"] else ""
        how += f" ({by}threshold {joined['threshold']:.3f})"
    write(
        f"in run {joined['run']} it {how}, runner-up {joined['runner_up_score']:.3f}"
        + ("; the domain has changed since" if found["changed"] else "")
    )
    if other_measure:
        write(
            f"the ratios and the other scores are those of eq. 7; {joined['placement']} placed the unit"
        )
    if found["without"]:
        write(f"without this unit the domain would give it {found['without']['score']:.3f}")


def _topic(domain: Mapping[str, Any]) -> str:
    return "" if domain["topic"] is None else f", topic {domain['topic']}"


def _ratios(ratios: Mapping[str, float]) -> None:
    for name, meaning in RATIOS.items():
        write(f"  {100 * ratios[name]:5.1f} % {meaning}")


def classify(
    text: Annotated[
        str, typer.Argument(metavar="TEXT|FILE|-", help="A text, a file of it, or standard input.")
    ],
    top: Annotated[int, typer.Option("--top", min=1, help="Domains to show of each unit.")] = 3,
    lang: Annotated[str | None, typer.Option("--lang", help="Language: en, fr or auto.")] = None,
    annotator: Annotated[
        str | None, typer.Option("--annotator", metavar="NAME", help="From text to lemmas.")
    ] = None,
    segmenter: Annotated[
        str | None, typer.Option("--segmenter", metavar="NAME", help="From text to units.")
    ] = None,
    store: StorePath = None,
    sets: Sets = None,
    config: Config = None,
    no_plugins: NoPlugins = False,
    as_json: CommandJson = False,
    quiet: CommandQuiet = False,
) -> None:
    """Which domains a text belongs to, unit by unit; nothing is learned.

    Example: segapsith classify "The river rose over its banks." --store wire.db
    """
    chosen = context.settings(
        store=store, config=config, lang=lang, annotator=annotator, segmenter=segmenter, sets=sets
    )
    content = _content(text)
    with context.wire(chosen, only_own=no_plugins) as wire:
        found = wire.classify(content, top=top)
    if as_json:
        show_json(found)
        return
    if quiet:
        return
    for unit in found["units"]:
        write(f"{unit['start']}-{unit['end']}  {_excerpt(content, unit)}")
        for near in unit["domains"]:
            words = ", ".join(w["word"] for w in near["words"][:8])
            sign = "→" if near["joins"] and unit["kept"] else " "
            write(
                f"  {sign} {near['score']:.3f}  domain {near['id']}{_topic(near)}"
                f" “{near['label']}”: {words}"
            )
        if not unit["domains"]:
            write("    no domain has any of its words")


def _excerpt(text: str, unit: Mapping[str, Any]) -> str:
    words = " ".join(text[unit["start"] : unit["end"]].split())
    return words if len(words) <= 70 else words[:69] + "…"


def _content(text: str) -> str:
    """What was named: standard input, a file, or the text itself."""
    from segapsith import limits
    from segapsith.io.encoding import decoded, is_binary

    if text == "-":
        data = sys.stdin.buffer.read(limits.MAX_WHOLE_BYTES + 1)
    elif _is_file(text):
        with Path(text).open("rb") as stream:
            data = stream.read(limits.MAX_WHOLE_BYTES + 1)
    elif len(text.split()) == 1 and ("/" in text or Path(text).suffix):
        raise MissingInputError(f"there is no file {text}")
    else:
        return text
    if len(data) > limits.MAX_WHOLE_BYTES:
        raise InputError(
            f"{text}: more than {limits.MAX_WHOLE_BYTES:,} bytes is no text to classify"
        )
    if is_binary(data[:4096]):
        raise InputError(f"{text} is not a text")
    return decoded(data)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # a text that is too long for a name, or has odd characters
        return False
