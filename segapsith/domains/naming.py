"""Names that people can read, for domains, topics, sections and events.

A label is a representative headline, else terms, else words. All functions here are pure. A label
that is computed again from the same evidence is the same, and of headlines that are nearly equally
good the oldest wins, so a label changes only if the evidence does. See
docs/decisions/016-labels-are-derived.md.

Words of a domain are lemmas, and headlines contain inflected forms. A word of a headline matches a
lemma if it begins like it. Scripts without blanks between words are searched for the word itself.
"""

from __future__ import annotations

import itertools
import math
import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

__all__ = [
    "MAX_CHARS",
    "NEARLY",
    "best_headline",
    "clean_headline",
    "contained",
    "contrasted",
    "covering",
    "distinct_labels",
    "first_sentence",
    "headline_score",
    "in_capitals",
    "joined_names",
    "known_words",
    "readable_words",
    "settled",
    "term_label",
    "tidy",
    "without_common_ends",
]

MIN_WORDS, MAX_WORDS = 4, 12
"""Words of a headline that may be a label."""

MAX_CHARS = 100
"""Characters of a label at most."""

NEARLY = 0.85
"""A headline is nearly as good as the best one from this share of its score."""

TERM_SHARE = 0.5
"""A multi-word term stands for its parts from this share of the weight of the heaviest part."""

SIDE_BY_SIDE = 0.6
"""Share of the occurrences of two names from which they are one term."""

MIN_SHARED = 3
"""Headlines of an item that must share an ending before it is removed."""

CACHED = 4096
"""Texts of which the words are remembered: headlines are looked at several times."""

MIN_LEMMA = 3
"""Letters of a word of a headline that is looked up."""

WITHIN = 100
"""Weight of a form within a sentence; one at the beginning of a sentence counts 1."""

_BEFORE = 8
"""Characters before a word that usually show whether it begins a sentence."""

CAPITALS = 0.6
"""Share of capital letters from which a text counts as written in capitals."""

_PREFIX = re.compile(
    r"^\W*(?:(?:urgent|breaking(?: news)?|flash|alert|alerte|exclusive|exclusif|exklusiv|eilmeldung|"
    r"update \d*|upd \d*|updated?|rpt|repeat|refile|corrected|correction|wrap-?up \d*|lead \d*|"
    r"\d+(?:st|nd|rd|th) (?:lead|update)|advisory|embargoed|factbox|snapshot|preview|insight|"
    r"instant view|newsmaker|scenarios|timeline|analysis|analyse|opinion|comment|video|vidéo|watch|"
    r"photos?|live|en direct|direct|audio|podcast|q&a|profile|interview|reportage|portrait|"
    r"papier d'angle|avant-papier|synthèse|lead général|récapitulatif|encadré)\s*(?:[-–—:*/|]+|\.\s)\s*)+",
    re.IGNORECASE,
)
_SUFFIX = re.compile(
    r"(?:\s+\|\s+[^|]{2,40})+$|\s+\((?:\d+|update|updated|video|photos?)\)$", re.IGNORECASE
)
_JUNK = re.compile(
    r"\b(?:live (?:updates?|blog|text|coverage|commentary|score)|as it happened|minute[- ]by[- ]minute"
    r"|round-?up|in brief|news in|at a glance|top stories|in pictures|in photos|photo gallery|quiz"
    r"|newsletter|podcast|horoscopes?|crossword|week (?:in|ahead)|day ahead|(?:news|morning|evening"
    r"|daily|weekly|business|sport|market) (?:summary|digest|briefing|brief|headlines|wrap|diary)"
    r"|what to watch|factbox|press review|revue de presse|en bref|en images|le direct"
    r"|minute par minute|l'essentiel de|à la une|le point sur|ce qu'il faut (?:savoir|retenir)"
    r"|agenda (?:du|de la)|prévisions|éphéméride|liveticker|im überblick|kurz notiert|presseschau"
    r"|resumen de|minuto a minuto|en vivo|in breve|rassegna stampa|in diretta)\b",
    re.IGNORECASE,
)
_END = re.compile(r"\s+[:|–—-]\s+[^:|–—]{2,60}$")
_TOKEN = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_PLAIN = re.compile(r"[^\W\d_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])[\"”»’)]*(?:\s+|(?<=[。！？]))|\n+")
_ENDS = " \t-–—:;,*/|•·"
_UPPER = string.ascii_uppercase.encode("ascii")
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())


