"""Copies: the earlier story that a text repeats, and notices that speak of an earlier story.

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

import heapq
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel

__all__ = [
    "COPY",
    "CORRECTION",
    "Match",
    "Notice",
    "Rules",
    "Signature",
    "Verdict",
    "Window",
    "decide",
    "keys",
    "notice",
    "signature",
]

RUN = 3
"""Words of a run."""

SKETCH = 192
"""Runs that a signature keeps; with this many the error of a containment of 0.6 is 0.035."""

FIGURES = 64
"""Figures that a signature keeps."""

KEYS = 16
"""Runs under which a signature is found again: half a text shares half of them."""

POPULAR = 64
"""A run that more stories than this share is a phrase of the house and leads to none of them."""

WINDOW = 100_000
"""Documents, by ordinal, among which an earlier story is looked for."""

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
def _shares(
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

    `sizes`: runs kept, runs, figures kept, figures, places kept, places; `rules` as in `_numbers`.
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
    new_in_old, old_in_new = _shares(
        new.runs,
        new.figures,
        new.places,
        _sizes(new),
        old.runs,
        old.figures,
        old.places,
        _sizes(old),
        _numbers(rules),
    )
    return _verdict(new_in_old, old_in_new, rules)


def _sizes(signature: Signature) -> NDArray[np.int64]:
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
def _numbers(rules: Rules) -> NDArray[np.float64]:
    return np.array([rules.copy, rules.brief, rules.doubt, rules.least, rules.figures])


def _verdict(new_in_old: float, old_in_new: float, rules: Rules) -> Verdict | None:
    if new_in_old == 0.0:
        return None
    if min(new_in_old, old_in_new) >= rules.copy:
        return Verdict("copy", new_in_old, old_in_new)
    kind = "brief" if new_in_old > old_in_new else "fuller"
    return Verdict(kind, new_in_old, old_in_new)


# --- the window --------------------------------------------------------------------------

_NEVER, _EMPTY = -2, -1
_FEW = 1024


@kernel
def _place(key: np.uint32, table: Hashes, heads: NDArray[np.int32]) -> int:
    """Where a key lies in the table, or where it would be put."""
    mask = len(table) - 1
    place = int(np.uint64(key) * np.uint64(0x9E3779B1) >> np.uint64(16)) & mask
    while heads[place] != -2 and table[place] != key:
        place = (place + 1) & mask
    return place


@kernel
def _link(
    slot: int,
    n_keys: int,
    runs: NDArray[np.uint32],
    table: Hashes,
    heads: NDArray[np.int32],
    counts: NDArray[np.int32],
    links: NDArray[np.int32],
) -> int:
    """Enters the keys of a slot; gives how many were new to the table."""
    new = 0
    width = links.shape[1] // 2
    for j in range(n_keys):
        place = _place(runs[slot, j], table, heads)
        if heads[place] == -2:
            new += 1
            table[place] = runs[slot, j]
            heads[place] = -1
        entry = slot * width + j
        head = heads[place]
        links[slot, 2 * j], links[slot, 2 * j + 1] = -1, head
        if head >= 0:
            links[head // width, 2 * (head % width)] = entry
        heads[place] = entry
        counts[place] += 1
    return new


@kernel
def _unlink(
    slot: int,
    n_keys: int,
    runs: NDArray[np.uint32],
    table: Hashes,
    heads: NDArray[np.int32],
    counts: NDArray[np.int32],
    links: NDArray[np.int32],
) -> None:
    width = links.shape[1] // 2
    for j in range(n_keys):
        place = _place(runs[slot, j], table, heads)
        before, after = links[slot, 2 * j], links[slot, 2 * j + 1]
        if before >= 0:
            links[before // width, 2 * (before % width) + 1] = after
        else:
            heads[place] = after
        if after >= 0:
            links[after // width, 2 * (after % width)] = before
        counts[place] -= 1


@kernel
def _best(
    runs: Hashes,
    figures: Hashes,
    places: Hashes,
    sizes: NDArray[np.int64],
    rules: NDArray[np.float64],
    popular: int,
    all_runs: NDArray[np.uint32],
    all_figures: NDArray[np.uint32],
    all_places: NDArray[np.uint32],
    all_sizes: NDArray[np.int64],
    ordinals: NDArray[np.int64],
    table: Hashes,
    heads: NDArray[np.int32],
    counts: NDArray[np.int32],
    links: NDArray[np.int32],
    seen: NDArray[np.int64],
    stamp: int,
) -> tuple[int, float, float]:
    """The slot of the story that a text repeats most, the earliest of equals; -1 for none."""
    width = links.shape[1] // 2
    found, best_new, best_old = -1, 0.0, 0.0
    for j in range(min(width, len(runs))):
        place = _place(runs[j], table, heads)
        if heads[place] == -2 or counts[place] > popular:
            continue
        entry = heads[place]
        while entry >= 0:
            slot = entry // width
            entry = links[slot, 2 * (entry % width) + 1]
            if seen[slot] == stamp:
                continue
            seen[slot] = stamp
            a, b = _shares(
                runs,
                figures,
                places,
                sizes,
                all_runs[slot],
                all_figures[slot],
                all_places[slot],
                all_sizes[slot],
                rules,
            )
            if a == 0.0:
                continue
            better = a > best_new or (a == best_new and b > best_old)
            equal = a == best_new and b == best_old
            if found < 0 or better or (equal and ordinals[slot] < ordinals[found]):
                found, best_new, best_old = slot, a, b
    return found, best_new, best_old


@dataclass(frozen=True, slots=True)
class Match:
    """The earlier story that a text repeats, and how."""

    document: int
    verdict: Verdict


class Window:
    """The stories of the last `size` ordinals, found by their keys.

    What is found depends on which stories are in the window and not on the order in which they
    came there. Memory grows with the stories up to about 2 KB for each of `size`.
    """

    def __init__(self, size: int = WINDOW) -> None:
        if size < 1:
            raise ValueError(f"size={size} should be >= 1")
        self.size = size
        self._newest = 0
        self._slots: dict[int, int] = {}
        self._by_age: list[tuple[int, int]] = []
        self._free: list[int] = []
        self._stamp = 0
        self._make(min(_FEW, size))
        self._index(_FEW * KEYS)

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, document: int) -> bool:
        return document in self._slots

    def __iter__(self) -> Iterator[tuple[int, int, Signature]]:
        """(ordinal, document, signature) of every story, by ordinal."""
        rows = [(int(self._ordinals[slot]), document) for document, slot in self._slots.items()]
        for ordinal, document in sorted(rows):
            slot = self._slots[document]
            n_runs, all_runs, n_figures, all_figures, n_places, all_places = self._sizes[
                slot
            ].tolist()
            yield (
                ordinal,
                document,
                Signature(
                    self._runs[slot, :n_runs].copy(),
                    self._figures[slot, :n_figures].copy(),
                    self._places[slot, :n_places].copy(),
                    all_runs,
                    all_figures,
                    all_places,
                ),
            )

    @property
    def nbytes(self) -> int:
        """Memory of its arrays."""
        return sum(v.nbytes for v in vars(self).values() if isinstance(v, np.ndarray))

    def add(self, document: int, ordinal: int, signature: Signature) -> None:
        """Takes a story in, in place of its earlier text if it has one; the oldest may leave."""
        self.remove(document)
        self._newest = max(self._newest, ordinal)
        self._evict()
        if ordinal <= self._newest - self.size:
            return
        if not self._free:
            self._grow()
        slot = self._free.pop()
        sizes = _sizes(signature)
        self._runs[slot, : sizes[0]] = signature.runs
        self._figures[slot, : sizes[2]] = signature.figures
        self._places[slot, : sizes[4]] = signature.places
        self._sizes[slot] = sizes
        self._ordinals[slot] = ordinal
        self._documents[slot] = document
        self._seen[slot] = 0
        self._slots[document] = slot
        heapq.heappush(self._by_age, (ordinal, document))
        self._enter(slot)
        if self._used * 4 > len(self._table) * 3:
            self._index(2 * KEYS * max(len(self._slots), _FEW))

    def remove(self, document: int) -> None:
        """Lets a story go, if it is there."""
        slot = self._slots.pop(document, None)
        if slot is None:
            return
        n_keys = min(KEYS, int(self._sizes[slot, 0]))
        _unlink(slot, n_keys, self._runs, self._table, self._heads, self._counts, self._links)
        self._free.append(slot)

    def find(self, signature: Signature, rules: Rules = COPY) -> Match | None:
        """The story that a text repeats most, the earliest of equals."""
        self._stamp += 1
        slot, new_in_old, old_in_new = _best(
            signature.runs,
            signature.figures,
            signature.places,
            _sizes(signature),
            _numbers(rules),
            POPULAR,
            self._runs,
            self._figures,
            self._places,
            self._sizes,
            self._ordinals,
            self._table,
            self._heads,
            self._counts,
            self._links,
            self._seen,
            self._stamp,
        )
        verdict = _verdict(new_in_old, old_in_new, rules)
        if verdict is None:
            return None
        return Match(int(self._documents[slot]), verdict)

    def _make(self, room: int) -> None:
        self._runs = np.zeros((room, SKETCH), np.uint32)
        self._figures = np.zeros((room, FIGURES), np.uint32)
        self._places = np.zeros((room, FIGURES), np.uint32)
        self._sizes = np.zeros((room, 6), np.int64)
        self._ordinals = np.zeros(room, np.int64)
        self._documents = np.zeros(room, np.int64)
        self._seen = np.zeros(room, np.int64)
        self._links = np.zeros((room, 2 * KEYS), np.int32)
        self._free = list(range(room - 1, -1, -1))

    def _grow(self) -> None:
        """Twice the room, but no more than the window can hold."""
        before = len(self._ordinals)
        room = min(2 * before, self.size)
        for name in (
            *("_runs", "_figures", "_places", "_sizes", "_ordinals", "_documents", "_seen"),
            "_links",
        ):
            old = getattr(self, name)
            new = np.zeros((room, *old.shape[1:]), old.dtype)
            new[:before] = old
            setattr(self, name, new)
        self._free = list(range(room - 1, before - 1, -1))

    def _index(self, room: int) -> None:
        """Makes the table of keys anew, for stories with this many keys at most."""
        size = 1 << max(room, 2).bit_length()
        self._table = np.zeros(size, np.uint32)
        self._heads = np.full(size, _NEVER, np.int32)
        self._counts = np.zeros(size, np.int32)
        self._used = 0
        for slot in self._slots.values():
            self._enter(slot)

    def _enter(self, slot: int) -> None:
        n_keys = min(KEYS, int(self._sizes[slot, 0]))
        self._used += _link(
            slot, n_keys, self._runs, self._table, self._heads, self._counts, self._links
        )

    def _evict(self) -> None:
        """Lets those go whose ordinal lies too far back."""
        oldest = self._newest - self.size
        while self._by_age and self._by_age[0][0] <= oldest:
            ordinal, document = heapq.heappop(self._by_age)
            slot = self._slots.get(document)
            if slot is not None and self._ordinals[slot] == ordinal:
                self.remove(document)
        if len(self._by_age) > 2 * len(self._slots) + _FEW:  # corrected again and again
            present = [(int(self._ordinals[s]), d) for d, s in self._slots.items()]
            self._by_age = sorted(present)


# --- notices -----------------------------------------------------------------------------


class Notice(StrEnum):
    """What a headline says about an earlier story."""

    NONE = "none"
    CORRECTION = "correction"
    """The earlier text was wrong; this one takes its place."""
    UPDATE = "update"
    """A later writing of the same story."""
    REPEAT = "repeat"
    """The same text once more."""
    WITHDRAWAL = "withdrawal"
    """The earlier text must not be used."""
    EMBARGO = "embargo"
    """Not to be published before a time."""


_MARKS = {
    Notice.WITHDRAWAL: (
        r"(?:story |bulletin |mandatory |advisory )?(?:kill(?:ed)?|withdrawn|withdrawal|spiked)"
        r"|story cancel(?:l?ed)?|disregard|do not use|annulation|annulée?|annule et remplace"
        r"|(?:dépêche|avis) (?:annulée?|d'annulation)|retirée|à ne pas (?:utiliser|diffuser)"
    ),
    Notice.CORRECTION: (
        r"(?:official |company )?correct(?:ed|ion|s|ive)|refil(?:e|ed|es)|clarif(?:ied|ication)"
        r"|errat(?:um|a)|rectificati(?:f|on)|rectifiée?|corrigée?|correctif"
    ),
    Notice.EMBARGO: r"(?:sous )?embargo(?:ed)?|hold for release",
    Notice.UPDATE: (
        r"update[sd]?|wrapup|wrap|recasts?|write-?thru|\d(?:st|nd|rd|th) (?:ld|lead)|lead \d"
        r"|actualisée?|actualisation|mise à jour|màj"
    ),
    Notice.REPEAT: r"rpt|repeat(?:ing)?|reissued?|resend|répétition|rediffusion",
}
"""Marks of the desks, the graver first: what is withdrawn is not merely updated."""

_MARK = "|".join(f"(?P<{kind.value}>{marks})" for kind, marks in _MARKS.items())
_MORE = r"(?:[ -]?(?:no\.? ?|n° ?)?\d{1,2})?(?: \(\w{1,9}\))?"
_ENDS = r"\s*(?:[:/)\]–—]|-(?=\W|\S)|\.{2,}|[-*#.!]*$)"
_OPENING = re.compile(rf"[\s*#(\[«\"+/-]*(?:{_MARK}){_MORE}(?=(?P<end>{_ENDS}))", re.IGNORECASE)
_CLOSING = re.compile(rf"(?:[(\[]|[-–—] )(?:{_MARK}){_MORE}[)\]]?\s*$", re.IGNORECASE)
_UNTIL = re.compile(
    r"[\s*#(\[]*(?P<embargo>(?:sous )?embargo(?:ed)? (?:until|till|for|to|jusqu|\d)|hold for release)",
    re.IGNORECASE,
)
_BODY = re.compile(
    r"(?P<withdrawal>(?:story|item|report|headline|take)s? (?:\S+ ){0,8}?(?:is|are|has been|have been|was) "
    r"(?:withdrawn|killed|cancell?ed)|please (?:disregard|kill)|(?:editors|eds)\W{1,3}(?:please )?kill"
    r"|(?:dépêche|information|papier) (?:\S+ ){0,8}?(?:est|a été) (?:annulée?|retirée?)"
    r"|(?:veuillez|prière de|merci de) (?:ne pas (?:tenir compte|utiliser)|annuler|supprimer)"
    r"|annule et remplace)"
    r"|(?P<correction>\((?:corrects|corrected|refiles|clarifies|rectifie|corrige)\b"
    r"|^\W{0,3}(?:corrects|corrige|rectifie) (?:\w+ ){1,6}(?:in|to|dans|au) )"
    r"|(?P<embargo>embargo(?:ed)? (?:until|till|for|jusqu)|not for (?:release|publication) (?:before|until))"
    r"|(?P<update>\((?:updates|recasts|adds|actualise|ajoute)\b)"
    r"|(?P<repeat>\((?:repeats|repeating|répète)\b)",
    re.IGNORECASE,
)
_GRAVITY = {kind: place for place, kind in enumerate(_MARKS)}
_BODY_HEAD = 300


def notice(title: str, body: str = "") -> Notice:
    """Whether an item is a desk's notice about an earlier story, by its headline or first lines.

    The mark opens the headline and something parts it from the rest, or it closes the headline
    in brackets: a story about a withdrawal or a kill is none.

    >>> notice("CORRECTED - AUSTRIA 1987 GROWTH FORECAST REVISED"), notice("UPDATE 1-Oil rises")
    (<Notice.CORRECTION: 'correction'>, <Notice.UPDATE: 'update'>)
    >>> notice("WHITE HOUSE WITHDRAWS GATES NOMINATION"), notice("Annulation: séisme au Chili")
    (<Notice.NONE: 'none'>, <Notice.WITHDRAWAL: 'withdrawal'>)
    """
    if not title and not body:
        return Notice.NONE
    found: list[Notice] = []
    position = 0
    title = title.strip() or body.strip().partition("\n")[0]
    while match := _OPENING.match(title, position):
        kind = Notice(_mark(match))
        word = match.group(kind.value)
        # A dash also joins words, and an embargo is news as well; the desks write in capitals.
        if not word.isupper() and (kind is Notice.EMBARGO or match["end"].lstrip()[:1] == "-"):
            break
        found.append(kind)
        position = match.end("end")
        if position == len(title):
            break
    closing = _CLOSING.search(title)
    if closing and (closing.group()[0] in "([" or closing.group(_mark(closing)).isupper()):
        found.append(Notice(_mark(closing)))
    if until := _UNTIL.match(title):
        found.append(Notice(_mark(until)))
    found += [Notice(_mark(match)) for match in _BODY.finditer(body[:_BODY_HEAD])]
    return min(found, key=_GRAVITY.__getitem__, default=Notice.NONE)


def _mark(match: re.Match[str]) -> str:
    """The name of the group that matched."""
    return next(name for name, text in match.groupdict().items() if text and name != "end")
