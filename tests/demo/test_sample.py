"""The bundled sample wires and their gold: shape, variety, and difficulty.

The last tests guard what makes the sample worth learning from: no single word gives a subject
away, and a plain TF-IDF single pass does not solve it.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SAMPLE = Path(__file__).resolve().parents[2] / "segapsith" / "demo" / "sample"
FIRST_DAY = date(2026, 3, 2)
DAYS = {FIRST_DAY + timedelta(days=n) for n in range(14)}
KINDS = {"story", "duplicate", "correction", "brief", "turn"}
WIRE_KEYS = ["id", "date", "lang", "source", "title", "text"]
GOLD_KEYS = ["id", "kind", "of", "paragraphs"]
LANGS = ("en", "fr", "de", "es")
LONG = ("en", "fr")
"""Languages of which the sample is a whole wire; the others have a short part of it."""
AT_LEAST = {"duplicate": 10, "correction": 6, "brief": 8, "turn": 12}
AT_LEAST_SHORT = {"duplicate": 2, "correction": 1, "brief": 1, "turn": 2}
THRESHOLDS = [round(0.02 * n, 2) for n in range(1, 26)]

# Function words that the baseline leaves out.
STOP_WORDS = {
    "en": """
        a about above across after again against all almost along already also although always am
        among an and another any anybody anyone anything are around as at away back be because been
        before behind being below beside between beyond both but by can cannot could did do does
        down during each either else even ever every everybody everything few for from had has
        have having he her here hers him himself his how however i if in inside instead into is it
        its itself just last least less let may me might mine more most much must my near neither
        never next no nobody none nor not nothing now of off often on once one only onto or other
        others our ours out outside over own per perhaps quite rather s said same say says several
        shall she should since so some somebody something still such t than that the their theirs
        them themselves then there these they this those though through thus till to together too
        towards under until up upon us very was we well were what when where whether which while
        who whom whose why will with within without would yet you your yours
    """,
    "fr": """
        a afin ai aient ainsi alors après assez au aucun aucune aujourd aura aurait auront aussi
        autant autre autres aux avaient avait avant avec avoir beaucoup bien c car ce ceci cela
        celle celles celui cent cependant ces cet cette ceux chaque chez ci comme comment contre d
        dans de deçà dehors déjà depuis derrière des dès desormais deux devant dix doit doivent donc
        dont du elle elles en encore entre es est et étaient était étant été être eu eut eux fait
        faire faut font fut hier hors hui il ils j jamais je jusqu jusque l la là laquelle le
        lequel les lesquels leur leurs lors lorsqu lorsque lui m ma mais malgré me même mêmes mes
        mieux moi moins mon n ne ni non nos notre nous on ont ou où par parce parmi pas pendant
        peu peut peuvent plus plusieurs pour pourquoi pourrait presque puis puisque qu quand que
        quel quelle quelles quelque quelques quels qui quoi s sa sans sauf se selon sera serait
        seront ses si sien soi soient soit son sont sous sur t ta tandis tant te tel telle tes toi
        ton toujours tous tout toute toutes très trois trop tu un une va vers voici voilà vos
        votre vous y
    """,
    "de": """
        aber als am an auch auf aus bei beide beiden bevor binnen bis damit danach darauf das dass
        davon dem den denn der deren des die dort durch eher ehe ein eine einem einen einer eines
        er erst es für gegen haben hat hatte hatten hieß ihm ihn ihr ihre im in ist jede kein keine
        man mehr mit nach nachdem nicht nie noch nun nur ob oder ohne schon sei seien sein seine
        seit selbst sich sie sind so soll sollen über um und unter vom von vor war waren warum was
        weil wenn wer werde werden wie wieder wird will wo wurde wurden würde zu zum zur zwei
    """,
    "es": """
        a al algunos allí ante antes así aún aunque bien cada como con contra cuando de del desde
        después día donde dos durante el él ella ellos en entre era eran es esa ese eso esos está
        están este fue había habían hasta hizo la las le les lo los luego más media menos mismo
        mucho muy nadie ni ningún ninguna no nos o otra otro para pero poco por porque pues que
        quien se según ser será si sin sobre solo son su sus también tendrá todos tras tres un una
        unas uno unos y ya
    """,
}


class Sample:
    """One language's wire and gold, line by line."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.wire = read_jsonl(SAMPLE / f"wire.{lang}.jsonl")
        self.gold = read_jsonl(SAMPLE / f"gold.{lang}.jsonl")

    def pairs(self, kind: str | None = None) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        lines = zip(self.wire, self.gold, strict=True)
        return [(w, g) for w, g in lines if kind is None or g["kind"] == kind]

    def original(self, identifier: str) -> dict[str, Any]:
        """The first wire line with this id, before any correction."""
        return next(w for w in self.wire if w["id"] == identifier)

    def paragraphs(self) -> list[tuple[str, str]]:
        """Every paragraph with its subject, in wire order."""
        return [
            (text, subject)
            for w, g in self.pairs()
            for text, subject in zip(split(w["text"]), g["paragraphs"], strict=True)
        ]


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert all(line.strip() for line in lines), f"{path.name} has blank lines"
    return [json.loads(line) for line in lines]


