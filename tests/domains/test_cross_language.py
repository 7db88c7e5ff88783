"""Links between topics of different languages are proposed from shared names, numbers and dates."""

from __future__ import annotations

from collections.abc import Sequence

from segapsith.domains import cross_language
from segapsith.domains.cross_language import TopicMentions, propose_links
from segapsith.lexicon.mentions import Mentions


def topic(
    number: int, lang: str, names: str, numbers: str = "", days: Sequence[str] = ()
) -> TopicMentions:
    made = TopicMentions(number, lang)
    found = Mentions(frozenset(names.split()), frozenset(numbers.split()), frozenset(days))
    made.add(found, None)
    return made


FERRY = "maren albers port karl"
BANK = "ostrand mutual helen greywater"


def wires() -> list[TopicMentions]:
    return [
        topic(1, "en", FERRY, "160 284", ["2026-03-04"]),
        topic(2, "en", BANK, "600 91", ["2026-03-13"]),
        topic(3, "en", "haverell tarrow amir", "412", ["2026-03-08"]),
        topic(4, "de", f"{BANK} aktie kurs", "600", ["2026-03-13"]),
        topic(5, "de", f"{FERRY} kutter", "160", ["2026-03-04"]),
        topic(6, "de", "wetter regen", "12", ["2026-03-20"]),
    ]


def test_topics_about_the_same_thing_are_linked() -> None:
    links = propose_links(wires())
    assert [(link.left, link.right) for link in links] == [(4, 2), (5, 1)]
    assert all(link.mutual for link in links)
    assert set(links[1].names) == set(FERRY.split())
    assert list(links[1].numbers) == ["160"]
    assert list(links[1].days) == ["2026-03-04"]


def test_the_order_of_topics_does_not_matter() -> None:
    assert propose_links(wires()) == propose_links(wires()[::-1])


def test_topics_of_one_language_are_never_linked() -> None:
    assert propose_links([topic(1, "en", FERRY, "160"), topic(2, "en", FERRY, "160")]) == []


def test_one_common_name_is_no_evidence() -> None:
    links = propose_links([topic(1, "en", "albers"), topic(2, "de", "albers")], min_score=0.0)
    assert links == []


def test_a_name_that_every_topic_has_says_little() -> None:
    english = [topic(i, "en", f"port albers own{i}") for i in range(8)]
    german = [topic(10 + i, "de", f"port albers eigen{i}") for i in range(8)]
    assert propose_links([*english, *german]) == []


def test_a_part_of_a_topic_is_linked_one_sided() -> None:
    part = topic(7, "de", "maren karl", "284", ["2026-03-05"])
    links = {
        (link.left, link.right): link.mutual
        for link in propose_links([*wires(), part], min_score=0.1)
    }
    assert links == {(4, 2): True, (5, 1): True, (7, 1): False}


def test_the_score_is_the_formula() -> None:
    left, right = topic(1, "de", "a b", "10"), topic(2, "en", "a b", "10")
    [link] = propose_links([left, right], min_score=0.0)
    rarity = 3 * 0.6931471805599453  # ln((1 + 1) / 1) of two names and a number
    expected = 0.75 * rarity / (rarity + cross_language.HALF)  # cosines 1, 1 and no dates
    assert abs(link.score - expected) < 1e-6


def test_frequent_features_are_left_out() -> None:
    """So that the products stay linear in the number of topics."""
    many = [topic(i, "en", "everywhere thing") for i in range(cross_language.MAX_TOPICS + 1)]
    assert propose_links([*many, topic(9999, "de", "everywhere thing")], min_score=0.0) == []
