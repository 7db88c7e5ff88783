"""What documents contribute to the knowledge, and how it is taken back: sums, exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Compare
from segapsith.domains.index import LABEL_WORDS, TOP_WORDS
from segapsith.domains.values import DomainWords
from segapsith.engine.records import (
    Assignment,
    Batch,
    DomainRecord,
    EpochRecord,
    Event,
    UnitRecord,
    VersionRecord,
)
from segapsith.engine.state import Counters, Knowledge
from segapsith.lexicon.cooccurrence import Pairs, PairSums, count_pairs
from segapsith.lexicon.multiword_terms import Candidates, TermCounts

__all__ = ["BatchUpdate"]

_NO_WORDS = DomainWords(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64), 0)


Ints = NDArray[np.int32]


class BatchUpdate:
    """Changes the knowledge and notes in the batch what the store has to keep."""

    def __init__(
        self,
        knowledge: Knowledge,
        rows: dict[int, DomainRecord],
        batch: Batch,
        compare: Compare | None = None,
        asleep: Callable[[int], DomainRecord] | None = None,
    ) -> None:
        """`rows` are the domains in memory; `asleep` fetches one of the others from the store."""
        self._knowledge = knowledge
        self._rows = rows
        self._batch = batch
        self._asleep = asleep
        self._compare = compare
        self._first_new_word = len(knowledge.vocabulary)
        self._counts: dict[tuple[str, int], list[tuple[Ints, Ints]]] = {}
        self._words: list[Ints] = []
        self._waiting: list[tuple[str, UnitRecord, int]] = []
        self._domains: set[int] = set()
        self._terms: dict[str, TermCounts] = {}
        self._texts: dict[int, list[NDArray[np.int32]]] = {1: [], -1: []}
        self._pairs = PairSums()
        self._arrived: dict[int, set[int]] = {}
        self._grown: dict[int, int] = {}
        self.joined = 0
        self.created = 0

    def learn(self, version: VersionRecord, units: list[UnitRecord], ordinal: int = 0) -> None:
        """Counts a text and places its units, one after the other.

        They may wait for those of the next texts: whoever needs the domains calls `flush`.
        """
        self.count(version, units, 1)
        settings = self._knowledge.domains.settings
        if self._compare is not None or settings.prefilter != "none":
            for unit in units:
                self.place(version.lang, unit, ordinal)
            return
        for unit in units:
            if unit.kept:
                self._waiting.append((version.lang, unit, ordinal))
            else:
                self._batch.units[unit.id] = unit

    def flush(self) -> None:
        """Places the units that wait, in order."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        run = self._batch.run
        placed = self._knowledge.domains.place_all([unit.bag for _, unit, _ in waiting])
        for (lang, unit, ordinal), (domain, found) in zip(waiting, placed, strict=True):
            if found.domain is None:
                self._founded(domain, lang, {})
                self.created += 1
                assignment = Assignment(domain, 1.0, found.best, found.score, run)
            else:
                self.joined += 1
                assignment = Assignment(
                    domain, found.score, found.runner_up, found.runner_up_score, run
                )
            self._domains.add(domain)
            self._batch.units[unit.id] = unit.assigned(assignment)
            self._arrived.setdefault(domain, set()).add(unit.id)
            self._grown[domain] = max(ordinal, self._grown.get(domain, 0))
        self._note_grown()

    def _note_grown(self) -> None:
        for domain, ordinal in self._grown.items():
            row = self._rows[domain]
            if ordinal > row.grown:
                self._rows[domain] = replace(row, grown=ordinal)
        self._grown.clear()

    def place(self, lang: str, unit: UnitRecord, ordinal: int = 0) -> None:
        """Puts a unit into the domain that is near enough, or founds one with it.

        `ordinal` is that of its story: the domain has grown then.
        """
        self.flush()
        if not unit.kept:
            self._batch.units[unit.id] = unit
            return
        domains = self._knowledge.domains
        found = domains.place(unit.bag, self._compare, len(self._knowledge.vocabulary))
        if found.domain is None:
            domain = self.found(lang)
            self.created += 1
            assignment = Assignment(domain, 1.0, found.best, found.score, self._batch.run)
        else:
            self.joined += 1
            assignment = Assignment(
                found.domain, found.score, found.runner_up, found.runner_up_score, self._batch.run
            )
        self.enter(unit, assignment)
        row = self._rows[assignment.domain]
        if ordinal > row.grown:
            self._rows[row.id] = replace(row, grown=ordinal)

    def found(self, lang: str, **origin: Any) -> int:
        """A new domain without units; `origin` goes into its lineage."""
        self.flush()
        domain = self._knowledge.domains.create()
        self._founded(domain, lang, origin)
        return domain

    def _founded(self, domain: int, lang: str, origin: Mapping[str, Any]) -> None:
        self._rows[domain] = DomainRecord(
            domain, lang, "", False, "open", False, "", _NO_WORDS, self._batch.run
        )
        self._domains.add(domain)
        self._batch.events.append(Event("created", domain, origin))

    def enter(self, unit: UnitRecord, assignment: Assignment) -> None:
        """Puts a unit into a given domain."""
        self.row(assignment.domain)
        self._knowledge.domains.add_unit(assignment.domain, unit.bag)
        self._domains.add(assignment.domain)
        self._batch.units[unit.id] = unit.assigned(assignment)
        self._arrived.setdefault(assignment.domain, set()).add(unit.id)

    def leave(self, unit: UnitRecord) -> None:
        """Takes a unit out of its domain."""
        if unit.assignment is None:
            return
        domain = unit.assignment.domain
        self.row(domain)
        self._knowledge.domains.remove_unit(domain, unit.bag)
        self._domains.add(domain)
        if domain not in self._knowledge.domains:
            self._batch.events.append(Event("emptied", domain))

    def move(self, unit: UnitRecord, domain: int) -> None:
        """Notes that a unit is in another domain now; its sums are poured by the caller."""
        assert unit.assignment is not None
        self._batch.ended.setdefault(unit.id, unit.assignment)
        moved = unit.assignment._replace(domain=domain, run=self._batch.run)
        self._batch.units[unit.id] = unit.assigned(moved)
        self._arrived.setdefault(domain, set()).add(unit.id)

    def arrived(self, domain: int) -> set[int]:
        """Units that this batch has put into a domain; some may have left it again."""
        return self._arrived.get(domain, set())

    def pour(self, source: int, target: int) -> None:
        """Moves the sums of one domain into another."""
        self.row(source)
        self.row(target)
        self._knowledge.domains.move_sums(source, target)
        self._domains.update((source, target))

    def row(self, domain: int) -> DomainRecord:
        """The row of a domain, which is fetched into memory if it was not there."""
        self.flush()
        if domain not in self._rows:
            if self._asleep is None:
                raise KeyError(f"domain {domain} is not in memory")
            found = self._asleep(domain)
            self._knowledge.domains.restore(domain, found.sums, found.status == "open")
            self._rows[domain] = found
        return self._rows[domain]

    def n_units(self, domain: int) -> int:
        """Units of a domain in memory, as it is now."""
        self.flush()
        return int(self._knowledge.domains.n_units[domain])

    def rows(self) -> list[DomainRecord]:
        """The rows of all domains in memory."""
        self.flush()
        return list(self._rows.values())

    def describe(self, domain: int, **changed: Any) -> None:
        """Changes the label, name, status or lock of a domain."""
        row = replace(self.row(domain), **changed)
        self._rows[domain] = row
        self._domains.add(domain)
        if row.status == "open":
            self._knowledge.domains.reopen(domain)
        else:
            self._knowledge.domains.close(domain)

    def count(self, version: VersionRecord, units: Sequence[UnitRecord], sign: int) -> None:
        """Adds the words of a text and its units to the running counts, or takes them away.

        Words that came as a bag have no order: they do not meet, and their unit was cut by nobody.
        """
        counts = self._counts.setdefault((version.lang, sign), [])
        if not version.has_text or (len(units) == 1 and units[0].n_words == len(version.words)):
            counts += [(unit.bag.words, unit.bag.counts) for unit in units]  # counted already
        else:
            counts.append(_counted(version.words))
        if not version.has_text:
            return
        self._texts[sign].append(version.words)
        self._knowledge.frequencies.add_cohesion(
            version.lang, (unit.cohesion for unit in units), sign
        )
        found = Candidates.of(version.words, version.links)
        if len(found.keys):
            for terms in (self._knowledge.term_counts, self._terms):
                terms.setdefault(version.lang, TermCounts()).add(found, sign)

    def _sum_up(self) -> None:
        """Adds the words of the texts to the running counts."""
        frequencies = self._knowledge.frequencies
        frequencies.grow(len(self._knowledge.vocabulary))
        for (lang, sign), texts in self._counts.items():
            words = np.concatenate([words for words, _ in texts])
            counts = np.concatenate([counts for _, counts in texts])
            said = counts > 0  # what the network inferred stands in no text
            words, counts = words[said], counts[said]
            frequencies.add_all(lang, len(texts), words, counts, sign)
            self._words.append(words)
        self._counts.clear()

    def pairs(self) -> Pairs:
        """By how much this batch has changed, so far, how often words met."""
        window = self._knowledge.pair_window
        for sign, texts in self._texts.items():
            if texts:
                ends = np.cumsum([len(words) for words in texts])
                self._pairs.add(count_pairs(np.concatenate(texts), window, ends), sign)
                texts.clear()
        return self._pairs.total()

    def tick(self, ordinal: int) -> None:
        """The clock ticks: what was summed up so far reads the stream from now on."""
        self.flush()
        self._sum_up()
        knowledge = self._knowledge
        for lang, accepted in knowledge.tick().items():
            self._batch.terms += [
                (lang, words, knowledge.counters.epoch, ordinal) for words in accepted
            ]
        self._batch.epochs["frequencies"] = EpochRecord(
            knowledge.counters.epoch, ordinal, "frequencies", knowledge.frozen.arrays()
        )

    def close(self) -> None:
        """Notes every sum that changed, and the counters."""
        self.flush()
        self._sum_up()
        knowledge, batch = self._knowledge, self._batch
        batch.new_words = knowledge.vocabulary.since(self._first_new_word)
        frequencies = knowledge.frequencies
        changed = np.zeros(len(knowledge.vocabulary), dtype=np.bool_)
        for some in self._words:
            changed[some] = True
        words = np.flatnonzero(changed)
        batch.frequencies = list(
            zip(
                frequencies.documents[words].tolist(),
                frequencies.occurrences[words].tolist(),
                words.tolist(),
                strict=True,
            )
        )
        batch.languages = dict(frequencies.totals)
        batch.cohesion = dict(frequencies.cohesion)
        batch.pairs = self.pairs()
        batch.term_runs = {lang: counts.arrays() for lang, counts in sorted(self._terms.items())}
        changed_domains = sorted(self._domains)
        best = knowledge.domains.heaviest(changed_domains, TOP_WORDS)
        for domain, heaviest in zip(changed_domains, best, strict=True):
            self._rows[domain] = self._present(self._rows[domain], heaviest)
            batch.domains.append(self._rows[domain])
        for domain in self._domains:
            if self._rows[domain].status != "open":
                knowledge.domains.drop(domain)
                del self._rows[domain]
        for name in Counters.__dataclass_fields__:
            batch.facts[f"counter_{name}"] = getattr(knowledge.counters, name)
        batch.facts["next_domain"] = knowledge.domains.next_domain
        batch.facts["count"] = knowledge.domains.settings.count
        batch.facts["inferred_occurrence"] = knowledge.domains.settings.inferred_occurrence
        batch.facts["pair_window"] = knowledge.pair_window
        batch.facts["domain_weight"] = knowledge.domains.settings.domain_weight

    def _present(self, row: DomainRecord, heaviest: list[tuple[int, float]]) -> DomainRecord:
        """The row of a domain as it is now."""
        best = [(self._knowledge.vocabulary.word(word), weight) for word, weight in heaviest]
        label = row.label if row.named else ", ".join(word for word, _ in best[:LABEL_WORDS])
        return DomainRecord(
            row.id,
            row.lang,
            label,
            row.named,
            row.status,
            row.locked,
            ", ".join(f"{word} {weight:.2f}" for word, weight in best),
            self._knowledge.domains.words(row.id),
            row.run,
            row.grown,
        )


def _counted(words: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    distinct, counts = np.unique(words, return_counts=True)
    return distinct.astype(np.int32), counts.astype(np.int32)