def split(text: str) -> list[str]:
    return text.split("\n\n")


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


@cache
def load(lang: str) -> Sample:
    return Sample(lang)


@pytest.fixture(params=LANGS)
def sample(request: pytest.FixtureRequest) -> Sample:
    lang = str(request.param)
    return load(lang)


@pytest.fixture(params=LONG)
def whole(request: pytest.FixtureRequest) -> Sample:
    """A language of which the sample is a whole wire."""
    return load(str(request.param))


# -- shape ---------------------------------------------------------------------------------------


def test_lines_have_the_agreed_keys(sample: Sample) -> None:
    for item in sample.wire:
        assert list(item) == WIRE_KEYS, item.get("id")
        assert all(isinstance(item[key], str) and item[key].strip() for key in WIRE_KEYS)
        assert item["lang"] == sample.lang
        assert re.fullmatch(rf"{sample.lang}-\d{{3}}", item["id"])
    for label in sample.gold:
        assert list(label) == GOLD_KEYS, label.get("id")
        assert label["kind"] in KINDS


def test_gold_follows_the_wire_line_by_line(sample: Sample) -> None:
    assert [w["id"] for w in sample.wire] == [g["id"] for g in sample.gold]


def test_text_is_stored_unescaped(sample: Sample) -> None:
    raw = (SAMPLE / f"wire.{sample.lang}.jsonl").read_text(encoding="utf-8")
    assert "\\u" not in raw
    assert "\r" not in raw


def test_dates_are_sorted_and_cover_the_fortnight(sample: Sample) -> None:
    dates = [datetime.fromisoformat(w["date"]) for w in sample.wire]
    assert all(d.tzinfo is not None for d in dates)
    assert dates == sorted(dates)
    assert {d.astimezone(UTC).date() for d in dates} == DAYS


def test_there_are_four_sources(sample: Sample) -> None:
    assert len({w["source"] for w in sample.wire}) == 4


def test_paragraphs_match_the_gold_and_are_not_stubs(sample: Sample) -> None:
    for w, g in sample.pairs():
        parts = split(w["text"])
        assert len(parts) == len(g["paragraphs"]), w["id"]
        assert all(part == part.strip() and "\n" not in part for part in parts), w["id"]
        assert all(len(part.split()) >= 12 for part in parts), w["id"]
        assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", s) for s in g["paragraphs"]), w["id"]


# -- counts --------------------------------------------------------------------------------------


def test_there_are_enough_items_of_every_kind(sample: Sample) -> None:
    counts = Counter(g["kind"] for g in sample.gold)
    long = sample.lang in LONG
    assert len(sample.wire) >= (165 if long else 34)
    for kind, least in (AT_LEAST if long else AT_LEAST_SHORT).items():
        assert counts[kind] >= least, kind


def test_every_subject_recurs(sample: Sample) -> None:
    stories: Counter[str] = Counter()
    days: defaultdict[str, set[str]] = defaultdict(set)
    for w, g in sample.pairs("story"):
        assert len(set(g["paragraphs"])) == 1, w["id"]
        assert 2 <= len(g["paragraphs"]) <= 4, w["id"]
        stories[g["paragraphs"][0]] += 1
        days[g["paragraphs"][0]].add(w["date"][:10])
    assert {s for g in sample.gold for s in g["paragraphs"]} == set(stories)
    n_subjects, n_stories, n_days = (13, 9, 5) if sample.lang in LONG else (6, 4, 4)
    assert len(stories) >= n_subjects
    assert min(stories.values()) >= n_stories
    assert min(len(d) for d in days.values()) >= n_days


