"""Bytes of every origin."""

from __future__ import annotations

import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from segapsith.io.encoding import decoded, encoding_of, is_binary, repaired, text_chunks

FRENCH = "L’été à Évry : « déjà » 5 € — où ça ? Noël, cœur, garçon. "
RUSSIAN = "Река поднялась за ночь, и три моста были закрыты для движения транспорта. "
GREEK = "Ο ποταμός ανέβηκε τη νύχτα και τρεις γέφυρες έκλεισαν για την κυκλοφορία. "


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
@pytest.mark.parametrize("times", [1, 500])
def test_french(encoding: str, times: int) -> None:
    text = FRENCH * times
    assert decoded(text.encode(encoding)) == text
    assert "".join(text_chunks(io.BytesIO(text.encode(encoding)))) == text


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_without_a_mark(encoding: str) -> None:
    assert decoded(FRENCH.encode(encoding)) == FRENCH
    assert decoded("plain letters".encode(encoding)) == "plain letters"


@pytest.mark.parametrize(
    ("text", "encoding"), [(RUSSIAN, "cp1251"), (RUSSIAN, "koi8-r"), (GREEK, "cp1253")]
)
def test_other_alphabets_are_recognised(text: str, encoding: str) -> None:
    assert decoded((text * 5).encode(encoding)) == text * 5


@pytest.mark.parametrize("declaration", ['<?xml version="1.0" encoding="{}"?>', '<meta charset="{}">', "<meta http-equiv=x content='text/html; charset={}'>"])  # fmt: skip
def test_what_is_declared_is_believed_if_it_can_be(declaration: str) -> None:
    text = declaration.format("iso-8859-2") + "Żółć"
    assert decoded(text.encode("iso-8859-2")) == text
    assert decoded(declaration.format("windows-1252").encode() + "été".encode()).endswith("été")
    for nonsense in ("no-such", "rot13", "hex", "idna", "unicode_escape", "utf-7"):
        assert decoded(declaration.format(nonsense).encode() + b"\xe9t\xe9").endswith("été")


def test_a_late_letter_beyond_ascii_is_read() -> None:
    text = "plain ascii\n" * 20_000 + FRENCH
    assert decoded(text.encode("cp1252")) == text
    assert "".join(text_chunks(io.BytesIO(text.encode()))) == text
    late = "".join(text_chunks(io.BytesIO(text.encode("cp1252"))))
    assert late == text


def test_two_encodings_in_one_file() -> None:
    both = FRENCH.encode() * 3 + "déjà été".encode("cp1252")
    assert decoded(both) == FRENCH * 3 + "déjà été"


@pytest.mark.parametrize("text", ["été", "œuvre « d’art »", "Dvořák", "50 % – 60 %", "naïve café"])
def test_mojibake_is_repaired(text: str) -> None:
    wrong = f"Le texte dit : {text} !".encode().decode("cp1252", "replace")
    if "�" not in wrong:
        assert repaired(wrong) == f"Le texte dit : {text} !"


@pytest.mark.parametrize("text", ["SÃO PAULO", "Â peine", "Ã", "la Cité", "È vero", "™ and ©", ""])
def test_what_is_right_is_left_alone(text: str) -> None:
    assert repaired(text) == text


def test_binary_is_told_from_wide_text() -> None:
    assert is_binary(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0")
    assert not is_binary("wide text".encode("utf-16"))
    assert not is_binary("wide text".encode("utf-16-le"))
    assert not is_binary(b"plain")


@example(b"\xff", "undefined")
@given(st.binary(max_size=300), st.none() | st.text(max_size=12))
def test_any_bytes_are_some_text(data: bytes, declared: str | None) -> None:
    assert isinstance(decoded(data, declared), str)
    assert isinstance("".join(text_chunks(io.BytesIO(data), declared)), str)
    repaired(decoded(data))
    encoding_of(data)


@given(st.text(max_size=200))
def test_utf_8_comes_back(text: str) -> None:
    data = text.encode("utf-8", "replace")
    wide = data.startswith(b"\xef\xbb\xbf") or b"\0" in data
    assert wide or decoded(data) == data.decode()
