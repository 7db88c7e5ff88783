"""What a text looks like to one who seeks its copies: a sketch of its word runs and its figures.

The same copy comes through several feeds, cut to a brief, lightly rewritten, in another order of
paragraphs, under another headline. A text is read as the set of its runs of three words; of that
set the smallest hashes are kept (bottom-k, Broder 1997), and two such sketches are compared below
the threshold that both of them reach, which estimates how much of each text lies in the other
(containment; exact as long as neither text has more than `SKETCH` runs). What the wire fills into
a template is its figures, so these are compared for themselves: a text with other figures is
another story, however alike the words are, and so is one in which two figures have changed places.

A `Signature` depends on the text alone: not on the platform, the hash seed or what was read before.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel

__all__ = [
    "COPY",
    "CORRECTION",
    "FIGURES",
    "KEYS",
    "SKETCH",
    "Hashes",
    "Rules",
    "Signature",
    "Verdict",
    "decide",
    "keys",
    "rule_numbers",
    "shares",
    "signature",
    "sizes_of",
    "verdict_of",
]

RUN = 3
"""Words of a run."""

SKETCH = 192
"""Runs that a signature keeps; with this many the error of a containment of 0.6 is 0.035."""

FIGURES = 64
"""Figures that a signature keeps."""

KEYS = 16
"""Runs under which a signature is found again: half a text shares half of them."""

Hashes = NDArray[np.uint32]

# --- from a text to its signature --------------------------------------------------------

_LETTER, _DIGIT = 1, 2


@lru_cache(maxsize=1)
def _kinds() -> NDArray[np.uint8]:
    """Whether each character of the basic plane is a letter or a digit."""
    kinds = np.zeros(1 << 16, np.uint8)
    for code in range(1 << 16):
        character = chr(code)
        kinds[code] = _LETTER if character.isalpha() else _DIGIT * character.isdecimal()
    return kinds


@kernel
def _tokens(
    codes: NDArray[np.uint32], kinds: NDArray[np.uint8]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32]]:
    """The hash of every word and figure of a text, of the figures alone, and their places.

    A place is half of a figure's hash above half of the hash of the two words before it, where
    one figure counts as any other.

    A word is a run of letters. A figure goes on over a sign between digits (5.93, 2-1, 10/15);
    a sign or blank before exactly three digits parts thousands and says nothing.
    """
    n = len(codes)
    words = np.empty(n // 2 + 1, np.uint64)
    figures = np.empty(n // 2 + 1, np.uint32)
    places = np.empty(n // 2 + 1, np.uint32)
    n_words = n_figures = i = 0
    left = further = np.uint64(0)
    while i < n:
        kind = kinds[codes[i]] if codes[i] < 65536 else 0
        if kind == 0:
            i += 1
            continue
        value = np.uint64(0x9E3779B97F4A7C15)
        if kind == 1:
            while i < n and codes[i] < 65536 and kinds[codes[i]] == 1:
                value = (value ^ np.uint64(codes[i])) * np.uint64(0x9FB21C651E98DF25)
                value ^= value >> np.uint64(29)
                i += 1
        else:
            length = 0  # digits since the last sign
            while i < n:
                code = codes[i]
                if code < 65536 and kinds[code] == 2:
                    length += 1
                else:
                    follow = i + 1
                    while follow < n and codes[follow] < 65536 and kinds[codes[follow]] == 2:
                        follow += 1
                    follow -= i + 1
                    point = code == 46 or code == 44
                    if follow == 3 and length <= 3 and (point or code == 32):
                        length = 0
                        i += 1
                        continue
                    if follow == 0 or not (point or code == 58 or code == 47 or code == 45):
                        break
                    length = 4
                    if point:
                        code = np.uint32(46)
                value = (value ^ np.uint64(code)) * np.uint64(0x9FB21C651E98DF25)
                value ^= value >> np.uint64(29)
                i += 1
        value *= np.uint64(0xBF58476D1CE4E5B9)
        value ^= value >> np.uint64(32)
        words[n_words] = value
        n_words += 1
        if kind == 2:
            figures[n_figures] = value >> np.uint64(32)
            context = (left * np.uint64(3) + further) * np.uint64(0x94D049BB133111EB)
            places[n_figures] = (value >> np.uint64(48) << np.uint64(16)) | context >> np.uint64(48)
            n_figures += 1
            value = np.uint64(1)
        further, left = left, value
    return words[:n_words], figures[:n_figures], places[:n_figures]


_ODD = np.uint64(0x94D049BB133111EB)
_HIGH = np.uint64(32)


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """What is kept of a text to recognise it: the smallest hashes of its runs and its figures.

    All ascend; `n_runs`, `n_figures` and `n_places` are how many different ones the text has in all.
    """

    runs: Hashes
    figures: Hashes
    places: Hashes
    n_runs: int
    n_figures: int
    n_places: int

    def __bytes__(self) -> bytes:
        """Little endian uint32: the three numbers, how many runs and figures are kept, runs,
        figures, places."""
        numbers = [self.n_runs, self.n_figures, self.n_places, len(self.runs), len(self.figures)]
        parts = (np.array(numbers), self.runs, self.figures, self.places)
        return b"".join(part.astype("<u4").tobytes() for part in parts)

    @classmethod
    def of(cls, blob: bytes) -> Signature:
        """The signature that was written as bytes.

        >>> again = Signature.of(bytes(signature("The river rose by 3.5 metres.")))
        >>> len(again.runs), again.n_runs, again.n_figures
        (4, 4, 1)
        """
        values = np.frombuffer(blob, "<u4").astype(np.uint32)
        n_runs, n_figures, n_places, kept, more = (int(value) for value in values[:5])
        runs, figures, places = np.split(values[5:], [kept, kept + more])
        return cls(runs, figures, places, n_runs, n_figures, n_places)


def signature(text: str) -> Signature:
    """The signature of a text: title, blank line, body."""
    plain = text.lower()
    if not plain.isascii():
        plain = unicodedata.normalize("NFKC", plain)
    codes = np.frombuffer(plain.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint32)
    words, figures, places = _tokens(codes, _kinds())
    n_runs = max(len(words) - RUN + 1, 0)
    mixed = words[:n_runs].copy()
    for shift in range(1, RUN):
        mixed *= _ODD
        mixed ^= mixed >> _HIGH
        mixed += words[shift : n_runs + shift]
    mixed *= _ODD
    runs = _distinct((mixed >> _HIGH).astype(np.uint32))
    figures, places = _distinct(figures), _distinct(places)
    return Signature(
        runs[:SKETCH].copy(),  # copies, so that nothing keeps the whole alive
        figures[:FIGURES].copy(),
        places[:FIGURES].copy(),
        len(runs),
        len(figures),
        len(places),
    )


def _distinct(values: Hashes) -> Hashes:
    values.sort()
    if len(values) < 2:
        return values
    keep = np.empty(len(values), np.bool_)
    keep[0] = True
    np.not_equal(values[1:], values[:-1], out=keep[1:])
    return values[keep]


def keys(signature: Signature) -> list[int]:
    """The numbers under which a signature is kept and looked for, ascending.

    They are its smallest runs. Of a text that lies in another one, all of the other's keys that
    it has at all are its own keys too, so half a text finds the whole by half of them.
    """
    found: list[int] = signature.runs[:KEYS].tolist()
    return found


# --- from two signatures to a verdict ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rules:
    """When a text repeats another one, measured in the runs that they share.

    A copy has at least the share `copy` of its runs in the other text, both ways; a brief has the
    share `brief` in the longer one. Few runs prove little and a short template has few of them, so
    n runs must reach `doubt` / n more, or all there is. `figures` is the share of the contained text's figures that
    the other one must have.
    """

    copy: float = 0.55
    brief: float = 0.8
    doubt: float = 5.0
    least: int = 6
    figures: float = 1.0


COPY = Rules()
"""What makes a copy."""

CORRECTION = Rules(copy=0.45, figures=0.0)
"""What makes the earlier text of a correction, which may well be in its figures."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How much of the new text lies in the old one and of the old one in the new, and what it is.

    `kind` is `copy` if each lies in the other, `brief` if the new text is cut from the old one,
    `fuller` if the old one was the brief.
    """

    kind: str
    new_in_old: float
    old_in_new: float


@kernel
def _up_to(values: Hashes, n: int, most: np.uint32) -> int:
    """How many of n ascending hashes are not above a bound."""
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
    """Of two bottom-k sketches, as far as both are complete: how many hashes they share, and how
    many each has. Gives up, with none shared, when neither can have `share` of its own."""
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
    found = _up_to(places, n, place)
    return found > 0 and places[found - 1] == place


@kernel
def _exchanged(left: Hashes, n_left: int, right: Hashes, n_right: int, most: int) -> int:
    """How many figures of the left text stand where the right one has only others of its own, and
    the right one has them elsewhere; of the figures up to `most`."""
    found = 0
    for i in range(n_left):
        figure, context = left[i] >> 16, left[i] & 0xFFFF
        if figure > most or _holds(right, n_right, left[i]):
            continue
        moved = taken = False
        for j in range(n_right):
            if right[j] >> 16 <= most:
                moved |= right[j] >> 16 == figure
                taken |= right[j] & 0xFFFF == context
        found += moved and taken
    return found


@kernel
def shares(
    runs: Hashes,
    figures: Hashes,
    places: Hashes,
    sizes: NDArray[np.int64],
    old_runs: Hashes,
    old_figures: Hashes,
    old_places: Hashes,
    old_sizes: NDArray[np.int64],
    rules: NDArray[np.float64],
) -> tuple[float, float]:
    """How much of the new text lies in the old one and the other way round; zeros for no copy.

    `sizes`: runs kept, runs, figures kept, figures, places kept, places; `rules` as in `rule_numbers`.
    """
    shared, n_new, n_old = _overlap(
        runs,
        sizes[0],
        sizes[1],
        old_runs,
        old_sizes[0],
        old_sizes[1],
        0.99 * min(rules[0], rules[1]),
    )
    if shared < rules[3]:
        return 0.0, 0.0
    new_in_old, old_in_new = shared / n_new, shared / n_old
    n_inner = min(n_new, n_old)
    need = min(rules[0] + rules[2] / n_inner, 1.0)
    copied = min(new_in_old, old_in_new) >= need
    if not copied and max(new_in_old, old_in_new) < max(rules[1], need):
        return 0.0, 0.0
    same, n_new, n_old = _overlap(
        figures, sizes[2], sizes[3], old_figures, old_sizes[2], old_sizes[3], 0.0
    )
    n_inner = n_new if new_in_old >= old_in_new else n_old
    if same < rules[4] * n_inner:
        return 0.0, 0.0
    if rules[4] > 0.0 and same >= 2:
        most = 0xFFFF
        if sizes[5] > sizes[4]:
            most = min(most, (places[sizes[4] - 1] >> 16) - 1)
        if old_sizes[5] > old_sizes[4]:
            most = min(most, (old_places[old_sizes[4] - 1] >> 16) - 1)
        if _exchanged(places, sizes[4], old_places, old_sizes[4], most) >= 2:
            return 0.0, 0.0
    return new_in_old, old_in_new


def decide(new: Signature, old: Signature, rules: Rules = COPY) -> Verdict | None:
    """Whether the new text repeats the old one; None if it is a story of its own."""
    new_in_old, old_in_new = shares(
        new.runs,
        new.figures,
        new.places,
        sizes_of(new),
        old.runs,
        old.figures,
        old.places,
        sizes_of(old),
        rule_numbers(rules),
    )
    return verdict_of(new_in_old, old_in_new, rules)


def sizes_of(signature: Signature) -> NDArray[np.int64]:
    return np.array(
        [
            len(signature.runs),
            signature.n_runs,
            len(signature.figures),
            signature.n_figures,
            len(signature.places),
            signature.n_places,
        ]
    )


@lru_cache(maxsize=16)
def rule_numbers(rules: Rules) -> NDArray[np.float64]:
    return np.array([rules.copy, rules.brief, rules.doubt, rules.least, rules.figures])


def verdict_of(new_in_old: float, old_in_new: float, rules: Rules) -> Verdict | None:
    if new_in_old == 0.0:
        return None
    if min(new_in_old, old_in_new) >= rules.copy:
        return Verdict("copy", new_in_old, old_in_new)
    kind = "brief" if new_in_old > old_in_new else "fuller"
    return Verdict(kind, new_in_old, old_in_new)
