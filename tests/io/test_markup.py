"""Tags and text of any markup, broken or not."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from segapsith.io.markup import Close, Open, tokens, unescaped


def test_comments_declarations_and_instructions_are_left_out() -> None:
    text = "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c'>]><!-- <x> --><a>rain</a>"
    assert list(tokens(text)) == [Open("a"), "rain", Close("a")]


def test_a_cdata_section_is_text() -> None:
    assert list(tokens("<a><![CDATA[1 < 2 &amp; 3]]></a>")) == [
        Open("a"),
        "1 < 2 &amp; 3",
        Close("a"),
    ]


def test_a_stray_angle_bracket_is_text() -> None:
    assert list(tokens("3 < 4")) == ["3 ", "<", " 4"]


def test_attributes_may_be_quoted_bare_or_empty() -> None:
    (tag,) = tokens("""<a b="1 &amp; 2" c='3' d=4 e/>""")
    assert tag == Open("a", {"b": "1 & 2", "c": "3", "d": "4", "e": ""}, closed=True)


def test_the_first_of_two_equal_attributes_counts() -> None:
    assert list(tokens('<a b="1" b="2">')) == [Open("a", {"b": "1"})]


def test_a_script_hides_its_tags_in_pages_only() -> None:
    text = "<script>if (a<b) {}</script>x"
    assert list(tokens(text, page=True)) == [Open("script"), Close("script"), "x"]
    assert Open("b") in [t for t in tokens("<script><b></script>") if isinstance(t, Open)]


def test_a_tag_in_an_attribute_belongs_to_the_attribute_in_pages_only() -> None:
    text = '<img alt="<b>x</b>">'
    assert list(tokens(text, page=True)) == [Open("img", {"alt": "<b>x</b>"})]
    assert len(list(tokens(text))) > 1


def test_a_number_beyond_unicode_is_replaced() -> None:
    assert unescaped("&#x1F600; &#xFFFFFFFFFF;") == "😀 �"


@given(st.text(alphabet="<>/!-[]?&;#ab= \"'CDATA\x00é", max_size=200))
@example("<![CDATA[")
@example("<a b=\"'>")
def test_any_text_gives_tokens(text: str) -> None:
    list(tokens(text))
    list(tokens(text, page=True))
