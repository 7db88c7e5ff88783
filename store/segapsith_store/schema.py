"""The tables and views of a store, with a sentence on every column.

`docs/reference/store.md` is generated from here. A change to the schema needs a migration (`migrations.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "APPLICATION_ID",
    "BLOCK",
    "BLOCKED",
    "DROPPED",
    "FTS",
    "HASH_BEGIN",
    "SCHEMA",
    "TABLES",
    "UNSPACED",
    "VIEWS",
    "Table",
    "View",
    "hash_begin",
]

APPLICATION_ID = 0x53454741
"""`SEGA`: marks a SQLite file as a store of this program."""

SCHEMA = 11
"""The schema that this program reads and writes: the number of its migrations."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its name, what a row is, its columns (name, type, meaning) and its constraints."""

    name: str
    about: str
    columns: tuple[tuple[str, str, str], ...]
    closing: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    without_rowid: bool = False
    since: int = 1
    """The schema that added it."""
    added: tuple[tuple[str, str, str], ...] = ()
    """Columns that later schemas added."""
    first_name: str = ""
    """Its name in the schema that added it, if a later one renamed it."""

    @property
    def sql(self) -> str:
        """The statement that the schema which added it creates it with."""
        body = ",\n  ".join([*(f'"{n}" {t}' for n, t, _ in self.columns), *self.closing])
        return f'CREATE TABLE "{self.first_name or self.name}" (\n  {body}\n)' + (
            " WITHOUT ROWID" if self.without_rowid else ""
        )


@dataclass(frozen=True, slots=True)
class View:
    """A view: a table that reads well, for `datasette` and for people."""

    name: str
    about: str
    sql: str