# -- headlines -------------------------------------------------------------------------------------


def tidy(text: str) -> str:
    """Return a text on one line without control characters, at most `MAX_CHARS` long.

    >>> tidy("  Storm\\n reaches \\x07coast ")
    'Storm reaches coast'
    """
    line = " ".join(text.split())
    if not line.isprintable():
        line = " ".join("".join(c if c.isprintable() else " " for c in line).split())
    if len(line) <= MAX_CHARS:
        return line
    head, blank, _ = line[: MAX_CHARS - 1].rpartition(" ")
    return f"{head.rstrip(_ENDS) if blank else line[: MAX_CHARS - 1]}…"


@lru_cache(maxsize=CACHED)
def clean_headline(text: str) -> str:
    """Return a headline without agency prefixes; empty if it cannot be a label.

    A label has 4 to 12 words, is not written in capitals, is not cut off and does not announce a
    live page or a collection of several stories.

    >>> clean_headline("UPDATE 2-RPT-Fed raises interest rates again")
    'Fed raises interest rates again'
    >>> clean_headline("URGENT - Explosion dans le centre de Lyon")
    'Explosion dans le centre de Lyon'
    >>> clean_headline("FED RAISES INTEREST RATES"), clean_headline("Business news in brief")
    ('', '')
    """
    line = tidy(_SUFFIX.sub("", _PREFIX.sub("", " ".join(text.split())))).strip(_ENDS)
    if not MIN_WORDS <= _n_words(line) <= MAX_WORDS:
        return ""
    if line.endswith(("…", "...")) or in_capitals(line) or _JUNK.search(text):
        return ""
    return line


def without_common_ends(headlines: Sequence[str]) -> list[str]:
    """Return headlines without an ending after a colon, dash or bar that most of them share.

    >>> without_common_ends(["A storm : motor news", "A flood : motor news", "Rain : motor news"])
    ['A storm', 'A flood', 'Rain']
    """
    ends = Counter(
        match.group() for headline in headlines if (match := _END.search(headline.rstrip()))
    )
    common = {end for end, n in ends.items() if n >= MIN_SHARED and 4 * n >= len(headlines)}
    return [
        headline.rstrip()[: match.start()]
        if (match := _END.search(headline.rstrip())) and match.group() in common
        else headline
        for headline in headlines
    ]


