"""Check a store: every sum and count is computed again from the texts and units."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.events import day_number, story_vectors
from segapsith.domains.index import unit_occurrences
from segapsith.domains.threshold_control import AIMS, MILLION
from segapsith.domains.values import EventRecord, Story
from segapsith.errors import SegapsithError, StorageError
from segapsith.intake.documents import text_hash
from segapsith.intake.fingerprints import signature
from segapsith.lexicon.cooccurrence import WINDOW, count_pairs, words_of
from segapsith.lexicon.multiword_terms import Candidates, TermCounts
from segapsith.lexicon.vocabulary import SCALE, fixed_cohesion
from segapsith.model import Document
from segapsith_store import codecs, pair_runs, seal, tombstones
from segapsith_store.digest import changed_blocks, digest
from segapsith_store.store import Store

__all__ = ["Verdict", "verify"]

SHOWN = 20
"""Faults that are listed; all of them are counted."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The faults of a store, its digest, and how much was checked."""

    faults: list[str]
    n_faults: int
    """All faults; `faults` lists the first ones."""
    digest: str
    checked: dict[str, int]
    """Rows by kind."""

    @property
    def sound(self) -> bool:
        return self.n_faults == 0


def verify(store: Store, on_check: Callable[[int, int], None] | None = None) -> Verdict:
    """Check the file, the references, every sum and count, and that all numbers are finite.

    `on_check` is called after each check with the number of checks done and of all.
    """
    checks = (
        _file, _counters, _texts, _words, _pairs, _units, _domains, _events, _thresholds,
        _tombstones, _blocks,
    )  # fmt: skip
    checked: dict[str, int] = {}
    faults: list[str] = []
    n_faults = 0
    with store.frozen():
        for done, check in enumerate(checks, 1):
            for fault in _to_the_end(check, store, checked):
                n_faults += 1
                if len(faults) < SHOWN:
                    faults.append(fault)
            if on_check is not None:
                on_check(done, len(checks) + 1)  # the digest comes last
        try:
            computed = digest(store, anew=True)
            broken = seal.is_broken(store, computed)
        except SegapsithError:
            raise
        except Exception as error:
            reason = f"its digest cannot be computed: {type(error).__name__}: {error}"
            raise StorageError(
                f"{store.path} is damaged ({reason}); take the last backup"
            ) from error
        if broken:
            n_faults += 1
            faults.append("seal: something was changed since the last run, and by no run")
        return Verdict(faults, n_faults, computed, checked)


def _to_the_end(
    check: Callable[[Store, dict[str, int]], Iterator[str]], store: Store, checked: dict[str, int]
) -> Iterator[str]:
    """Yield the faults of a check; an exception that damage causes is one of them."""
    try:
        yield from check(store, checked)
    except SegapsithError:
        raise
    except Exception as error:
        name = check.__name__.lstrip("_")
        yield f"{name}: cannot be checked to the end ({type(error).__name__}: {error})"


def _file(store: Store, checked: dict[str, int]) -> Iterator[str]:
    """Check the pages of the file and the references between rows."""
    for (line,) in store.rows("PRAGMA integrity_check"):
        if line != "ok":
            yield f"file: {line}"
    for table, row, parent, _ in store.rows("PRAGMA foreign_key_check"):
        yield f"{table} {row} refers to a row of {parent} that is not there"


def _counters(store: Store, checked: dict[str, int]) -> Iterator[str]:
    """Check that no id or ordinal is above its counter, so that none is given twice."""
    facts = store.facts()
    for name, table in (("document", "documents"), ("version", "versions"), ("unit", "units")):
        top = store.number(f"SELECT max(id) FROM {table}")
        if top and top >= int(facts.get(f"counter_{name}", 1)):
            yield f"{table}: id {top} is not below its counter"
    top = store.number("SELECT max(id) FROM domains")
    if top and top >= int(facts.get("next_domain", 1)):
        yield f"domains: id {top} is not below its counter"
    top = store.number("SELECT max(id) FROM events")
    if top and top >= int(facts.get("next_event", 1)):
        yield f"events: id {top} is not below its counter"
    top = store.number("SELECT max(ordinal) FROM documents")
    if top > int(facts.get("counter_ordinal", 0)):
        yield f"documents: ordinal {top} is above the clock"


