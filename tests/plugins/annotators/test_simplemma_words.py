"""The annotator `simplemma`: words, lemmas, sentences, terms, and that any text is taken."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from segapsith.model import Annotation, Document, Lexicon
from segapsith.plugin.contracts import Annotator
from segapsith.testing import annotator_checks
from segapsith.tokens import WordList
from segapsith_plugins.annotators import _chunks, _words, simplemma_words
from segapsith_plugins.annotators._words import Terms
from segapsith_plugins.annotators.simplemma_words import SimplemmaWords, TermSearch

DATA = Path(__file__).parents[1] / "data"

words = SimplemmaWords()


def read(
    text: str, lang: str = "en", title: str = "", lexicon: Lexicon | None = None
) -> Annotation:
    document = Document(title=title, body=text, lang=lang)
    return next(words.annotate([document], lexicon or Lexicon()))


def tokens(annotation: Annotation) -> list[str]:
    text = annotation.document.text
    return [text[start:end] for start, end in annotation.spans.tolist()]


def content(annotation: Annotation) -> list[str]:
    return [
        lemma for lemma, told in zip(annotation.lemmas, annotation.content, strict=True) if told
    ]


def sentences(annotation: Annotation) -> list[str]:
    text = annotation.document.text
    return [text[start:end].strip() for start, end in annotation.sentences.tolist()]


# --- the smallest cases ------------------------------------------------------------------


@pytest.mark.parametrize("check", annotator_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check):
    check(SimplemmaWords)


def test_it_keeps_the_shape_of_the_contract():
    assert isinstance(words, Annotator)
    assert simplemma_words.register_annotators() == {"simplemma": SimplemmaWords}


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "…", "\x00", "\ud800", "🙂", "''", "-", "<>", "._."]
)
def test_a_text_without_words_has_no_tokens(text):
    annotation = read(text)
    assert annotation.lemmas == []
    assert annotation.spans.shape == (0, 2)
    assert annotation.content.shape == (0,)
    assert annotation.sentences.tolist() == ([[0, len(text)]] if text else [])


def test_one_word_is_one_token_and_one_sentence():
    annotation = read("Floods")
    assert annotation.lemmas == ["flood"]
    assert annotation.spans.tolist() == [[0, 6]]
    assert annotation.sentences.tolist() == [[0, 6]]
    assert annotation.spans.dtype == annotation.sentences.dtype == np.int32


def test_an_unknown_language_is_refused():
    with pytest.raises(ValueError, match="lang='xx' has no language pack"):
        SimplemmaWords(lang="xx")


def test_the_language_is_the_documents_and_else_the_setting():
    french = SimplemmaWords(lang="fr")
    for lang, lemma in ((None, "taxe"), ("xx", "taxes"), ("fr-CA", "taxe"), ("en", "tax")):
        assert next(french.annotate([Document(body="taxes", lang=lang)], Lexicon())).lemmas == [
            lemma
        ]


def test_a_stream_is_read_one_document_at_a_time():
    taken = []

    def stream() -> Iterator[Document]:
        for number in range(3):
            taken.append(number)
            yield Document(body=f"Storm {number}")

    annotations = words.annotate(stream(), Lexicon())
    next(annotations)
    assert taken == [0]


def test_it_travels_to_another_process():
    copy = pickle.loads(pickle.dumps(SimplemmaWords(lang="fr")))
    assert next(copy.annotate([Document(body="Les députés")], Lexicon())).lemmas[-1] == "député"


# --- words -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("en", "the company's", "the company"),
        ("en", "the company’s companies' O'Brien", "the company companies O'Brien"),
        (
            "en",
            "vice-president oil-producing ex-minister",
            "vice-president oil producing ex-minister",
        ),
        ("en", "doesn't we'll AT&T", "doesn't we AT&T"),
        ("en", "5.93 mln, 1,750 and U.S. p.m.", "5.93 mln 1,750 and U.S. p.m."),
        ("en", "U.S.-based", "U.S. based"),
        ("fr", "l'homme d'affaires", "l' homme d' affaires"),
        (
            "fr",
            "L’État qu’il jusqu’à lorsqu’elle puisqu'on",
            "L’ État qu’ il jusqu’ à lorsqu’ elle puisqu' on",
        ),
        ("fr", "aujourd'hui, prud'homme, aujourd’hui", "aujourd'hui prud'homme aujourd’hui"),
        ("fr", "a-t-il déclaré, dit-elle, cet homme-là", "a il déclaré dit elle cet homme là"),
        (
            "fr",
            "porte-parole, rendez-vous, celui-ci, peut-être",
            "porte-parole rendez-vous celui-ci peut-être",
        ),
        ("fr", "l'un d'eux, c'est-à-dire", "l' un d' eux c'est-à-dire"),
        ("fr", "n'a-t-on qu'aujourd'hui", "n' a on qu' aujourd'hui"),
        (
            "fr",
            "Jean-Marc, vice-présidente, franco-allemand",
            "Jean-Marc vice-présidente franco-allemand",
        ),
        ("fr", "av. J.-C.", "av J.-C."),
    ],
)
def test_words_are_cut_where_the_language_cuts_them(lang, text, expected):
    assert " ".join(tokens(read(text, lang))) == expected


@pytest.mark.parametrize(
    ("lang", "form", "lemma"),
    [
        ("en", "TAXES", "tax"),
        ("en", "gone", "go"),
        ("en", "Felt", "feel"),
        ("en", "rose", "rise"),
        ("en", "leaves", "leaf"),
        ("en", "U.S.", "usa"),
        ("en", "U.N.", "un"),
        ("en", "Texas", "texas"),
        ("en", "Iranians", "iranian"),
        ("fr", "députés", "député"),
        ("fr", "DÉPUTÉS", "député"),
        ("fr", "nouvelles", "nouveau"),
        ("fr", "actives", "actif"),
        ("fr", "inculpé", "inculper"),
        ("fr", "cœur", "cœur"),
        ("fr", "coeurs", "cœur"),
        ("fr", "marchés", "marché"),
        ("fr", "taxe", "taxe"),
        ("fr", "gouver\u00adnement", "gouvernement"),
        ("fr", "de\u0301pute\u0301s", "député"),
        ("en", "\ufb01nances", "finance"),
        ("fr", "Gaza", "gaza"),
        ("fr", "Martinez", "martinez"),
        ("fr", "Martine", "martine"),
        ("fr", "Carrera", "carrera"),
        ("fr", "Creuse", "creuse"),
        ("fr", "creuse", "creuser"),
        ("fr", "Bergé", "bergé"),
        ("fr", "Interrogée", "interroger"),
        ("fr", "Menacés", "menacer"),
        ("fr", "Première", "premier"),
        ("fr", "moyenne", "moyenne"),
        ("fr", "voisine", "voisin"),
        ("fr", "rentrait", "rentrer"),
        ("fr", "pourparlers", "pourparlers"),
    ],
)
def test_lemmas_are_lower_case_and_right(lang, form, lemma):
    annotation = read(form, lang)
    assert annotation.lemmas == [lemma]
    assert tokens(annotation) == [form]


def test_a_title_in_capitals_says_the_same_as_one_without():
    assert read("BAHIA COCOA PRICES FELL").lemmas == read("Bahia cocoa prices fell").lemmas


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        ("en", "He told Reuters on Monday that 60 tankers were hit in February.", "tanker hit"),
        ("en", "Profit of 5.9 mln dlrs, or 12 pct, x 4th (c) AFP", "profit"),
        ("en", "Standard Oil <SRD> and (NYSE:IBM) drilled wells.", "standard oil drill well"),
        (
            "en",
            "See https://example.org/strike or write to desk@example.org about strikes.",
            "strike",
        ),
        (
            "fr",
            "Selon l'AFP, le ministre a indiqué lundi 3 mars que 12 grévistes...",
            "ministre gréviste",
        ),
        ("fr", "A-t-il ajouté : « la grève » ?", "grève"),
    ],
)
def test_content_words_are_those_that_carry_a_subject(lang, text, expected):
    actual = [word for word in content(read(text, lang)) if word not in {"see", "write", "desk"}]
    assert " ".join(actual) == expected


@pytest.mark.parametrize(
    ("lang", "dateline"),
    [
        ("en", "SALVADOR, Feb 26 -"),
        ("en", "CHATTANOOGA, TENN, March 11 -"),
        ("en", "NEW YORK, Sept. 3 (Reuters) -"),
        ("en", "London (AP) —"),
        ("fr", "PARIS, 3 mars (AFP) -"),
        ("fr", "Saint-Étienne, 1er août 2019 (AFP) –"),
        ("fr", "PARIS (AFP) -"),
    ],
)
def test_a_dateline_is_not_content(lang, dateline):
    title = "Cocoa" if lang == "en" else "Cacao"
    annotation = read(f"{dateline} Storms\nstorms", lang, title)
    assert len(content(annotation)) == 3
    assert len(annotation.lemmas) > 4  # it is read all the same


def test_a_dash_alone_makes_no_dateline():
    assert content(read("Cocoa prices - the highest since May 3 - tumbled")) == [
        "cocoa",
        "price",
        "tumble",
    ]


# --- sentences ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        (
            "en",
            'Mr. Smith of Acme Inc. met Dr. J. K. Jones.|He paid 5.9 mln dlrs.|"Why?"|Nobody knew.',
        ),
        ("en", "He left the U.S. Navy in St. Louis on Feb. 3.|It rained."),
        ("en", "They went to the U.S.|The rest stayed.|See No. 5 at 3 p.m. in Room 2."),
        ("en", '"We won."|"We lost!"|(He laughed.)|iPhone sales rose.'),
        ("en", "Prices rose...|Then they fell.|What?!|Yes."),
        ("fr", "M. Dupont et Mme Durand sont venus.|« Oui. »|Qu'a-t-il dit ?|Rien !|L'État paie."),
        ("fr", "En 50 av. J.-C. César part.|M. Le Pen parle.|Le taux est de 3.5 %.|Il monte."),
        ("fr", "C'est fini.L'enquête commence.|Voir art. 5 du code."),
    ],
)
def test_sentences_end_where_they_should(lang, text):
    expected = text.split("|")
    if "fini.L" in text:
        expected = ["C'est fini.", "L'enquête commence.", "Voir art. 5 du code."]
    assert sentences(read(text.replace("|", " "), lang)) == expected


def test_the_title_and_an_empty_line_end_a_sentence():
    annotation = read("the river rose\n \nrain fell\nall night", title="Flood in Mr")
    assert sentences(annotation) == ["Flood in Mr", "the river rose", "rain fell\nall night"]


def test_a_text_without_capitals_still_has_sentences():
    assert sentences(read("it rained. then it stopped.")) == ["it rained.", "then it stopped."]


# --- multi-word terms --------------------------------------------------------------------


def lexicon(**terms: list[tuple[str, ...]]) -> Lexicon:
    return Lexicon(1, {lang: frozenset(actual) for lang, actual in terms.items()})


def test_a_term_is_one_token_with_its_own_span():
    annotation = read(
        "The prime ministers met, prime, minister.", lexicon=lexicon(en=[("prime", "minister")])
    )
    assert tokens(annotation)[:3] == ["The", "prime ministers", "met"]
    assert annotation.lemmas[1] == "prime minister"
    assert annotation.lemmas[3:] == ["prime", "minister"]  # a comma parts them
    assert annotation.content[1]


@pytest.mark.parametrize("elided", ["d'", "d", "de"])
def test_a_french_term_reads_as_the_text_does(elided):
    terms = lexicon(fr=[("juge", elided, "instruction"), ("garde", "à", "vue")])
    annotation = read("Le juge d’instruction ordonne la garde à vue.", "fr", lexicon=terms)
    assert annotation.lemmas == ["le", "juge d'instruction", "ordonner", "le", "garde à vue"]


def test_the_longest_term_wins_and_the_language_counts():
    terms = lexicon(
        en=[("interest", "rate"), ("interest", "rate", "cut"), ("rate", "cut")],
        fr=[("bank", "loan")],
    )
    annotation = read("Interest rate cuts, interest rates and rate cuts; bank loans", lexicon=terms)
    assert [lemma for lemma in annotation.lemmas if " " in lemma] == [
        "interest rate cut",
        "interest rate",
        "rate cut",
    ]


def test_a_term_does_not_reach_over_a_paragraph_or_into_the_next_document():
    terms = lexicon(en=[("storm", "warning")])
    documents = [Document(body="a storm"), Document(body="warning storm\n\nwarning")]
    assert [list(a.lemmas) for a in words.annotate(documents, terms)] == [
        ["a", "storm"],
        ["warning", "storm", "warning"],
    ]


# --- any text ----------------------------------------------------------------------------

nasty = st.text(
    alphabet=st.one_of(
        st.sampled_from("aAéÉœ'’-.,!? \n\t\r«»\"()<>:@/&_0159\u00ad\u0301\u200d\x00\ud800🙂mM"),
        st.characters(),
    ),
    max_size=80,
)


@settings(deadline=None, max_examples=300)
@given(title=nasty, body=nasty, lang=st.sampled_from(["en", "fr"]))
@example("", "a.-b.'c_", "en")
@example("", "\u00ada", "fr")
@example("", "l'-t-il", "fr")
@example("M. ", "\n\n «\n\na", "fr")
def test_any_text_gives_sound_spans(title, body, lang):
    document = Document(title=title, body=body, lang=lang)
    terms = lexicon(en=[("a", "a")], fr=[("l'", "a"), ("a", "m")])
    for lexicon_ in (Lexicon(), terms):
        annotation = next(words.annotate([document], lexicon_))
        text, spans = document.text, annotation.spans
        assert len(annotation.lemmas) == len(spans) == len(annotation.content)
        assert all(annotation.lemmas)
        assert (spans[:, 0] < spans[:, 1]).all()
        assert (spans[1:, 0] >= spans[:-1, 1]).all()
        edges = [0, *annotation.sentences[:, 1].tolist()]
        assert annotation.sentences.tolist() == [list(pair) for pair in pairwise(edges)]
        assert edges[-1] == len(text)
        assert sorted(set(edges)) == edges
        if len(spans):
            assert 0 <= spans[0, 0]
            assert spans[-1, 1] <= len(text)
            # No word lies across two sentences.
            first = annotation.sentences[:, 1].searchsorted(spans[:, 0], side="right")
            assert (spans[:, 1] <= annotation.sentences[first, 1]).all()


@settings(deadline=None)
@given(
    texts=st.lists(st.tuples(nasty, nasty, st.sampled_from(["en", "fr"])), max_size=6),
    cut=st.integers(0, 6),
)
def test_batches_do_not_matter(texts, cut):
    documents = [Document(title=title, body=body, lang=lang) for title, body, lang in texts]
    terms = lexicon(en=[("a", "a")], fr=[("a", "m")])
    whole = list(words.annotate(documents, terms))
    fresh = SimplemmaWords()
    parts = [*fresh.annotate(documents[:cut], terms), *fresh.annotate(documents[cut:], terms)]
    single = list(words.annotate(iter(documents), terms))
    for other in (parts, single):
        assert [a.document for a in other] == documents
        for left, right in zip(whole, other, strict=True):
            assert left.lemmas == right.lemmas
            for name in ("spans", "content", "sentences"):
                assert np.array_equal(getattr(left, name), getattr(right, name))


@pytest.mark.parametrize(
    "unit",
    [
        "a-",
        "a'",
        "a.",
        "l'",
        "-t-il",
        "1.",
        "1,",
        ". ",
        ".",
        "\n ",
        "! ",
        "<A",
        "a@",
        "(",
        "A, ",
        "é\u0301",
        "🙂",
    ],
)
def test_nasty_input_takes_work_that_grows_with_its_length(unit, monkeypatch):
    """Counted, not timed: characters that pass the parts which think about one chunk or gap."""
    seen = 0

    def counted(function, position):
        def count(*args):
            nonlocal seen
            seen += len(args[position])
            return function(*args)

        return count

    monkeypatch.setattr(_chunks, "normal", counted(_words.normal, 0))
    monkeypatch.setattr(_chunks.Gaps, "read", counted(_chunks.Gaps.read, 1))
    monkeypatch.setattr(_words.Lemmas, "of", counted(_words.Lemmas.of, 1))
    monkeypatch.setattr(_words.Lemmas, "knows", counted(_words.Lemmas.knows, 1))

    def work(n: int) -> int:
        before = seen
        next(SimplemmaWords(lang="fr").annotate([Document(body=unit * n)], Lexicon()))
        return seen - before

    assert work(4000) <= 2 * work(2000) + 100


def test_a_long_text_of_few_forms_asks_the_dictionary_once_for_each(monkeypatch):
    asked: list[str] = []
    of = _words.Lemmas.of
    monkeypatch.setattr(
        _words.Lemmas, "of", lambda self, form: asked.append(form) or of(self, form)
    )
    annotation = next(
        SimplemmaWords().annotate([Document(body="Storms hit. " * 50_000)], Lexicon())
    )
    assert len(annotation.lemmas) == 100_000
    assert len(annotation.sentences) == 50_000
    assert sorted(asked) == ["hit", "storms"]


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(simplemma_words, "_MAX_CHUNKS", 5)
    annotator = SimplemmaWords()
    documents = [Document(body=f"alpha{chr(97 + i)} beta{chr(97 + i)}") for i in range(20)]
    assert [len(a.lemmas) for a in annotator.annotate(iter(documents), Lexicon())] == [2] * 20
    assert len(annotator._caches["en"].lemmas) <= 8


# --- lemmas, measured --------------------------------------------------------------------


def judged(lang: str) -> dict[str, list[str]]:
    lines = (DATA / f"judged_lemmas.{lang}.tsv").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("\t") for line in lines if not line.startswith("#"))
    return {form: lemmas.split("/") for form, lemmas in pairs}


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_nineteen_judged_forms_in_twenty_are_right(lang):
    known = judged(lang)
    lemmas = _words.Lemmas(lang)
    wrong = [form for form, right in known.items() if lemmas.of(form) not in right]
    assert len(known) >= 300
    assert len(wrong) <= 0.05 * len(known), wrong


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_no_judged_form_is_among_the_exceptions(lang):
    assert not judged(lang).keys() & _words.exceptions(lang).keys()


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_every_exception_is_needed(lang, monkeypatch):
    table = dict(_words.exceptions(lang))
    assert len(table) >= 200
    monkeypatch.setattr(_words, "exceptions", lambda lang: {})
    without = _words.Lemmas(lang)
    idle = [
        form
        for form, lemma in table.items()
        if without.knows(form) and without.of(form) == lemma and "'" not in form
    ]  # an apostrophe parts words unless they are here
    assert not idle


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_word_lists_are_lower_case_and_plain(lang):
    stops = _words.stop_list(lang)
    for word in (*stops.words, *stops.exempt, *_words.exceptions(lang)):
        assert word == _words.normal(word)
    assert not stops.words & stops.exempt


def test_a_full_stop_that_stands_alone_ends_a_sentence():
    text = "the river rose . nobody slept . The U.S. army came ."
    (actual,) = SimplemmaWords().annotate([Document(body=text)], Lexicon())
    assert [text[a:b] for a, b in actual.sentences.tolist()] == [
        "the river rose . ",
        "nobody slept . ",
        "The U.S. army came .",
    ]


# -- in steps ----------------------------------------------------------------------------------


def test_terms_of_several_texts_are_joined_as_in_one_step():
    bodies = [
        "The prime minister met the finance minister. Prime, minister. Interest-rate cuts.",
        "",
        "...",
        "prime minister",
        "The interest rate of the prime minister's finance minister.",
    ]
    documents = [Document(body=body, lang="en") for body in bodies]
    terms = lexicon(en=[("prime", "minister"), ("interest", "rate", "cut"), ("interest", "rate")])
    steps = list(words.annotate_words(documents))
    joined = words.join_terms([one for one, _ in steps], [flags for _, flags in steps], terms)
    for once, twice in zip(words.annotate(documents, terms), joined, strict=True):
        assert once.document == twice.document and list(once.lemmas) == list(twice.lemmas)
        assert np.array_equal(once.spans, twice.spans)
        assert np.array_equal(once.content, twice.content)
        assert np.array_equal(once.sentences, twice.sentences)
    assert list(words.join_terms([], [], terms)) == []


def test_the_version_of_the_words_names_what_decides_them():
    version = words.words_version("en")
    assert f"rules {_words.RULES}, pack " in version and "simplemma " in version
    assert words.words_version("zh") != version and "rjieba " in words.words_version("zh")


# --- the search for terms ------------------------------------------------------------------

TERM_WORDS = ["juge", "d", "d'", "de", "la", "le", "instruction", "garde", "vue"]
lemma_sequences = st.lists(st.sampled_from(TERM_WORDS), max_size=12)


@settings(deadline=None)
@given(
    st.sets(st.lists(st.sampled_from(TERM_WORDS), min_size=1, max_size=4).map(tuple), max_size=8),
    st.lists(st.tuples(lemma_sequences, st.integers(0, 2**12 - 1)), max_size=4),
    st.sampled_from(["en", "fr"]),
)
def test_it_finds_what_the_plain_search_finds(
    terms: set[tuple[str, ...]], texts: list[tuple[list[str], int]], lang: str
) -> None:
    plain, words = Terms(terms, lang), WordList()
    search = TermSearch(terms, lang, words)
    assert bool(search) == bool(plain)
    for lemmas, bits in texts:
        joined = np.array([bits >> place & 1 for place in range(len(lemmas))], np.bool_)
        numbers = np.array([words.number(lemma) for lemma in lemmas], np.int32)
        merges, found = search.find(numbers, joined)
        assert [
            (first, last, words.words[lemma])
            for (first, last), lemma in zip(merges.tolist(), found.tolist(), strict=True)
        ] == [(one.first, one.last, one.lemma) for one in plain.find(lemmas, joined[:-1])]


def test_the_longest_term_wins_and_no_two_overlap() -> None:
    words = WordList()
    search = TermSearch({("a", "b"), ("a", "b", "c"), ("c", "d")}, "en", words)
    numbers = np.array([words.number(word) for word in "abcdab"], np.int32)
    assert search.find(numbers, np.ones(6, np.bool_))[0].tolist() == [[0, 3], [4, 6]]


def test_a_german_noun_with_a_capital_is_looked_up_as_a_noun():
    lemmas = _words.Lemmas("de")
    nouns = {"land": "land", "grenzen": "grenze", "arbeit": "arbeit", "spiele": "spiel"}
    assert {form: lemmas.named(form) for form in nouns} == nouns
    assert lemmas.of("spielen") == "spielen"
    document = Document(uid="1", body="Die Grenzen im Land: Sie grenzen an Wien.", lang="de")
    (annotation,) = SimplemmaWords().annotate([document], Lexicon())
    assert [lemma for lemma in annotation.lemmas if lemma.startswith("grenz")] == [
        "grenze",
        "grenzen",
    ]


def test_a_greek_word_before_a_small_word_loses_its_second_accent():
    lemmas = _words.Lemmas("el")
    assert [lemmas.of(form) for form in ("σύντροφός", "σύζυγό")] == ["σύντροφος", "σύζυγος"]
