"""Fingerprints of texts: a sketch of the word sequences, and the figures.

A near-duplicate may be a shortened, lightly edited or reordered copy, or have another headline. A
text is the set of its runs of three words. The smallest hashes of that set are stored (bottom-k,
Broder 1997). Two sketches are compared below the largest hash that both cover, which estimates how
much of each text lies in the other (containment). The estimate is exact if neither text has more
than `MAX_RUNS` runs.

Reports from a template differ in their figures only, so figures are compared separately: a text with
other figures is another story, and so is a text in which two figures have changed places.

A `Signature` depends on the text alone: not on the platform, the hash seed or earlier texts.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel
from segapsith.tokens import table_size

__all__ = [
    "COPY",
    "CORRECTION",
    "MAX_FIGURES",
    "MAX_RUNS",
    "N_KEYS",
    "Hashes",
    "Rules",
    "Signature",
    "Sketch",
    "Verdict",
    "decide",
    "keys",
    "shares",
    "signature",
    "sketch_of",
    "verdict_of",
]

RUN_WORDS = 3

MAX_RUNS = 192
"""Runs in a signature; the standard error of a containment of 0.6 is then 0.035."""

MAX_FIGURES = 64
"""Figures in a signature, and places of figures."""

N_KEYS = 16
"""Runs under which a signature is indexed; half a text shares half of them."""

Hashes = NDArray[np.uint32]

# --- from a text to its signature --------------------------------------------------------

# Character classes of the tokenizer, and the signs that may be inside a figure.
_OTHER, _LETTER, _DIGIT = 0, 1, 2
_N_CLASSIFIED = 1 << 16  # the basic plane
_SPACE, _COMMA, _HYPHEN, _POINT, _SLASH, _COLON = (ord(sign) for sign in " ,-./:")

_GROUP_DIGITS = 3
"""Digits between two separators of thousands."""

_SEED = np.uint64(0x9E3779B97F4A7C15)
_MIX_CODE = np.uint64(0x9FB21C651E98DF25)
_MIX_WORD = np.uint64(0xBF58476D1CE4E5B9)
_MIX_RUN = np.uint64(0x94D049BB133111EB)
_HALF_BITS = np.uint64(32)
_ANY_FIGURE = np.uint64(1)
"""Stands for every figure in the context of another one."""


@cache
def _character_classes(n_characters: int) -> NDArray[np.uint8]:
    """Return the class of each of the first characters: letter, decimal digit or other."""
    classes = np.zeros(n_characters, np.uint8)
    for code in range(n_characters):
        character = chr(code)
        classes[code] = _LETTER if character.isalpha() else _DIGIT * character.isdecimal()
    return classes


@kernel
def _class_of(code: np.uint32, classes: NDArray[np.uint8]) -> int:
    return classes[code] if code < _N_CLASSIFIED else _OTHER


@kernel
def _mixed(value: np.uint64, code: np.uint32) -> np.uint64:
    """Return the hash of a token after one more character."""
    value = (value ^ np.uint64(code)) * _MIX_CODE
    return value ^ (value >> np.uint64(29))


@kernel
def _read_word(
    codes: NDArray[np.uint32], classes: NDArray[np.uint8], i: int
) -> tuple[int, np.uint64]:
    """Return the end and the hash of the word that begins at `i`."""
    value = _SEED
    while i < len(codes) and _class_of(codes[i], classes) == _LETTER:
        value = _mixed(value, codes[i])
        i += 1
    return i, value


@kernel
def _n_digits(codes: NDArray[np.uint32], classes: NDArray[np.uint8], start: int) -> int:
    """Return how many digits follow each other from `start`."""
    i = start
    while i < len(codes) and _class_of(codes[i], classes) == _DIGIT:
        i += 1
    return i - start


@kernel
def _read_figure(
    codes: NDArray[np.uint32], classes: NDArray[np.uint8], i: int
) -> tuple[int, np.uint64]:
    """Return the end and the hash of the figure that begins at `i`.

    A figure continues over a sign between digits (5.93, 2-1, 10/15). A point, comma or space
    before exactly three digits separates thousands and is not part of the hash.
    """
    value = _SEED
    n_group = 0  # digits since the last separator of thousands; 4 after any other sign
    while i < len(codes):
        code = codes[i]
        if _class_of(code, classes) == _DIGIT:
            n_group += 1
        else:
            n_following = _n_digits(codes, classes, i + 1)
            is_point = code == _POINT or code == _COMMA
            may_separate = is_point or code == _SPACE
            if may_separate and n_following == _GROUP_DIGITS and n_group <= _GROUP_DIGITS:
                n_group = 0
                i += 1
                continue
            is_sign = is_point or code == _COLON or code == _SLASH or code == _HYPHEN
            if n_following == 0 or not is_sign:
                break
            n_group = _GROUP_DIGITS + 1
            if is_point:
                code = np.uint32(_POINT)
        value = _mixed(value, code)
        i += 1
    return i, value


@kernel
def _tokens(
    codes: NDArray[np.uint32], classes: NDArray[np.uint8]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the hashes of all words and figures, of the figures alone, and of their places.

    A word is a sequence of letters. A place is half of a figure's hash above half of the hash of
    the two tokens before it, where one figure counts as any other.
    """
    n = len(codes)
    words = np.empty(n // 2 + 1, np.uint64)
    figures = np.empty(n // 2 + 1, np.uint32)
    places = np.empty(n // 2 + 1, np.uint32)
    n_words = n_figures = i = 0
    last = second_last = np.uint64(0)
    while i < n:
        kind = _class_of(codes[i], classes)
        if kind == _LETTER:
            i, value = _read_word(codes, classes, i)
        elif kind == _DIGIT:
            i, value = _read_figure(codes, classes, i)
        else:
            i += 1
            continue
        value *= _MIX_WORD
        value ^= value >> _HALF_BITS
        words[n_words] = value
        n_words += 1
        if kind == _DIGIT:
            figures[n_figures] = value >> _HALF_BITS
            context = (last * np.uint64(3) + second_last) * _MIX_RUN
            places[n_figures] = (value >> np.uint64(48) << np.uint64(16)) | context >> np.uint64(48)
            n_figures += 1
            value = _ANY_FIGURE
        second_last, last = last, value
    return words[:n_words], figures[:n_figures], places[:n_figures]


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """The smallest hashes of a text's runs, figures and places of figures, each ascending.

    `n_runs`, `n_figures` and `n_places` count the distinct hashes of the whole text.
    """

    runs: Hashes
    figures: Hashes
    places: Hashes
    n_runs: int
    n_figures: int
    n_places: int

    def __bytes__(self) -> bytes:
        """Little endian uint32: the three numbers, how many runs and figures follow, runs,
        figures, places."""
        numbers = [self.n_runs, self.n_figures, self.n_places, len(self.runs), len(self.figures)]
        parts = (np.array(numbers), self.runs, self.figures, self.places)
        return b"".join(part.astype("<u4").tobytes() for part in parts)

    @classmethod
    def of(cls, blob: bytes) -> Signature:
        """Return the signature that `bytes` wrote.

        >>> again = Signature.of(bytes(signature("The river rose by 3.5 metres.")))
        >>> len(again.runs), again.n_runs, again.n_figures
        (4, 4, 1)
        """
        values = np.frombuffer(blob, "<u4").astype(np.uint32)
        n_runs, n_figures, n_places, runs_end, size = (int(value) for value in values[:5])
        runs, figures, places = np.split(values[5:], [runs_end, runs_end + size])
        return cls(runs, figures, places, n_runs, n_figures, n_places)


def signature(text: str) -> Signature:
    """Return the signature of a text: title, blank line, body."""
    plain = text.lower()
    if not plain.isascii():
        plain = unicodedata.normalize("NFKC", plain)
    codes = np.frombuffer(plain.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint32)
    classes = _character_classes(table_size(codes, _N_CLASSIFIED))
    words, figures, places = _tokens(codes, classes)
    n_runs = max(len(words) - RUN_WORDS + 1, 0)
    mixed = words[:n_runs].copy()
    for shift in range(1, RUN_WORDS):
        mixed *= _MIX_RUN
        mixed ^= mixed >> _HALF_BITS
        mixed += words[shift : n_runs + shift]
    mixed *= _MIX_RUN
    runs = _distinct((mixed >> _HALF_BITS).astype(np.uint32))
    figures, places = _distinct(figures), _distinct(places)
    return Signature(
        runs[:MAX_RUNS].copy(),  # a slice would keep the whole array in memory
        figures[:MAX_FIGURES].copy(),
        places[:MAX_FIGURES].copy(),
        len(runs),
        len(figures),
        len(places),
    )


def _distinct(values: Hashes) -> Hashes:
    """Sort in place and return each value once."""
    values.sort()
    if len(values) < 2:
        return values
    is_new = np.empty(len(values), np.bool_)
    is_new[0] = True
    np.not_equal(values[1:], values[:-1], out=is_new[1:])
    return values[is_new]


def keys(signature: Signature) -> list[int]:
    """Return the numbers under which a signature is indexed and searched, ascending.

    They are its smallest runs. If a text contains a key of a longer text that contains it, that run
    is a key of the shorter text too. So half a text shares half of the keys of the whole.
    """
    smallest: list[int] = signature.runs[:N_KEYS].tolist()
    return smallest


# --- from two signatures to a verdict ----------------------------------------------------


class Rules(NamedTuple):
    """When a text repeats another one, by the share of runs of the one that lie in the other."""

    copy: float = 0.55
    """Least share in both directions for a copy."""
    brief: float = 0.8
    """Least share of a shortened text in the longer one."""
    short_text_margin: float = 5.0
    """A text of n runs needs margin / n more than `copy` (at most 1), because few runs prove
    little."""
    min_runs: int = 6
    """Least number of shared runs."""
    figures: float = 1.0
    """Least share of the contained text's figures that the other text has."""


COPY = Rules()
"""Rules for a copy."""

CORRECTION = Rules(copy=0.45, figures=0.0)
"""Rules for the earlier text of a correction, whose figures may differ."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The shares of the new text in the old one and of the old text in the new one, and the kind.

    `kind` is `copy` if each lies in the other, `brief` if the new text is a shortened form of the
    old one, `fuller` if the old text was the shortened form.
    """

    kind: str
    new_in_old: float
    old_in_new: float


@kernel
def _up_to(values: Hashes, n: int, most: np.uint32) -> int:
    """Return how many of the first n ascending hashes are at most `most`."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if values[middle] <= most:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _overlap(
    left: Hashes,
    n_left: int,
    all_left: int,
    right: Hashes,
    n_right: int,
    all_right: int,
    share: float,
) -> tuple[int, int, int]:
    """Return the shared hashes of two bottom-k sketches, and the number of each.

    Only the range that both sketches cover completely is compared. Returns 0 shared hashes as soon
    as neither text can have `share` of its hashes in the other.
    """
    most = np.uint32(0xFFFFFFFF)
    if all_left > n_left:
        most = left[n_left - 1]
    if all_right > n_right and right[n_right - 1] < most:
        most = right[n_right - 1]
    n_left, n_right = _up_to(left, n_left, most), _up_to(right, n_right, most)
    may_miss = min(n_left, n_right) * (1.0 - share)
    spare_left = n_left - min(n_left, n_right) + may_miss
    spare_right = n_right - min(n_left, n_right) + may_miss
    i = j = shared = 0
    while i < n_left and j < n_right:
        if left[i] == right[j]:
            shared += 1
            i += 1
            j += 1
        elif left[i] < right[j]:
            i += 1
            if i - shared > spare_left:
                return 0, n_left, n_right
        else:
            j += 1
            if j - shared > spare_right:
                return 0, n_left, n_right
    return shared, n_left, n_right


@kernel
def _holds(places: Hashes, n: int, place: np.uint32) -> bool:
    n_up_to = _up_to(places, n, place)
    return n_up_to > 0 and places[n_up_to - 1] == place


@kernel
def _exchanged(left: Hashes, n_left: int, right: Hashes, n_right: int, most: int) -> int:
    """Return how many figures (with a hash up to `most`) of the left text have moved in the right
    one: the right text has them in other places only, and another figure in their place."""
    n_exchanged = 0
    for i in range(n_left):
        figure, context = left[i] >> 16, left[i] & 0xFFFF
        if figure > most or _holds(right, n_right, left[i]):
            continue
        moved = taken = False
        for j in range(n_right):
            if right[j] >> 16 <= most:
                moved |= right[j] >> 16 == figure
                taken |= right[j] & 0xFFFF == context
        n_exchanged += moved and taken
    return n_exchanged


class Sketch(NamedTuple):
    """A signature as arrays for the kernels."""

    runs: Hashes
    figures: Hashes
    places: Hashes
    sizes: NDArray[np.int64]
    """For runs, figures and places: how many are stored, and how many the text has."""


@kernel
def shares(new: Sketch, old: Sketch, rules: Rules) -> tuple[float, float]:
    """Return the shares of the new text in the old one and of the old in the new one.

    Both are 0 if the texts are different stories.
    """
    n_runs, all_runs, n_figures, all_figures, n_places, all_places = (
        new.sizes[0], new.sizes[1], new.sizes[2], new.sizes[3], new.sizes[4], new.sizes[5],
    )  # fmt: skip
    least_share = 0.99 * min(rules.copy, rules.brief)
    shared, n_new, n_old = _overlap(
        new.runs, n_runs, all_runs, old.runs, old.sizes[0], old.sizes[1], least_share
    )
    if shared < rules.min_runs:
        return 0.0, 0.0
    new_in_old, old_in_new = shared / n_new, shared / n_old
    n_contained = min(n_new, n_old)
    copy_share = min(rules.copy + rules.short_text_margin / n_contained, 1.0)
    is_copy = min(new_in_old, old_in_new) >= copy_share
    if not is_copy and max(new_in_old, old_in_new) < max(rules.brief, copy_share):
        return 0.0, 0.0
    same, n_new, n_old = _overlap(
        new.figures, n_figures, all_figures, old.figures, old.sizes[2], old.sizes[3], 0.0
    )
    n_contained = n_new if new_in_old >= old_in_new else n_old
    if same < rules.figures * n_contained:
        return 0.0, 0.0
    if rules.figures > 0.0 and same >= 2:
        most = 0xFFFF
        if all_places > n_places:
            most = min(most, (new.places[n_places - 1] >> 16) - 1)
        if old.sizes[5] > old.sizes[4]:
            most = min(most, (old.places[old.sizes[4] - 1] >> 16) - 1)
        if _exchanged(new.places, n_places, old.places, old.sizes[4], most) >= 2:
            return 0.0, 0.0
    return new_in_old, old_in_new


def decide(new: Signature, old: Signature, rules: Rules = COPY) -> Verdict | None:
    """Return how the new text repeats the old one, or None if they are different stories."""
    new_in_old, old_in_new = shares(sketch_of(new), sketch_of(old), rules)
    return verdict_of(new_in_old, old_in_new, rules)


def sketch_of(signature: Signature) -> Sketch:
    """Return the arrays of a signature."""
    sizes = [
        len(signature.runs),
        signature.n_runs,
        len(signature.figures),
        signature.n_figures,
        len(signature.places),
        signature.n_places,
    ]
    return Sketch(signature.runs, signature.figures, signature.places, np.array(sizes))


def verdict_of(new_in_old: float, old_in_new: float, rules: Rules) -> Verdict | None:
    """Return the kind of repetition for two shares, or None if they are 0."""
    if new_in_old == 0.0:
        return None
    if min(new_in_old, old_in_new) >= rules.copy:
        return Verdict("copy", new_in_old, old_in_new)
    kind = "brief" if new_in_old > old_in_new else "fuller"
    return Verdict(kind, new_in_old, old_in_new)