_PRESENT = "JOIN versions v ON v.document = d.id AND v.number = d.version"


def _texts(store: Store, checked: dict[str, int]) -> Iterator[str]:
    """Check that each document has its present version, and each text its hash and signature."""
    for (uid,) in store.rows(
        "SELECT uid FROM documents d WHERE NOT EXISTS"
        " (SELECT 1 FROM versions v WHERE v.document = d.id AND v.number = d.version)"
    ):
        yield f"document {uid}: its present version is missing"
    for (uid,) in store.rows(
        "SELECT d.uid FROM documents d JOIN documents o ON o.id = d.duplicate_of"
        " WHERE o.duplicate_of IS NOT NULL"
    ):
        yield f"document {uid}: it repeats a document that is itself a repetition"
    for (uid,) in store.rows(
        "SELECT uid FROM documents WHERE duplicate_of IS NULL AND ordinal IS NULL"
    ):
        yield f"document {uid}: the clock has not counted it"
    count = 0
    for number, stored_hash, title, body, stored_signature in store.rows(
        "SELECT id, hash, title, body, signature FROM versions"
    ):
        count += 1
        if not (title or body):
            continue
        document = Document(title=title, body=body)
        if text_hash(document) != stored_hash:
            yield f"version {number}: its text is not the one it was kept with"
        elif bytes(signature(document.text)) != stored_signature:
            yield f"version {number}: its signature is not that of its text"
    checked["versions"] = count


def _words(store: Store, checked: dict[str, int]) -> Iterator[str]:
    """Compare the running counts of words, terms and languages with the texts of the stories."""
    size = store.number("SELECT max(id) FROM words") + 1
    documents = np.zeros(size, dtype=np.int64)
    occurrences = np.zeros(size, dtype=np.int64)
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    terms: dict[str, TermCounts] = defaultdict(TermCounts)
    words: NDArray[np.integer[Any]]
    counts: NDArray[np.integer[Any]]
    for lang, blob, joins, bag in store.rows(
        "SELECT v.lang, v.words, v.links, CASE WHEN v.title = '' AND v.body = ''"
        " THEN (SELECT u.words FROM units u WHERE u.version = v.id) END"
        f" FROM documents d {_PRESENT} WHERE d.duplicate_of IS NULL"
    ):
        links = np.frombuffer(joins, dtype=np.uint8)
        if 4 * len(links) != len(blob):
            yield "a text has not as many links as words"
            continue
        if bag is None:
            terms[lang].add(Candidates.of((codecs.words_from(blob), links)))
            words, counts = np.unique(codecs.words_from(blob), return_counts=True)
        else:  # a pre-segmented unit has no text
            words, counts = codecs.bag_from(bag)[:2]
        if len(words) and (words[0] < 0 or words[-1] >= size):
            yield f"a text has the word {words[-1]}, which does not exist"
            continue
        documents[words] += 1
        occurrences[words] += counts
        totals[lang][0] += 1
        totals[lang][1] += int(counts.sum())
    n_words = 0
    for number, word, n_documents, n_occurrences in store.rows(
        "SELECT id, word, documents, occurrences FROM words"
    ):
        n_words += 1
        expected = (int(documents[number]), int(occurrences[number]))
        if (n_documents, n_occurrences) != expected:
            yield f"word {word!r}: counts {n_documents}, {n_occurrences} should be {expected}"
    checked["words"] = n_words
    yield from _term_faults(store, terms)
    stored = {lang: list(sizes) for lang, sizes in store.languages().items() if any(sizes)}
    if stored != {lang: sizes for lang, sizes in totals.items() if any(sizes)}:
        yield f"languages: {stored} should be {dict(totals)}"


