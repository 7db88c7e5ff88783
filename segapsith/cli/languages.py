"""`languages`: the language packs, and a test of one."""

from __future__ import annotations

import collections
import itertools
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

    Without a file, the stop words of the pack are the text.

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
    try:
        sample = file.read_text("utf-8") if file else " ".join(sorted(pack_of(code).stop_words))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {error}") from error
    facts = _checked(context, code, sample)
    context.show(facts, lambda out: _text(facts, out))
    if facts["letters outside words"] > MAX_LOST or not facts["positions exact"]:
        raise InputError(f"the pack {code!r} does not read this text whole")


def _checked(context: Context, code: str, text: str) -> dict[str, Any]:
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
    lost = [
        c for c, is_in in zip(text, covered.tolist(), strict=False) if c.isalpha() and not is_in
    ]
    exact = all(a < b for a, b in spans) and all(
        one[1] <= two[0] for one, two in itertools.pairwise(spans)
    )
    forms = [text[start:end].lower() for start, end in spans]
    content = np.asarray(annotation.content).tolist()
    changed = [lemma != form for lemma, form in zip(annotation.lemmas, forms, strict=True)]
    counts = collections.Counter(
        lemma for lemma, is_content in zip(annotation.lemmas, content, strict=True) if is_content
    )
    n = max(len(spans), 1)
    n_letters = max(sum(map(str.isalpha, text)), 1)
    return {
        "code": code,
        "name": pack_of(code).name,
        "words": len(spans),
        "sentences": len(annotation.sentences),
        "positions exact": exact,
        "letters outside words": round(len(lost) / n_letters, 3),
        "content share": round(sum(content) / n, 3),
        "lemma differs": round(sum(changed) / n, 3),
        "commonest": [word for word, _ in counts.most_common(20)],
    }


def _text(facts: dict[str, Any], out: Output) -> None:
    rows = [(name, value) for name, value in facts.items() if name != "commonest"]
    out.table(rows, ("check", "result"))
    out.line(f"commonest content words: {', '.join(facts['commonest']) or 'none'}")