@pytest.mark.parametrize("lang", ["de", "es"])
def test_a_short_part_has_subjects_of_the_english_one(lang: str) -> None:
    """So that links across languages can be checked against the labels."""
    english = {subject for _, subject in load("en").paragraphs()}
    assert {subject for _, subject in load(lang).paragraphs()} < english


def test_stories_do_not_repeat_each_other(sample: Sample) -> None:
    """No templates: a paragraph occurs once among the stories and turns, and so does a sentence."""
    seen: set[str] = set()
    for w, g in sample.pairs():
        if g["kind"] not in {"story", "turn"}:
            continue
        for sentence in re.split(r"(?<=[.!?»”\"])\s+", w["text"]):
            if len(sentence.split()) >= 5:
                assert sentence not in seen, (w["id"], sentence)
                seen.add(sentence)


# -- kinds ---------------------------------------------------------------------------------------


def test_only_corrections_reuse_an_id(sample: Sample) -> None:
    seen: set[str] = set()
    for w, g in sample.pairs():
        assert (w["id"] in seen) == (g["kind"] == "correction"), w["id"]
        seen.add(w["id"])


def test_of_names_an_earlier_item(sample: Sample) -> None:
    seen: set[str] = set()
    for w, g in sample.pairs():
        if g["kind"] in {"story", "turn"}:
            assert g["of"] is None, w["id"]
        else:
            assert g["of"] in seen, w["id"]
        seen.add(w["id"])


def test_duplicates_are_similar_and_from_another_source(sample: Sample) -> None:
    for w, g in sample.pairs("duplicate"):
        first = sample.original(g["of"])
        assert w["id"] != first["id"]
        assert w["source"] != first["source"], w["id"]
        assert (w["title"], w["text"]) != (first["title"], first["text"]), w["id"]
        a, b = words(first["text"]), words(w["text"])
        assert SequenceMatcher(None, a, b, autojunk=False).ratio() >= 0.8, w["id"]


def test_corrections_change_the_text_under_the_same_id(sample: Sample) -> None:
    marked = 0
    for w, g in sample.pairs("correction"):
        first = sample.original(g["id"])
        assert g["of"] == g["id"] == first["id"]
        assert w["text"] != first["text"], w["id"]
        assert w["date"] > first["date"], w["id"]
        a, b = words(first["text"]), words(w["text"])
        assert SequenceMatcher(None, a, b, autojunk=False).ratio() >= 0.6, w["id"]
        marked += bool(
            re.match(
                r"(CORRECTED|CORRECTION|CORRIGÉ|RECTIFICATIF|BERICHTIGUNG|CORRECCIÓN)\b", w["title"]
            )
        )
    assert marked >= (2 if sample.lang in LONG else 1)


def test_briefs_are_cut_from_a_longer_story(sample: Sample) -> None:
    for w, g in sample.pairs("brief"):
        whole, cut = split(sample.original(g["of"])["text"]), split(w["text"])
        assert w["id"] != g["of"]
        assert len(cut) < len(whole), w["id"]
        assert cut == whole[: len(cut)], w["id"]


def test_turns_have_two_subjects_and_one_switch(sample: Sample) -> None:
    for w, g in sample.pairs("turn"):
        subjects = g["paragraphs"]
        switches = [n for n in range(1, len(subjects)) if subjects[n] != subjects[n - 1]]
        assert len(switches) == 1, w["id"]
        assert switches[0] >= 2 and len(subjects) - switches[0] >= 2, w["id"]


def test_other_kinds_keep_to_one_subject(sample: Sample) -> None:
    for w, g in sample.pairs():
        if g["kind"] != "turn":
            assert len(set(g["paragraphs"])) == 1, w["id"]


# -- difficulty ----------------------------------------------------------------------------------