def _term_faults(store: Store, computed: Mapping[str, TermCounts]) -> Iterator[str]:
    """Compare the stored counts of term candidates with those of the texts."""
    stored = store.term_counts()
    for lang in sorted({*computed, *stored}):
        expected = computed.get(lang, TermCounts()).arrays()
        present = stored.get(lang, TermCounts()).arrays()
        if not all(np.array_equal(present[name], expected[name]) for name in expected):
            yield f"terms: the counts of candidates in {lang!r} are not those of the texts"


def _pairs(store: Store, checked: dict[str, int]) -> Iterator[str]:
    """Compare the counts of word pairs with the texts of the stories.

    Sums are compared by their marks, which are additive, so that this needs little memory.
    """
    facts = store.facts()
    size = store.number("SELECT max(id) FROM words") + 1
    sums: dict[int, list[bytes]] = defaultdict(list)
    last = (0, -1)
    n_pairs = 0
    for number, source, run, n, mark, keys, counts in store.rows(
        "SELECT id, source, run, size, mark, pairs, counts FROM pair_runs ORDER BY run, id"
    ):
        try:
            block = pair_runs.block_from(n, keys, counts)
        except StorageError as error:
            yield f"pairs {number}: {error}"
            continue
        n_pairs += n
        before = last[1] if last[0] == run else -1
        if n == 0 or (np.diff(block.keys, prepend=before) <= 0).any():
            yield f"pairs {number}: they are not ascending"
        elif int(words_of(block.keys)[1].max()) >= size:
            yield f"pairs {number}: one has a word that does not exist"
        if pair_runs.mark(block) != mark:
            yield f"pairs {number}: their mark is not that of their counts"
        sums[source].append(pair_runs.mark(block))
        last = (run, int(block.keys[-1]) if n else before)
    checked["pairs"] = n_pairs
    window = int(facts.get("pair_window", WINDOW))
    expected = [pair_runs.mark(count_pairs(words, window)) for _, _, _, words in store.sequences(0)]
    if pair_runs.total_mark(sums[pair_runs.STREAM]) != pair_runs.total_mark(expected):
        yield "pairs: how often words met is not what the texts say"
    for reference in store.references():
        if reference.tokens != int(reference.occurrences.sum()):
            yield f"reference corpus {reference.run}: its words do not add up in {reference.lang!r}"
        if len(reference.words) and int(reference.words.max()) >= size:
            yield f"reference corpus {reference.run}: it has a word that does not exist"


def _units(store: Store, checked: dict[str, int]) -> Iterator[str]:
    """Compare units with the words of their texts, and check which units have a domain."""
    n_units = 0
    sequences: dict[int, NDArray[np.int32]] = {}
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in store.rows(
        'SELECT u.id, u.version, u.start, u."end", u.first_word, u.n_words, u.cohesion, u.kept,'
        " u.words, a.score, a.runner_up_score, d.duplicate_of IS NULL AND v.number = d.version,"
        " length(v.title), length(v.body), v.lang, v.words"
        " FROM units u JOIN versions v ON v.id = u.version JOIN documents d ON d.id = u.document"
        " LEFT JOIN assignments a ON a.unit = u.id ORDER BY u.version, u.id"
    ):
        (number, version, start, end, first, n_words, cohesion, is_kept, blob) = row[:9]
        (score, second, learned, title, body, lang, words) = row[9:]
        n_units += 1
        if learned and (title or body):
            totals[lang][0] += 1
            totals[lang][1] += fixed_cohesion(cohesion)
        if version not in sequences:
            sequences = {version: codecs.words_from(words)}
        in_text = sequences[version][first : first + n_words] if title or body else None
        yield from _unit_faults(number, blob, in_text, n_words)
        length = title + body + (2 if title and body else 0)
        if not 0 <= start <= end <= length:
            yield f"unit {number}: characters {start}-{end} are not inside its text"
        if bool(is_kept and learned) != (score is not None):
            yield f"unit {number}: it {'has no' if score is None else 'must not have a'} domain"
        for value in (cohesion, score, second):
            if value is not None and not math.isfinite(value):
                yield f"unit {number}: {value} is not a number"
    checked["units"] = n_units
    stored = {lang: list(sums) for lang, sums in store.cohesion().items() if any(sums)}
    if stored != {lang: sums for lang, sums in totals.items() if any(sums)}:
        yield f"languages: units and cohesion {stored} should be {dict(totals)}"


