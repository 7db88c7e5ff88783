"""`classify`: the domains that a text belongs to."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from segapsith.cli.context import Context, command
from segapsith.cli.domains import path_of
from segapsith.cli.options import ANNOTATOR, LANG, SEGMENTER, SETS
from segapsith.cli.output import Output, write
from segapsith.errors import InputError, MissingInputError
from segapsith.model import Record

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    app.command("classify")(classify)


@command(LANG, ANNOTATOR, SEGMENTER, SETS)
def classify(
    context: Context,
    text: Annotated[
        str,
        typer.Argument(metavar="TEXT|FILE|-", help="A text, a file, or - for standard input."),
    ],
    *,
    top: Annotated[int, typer.Option("--top", min=1, help="Domains to show of each unit.")] = 3,
) -> None:
    """Show which domains a text belongs to; nothing is learned.

    Each domain is shown with its section and topic: section › topic › domain.

    Example: segapsith classify "The river rose over its banks." --store wire.db
    """
    content = _content(text)
    with context.wire() as wire:
        result = wire.classify(content, top=top)
    context.show(result, lambda out: _text(result, content, out))


def _text(result: Record, content: str, out: Output) -> None:
    for unit in result["units"]:
        words = " ".join(content[unit["start"] : unit["end"]].split())
        out.cut(f"{unit['start']}-{unit['end']}  {words[:200]}")
        for near in unit["domains"]:
            words = ", ".join(w["word"] for w in near["words"][:8])
            sign = "→" if near["joins"] and unit["kept"] else " "
            out.line(f"  {sign} {near['score']:.3f}  {path_of(near)}", indent=" " * 11)
            out.cut(f"           {words}")
        if not unit["domains"]:
            write("    no domain has any of its words")


def _content(text: str) -> str:
    """Return the text: from standard input, from a file, or the argument itself."""
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
            f"{text}: more than {limits.MAX_WHOLE_BYTES:,} bytes; that is too long for a text"
        )
    if is_binary(data[:4096]):
        raise InputError(f"{text} is not a text")
    return decoded(data)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a file name, or with characters that none has
        return False