def in_capitals(text: str) -> bool:
    """Return whether most letters of a text are capitals."""
    if text.isupper() or text.islower():
        return text.isupper()
    if text.isascii():
        letters = text.encode("ascii").translate(None, _NO_LETTERS)
        n_lower = len(letters.translate(None, _UPPER))
        n_upper = len(letters) - n_lower
    else:
        n_upper, n_lower = sum(map(str.isupper, text)), sum(map(str.islower, text))
    return n_upper > 0 and n_upper >= CAPITALS * (n_upper + n_lower)


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, cut after 12 words; empty if there are too few words.

    Wrapped lines are joined first.

    >>> first_sentence("A storm reached the coast. Nobody was hurt.")
    'A storm reached the coast'
    >>> first_sentence("A storm has reached\\nthe coast of\\nWales.\\nmet office says")
    'A storm has reached the coast of Wales'
    """
    for part in _sentences(_unwrapped(text[: 40 * MAX_WORDS])):
        line = " ".join(part.split()).strip(_ENDS)
        if _n_words(line) >= MIN_WORDS and not in_capitals(line):
            return _cut(line).rstrip("." + _ENDS)
    return ""


def _sentences(text: str) -> Iterator[str]:
    """Yield what is between the ends of sentences; most callers need the first alone."""
    start = 0
    for end in _SENTENCE_END.finditer(text):
        yield text[start : end.start()]
        start = end.end()
    yield text[start:]


def _unwrapped(text: str) -> str:
    """Return a text with its wrapped lines joined.

    A text is wrapped if at least half of the lines after the first begin with a small letter or a
    digit. An empty line always ends a line.
    """
    lines = text.split("\n")
    begins = [line.lstrip(" \t")[:1] for line in lines[1:] if line.strip()]
    n_small = sum(begin.islower() or begin.isdigit() for begin in begins)
    if not n_small or 2 * n_small < len(begins):
        return text
    paragraphs = [list(group) for full, group in itertools.groupby(lines, _is_full) if full]
    return "\n".join(" ".join(paragraph) for paragraph in paragraphs)


def _is_full(line: str) -> bool:
    return bool(line.strip())


def _cut(line: str) -> str:
    if _n_words(line) <= MAX_WORDS:
        return tidy(line)
    if _UNSPACED.search(line):
        return f"{line[: 2 * MAX_WORDS]}…"
    return tidy(" ".join(line.split()[:MAX_WORDS]).rstrip(_ENDS) + " …")


def _n_words(text: str) -> int:
    """Return the number of words; two characters count as a word in scripts without blanks."""
    if text.isascii():
        return len(_TOKEN.findall(text))
    unspaced = len(_UNSPACED.findall(text))
    return len(_TOKEN.findall(_UNSPACED.sub(" ", text))) + unspaced // 2


class _Text:
    """A text with its words, to see which lemmas it contains."""

    def __init__(self, text: str) -> None:
        self.folded = text.casefold()
        self.tokens = _PLAIN.findall(self.folded)
        self.unspaced = not text.isascii() and bool(_UNSPACED.search(text))
        self._spaced = f" {' '.join(self.tokens)}"
        """The words, a blank before each: a search for a blank and a stem finds beginnings."""

    def contains(self, word: str) -> bool:
        """Return whether all parts of a lemma or multi-word term occur in the text."""
        for part, beginning in _parts(word):
            if self.unspaced and _UNSPACED.search(part):
                if part not in self.folded:
                    return False
            elif beginning not in self._spaced:
                return False
        return True

    @property
    def length(self) -> int:
        """Number of words that carry meaning, about: short ones count half."""
        if self.unspaced:
            return max(1, len(self.folded) // 2)
        return max(1, sum(2 if len(t) > 3 else 1 for t in self.tokens) // 2)


@lru_cache(maxsize=CACHED)
def _text(text: str) -> _Text:
    return _Text(text)


@lru_cache(maxsize=2 * CACHED)
def _parts(word: str) -> list[tuple[str, str]]:
    """Return each part of a lemma or multi-word term, and a blank with its stem."""
    folded = word.casefold()
    parts = folded.split() if " " in word else [folded]
    return [(part, f" {_stem(part)}") for part in parts]


def _stem(word: str) -> str:
    """Return the common beginning of the forms of a word.

    >>> _stem("rate"), _stem("election"), _stem("économie")
    ('rate', 'electi', 'économ')
    """
    return word if len(word) < 6 else word[: max(5, len(word) - 2)]


def contained(headline: str, words: Iterable[str]) -> list[str]:
    """Return those of the words that a headline contains, without the parts of contained terms.

    >>> contained("Mobile phones sell well", ["phone", "mobile", "mobile phone", "car"])
    ['mobile phone']
    """
    text = _text(headline)
    contained_words = [word for word in words if text.contains(word)]
    parts = {part for word in contained_words if " " in word for part in word.split()}
    return [word for word in contained_words if word not in parts]


def known_words(headline: str, numbers: Mapping[str, int]) -> set[int]:
    """Return the numbers of the lemmas that the words of a headline are forms of.

    A word that is no lemma itself is shortened by one to three letters until it is one.

    >>> sorted(known_words("Storms hit coasts", {"storm": 4, "coast": 7, "rain": 9}))
    [4, 7]
    """
    stems = set()
    for token in _text(headline).tokens:
        if len(token) < MIN_LEMMA:
            continue
        for n_letters in range(min(4, len(token) - MIN_LEMMA + 1)):
            lemma = token[: len(token) - n_letters]
            if lemma in numbers:
                stems.add(numbers[lemma])
                break
    return stems


def headline_score(headline: str, words: Mapping[str, float]) -> float:
    """Return how well a headline represents weighted words, between 0 and 1, about.

    It is the cosine of the weights with the words of the headline, all of which
    count the same. A headline without one of the three heaviest words scores half.

    >>> words = {"storm": 0.6, "coast": 0.3, "wind": 0.1}
    >>> headline_score("Storm reaches the coast", words) > headline_score("Wind is rising", words)
    True
    """
    return _Weighted.of(words).score(headline, contained(headline, words))


class _Weighted(NamedTuple):
    """Weighted words, the norm of their weights, and the three heaviest of them."""

    words: Mapping[str, float]
    norm: float
    """0 if no word has a weight."""
    heaviest: frozenset[str]

    @classmethod
    def of(cls, words: Mapping[str, float]) -> _Weighted:
        weights = sorted(words.values(), reverse=True)
        if not weights or weights[0] <= 0:
            return cls(words, 0.0, frozenset())
        heaviest = frozenset(word for word, w in words.items() if w >= weights[:3][-1])
        return cls(words, math.sqrt(sum(w * w for w in weights)), heaviest)

    def score(self, headline: str, covered: Sequence[str]) -> float:
        """Return how well a headline that contains some of the words represents all of them."""
        if not self.norm:
            return 0.0
        weight = sum(self.words[word] for word in covered)
        norm = self.norm * math.sqrt(max(_text(headline).length, MIN_WORDS))
        return (weight / norm) * (0.5 if self.heaviest.isdisjoint(covered) else 1.0)


def best_headline(headlines: Iterable[str], words: Mapping[str, float]) -> str:
    """Return the headline that represents the words best, cleaned; empty if none does.

    It contains at least two of the words, or one if there are fewer. Of those that are nearly as
    good as the best, the first one given wins: give the oldest first.

    >>> words = {"storm": 0.6, "coast": 0.3, "wind": 0.1}
    >>> best_headline(["Fed raises rates again", "UPDATE 1-Storm reaches northern coast"], words)
    'Storm reaches northern coast'
    """
    scored: list[tuple[float, str]] = []
    seen: set[str] = set()
    weighted = _Weighted.of(words)
    for headline in headlines:
        line = clean_headline(headline)
        if not line or line.casefold() in seen:
            continue
        seen.add(line.casefold())
        covered = contained(line, words)
        if len(covered) >= min(2, len(words)):
            scored.append((weighted.score(line, covered), line))
    best = max((score for score, _ in scored), default=0.0)
    return next((line for score, line in scored if score > 0 and score >= NEARLY * best), "")


# -- words -----------------------------------------------------------------------------------------


def contrasted(
    own: Mapping[str, float], siblings: Mapping[str, float], whole: float | None = None
) -> dict[str, float]:
    """Return words by contrast with the siblings, strongest first.

    `own` are weights of an item, `siblings` the weights of the item and all its siblings together;
    `whole` is their sum if `siblings` lacks words. The value of a word is p * log2(p / q) ** 2,
    where p is its share of the item and q its share of all. Words that are not more frequent here
    than elsewhere are left out, unless all are.

    >>> contrasted({"goal": 2.0, "year": 2.0}, {"goal": 2.0, "year": 6.0})
    {'goal': 0.5}
    """
    own_sum, all_sum = sum(own.values()), whole or sum(siblings.values())
    if own_sum <= 0 or all_sum <= 0:
        return {}
    values = {}
    for word, weight in own.items():
        p, q = weight / own_sum, max(siblings.get(word, weight), weight) / all_sum
        if p > q:
            values[word] = p * math.log2(p / q) ** 2
    usable = values or own
    return dict(sorted(usable.items(), key=lambda entry: (-entry[1], entry[0])))


def covering(
    words: Mapping[str, float], parts: Sequence[Mapping[str, float]], most: int
) -> dict[str, float]:
    """Return words in an order in which the first ones name the largest parts of an item.

    `parts` are the weights of its parts, largest part first. Each of the first `most` parts puts
    forward the heaviest of its words that are also words of the item.

    >>> sport = {"game": 0.5, "goal": 0.4, "racket": 0.2, "match": 0.1}
    >>> list(covering(sport, [{"goal": 0.9, "game": 0.8}, {"racket": 0.8, "year": 0.9}], most=2))
    ['goal', 'racket', 'game', 'match']
    """
    names: list[str] = []
    for part in parts[:most]:
        own = [w for w in part if w in words and w not in names]
        if own:
            names.append(max(own, key=lambda w: (part[w], w)))
    strongest = max(words.values(), default=0.0)
    first = {word: strongest * (2 + len(names) - n) for n, word in enumerate(names)}
    return first | {word: weight for word, weight in words.items() if word not in first}


def term_label(words: Mapping[str, float], most: int = 4) -> str:
    """Return the heaviest words as a label; a multi-word term comes before its parts.

    >>> term_label({"mobile": 0.3, "phone": 0.28, "mobile phone": 0.2, "handset": 0.1})
    'mobile phone, handset'
    >>> term_label({"mph": 0.3, "hp": 0.28, "car": 0.1})
    'mph, car'
    """
    ranked = sorted(words.items(), key=lambda entry: -entry[1])
    ranked = [entry for entry in ranked if not _is_abbreviated(entry[0])] or ranked
    terms = [word for word, _ in ranked if " " in word]
    names: list[str] = []
    for word, weight in ranked:
        if len(names) == most:
            break
        term = next(
            (t for t in terms if _is_part(word, t) and words[t] >= TERM_SHARE * weight), word
        )
        if not any(
            term == other or _is_part(term, other) or _is_part(other, term) for other in names
        ):
            names.append(term)
    return tidy(", ".join(names))


def _is_abbreviated(word: str) -> bool:
    """Return whether a word has one or two small letters, such as a unit of measure.

    >>> [_is_abbreviated(word) for word in ("ch", "km", "EU", "5G", "sea", "海")]
    [True, True, False, False, False, False]
    """
    return len(word) < MIN_LEMMA and word.islower()


def settled(previous: str, label: str, words: Mapping[str, float]) -> str:
    """Return the previous label of terms while it is nearly as strong as the new one.

    >>> settled("storm, coast", "coast, storm", {"coast": 0.5, "storm": 0.4, "rain": 0.3})
    'storm, coast'
    >>> settled("storm, rain", "coast, wind", {"coast": 9.0, "wind": 8.0, "storm": 0.4})
    'coast, wind'
    """
    terms = previous.split(", ")
    if len(terms) != len(label.split(", ")) or any(term not in words for term in terms):
        return label
    strength = sum(words.get(term, 0.0) for term in label.split(", "))
    return previous if sum(words[term] for term in terms) >= NEARLY * strength else label


def _is_part(word: str, term: str) -> bool:
    """Return whether a word is a part of a longer term, or one is a form of the other."""
    word, term = word.casefold(), term.casefold()
    if word == term:
        return False
    own, parts = word.split(), term.split()
    if len(own) == len(parts) == 1:
        short, long = sorted((word, term), key=len)
        return len(short) > 4 and len(long) <= len(short) + 2 and long.startswith(short[:-1])
    return len(own) < len(parts) and set(own) <= set(parts)


def readable_words(words: Sequence[str], texts: Iterable[str]) -> dict[str, str]:
    """Return each lemma as the texts write it: most frequent form, capitals of names.

    Forms at the beginning of a sentence do not count unless there are no others. A lemma that the
    texts do not contain stays as it is.

    >>> readable_words(["chelsea", "human right"], ["Fans of Chelsea defend human rights."])
    {'chelsea': 'Chelsea', 'human right': 'human rights'}
    """
    forms: dict[str, Counter[str]] = {word: Counter() for word in words}
    wanted: dict[str, list[tuple[str, list[str]]]] = {}
    for word in words:
        parts = word.casefold().split()
        if parts:
            wanted.setdefault(parts[0][:2], []).append((word, parts))
    beginning: dict[str, list[tuple[str, list[str]]]] = {}
    """Of each token that was met, the lemmas of which it may be the first word."""
    for text in texts:
        tokens = _PLAIN.findall(text)
        folded = list(map(str.casefold, tokens))
        for token in set(folded).difference(beginning):
            beginning[token] = [
                (word, parts)
                for word, parts in wanted.get(token[:2], ())
                if _is_form(token, parts[0])
            ]
        places = [place for place, token in enumerate(folded) if beginning[token]]
        starts = [match.start() for match in _PLAIN.finditer(text)] if places else []
        for place in places:
            for word, parts in beginning[folded[place]]:
                following = folded[place : place + len(parts)]
                if len(following) == len(parts) and all(map(_is_form, following, parts)):
                    form = " ".join(tokens[place : place + len(parts)])
                    begins = _begins_sentence(text, starts[place])
                    forms[word][form] += 1 if begins else WITHIN
    return {word: _likely_form(word, counts) for word, counts in forms.items()}


def joined_names(words: Mapping[str, float], texts: Iterable[str]) -> dict[str, float]:
    """Return weighted words in which names that the texts write side by side are one term.

    Two capitalised words are joined if most occurrences of both are side by side.

    >>> joined_names({"Lanka": 0.5, "Sri": 0.5, "aid": 0.2}, ["Aid for Sri Lanka", "Sri Lanka"])
    {'Sri Lanka': 0.5, 'aid': 0.2}
    """
    names = {word for word in words if word[:1].isupper() and " " not in word}
    if len(names) < 2:
        return dict(words)
    single: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for text in texts:
        written = [token if token in names else "" for token in _TOKEN.findall(text)]
        single.update(filter(None, written))
        pairs.update(
            (left, right)
            for left, right in itertools.pairwise(written)
            if left and right and left != right
        )
    of_word: dict[str, str] = {}
    for (left, right), n_pairs in sorted(pairs.items(), key=lambda entry: (-entry[1], entry[0])):
        together = n_pairs > 1 and n_pairs >= SIDE_BY_SIDE * max(single[left], single[right])
        if together and left not in of_word and right not in of_word:
            of_word[left] = of_word[right] = f"{left} {right}"
    joined: dict[str, float] = {}
    for word, weight in words.items():
        joined.setdefault(of_word.get(word, word), weight)
    return joined


def _is_form(token: str, lemma: str) -> bool:
    """Return whether a word is likely to be a form of a lemma: only its end differs."""
    stem = lemma if len(lemma) < 6 else lemma[:-1]
    return token == lemma or (token.startswith(stem) and len(token) <= len(lemma) + 2)


def _begins_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - _BEFORE) : start].rstrip(" \"“«'(")
    if not before and start > _BEFORE:
        before = text[:start].rstrip(" \"“«'(")
    return not before or before[-1] in ".!?:;…\n-–—•"


def _likely_form(word: str, counts: Counter[str]) -> str:
    """Return the most frequent form; of a single word that occurs, only its case."""
    if " " not in word:
        same = Counter({form: n for form, n in counts.items() if form.casefold() == word})
        counts = same or counts
    if max(counts.values(), default=0) < WITHIN:  # at the beginning of sentences only
        return word
    return min(counts, key=lambda form: (-counts[form], form))


# -- all labels of a level -------------------------------------------------------------------------


def distinct_labels(
    labels: Mapping[int, str],
    words: Mapping[int, Sequence[str]],
    taken: Iterable[str] = (),
) -> dict[int, str]:
    """Return labels of which no two are equal and none is empty, whatever the case of letters.

    The item with the lowest number keeps a label that several have. The others get their first
    word that the label does not contain in parentheses, and if that does not help, a number.
    `taken` are labels of items that are not to be changed.

    >>> distinct_labels({1: "Storm hits coast", 2: "Storm hits coast"}, {2: ["storm", "Wales"]})
    {1: 'Storm hits coast', 2: 'Storm hits coast (Wales)'}
    """
    used = {label.casefold() for label in taken}
    result = {}
    for number in sorted(labels):
        label = tidy(labels[number]) or ", ".join(words.get(number, ())[:3]) or f"no. {number}"
        for proposal in _proposals(label, words.get(number, ()), number):
            if proposal.casefold() not in used:
                label = proposal
                break
        used.add(label.casefold())
        result[number] = label
    return result


def _proposals(label: str, words: Sequence[str], number: int) -> Iterable[str]:
    yield label
    text = _text(label)
    for word in words[:10]:
        if not text.contains(word):
            yield f"{label} ({word})"
    yield f"{label} ({number})"