def _unit_faults(
    number: int, blob: bytes, words: NDArray[np.int32] | None, n_words: int
) -> Iterator[str]:
    """Check the words of a unit; `words` are those of its passage, None if it was pre-segmented."""
    bag = codecs.bag_from(blob)
    if words is None:
        if int(bag.counts.sum()) != n_words:
            yield f"unit {number}: it has not as many words as it was kept with"
    elif len(words) != n_words:
        yield f"unit {number}: its words go beyond its text"
        return
    else:
        distinct, counts = np.unique(words, return_counts=True)
        own = bag.observed
        if not np.array_equal(distinct, own.words) or not np.array_equal(counts, own.counts):
            yield f"unit {number}: its words are not those of its text"
    if len(bag.weights) and not 0 < bag.weights.min() <= bag.weights.max() <= SCALE:
        yield f"unit {number}: a weight is not between 0 and 1"


def _domains(store: Store, checked: dict[str, int]) -> Iterator[str]:
    """Compare the sums of every domain with the units that are in it."""
    facts = store.facts()
    tokens, inferred = facts.get("count") == "tokens", int(facts.get("inferred_occurrence", 1))
    bags: dict[int, list[Any]] = defaultdict(list)
    for domain, blob in store.rows(
        "SELECT a.domain, u.words FROM assignments a JOIN units u ON u.id = a.unit"
    ):
        bags[domain].append(codecs.bag_from(blob))
    n_domains = 0
    for row in store.domains():
        n_domains += 1
        members = bags.pop(row.id, [])
        if row.sums.n_units != len(members):
            yield f"domain {row.id}: {row.sums.n_units} units should be {len(members)}"
        if row.status not in ("open", "retired") and members:
            yield f"domain {row.id}: it is {row.status} and has units"
        ids = np.concatenate([b.words for b in members] or [np.zeros(0, dtype=np.int32)])
        words, place = np.unique(ids, return_inverse=True)
        occurrences = np.zeros(len(words), dtype=np.int64)
        weights = np.zeros(len(words), dtype=np.int64)
        if members:
            counted = [unit_occurrences(b, tokens, inferred) for b in members]
            np.add.at(occurrences, place, np.concatenate(counted))
            np.add.at(weights, place, np.concatenate([b.weights for b in members]))
        if not (
            np.array_equal(words, row.sums.words)
            and np.array_equal(occurrences, row.sums.occurrences)
            and np.array_equal(weights, row.sums.weights)
        ):
            yield f"domain {row.id}: its sums are not those of its units"
    for domain in bags:
        yield f"domain {domain}: it has units but no row"
    checked["domains"] = n_domains


def _events(store: Store, checked: dict[str, int]) -> Iterator[str]:
    """Compare the sums, units and days of every event with the stories that are in it."""
    rows = store.rows(
        "SELECT a.event, u.document, v.date, u.words FROM assignments a"
        " JOIN units u ON u.id = a.unit JOIN versions v ON v.id = u.version"
        " ORDER BY a.event, u.document, u.id"
    )
    members = groupby(rows, key=itemgetter(0))
    event, group = next(members, (None, iter(())))
    if event is None:
        n_units = sum(1 for _ in group)
        if n_units:
            yield f"events: {n_units} units with a domain have no event"
        event, group = next(members, (None, iter(())))
    n_events = 0
    for row in store.events():
        n_events += 1
        while event is not None and event < row.id:
            yield f"event {event}: it has units but no row"
            event, group = next(members, (None, iter(())))
        stories = list[Story]()
        if event == row.id:
            stories = [
                Story([codecs.bag_from(unit[3]) for unit in units], day_number(date), 0)
                for (_, date), units in groupby(group, key=itemgetter(1, 2))
            ]
            event, group = next(members, (None, iter(())))
        yield from _event_faults(row, stories)
    checked["events"] = n_events