TABLES = (
    Table(
        "facts",
        "Single values: counters that never go back, and settings of the store.",
        (("name", "TEXT PRIMARY KEY", "what it is"), ("value", "TEXT NOT NULL", "JSON")),
        without_rowid=True,
    ),
    Table(
        "runs",
        "One command that changed the store, or measured it.",
        (
            ("id", "INTEGER PRIMARY KEY", "never reused"),
            ("command", "TEXT NOT NULL", "ingest, forget, validate …"),
            ("status", "TEXT NOT NULL", "running, done, failed, interrupted or undone"),
            ("started_at", "TEXT NOT NULL", "UTC"),
            ("finished_at", "TEXT", "UTC"),
            ("name", "TEXT NOT NULL DEFAULT ''", "what the user called it (`--batch`)"),
            (
                "input",
                "TEXT NOT NULL DEFAULT ''",
                "hash of the named inputs; equal inputs continue the run",
            ),
            ("position", "INTEGER NOT NULL DEFAULT 0", "items of the input that are committed"),
            ("settings", "TEXT NOT NULL DEFAULT '{}'", "JSON"),
            ("versions", "TEXT NOT NULL DEFAULT '{}'", "JSON: of the program and its plugins"),
            ("seed", "INTEGER", "of what is random, if anything is"),
            ("counts", "TEXT NOT NULL DEFAULT '{}'", "JSON: the summary"),
        ),
    ),
    Table(
        "documents",
        "One story under one identity; its texts are in `versions`.",
        (
            ("id", "INTEGER PRIMARY KEY", "never reused"),
            (
                "uid",
                "TEXT NOT NULL UNIQUE",
                "the id it came with, or the hash of its text; FEED#GUID",
            ),
            ("ordinal", "INTEGER", "its place on the learning clock; none for a duplicate"),
            ("version", "INTEGER NOT NULL", "the number of its present version"),
            ("duplicate_of", "INTEGER REFERENCES documents(id)", "the story that it repeats"),
            ("run", "INTEGER NOT NULL REFERENCES runs(id)", "that first read it"),
        ),
        indexes=("duplicate_of", "run"),
    ),
    Table(
        "versions",
        "One text of a document, as it was read.",
        (
            ("id", "INTEGER PRIMARY KEY", "never reused"),
            ("document", "INTEGER NOT NULL REFERENCES documents(id)", "whose text"),
            ("number", "INTEGER NOT NULL", "1 for the first, 2 for its correction …"),
            ("hash", "TEXT NOT NULL", "SHA-256 of the normalised text"),
            ("date", "TEXT", "UTC, ISO 8601"),
            ("date_original", "TEXT", "as it was given"),
            ("lang", "TEXT NOT NULL", "language it was read in"),
            ("source", "TEXT NOT NULL", "agency or feed"),
            ("run", "INTEGER NOT NULL REFERENCES runs(id)", "that read it"),
            ("title", "TEXT NOT NULL", "headline"),
            ("metadata", "TEXT NOT NULL", "JSON: every other field; never learned from"),
            (
                "signature",
                "BLOB NOT NULL",
                "fingerprint by which near-duplicates are detected; see fingerprints.py",
            ),
            (
                "words",
                "BLOB NOT NULL",
                "the content words in text order, int32 little endian; none if there is no text",
            ),
            (
                "links",
                "BLOB NOT NULL",
                "one byte per content word: how it joins the next; see multiword_terms.py",
            ),
            ("body", "TEXT NOT NULL", "the text is title, blank line, body"),
        ),
        closing=("UNIQUE (document, number)",),
        indexes=("hash", "run", "date"),
    ),
    Table(
        "sightings",
        "Where a document was seen.",
        (
            ("document", "INTEGER NOT NULL REFERENCES documents(id)", "what"),
            ("source", "TEXT NOT NULL", "feed, file or agency"),
            ("run", "INTEGER NOT NULL REFERENCES runs(id)", "that saw it first there"),
        ),
        closing=("PRIMARY KEY (document, source)",),
        indexes=("run",),
        without_rowid=True,
    ),
    Table(
        "words",
        "A word of a language, with its running counts over the stories.",
        (
            ("id", "INTEGER PRIMARY KEY", "never reused"),
            ("lang", "TEXT NOT NULL", "language"),
            ("word", "TEXT NOT NULL", "lemma or multi-word term"),
            ("documents", "INTEGER NOT NULL", "stories that have it"),
            ("occurrences", "INTEGER NOT NULL", "times it occurs in them"),
        ),
        closing=("UNIQUE (lang, word)",),
    ),
    Table(
        "terms",
        "Multi-word terms that the stream taught; stable once accepted.",
        (
            ("lang", "TEXT NOT NULL", "language"),
            ("words", "TEXT NOT NULL", "its lemmas, with blanks between them"),
            ("epoch", "INTEGER NOT NULL", "of the clock from which texts are read with it"),
            ("ordinal", "INTEGER NOT NULL", "documents accepted then"),
            ("place", "INTEGER NOT NULL", "in the order of acceptance"),
        ),
        closing=("PRIMARY KEY (lang, words)",),
        without_rowid=True,
    ),
    Table(
        "term_runs",
        "Counts of term candidates: their sum over the rows of a language.",
        (
            ("id", "INTEGER PRIMARY KEY", "number"),
            ("lang", "TEXT NOT NULL", "language"),
            ("arrays", "BLOB NOT NULL", "keys, occurrences, documents, named: npz of integers"),
        ),
        indexes=("lang",),
    ),
    Table(
        "languages",
        "The size of the stream in each language.",
        (
            ("lang", "TEXT PRIMARY KEY", "language"),
            ("documents", "INTEGER NOT NULL", "stories"),
            ("words", "INTEGER NOT NULL", "content words in them"),
            ("units", "INTEGER NOT NULL", "units of their texts, learned from or not"),
            ("cohesion", "INTEGER NOT NULL", "sum of the units' cohesion, times 65536"),
        ),
        without_rowid=True,
    ),
    Table(
        "epochs",
        "The frozen values of the present epoch, with which texts are read.",
        (
            (
                "name",
                "TEXT PRIMARY KEY",
                "what is frozen: frequencies, network, word space, or a measure's name",
            ),
            ("epoch", "INTEGER NOT NULL", "number of the epoch that began then"),
            ("ordinal", "INTEGER NOT NULL", "documents accepted when it began"),
            ("arrays", "BLOB NOT NULL", "named arrays in NumPy's npz format, without objects"),
        ),
    ),
    Table(
        "units",
        "A thematic unit: a stretch of a text about one thing.",
        (
            ("id", "INTEGER PRIMARY KEY", "never reused"),
            ("document", "INTEGER NOT NULL REFERENCES documents(id)", "whose"),
            ("version", "INTEGER NOT NULL REFERENCES versions(id)", "of which text"),
            ("position", "INTEGER NOT NULL", "0 for the first of its text"),
            ("start", "INTEGER NOT NULL", "first character"),
            ("end", "INTEGER NOT NULL", "character after the last"),
            ("first_word", "INTEGER NOT NULL", "first of the text's content words"),
            ("n_words", "INTEGER NOT NULL", "content words"),
            ("cohesion", "REAL NOT NULL", "how strongly its words belong together"),
            ("kept", "INTEGER NOT NULL", "1 if it may be learned from"),
            ("epoch", "INTEGER NOT NULL", "of the clock when it was weighted"),
            (
                "words",
                "BLOB NOT NULL",
                "a table: ids, counts (0: inferred), weights times 65536, less 1; see codecs.py",
            ),
        ),
        indexes=("document", "version"),
    ),
    Table(
        "domains",
        "A semantic domain: a weighted word list with the units it was learned from.",
        (
            ("id", "INTEGER PRIMARY KEY", "never reused"),
            ("lang", "TEXT NOT NULL", "language of its words"),
            ("label", "TEXT NOT NULL", "its name, or a headline, or its best words"),
            ("named", "INTEGER NOT NULL DEFAULT 0", "1 if a person named it"),
            ("status", "TEXT NOT NULL DEFAULT 'open'", "open, retired, merged or split"),
            ("locked", "INTEGER NOT NULL DEFAULT 0", "1 if it may not be merged, split or retired"),
            ("grown", "INTEGER NOT NULL DEFAULT 0", "ordinal of the last story that joined it"),
            ("units", "INTEGER NOT NULL", "units in it"),
            ("run", "INTEGER NOT NULL REFERENCES runs(id)", "that made it"),
            ("top_words", "TEXT NOT NULL", "for reading: words with weights"),
            ("words", "BLOB NOT NULL", "a table: ids, occurrences, weight sums; see codecs.py"),
        ),
        indexes=("run", "status"),
    ),
    Table(
        "assignments",
        "Which domain a unit is in.",
        (
            ("unit", "INTEGER PRIMARY KEY REFERENCES units(id)", "what"),
            ("domain", "INTEGER NOT NULL REFERENCES domains(id)", "where"),
            ("score", "REAL NOT NULL", "similarity when it joined; 1 if it founded a domain"),
            ("runner_up", "INTEGER", "the second best domain then"),
            ("runner_up_score", "REAL NOT NULL", "and its similarity"),
            ("run", "INTEGER NOT NULL REFERENCES runs(id)", "that put it there"),
        ),
        indexes=("domain", "run"),
        added=(("event", "INTEGER REFERENCES events(id)", "the event of its story"),),
    ),
    Table(
        "past_assignments",
        "Where a unit was until a run moved it or corrected its text; undoing the run brings it back.",
        (
            ("unit", "INTEGER NOT NULL REFERENCES units(id)", "what"),
            ("domain", "INTEGER NOT NULL REFERENCES domains(id)", "where it was"),
            ("score", "REAL NOT NULL", "as in assignments"),
            ("runner_up", "INTEGER", "as in assignments"),
            ("runner_up_score", "REAL NOT NULL", "as in assignments"),
            ("run", "INTEGER NOT NULL REFERENCES runs(id)", "that had put it there"),
            ("ended_by", "INTEGER NOT NULL REFERENCES runs(id)", "that ended it"),
        ),
        closing=("PRIMARY KEY (unit, ended_by)",),
        indexes=("ended_by",),
        added=(("event", "INTEGER REFERENCES events(id)", "as in assignments"),),
    ),
    Table(
        "document_changes",
        "What a document was before a run changed it, so that the run can be undone.",
        (
            ("document", "INTEGER NOT NULL REFERENCES documents(id)", "which"),
            ("run", "INTEGER NOT NULL REFERENCES runs(id)", "that changed it"),
            ("ordinal", "INTEGER", "before"),
            ("version", "INTEGER NOT NULL", "before"),
            ("duplicate_of", "INTEGER", "before"),
        ),
        closing=("PRIMARY KEY (document, run)",),
        indexes=("run",),
        without_rowid=True,
    ),
    Table(
        "lineage",
        "What happened to a domain other than taking units.",
        (
            ("id", "INTEGER PRIMARY KEY", "never reused"),
            ("run", "INTEGER NOT NULL REFERENCES runs(id)", "when"),
            (
                "kind",
                "TEXT NOT NULL",
                "created, emptied, renamed, merged, split, retired, locked …",
            ),
            ("domain", "INTEGER NOT NULL", "to which domain"),
            ("detail", "TEXT NOT NULL DEFAULT '{}'", "JSON: from, into, and what it was before"),
        ),
        indexes=("domain", "run"),
        first_name="events",
    ),
    Table(
        "rejects",
        "Items that were rejected.",
        (
            ("id", "INTEGER PRIMARY KEY", "number"),
            ("run", "INTEGER NOT NULL REFERENCES runs(id)", "when"),
            ("name", "TEXT NOT NULL", "which item"),
            ("reason", "TEXT NOT NULL", "why"),
        ),
        indexes=("run",),
    ),
    Table(
        "clusterings",
        "A clustering recomputed from the units, independent of the domains.",
        (
            ("run", "INTEGER PRIMARY KEY REFERENCES runs(id)", "that computed it"),
            ("lang", "TEXT NOT NULL", "language of the units"),
            ("units", "BLOB NOT NULL", "unit ids, int64 little endian"),
            ("labels", "BLOB NOT NULL", "their clusters, int64 little endian; -1 for none"),
        ),
    ),
    Table(
        "topics",
        "A topic: domains of one language that belong together. `groupings` says which.",
        (
            ("id", "INTEGER PRIMARY KEY", "never reused"),
            ("lang", "TEXT NOT NULL", "language of its domains"),
            ("name", "TEXT NOT NULL DEFAULT ''", "its name; empty: its best words are the label"),
            ("run", "INTEGER NOT NULL REFERENCES runs(id)", "that made it"),
        ),
        indexes=("run",),
    ),
    Table(
        "groupings",
        "Which domain is in which topic, as a run computed it; the last row is valid.",
        (
            ("run", "INTEGER PRIMARY KEY REFERENCES runs(id)", "that grouped the domains"),
            ("domains", "BLOB NOT NULL", "domain ids, ascending, int64 little endian"),
            ("topics", "BLOB NOT NULL", "their topics, int64 little endian"),
            ("basis", "TEXT NOT NULL", "hash of the domains and settings it was computed from"),
        ),
    ),
    Table(
        "unlabelled",
        "A domain that changed after its label was computed.",
        (("domain", "INTEGER PRIMARY KEY REFERENCES domains(id)", "which"),),
        since=7,
    ),
    Table(
        "group_labels",
        "The labels of the groups that a run made; derived, so not part of the digest.",
        (
            ("run", "INTEGER PRIMARY KEY REFERENCES runs(id)", "that grouped domains"),
            ("labels", "TEXT NOT NULL", "JSON: label by number of the group"),
        ),
        since=7,
    ),
    Table(
        "sections",
        "A section: topics of one language that belong together. `section_groupings` says which.",
        (
            ("id", "INTEGER PRIMARY KEY", "never reused"),
            ("lang", "TEXT NOT NULL", "language of its topics"),
            ("name", "TEXT NOT NULL DEFAULT ''", "its name; empty: a label is proposed"),
            ("run", "INTEGER NOT NULL REFERENCES runs(id)", "that made it"),
        ),
        indexes=("run",),
        since=5,
    ),
    Table(
        "section_groupings",
        "Which domain is in which section, as a run computed it; the last row is valid.",
        (
            ("run", "INTEGER PRIMARY KEY REFERENCES runs(id)", "that made the sections"),
            ("domains", "BLOB NOT NULL", "domain ids, ascending, int64 little endian"),
            ("sections", "BLOB NOT NULL", "their sections, int64 little endian"),
            ("basis", "TEXT NOT NULL", "hash of the topics and settings it was computed from"),
        ),
        since=5,
    ),
    Table(
        "comparisons",
        "The result of a validation or comparison.",
        (
            ("id", "INTEGER PRIMARY KEY", "never reused"),
            ("run", "INTEGER NOT NULL REFERENCES runs(id)", "when"),
            ("kind", "TEXT NOT NULL", "validate, drift, order …"),
            ("lang", "TEXT NOT NULL", "language"),
            ("result", "TEXT NOT NULL", "JSON"),
        ),
        indexes=("run",),
    ),
    Table(
        "feeds",
        "A feed, and the last response of its server.",
        (
            ("id", "INTEGER PRIMARY KEY AUTOINCREMENT", "never reused"),
            ("url", "TEXT NOT NULL UNIQUE", "address"),
            ("title", "TEXT NOT NULL DEFAULT ''", "name"),
            ("subscribed", "INTEGER NOT NULL DEFAULT 0", "1 if `update` reads it"),
            ("etag", "TEXT", "validator, stored only with a complete body"),
            ("last_modified", "TEXT", "validator, stored only with a complete body"),
            ("checked_at", "TEXT", "UTC; when it was last asked"),
            ("next_check_at", "TEXT", "UTC; when `update` asks again"),
            ("retry_at", "TEXT", "UTC; the server asked for no request before"),
            ("interval", "INTEGER NOT NULL DEFAULT 3600", "seconds; shorter the more it brings"),
            ("failures", "INTEGER NOT NULL DEFAULT 0", "in a row"),
            ("last_new_at", "TEXT", "UTC; when it last brought a new story"),
            ("error", "TEXT NOT NULL DEFAULT ''", "what went wrong last time"),
            ("run", "INTEGER REFERENCES runs(id)", "that stored the body of the validators"),
        ),
        indexes=("run",),
    ),
    Table(
        "nights",
        "One unattended run (`update --nightly`): how it ended, and what it was judged by.",
        (
            ("id", "INTEGER PRIMARY KEY", "never reused"),
            ("night", "TEXT NOT NULL", "its date, UTC"),
            ("started_at", "TEXT NOT NULL", "UTC"),
            ("finished_at", "TEXT", "UTC; none if it was cut short"),
            ("code", "INTEGER", "its exit code"),
            ("line", "TEXT NOT NULL DEFAULT ''", "the summary that was sent"),
            ("figures", "TEXT NOT NULL DEFAULT '{}'", "JSON: what alarms compare; see alarms.py"),
            ("result", "TEXT NOT NULL DEFAULT '{}'", "JSON: its steps and alarms"),
        ),
        indexes=("night",),
    ),
    Table(
        "pair_runs",
        "Counts of word pairs in blocks of sorted runs, merged like a log; a count is their sum.",
        (
            ("id", "INTEGER PRIMARY KEY", "ascending within a run"),
            ("source", "INTEGER NOT NULL", "0 for the stream, or a run of `network build`"),
            ("level", "INTEGER NOT NULL", "0 for a fresh run; a merge raises it"),
            ("run", "INTEGER NOT NULL", "which sorted run the block belongs to"),
            ("size", "INTEGER NOT NULL", "pairs in the block"),
            ("mark", "BLOB NOT NULL", "sum of count times hash of pair; see pair_runs.py"),
            (
                "pairs",
                "BLOB NOT NULL",
                "ascending pairs of word ids: differences as varints, deflated; see pair_runs.py",
            ),
            (
                "counts",
                "BLOB NOT NULL",
                "occurrences of each pair, negative ones are subtracted: varints, deflated",
            ),
        ),
        indexes=("run", "source"),
    ),
    Table(
        "reference_corpora",
        "A corpus that `network build` read: it counts for the network and for nothing else.",
        (
            (
                "run",
                "INTEGER NOT NULL REFERENCES runs(id)",
                "that read it; undoing it takes it out",
            ),
            ("lang", "TEXT NOT NULL", "language"),
            ("documents", "INTEGER NOT NULL", "texts"),
            ("words", "INTEGER NOT NULL", "content words in them"),
            ("arrays", "BLOB NOT NULL", "words, occurrences, named: npz; one value a word"),
        ),
        closing=("PRIMARY KEY (run, lang)",),
        without_rowid=True,
    ),
    Table(
        "targets",
        "Targets that the threshold follows (`tune --keep`); the last row is valid.",
        (
            ("run", "INTEGER PRIMARY KEY REFERENCES runs(id)", "that set it, or ended one"),
            (
                "aim",
                "TEXT NOT NULL",
                "new_rate or singletons; empty: the threshold follows no target",
            ),
            ("share", "INTEGER NOT NULL", "to be reached, in millionths"),
            ("threshold", "INTEGER NOT NULL", "to begin with, times 65536"),
            ("slope", "INTEGER NOT NULL", "of the share's logarithm by threshold, in millionths"),
            ("ordinal", "INTEGER NOT NULL", "documents accepted then"),
        ),
        since=2,
    ),
    Table(
        "thresholds",
        "The thresholds that followed a target, and what a run placed with each.",
        (
            ("run", "INTEGER NOT NULL REFERENCES runs(id)", "that placed with it"),
            ("ordinal", "INTEGER NOT NULL", "documents accepted when it was set"),
            ("unit", "INTEGER NOT NULL", "the first that the run placed with it"),
            ("threshold", "INTEGER NOT NULL", "times 65536"),
            (
                "base",
                "INTEGER NOT NULL",
                "what it departs from, times 65536; see threshold_control.py",
            ),
            ("placed", "INTEGER NOT NULL", "units"),
            ("founded", "INTEGER NOT NULL", "those of them that founded a domain"),
        ),
        closing=("PRIMARY KEY (run, ordinal)",),
        without_rowid=True,
        since=2,
    ),
    Table(
        "blocks",
        "Hashes of rows, by blocks of their ids; changing a row deletes the hash of its block.",
        (
            ("part", "TEXT NOT NULL", "table"),
            ("number", "INTEGER NOT NULL", "id divided by 1024"),
            ("form", "TEXT NOT NULL", "what was hashed; see digest.py"),
            ("hash", "TEXT NOT NULL", "SHA-256"),
        ),
        closing=("PRIMARY KEY (part, number)",),
        without_rowid=True,
        since=2,
    ),
    Table(
        "tombstones",
        "One text of a forgotten document: neither its id nor its text is accepted again.",
        (
            ("document", "BLOB NOT NULL", "salted hash of the document's id; see tombstones.py"),
            ("text", "BLOB NOT NULL", "salted hash of the hash of its normalised text"),
            ("run", "INTEGER NOT NULL REFERENCES runs(id)", "that forgot it"),
        ),
        closing=("PRIMARY KEY (document, text)",),
        indexes=("text", "run"),
        without_rowid=True,
        since=4,
    ),
    Table(
        "events",
        "An event: stories that tell the same happening. `assignments` says which.",
        (
            ("id", "INTEGER PRIMARY KEY", "never reused"),
            ("units", "INTEGER NOT NULL", "units of its stories"),
            ("stories", "INTEGER NOT NULL", "stories"),
            ("first", "TEXT", "its first day; none if no story has a date"),
            ("last", "TEXT", "its last day"),
            ("days", "TEXT NOT NULL", "JSON: the number of stories of each day"),
            ("day", "INTEGER NOT NULL", "day of the stream when it last took a story"),
            ("grown", "INTEGER NOT NULL", "ordinal of the last story that it took"),
            ("closed_by", "INTEGER REFERENCES runs(id)", "run that closed it; none: it is open"),
            ("run", "INTEGER NOT NULL REFERENCES runs(id)", "that made it"),
            ("words", "BLOB NOT NULL", "a table: ids, stories, sums of values; see codecs.py"),
        ),
        indexes=("closed_by", "last"),
        since=6,
    ),
    Table(
        "notifications",
        "What a night reported to a target; the text is deleted once it was sent.",
        (
            ("id", "INTEGER PRIMARY KEY AUTOINCREMENT", "never reused"),
            ("target", "TEXT NOT NULL", "name of the table [[notify]] in the configuration"),
            ("key", "TEXT NOT NULL", "what it is about; reported once"),
            ("notice", "TEXT NOT NULL", "JSON: title, text and details; {} once it was sent"),
            (
                "status",
                "TEXT NOT NULL DEFAULT 'waiting'",
                "waiting, sending, sent, or uncertain: it may have arrived",
            ),
            ("created_at", "TEXT NOT NULL", "UTC; the moment of the night"),
            ("sent_at", "TEXT", "UTC"),
            ("attempts", "INTEGER NOT NULL DEFAULT 0", "how often it was sent or tried"),
            ("error", "TEXT NOT NULL DEFAULT ''", "what went wrong last time"),
        ),
        closing=("UNIQUE (target, key)",),
        indexes=("status",),
        since=10,
    ),
)