def word_f1(paragraphs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """F1 of every word as a detector of every subject that it occurs in."""
    sizes = Counter(subject for _, subject in paragraphs)
    anywhere: Counter[str] = Counter()
    together: Counter[tuple[str, str]] = Counter()
    for text, subject in paragraphs:
        for word in set(words(text)):
            anywhere[word] += 1
            together[subject, word] += 1
    return {(s, w): 2 * n / (anywhere[w] + sizes[s]) for (s, w), n in together.items()}


def test_no_single_word_identifies_a_subject(sample: Sample) -> None:
    scores = word_f1(sample.paragraphs())
    best = max(scores, key=lambda key: scores[key])
    assert scores[best] < 0.6, (best, scores[best])


def tfidf(units: Sequence[str], lang: str) -> np.ndarray:
    """Unit-length TF-IDF rows, with the idf of all the units."""
    stop = set(STOP_WORDS[lang].split())
    bags = [Counter(w for w in words(unit) if w not in stop) for unit in units]
    frequency = Counter(w for bag in bags for w in bag)
    column = {w: n for n, w in enumerate(frequency)}
    rows = np.zeros((len(units), len(column)))
    for row, bag in zip(rows, bags, strict=True):
        for w, n in bag.items():
            row[column[w]] = n * math.log(len(units) / frequency[w])
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms == 0, 1, norms)


def single_pass(rows: np.ndarray, threshold: float) -> list[int]:
    """Each row joins the cluster with the nearest centroid, or opens one below the threshold.

    Only the cosines of the row with the earlier rows are needed: a centroid's cosine is the sum
    over its members divided by the length of their sum.
    """
    gram = rows @ rows.T
    labels = np.zeros(len(rows), dtype=int)
    squares: list[float] = []  # squared length of the sum of each cluster's rows
    for n in range(len(rows)):
        if squares:
            dots = np.bincount(labels[:n], weights=gram[n, :n], minlength=len(squares))
            cosines = dots / np.sqrt(squares)
            best = int(np.argmax(cosines))
            if cosines[best] >= threshold:
                labels[n] = best
                squares[best] += 2 * float(dots[best]) + float(gram[n, n])
                continue
        labels[n] = len(squares)
        squares.append(float(gram[n, n]))
    return labels.tolist()


def bcubed_f1(labels: Sequence[int], classes: Sequence[str]) -> float:
    cluster, subject = Counter(labels), Counter(classes)
    both = Counter(zip(labels, classes, strict=True))
    precision = sum(n * n / cluster[c] for (c, _), n in both.items()) / len(labels)
    recall = sum(n * n / subject[s] for (_, s), n in both.items()) / len(labels)
    return 2 * precision * recall / (precision + recall)


def best_baseline(units: Sequence[str], classes: Sequence[str], lang: str) -> tuple[float, float]:
    """The best F1 over the thresholds, with its threshold."""
    rows = tfidf(units, lang)
    return max((bcubed_f1(single_pass(rows, t), classes), t) for t in THRESHOLDS)


def test_bcubed_on_known_clusterings() -> None:
    assert bcubed_f1([0, 0, 1], ["a", "a", "b"]) == 1
    assert bcubed_f1([0, 1, 2, 3], ["a", "a", "b", "b"]) == pytest.approx(2 / 3)
    assert bcubed_f1([0, 0, 0, 0], ["a", "a", "b", "b"]) == pytest.approx(2 / 3)


def test_single_pass_separates_plain_subjects() -> None:
    units = ["wheat barley silo", "jury verdict dock", "wheat silo mill", "jury dock alibi"]
    assert single_pass(tfidf(units, "en"), 0.1) == [0, 1, 0, 1]
    assert single_pass(tfidf(units, "en"), 1.0) == [0, 1, 2, 3]


@pytest.mark.slow
def test_plain_tfidf_does_not_solve_the_paragraphs(sample: Sample) -> None:
    texts, classes = zip(*sample.paragraphs(), strict=True)
    f1, threshold = best_baseline(texts, classes, sample.lang)
    assert f1 < 0.8, (f1, threshold)


@pytest.mark.slow
def test_plain_tfidf_does_not_solve_the_documents(whole: Sample) -> None:
    texts = [w["text"] for w in whole.wire]
    classes = [g["paragraphs"][0] for g in whole.gold]
    f1, threshold = best_baseline(texts, classes, whole.lang)
    assert f1 < 0.8, (f1, threshold)


def test_the_baseline_of_the_demo_is_the_same_method(sample: Sample) -> None:
    from segapsith.demo.sample import baseline

    texts, _ = zip(*sample.paragraphs(), strict=True)
    stop = set(STOP_WORDS[sample.lang].split())
    bags = [[w for w in words(text) if w not in stop] for text in texts]
    rows = tfidf(texts, sample.lang)
    theirs = baseline.tf_idf(bags)
    for threshold in (0.04, 0.1, 0.3):
        assert baseline.single_pass(theirs, threshold) == single_pass(rows, threshold)
