"""`languages`: the language packs, and a test of one."""

from __future__ import annotations

import collections
import itertools
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from segapsith.cli.context import Context, command, group
from segapsith.cli.output import Output
from segapsith.errors import InputError, UnknownNameError, did_you_mean

__all__ = ["add_to"]

MAX_LOST = 0.05
"""Share of letters outside words: endings after an apostrophe are no words of their own."""


def add_to(app: typer.Typer) -> None:
    languages = group(default=list_languages)
    languages.command("check")(check_language)
    app.add_typer(languages, name="languages")


@command()
def list_languages(context: Context) -> None:
    """List the language packs, with what each has; check one.

    Example: segapsith languages
    """
    rows = _rows(context)
    names = ("code", "name", "script", "lemmas", "stop words", "terms with", "names", "needs")
    context.show(rows, lambda out: out.table(([row[n] for n in names] for row in rows), names))


def _rows(context: Context) -> list[dict[str, Any]]:
    from segapsith.languages import pack_of

    registry = context.load_plugins()
    rows = []
    for code, package in sorted(registry.languages.items()):
        pack = pack_of(code)
        rows.append(
            {
                "code": code,
                "name": pack.name or code,
                "script": pack.script,
                "lemmas": pack.lemmatiser,
                "stop words": len(pack.stop_words),
                "terms with": " ".join(sorted({c[0] for c in pack.connectors})),
                "names": {"names": "by capitals"}.get(pack.capitals, "no"),
                "needs": f"segapsith[{pack.extra}]" if pack.extra else "",
                "package": package,
            }
        )
    return rows


@command()
def check_language(
    context: Context,
    code: Annotated[str, typer.Argument(metavar="CODE", help="The code of the language.")],
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A text in the language, in UTF-8.")
    ] = None,
) -> None:
    """Test a language pack on a text: positions, lost words, coverage, the commonest forms.

    Without a file, the text is the sample of the pack, or its stop words if it has none.

    Example: segapsith languages check de stories.txt
    """
    from segapsith.languages import pack_of

    registry = context.load_plugins()
    if code not in registry.languages:
        known = sorted(registry.languages)
        raise UnknownNameError(
            f"there is no language pack {code!r} (packs: {', '.join(known)})"
            f"{did_you_mean(code, known)}"
        )
    pack = pack_of(code)
    source = str(file) if file else "sample of the pack" if pack.sample else "its stop words"
    try:
        text = file.read_text("utf-8") if file else pack.sample or " ".join(sorted(pack.stop_words))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {error}") from error
    check = _checked(context, code, text, source)
    context.show(check.as_json(), lambda out: _text(check, out))
    if check.letters_outside_words > MAX_LOST or not check.positions_exact:
        raise InputError(f"the pack {code!r} does not read this text whole")


@dataclass(frozen=True, slots=True)
class _Check:
    """What the default annotator made of a text."""

    code: str
    name: str
    text: str
    words: int
    sentences: int
    positions_exact: bool
    letters_outside_words: float
    content_share: float
    lemma_differs: float
    commonest: list[str]

    def as_json(self) -> dict[str, Any]:
        return {name.replace("_", " "): value for name, value in asdict(self).items()}


def _checked(context: Context, code: str, text: str, source: str) -> _Check:
    """Return what the default annotator makes of a text."""
    import numpy as np

    from segapsith.languages import pack_of
    from segapsith.model import Document, Lexicon
    from segapsith.settings.sections import ANNOTATOR

    annotator = context.load_plugins().make("annotator", ANNOTATOR)
    (annotation,) = annotator.annotate([Document("sample", body=text, lang=code)], Lexicon())
    covered = np.zeros(len(text) + 1, bool)
    spans = annotation.spans.tolist()
    for start, end in spans:
        covered[start:end] = True
    letters = [is_in for c, is_in in zip(text, covered.tolist(), strict=False) if c.isalpha()]
    in_order = all(one[1] <= two[0] for one, two in itertools.pairwise(spans))
    forms = [text[start:end].lower() for start, end in spans]
    content = np.asarray(annotation.content).tolist()
    changed = [lemma != form for lemma, form in zip(annotation.lemmas, forms, strict=True)]
    counts = collections.Counter(itertools.compress(annotation.lemmas, content))
    return _Check(
        code=code,
        name=pack_of(code).name,
        text=source,
        words=len(spans),
        sentences=len(annotation.sentences),
        positions_exact=in_order and all(start < end for start, end in spans),
        letters_outside_words=round(letters.count(False) / max(len(letters), 1), 3),
        content_share=round(sum(content) / max(len(spans), 1), 3),
        lemma_differs=round(sum(changed) / max(len(spans), 1), 3),
        commonest=[word for word, _ in counts.most_common(20)],
    )


def _text(check: _Check, out: Output) -> None:
    rows = [(name, value) for name, value in check.as_json().items() if name != "commonest"]
    out.table(rows, ("check", "result"))
    out.line(f"commonest content words: {', '.join(check.commonest[:8]) or 'none'}")