BLOCK = 1024
"""Ids of a block."""

DROPPED = ("versions_run", "assignments_run")
"""Indexes of schema 1 that cost every batch more than they saved."""

HASH_BEGIN = 8
"""Digits of a text's hash that are indexed: a short index needs few pages."""


def hash_begin(column: str) -> str:
    """Return the SQL expression of that index."""
    return f"substr({column}, 1, {HASH_BEGIN})"


BLOCKED = {
    "documents": "id",
    "versions": "id",
    "units": "id",
    "assignments": "unit",
    "events": "id",
}
"""Tables whose rows are hashed in blocks, with their keys."""


def _full_text(table: str, first: str, second: str) -> tuple[str, ...]:
    """Return SQL for a full-text index of two columns and the triggers that update it."""
    enter = (
        f'INSERT INTO "{table}_fts" (rowid, {first}, {second})'
        f" VALUES (new.id, new.{first}, new.{second});"
    )
    leave = (
        f'INSERT INTO "{table}_fts" ("{table}_fts", rowid, {first}, {second})'
        f" VALUES ('delete', old.id, old.{first}, old.{second});"
    )
    return (
        (
            f'CREATE VIRTUAL TABLE "{table}_fts" USING fts5 ({first}, {second}, content="{table}",'
            " content_rowid='id', tokenize='unicode61 remove_diacritics 2')"
        ),
        f'CREATE TRIGGER "{table}_enter" AFTER INSERT ON "{table}" BEGIN {enter} END',
        f'CREATE TRIGGER "{table}_leave" AFTER DELETE ON "{table}" BEGIN {leave} END',
        (
            f'CREATE TRIGGER "{table}_change" AFTER UPDATE OF {first}, {second} ON "{table}"'
            f" BEGIN {leave} {enter} END"
        ),
    )


