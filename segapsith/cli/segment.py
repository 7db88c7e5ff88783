"""`segment`: the units of one text, and the curve that they were cut by."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.options import ANNOTATOR, LANG, SEGMENTER, SETS
from segapsith.cli.output import Output, write
from segapsith.errors import InputError, MissingInputError

if TYPE_CHECKING:
    from segapsith.api.segmentation import Segment, Segmentation

__all__ = ["add_to", "drawing", "sparks"]

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 72
_TOP = 8
"""Words of a unit that are shown."""


def add_to(app: typer.Typer) -> None:
    app.command("segment")(segment)


@command(SEGMENTER, ANNOTATOR, LANG, SETS)
def segment(
    context: Context,
    source: Annotated[
        str, typer.Argument(metavar="FILE|-", help="A text file, or - for standard input.")
    ],
    *,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw the curve and the units.")
    ] = None,
) -> None:
    """Split a text into thematic units; nothing is learned.

    Uses the co-occurrence network and the terms of the store, if there is one.

    Example: segapsith segment story.txt --segmenter cohesion --svg story.svg
    """
    from segapsith.api.segmentation import segmentation

    text = _read(source)
    settings = context.settings
    segmenter = settings.reading.segmenter
    named = settings.origins["store"] != "default"
    result = segmentation(
        text,
        settings.reading.lang,
        segmenter,
        settings.reading.annotator,
        context.path if named or os.path.exists(context.path) else None,
        settings.plugins,
        context.registry(),
    )
    if result.in_the_dark:
        context.out.say(
            f"{segmenter} needs the co-occurrence network, which has no links yet, so the text is"
            " one unit; `segapsith ingest` learns a network, `segapsith network build CORPUS`"
            " builds one from a corpus"
        )
    if svg is not None:
        name = "standard input" if source == "-" else Path(source).name
        svg.write_text(drawing(result, len(text), name), encoding="utf-8")
    context.show(result, lambda out: _text(result, text, out))


def _read(source: str) -> str:
    """Return the text of a file or of standard input."""
    if source == "-":
        data = sys.stdin.buffer.read()
    else:
        path = Path(source)
        if not path.exists():
            raise MissingInputError(f"there is no file {source}")
        if path.is_dir():
            raise InputError(f"{source} is a directory; name a file")
        data = path.read_bytes()
    from segapsith.io.encoding import decoded, is_binary

    if is_binary(data[:4096]):
        raise InputError(f"{source} is not a text")
    return decoded(data)


def _text(result: Segmentation, text: str, out: Output) -> None:
    if not result.units:
        write("no units: the text has no words")
    if result.curve:
        write(sparks(result.places, result.curve, len(text)))
        write(_ruler([unit.start for unit in result.units[1:]], len(text)))
    for number, unit in enumerate(result.units, 1):
        dropped = "" if unit.kept else ", not learned from"
        out.line(
            f"unit {number}: characters {unit.start}-{unit.end},"
            f" cohesion {unit.cohesion:.3f}{dropped}"
        )
        opening = " ".join(text[unit.start : unit.end].split())
        write(f"  “{opening[:60]}{'…' if len(opening) > 60 else ''}”")
        out.line(f"  words: {_listed(unit.words)}")
        if unit.inferred:
            out.line(f"  inferred: {_listed({w: round(v, 2) for w, v in unit.inferred.items()})}")


def _best(unit: Segment) -> list[str]:
    return [w for w, _ in sorted(unit.words.items(), key=lambda e: (-e[1], e[0]))]


def _listed(words: Mapping[str, float]) -> str:
    ranked = sorted(words.items(), key=lambda entry: (-entry[1], entry[0]))
    shown = ", ".join(f"{word} {value:g}" for word, value in ranked[:_TOP])
    return shown + (f" and {len(ranked) - _TOP} more" if len(ranked) > _TOP else "")


def sparks(places: Sequence[int], values: Sequence[float], length: int) -> str:
    """Return a curve over a text as one line of bars; a blank where it has no value.

    >>> sparks([0, 50, 99], [0.0, 1.0, 0.5], 100)[:1], len(sparks([0], [1.0], 100))
    ('▁', 72)
    """
    columns: list[list[float]] = [[] for _ in range(_WIDTH)]
    for place, value in zip(places, values, strict=True):
        columns[min(_WIDTH - 1, place * _WIDTH // max(length, 1))].append(value)
    low, high = min(values), max(values)
    line, last = "", " "
    for column in columns:
        if column:
            mean = sum(column) / len(column)
            last = _BARS[int((mean - low) / (high - low) * 7.999) if high > low else 3]
        line += last
    return line


def _ruler(cuts: Sequence[int], length: int) -> str:
    marks = {min(_WIDTH - 1, cut * _WIDTH // max(length, 1)) for cut in cuts}
    return "".join("│" if i in marks else "·" for i in range(_WIDTH))


_STYLE = (
    "svg{color-scheme:light dark;font:12px sans-serif}text{fill:#222}.muted{fill:#667}"
    ".curve{fill:none;stroke:#2563eb;stroke-width:1.5}.cut{stroke:#dc2626;stroke-dasharray:3 3}"
    ".axis{stroke:#99a}.ground{fill:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#eee}.muted{fill:#aab}.curve{stroke:#7aa7ff}"
    ".cut{stroke:#ff8a8a}.ground{fill:#16181d}}"
)


def drawing(result: Segmentation, length: int, name: str) -> str:
    """Return an SVG picture of the curve, the boundaries and the words of the units."""
    width, top, height, line = 800, 40, 160, 18
    left, right = 20, width - 20
    bottom = top + height
    total = bottom + 24 + line * len(result.units) + 12

    def across(place: int) -> float:
        return round(left + (right - left) * place / max(length, 1), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {total}" role="img">',
        f"<title>{_clean(f'Units of {name}')}</title><style>{_STYLE}</style>",
        f'<rect class="ground" width="{width}" height="{total}"/>',
        f'<text x="{left}" y="24">{_clean(name)}: {len(result.units)} units</text>',
        f'<line class="axis" x1="{left}" y1="{bottom}" x2="{right}" y2="{bottom}"/>',
    ]
    if result.curve:
        low, high = min(result.curve), max(result.curve)
        span = (high - low) or 1.0
        # more points than the picture has columns cannot be seen
        step = max(1, len(result.curve) // (2 * width))
        points = " ".join(
            f"{across(place)},{round(bottom - height * (value - low) / span, 1)}"
            for place, value in zip(result.places[::step], result.curve[::step], strict=True)
        )
        parts.append(f'<polyline class="curve" points="{points}"/>')
    for unit in result.units[1:]:
        x = across(unit.start)
        parts.append(f'<line class="cut" x1="{x}" y1="{top}" x2="{x}" y2="{bottom}"/>')
    for number, unit in enumerate(result.units, 1):
        middle = round((across(unit.start) + across(unit.end)) / 2, 1)
        parts.append(
            f'<text class="muted" x="{middle}" y="{bottom + 14}" text-anchor="middle">{number}</text>'
        )
        words = _clean(", ".join(_best(unit)[:_TOP]))
        parts.append(f'<text x="{left}" y="{bottom + 24 + line * number}">{number}. {words}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _clean(text: str) -> str:
    """Return the characters that XML allows, escaped."""
    return escape("".join(c for c in text if c.isprintable()))