def _event_faults(row: EventRecord, stories: Sequence[Story]) -> Iterator[str]:
    if row.sums.n_units != len(stories):
        yield f"event {row.id}: {row.sums.n_units} stories should be {len(stories)}"
    n_units = sum(len(story.bags) for story in stories)
    if row.units != n_units:
        yield f"event {row.id}: {row.units} units should be {n_units}"
    if row.days != tuple(sorted(Counter(s.day for s in stories if s.day).items())):
        yield f"event {row.id}: its days are not those of its stories"
    vectors = story_vectors([story.bags for story in stories])
    words, place = np.unique(vectors.words, return_inverse=True)
    sums = np.zeros(len(words), dtype=np.int64)
    np.add.at(sums, place, vectors.values)
    if not (
        np.array_equal(words, row.sums.words)
        and np.array_equal(np.bincount(place, minlength=len(words)), row.sums.occurrences)
        and np.array_equal(sums, row.sums.weights)
    ):
        yield f"event {row.id}: its sums are not those of its stories"


def _blocks(store: Store, checked: dict[str, int]) -> Iterator[str]:
    """Compare rows with their stored hashes; a change by a run deletes the hash."""
    for table, first, last in changed_blocks(store):
        yield f"{table} {first} to {last}: something was changed by no run"


def _tombstones(store: Store, checked: dict[str, int]) -> Iterator[str]:
    """Check that tombstones are comparable hashes, and that no forgotten document is stored."""
    count = store.number("SELECT count(*) FROM tombstones")
    if not count:  # most stores never forget
        return
    checked["tombstones"] = count
    salt = store.facts().get(tombstones.FACT)
    if salt is None or len(bytes.fromhex(salt)) != tombstones.HASH_BYTES:
        yield "tombstones: their salt is missing or damaged; forgotten documents may come back"
        return
    wrong = store.number(
        "SELECT count(*) FROM tombstones WHERE typeof(document) <> 'blob' OR length(document) <> ?"
        " OR typeof(text) <> 'blob' OR length(text) <> ?",
        [tombstones.HASH_BYTES, tombstones.HASH_BYTES],
    )
    if wrong:
        yield f"tombstones: {wrong} of {count} are not hashes of {tombstones.HASH_BYTES} bytes"
    uids = [uid for (uid,) in store.rows("SELECT uid FROM documents")]
    for uid in sorted(store.forgotten_uids(uids)):
        yield f"document {uid}: it was forgotten and is in the store"


def _thresholds(store: Store, checked: dict[str, int]) -> Iterator[str]:
    """Check that targets and thresholds have possible values, in the order of the clock."""
    for run, aim, share, slope in store.rows("SELECT run, aim, share, slope FROM targets"):
        if aim and not (aim in AIMS and 0 < share < MILLION and slope > 0):
            yield f"target of run {run}: {aim} {share} cannot be followed"
    clock = int(store.facts().get("counter_ordinal", 0))
    number = 0
    for run, ordinal, threshold, placed, founded in store.rows(
        "SELECT run, ordinal, threshold, placed, founded FROM thresholds ORDER BY run, ordinal"
    ):
        number += 1
        if not 0 < threshold <= SCALE or not 0 <= founded <= placed:
            yield f"threshold of run {run}, ordinal {ordinal}: {threshold}, {founded} of {placed}"
        if ordinal > clock:
            yield f"threshold of run {run}: ordinal {ordinal} is above the clock"
    if number:  # most stores never follow a target
        checked["thresholds"] = number