FTS = _full_text("versions", "title", "body") + _full_text("domains", "label", "top_words")
"""Full text over the texts of documents, and over domains."""

UNSPACED = (
    (
        'CREATE VIRTUAL TABLE "unspaced_fts" USING fts5 (title, body,'
        """ tokenize="unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'")"""
    ),
    (
        'CREATE TRIGGER "versions_leave_unspaced" AFTER DELETE ON "versions" BEGIN'
        ' DELETE FROM "unspaced_fts" WHERE rowid = old.id; END'
    ),
)
"""Full text over the texts in scripts without spaces, character by character; see codecs.py."""

VIEWS = (
    View(
        "stories",
        "Documents with their present text, language, date and where they were seen.",
        """
        SELECT d.id, d.uid, v.date, v.lang, v.source, v.title, v.body, v.number AS version,
               o.uid AS duplicate_of,
               (SELECT count(*) FROM sightings s WHERE s.document = d.id) AS seen_in,
               v.id AS text_id
        FROM documents d JOIN versions v ON v.document = d.id AND v.number = d.version
        LEFT JOIN documents o ON o.id = d.duplicate_of
        """,
    ),
    View(
        "domain_sizes",
        "Domains with their words, units, documents and first and last day.",
        """
        SELECT m.id, m.label, m.lang, m.status, m.units, s.documents, s.first, s.last, m.top_words
        FROM domains m LEFT JOIN (
            SELECT a.domain, count(DISTINCT u.document) AS documents, min(v.date) AS first,
                   max(v.date) AS last
            FROM assignments a JOIN units u ON u.id = a.unit JOIN versions v ON v.id = u.version
            GROUP BY a.domain
        ) s ON s.domain = m.id
        """,
    ),
    View(
        "unit_texts",
        "Units with their own text, their domain and the score with which they joined it.",
        """
        SELECT u.id, d.uid AS document, v.date, u.start, u."end", u.kept,
               substr(CASE WHEN v.title <> '' AND v.body <> ''
                      THEN v.title || char(10) || char(10) || v.body
                      ELSE v.title || v.body END, u.start + 1, u."end" - u.start) AS text,
               a.domain, m.label, a.score, u.version AS text_id
        FROM units u JOIN documents d ON d.id = u.document JOIN versions v ON v.id = u.version
        LEFT JOIN assignments a ON a.unit = u.id LEFT JOIN domains m ON m.id = a.domain
        """,
    ),
    View(
        "domain_days",
        "Units of each domain by day.",
        """
        SELECT a.domain, m.label, substr(v.date, 1, 10) AS day, count(*) AS units
        FROM assignments a JOIN units u ON u.id = a.unit JOIN versions v ON v.id = u.version
        JOIN domains m ON m.id = a.domain GROUP BY a.domain, day
        """,
    ),
    View(
        "event_list",
        "Events with their stories, units, first and last day, and whether they are closed.",
        """
        SELECT id, stories, units, first, last, closed_by IS NOT NULL AS closed
        FROM events WHERE units > 0
        """,
    ),
)
