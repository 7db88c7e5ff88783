"""Draw the pictures of the concepts from what the program computes.

`scripts/pictures_steps.py` writes the pictures of docs/concepts/how-it-learns.md and the curve of
docs/concepts/segmentation.md into docs/images. Tests draw them again and compare, so that no picture
shows another number than the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from markupsafe import Markup

import segapsith
from segapsith import compare
from segapsith.api.segmentation import segmentation
from segapsith.cli.segment import drawing
from segapsith.demo import sample
from segapsith.report.charts.svg import tag

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
TEXTS = (
    "The river flooded the valley after heavy rain.",
    "Heavy rain made the river rise again.",
    "The central bank kept its interest rate.",
    "The river fell and the valley dried.",
    "Interest rate cut expected from the central bank.",
    "Voters elect a new parliament on Sunday.",
)
"""The texts of the page; the test compares them."""
DIGEST = (
    "The river rose in the night after two days of rain. The water flooded the lower town and closed"
    " the bridge. Firefighters pumped water from cellars near the river. Rain is forecast again for"
    " the valley, and the river may rise once more. The party chose its candidate for the election"
    " in May. Voters elect a new parliament, and the party leads the polls. The candidate promised"
    " voters lower taxes before the election. The other party has not chosen a candidate. The"
    " goalkeeper of United broke a finger in training. United lost the match without their"
    " goalkeeper on Saturday. The coach of United wants a new goalkeeper before the next match."
)
"""A text with three subjects and no paragraphs."""
DOMAINS, CLUSTERS = (1, 1, 2, 1, 2, 3), (1, 1, 2, 2, 2, 3)
"""The partitions of step 8."""

STYLE = (
    "text{fill:#222}.b{fill:#eef2f6;stroke:#667}.d{fill:#dcecea;stroke:#366}.on{fill:#2a7f78}"
    ".off{fill:none;stroke:#bbc}.line{fill:none;stroke:#667}.limit{stroke:#b3261e;stroke-width:2}"
    ".s{font-size:12px}.m{text-anchor:middle}.e{text-anchor:end}.strong{font-weight:600}"
    "@media (prefers-color-scheme: dark){text{fill:#ddd}.b{fill:#2b3036;stroke:#99a}"
    ".d{fill:#1f3a38;stroke:#7bb}.on{fill:#5fb8b0}.off{stroke:#556}.line{stroke:#99a}"
    ".limit{stroke:#f2a19b}}"
)


def _picture(name: str, width: int, height: int, marks: Sequence[Markup]) -> str:
    shown = tag(
        "svg",
        tag("style", Markup(STYLE)),
        *marks,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=name,
        font_family="system-ui, sans-serif",
        font_size=14,
    )
    return f"{shown}\n".replace("><", ">\n<")


def _text(x: float, y: float, content: str, kind: str | None = None) -> Markup:
    return tag("text", content, x=x, y=y, class_=kind)


def _box(x: float, y: float, width: float, height: float, kind: str) -> Markup:
    return tag("rect", class_=kind, x=x, y=y, width=width, height=height, rx=4)


def _curve(x: float, y: float, to_x: float, to_y: float) -> Markup:
    middle = (x + to_x) / 2
    way = f"M{x:g} {y:g} C{middle:g} {y:g} {middle:g} {to_y:g} {to_x:g} {to_y:g}"
    return tag("path", class_="line", d=way)


def words_of_texts(words: Sequence[Sequence[str]]) -> str:
    """Draw which text has which word."""
    columns = list(dict.fromkeys(word for text in words for word in text))
    marks = []
    for column, word in enumerate(columns):
        x = 75 + column * 45
        turned = f"translate({x} 82) rotate(-50)"
        marks.append(tag("g", _text(0, 0, word, "s"), transform=turned))
    for row, text in enumerate(words):
        y = 102 + row * 26
        marks.append(_text(8, y + 5, f"text {row + 1}"))
        for column, word in enumerate(columns):
            kind = "on" if word in text else "off"
            marks.append(tag("circle", class_=kind, cx=75 + column * 45, cy=y, r=7))
    return _picture(
        "The content words of six texts", 90 + 45 * len(columns), 105 + 26 * len(words), marks
    )


def shares(values: Sequence[tuple[str, float]], score: float, threshold: float) -> str:
    """Draw the four shares of equation 7, their geometric mean and the threshold."""
    left, length = 300, 480
    marks = []
    rows = [*values, ("geometric mean", score)]
    for row, (name, value) in enumerate(rows):
        y = 14 + row * 34
        marks.append(_text(left - 12, y + 16, name, "e strong" if row == 4 else "e"))
        marks.append(_box(left, y, length, 22, "off"))
        marks.append(_box(left, y, round(length * value, 1), 22, "on" if row == 4 else "d"))
        marks.append(_text(left + length + 10, y + 16, f"{value:.3f}", "s"))
    bottom = 14 + 34 * len(rows)
    x = left + length * threshold
    marks.append(tag("path", class_="limit", d=f"M{x:g} 8 V{bottom}"))
    marks.append(_text(x + 6, bottom + 8, f"threshold {threshold:g}", "s"))
    return _picture("Text 2 and domain 1: four shares and their mean", 850, bottom + 16, marks)


def growth(stages: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    """Draw the weights of one domain after each text that joined it."""
    words = list(stages[-1][1])
    marks = []
    for column, (title, weights) in enumerate(stages):
        x = 80 + column * 255
        marks.append(_text(x, 18, title, "strong"))
        for row, word in enumerate(words):
            y = 30 + row * 22
            if column == 0:
                marks.append(_text(x - 10, y + 13, word, "s e"))
            weight = weights.get(word, 0.0)
            marks.append(_box(x, y, 150, 16, "off"))
            if weight:
                marks.append(_box(x, y, round(150 * weight, 1), 16, "d"))
                marks.append(_text(x + 158, y + 13, f"{weight:.2f}", "s"))
    return _picture(
        "The weights of domain 1 after each of its texts",
        80 + 255 * len(stages),
        38 + 22 * len(words),
        marks,
    )


def placements(
    words: Sequence[Sequence[str]],
    homes: Sequence[tuple[int, float | None]],
    domains: Sequence[tuple[int, str]],
) -> str:
    """Draw the way of each text into its domain, with its score."""
    tops = {identity: 42 + 93 * n for n, (identity, _) in enumerate(domains)}
    marks = []
    for row, (text, (home, score)) in enumerate(zip(words, homes, strict=True)):
        y = 15 + row * 51
        marks.append(_box(10, y, 290, 38, "b"))
        marks.append(_text(22, y + 24, f"{row + 1}  {' '.join(text)}"))
        marks.append(_curve(300, y + 19, 500, tops[home] + 28))
        label = f"starts {home}" if score is None else f"{score:.3f}"
        marks.append(_text(312, y + 12, label, "s"))
    for identity, content in domains:
        y = tops[identity]
        marks.append(_box(500, y, 350, 56, "d"))
        marks.append(_text(514, y + 23, f"domain {identity}", "strong"))
        marks.append(_text(514, y + 43, content, "s"))
    return _picture("Six texts become three domains", 860, 330, marks)


def contingency(domains: Sequence[int], clusters: Sequence[int], kappa: float) -> str:
    """Draw how many units each domain and each cluster have in common."""
    marks = []
    cell, left, top = 70, 110, 40
    for column in sorted(set(clusters)):
        marks.append(_text(left + (column - 0.5) * cell, top - 12, f"cluster {column}", "s m"))
    for row in sorted(set(domains)):
        y = top + (row - 1) * cell
        marks.append(_text(left - 12, y + cell / 2 + 5, f"domain {row}", "s e"))
        for column in sorted(set(clusters)):
            x = left + (column - 1) * cell
            pairs = zip(domains, clusters, strict=True)
            count = sum(pair == (row, column) for pair in pairs)
            marks.append(_box(x + 2, y + 2, cell - 4, cell - 4, "d" if row == column else "b"))
            marks.append(_text(x + cell / 2, y + cell / 2 + 6, str(count), "m strong"))
    agree = sum(a == b for a, b in zip(domains, clusters, strict=True))
    x = left + 3 * cell + 40
    marks.append(_text(x, top + 70, f"on the diagonal: {agree} of {len(domains)} units"))
    marks.append(_text(x, top + 100, f"kappa {kappa:.3f}", "strong"))
    return _picture("Domains and clusters have units in common", 640, 265, marks)


def drawn() -> dict[str, str]:
    """Return the pictures by the names of their files."""
    with segapsith.open(":memory:", lang="en", segmenter="none") as wire:
        stages, grown = [], (1, 2, 4)
        words: list[list[str]] = []
        homes: list[tuple[int, float | None]] = []
        for number, text in enumerate(TEXTS, 1):
            wire.ingest([{"id": f"t{number}", "text": text}])
            unit = wire.explain(number)
            words.append([word["word"] for word in unit["words"]])
            joined = unit["joined"]
            homes.append((unit["domain"]["id"], None if joined["founded"] else joined["score"]))
            if number == 2:  # the domain as it was before text 2 joined
                before = unit["without"]["ratios"]
            if number in grown:
                (first, *_) = (d for d in wire.domains(top=20) if d["id"] == 1)
                weights = {word["word"]: word["weight"] for word in first["words"]}
                stages.append((f"after text {number}", weights))
        second = wire.explain(2)
        threshold, score = second["joined"]["threshold"], second["joined"]["score"]
        ratios = [
            ("of the domain's weight", before["domain_weight"]),
            ("of the domain's occurrences", before["domain_occurrences"]),
            ("of the unit's weight", before["unit_weight"]),
            ("of the unit's occurrences", before["unit_occurrences"]),
        ]
        domains = [
            (d["id"], ", ".join(f"{w['word']} {w['weight']:.2f}" for w in d["words"]))
            for d in wire.domains(top=4)
        ]
    kappa = float(compare.kappa(list(DOMAINS), list(CLUSTERS)))
    return {
        "step-words.svg": words_of_texts(words),
        "step-placement.svg": shares(ratios, score, threshold),
        "step-growth.svg": growth(stages),
        "step-validation.svg": contingency(DOMAINS, CLUSTERS, kappa),
        "worked-example.svg": placements(words, homes, domains),
    }


def curve_of_digest() -> str:
    """Return the curve of a digest with three subjects, after the sample was read."""
    with TemporaryDirectory() as folder:
        store = Path(folder) / "wire.db"
        with segapsith.open(store) as wire:
            wire.ingest(sample.lines("en"))
        result = segmentation(DIGEST, "en", store=str(store))
    return drawing(result, len(DIGEST), "a digest")


if __name__ == "__main__":
    for name, picture in {**drawn(), "segmentation.svg": curve_of_digest()}.items():
        (IMAGES / name).write_text(picture, "utf-8")
        print(f"docs/images/{name}: {len(picture)} bytes")
