"""Bytes to text: byte-order mark, UTF-8, what is declared, what it looks like, Windows-1252.

Real wires declare one encoding and send another, or two in one file. UTF-8 that holds is UTF-8
whatever is declared, since hardly any other text happens to be valid UTF-8; bytes that do not fit
are read as Windows-1252 where they stand, so that one wrong byte costs at most one letter.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO

__all__ = ["decoded", "encoding_of", "is_binary", "repaired", "text_chunks"]

HEAD = 1 << 16
"""Bytes from which the encoding of a stream is told."""

_SAMPLE = 1 << 14
"""Bytes that charset-normalizer is shown."""

_CHUNK = 1 << 20

_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

# What the names mean in practice: a superset that decodes the same texts and more.
_IN_PRACTICE = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
}

_DECLARED = re.compile(
    rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']?([A-Za-z0-9._:\-]{2,40})"""
    rb"""|<meta[^>]{0,300}?charset\s*=\s*["']?\s*([A-Za-z0-9._:\-]{2,40})""",
    re.IGNORECASE,
)

_WESTERN = frozenset(
    "àâäáãåæçéèêëíìîïñóòôöõøœúùûüýÿßšž«»’‘“”–—…€°•·£§©®¡¿º\xa0ÀÂÄÁÃÅÆÇÉÈÊËÍÎÏÑÓÔÖÕØŒÚÙÛÜ"
)

_FOREIGN_WORD = re.compile(rb"[\xc0-\xff]{4}")
"""Western words have no four such letters in a row; Cyrillic and Greek ones have little else."""

_FAMILIES = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r"),
    *("mac_roman", "cp850", "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr", "iso8859_2"),
]


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    """The bytes that do not fit, as Windows-1252."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return wrong.decode("cp1252", "replace"), error.end


codecs.register_error("segapsith-windows", _as_windows)


def encoding_of(head: bytes, declared: str | None = None) -> str:
    """The codec that reads a text which begins like this.

    >>> encoding_of("été".encode()), encoding_of("été à Évry".encode("cp1252"))
    ('utf-8', 'cp1252')
    >>> encoding_of(b'<?xml version="1.0" encoding="koi8-r"?>' + "Река".encode("koi8-r"))
    'koi8-r'
    """
    for mark, name in _MARKS:
        if head.startswith(mark) and not (name == "utf-16" and head[2:4] == b"\0\0"):
            return name
    if wide := _without_mark(head):
        return wide
    if _is_utf8(head):
        return "utf-8"
    named = _declared(head) if declared is None else _known(declared)
    if named and named != "utf-8":
        return named
    if named == "utf-8" or _is_mostly_utf8(head):
        return "utf-8"
    return _looks_like(head)


def decoded(data: bytes, declared: str | None = None) -> str:
    """The text of some bytes, without its mark; never fails.

    >>> decoded("été".encode("cp1252")), decoded("été".encode("utf-8-sig"))
    ('été', 'été')
    >>> decoded("été ".encode() + "été".encode("cp1252"))
    'été été'
    """
    if wide := _without_mark(data[:512]):  # plain letters with NULs between are UTF-8 too
        return data.decode(wide, "replace").removeprefix("\ufeff")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        # the head may be plain ASCII: what tells is where it stops being UTF-8
        start = max(0, error.start - HEAD // 2)
    if data.startswith(tuple(mark for mark, _ in _MARKS)) or start == 0:
        encoding = encoding_of(data[:HEAD], declared)
    else:
        known = _known(declared) if declared else _declared(data[:HEAD])
        encoding = encoding_of(data[start : start + HEAD], known)
    return data.decode(encoding, _errors(encoding)).removeprefix("\ufeff")


def text_chunks(stream: BinaryIO, declared: str | None = None) -> Iterator[str]:
    """The text of a stream, a piece at a time; its encoding is told from the beginning."""
    head = stream.read(HEAD)
    encoding = encoding_of(head, declared)
    decoder = codecs.getincrementaldecoder(encoding)(_errors(encoding))
    first = decoder.decode(head).removeprefix("\ufeff")
    if first:
        yield first
    while data := stream.read(_CHUNK):
        if text := decoder.decode(data):
            yield text
    if text := decoder.decode(b"", final=True):
        yield text


def is_binary(head: bytes) -> bool:
    """Whether these are no letters: NUL bytes that belong to no wide encoding."""
    if b"\0" not in head:
        return False
    return not head.startswith(tuple(mark for mark, _ in _MARKS)) and not _without_mark(head)


_MOJIBAKE = re.compile(
    "[ÃÅÄ][\x80-\xbf©¨ª«§®¯°±²³´µ¶·¸¹»¼½¾¿€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€[\x80-\xbf™œ“˜¦\x9d”¢]"
    "|Â[\xa0«»°©®§·’]|ï»¿|ðŸ"
)


def repaired(text: str) -> str:
    """The text with UTF-8 that was read as Windows-1252 put right, where that is clear.

    >>> repaired("PrÃ©sident Ã  Ã‰vry, dÃ©jÃ\xa0")
    'Président à Évry, déjà'
    >>> repaired("La Cité, São Tomé, SÃO PAULO")
    'La Cité, São Tomé, SÃO PAULO'
    """
    if _MOJIBAKE.search(text) is None:
        return text
    import ftfy

    return "".join(
        ftfy.fix_encoding(line) if len(line) < 1_000_000 and _MOJIBAKE.search(line) else line
        for line in text.splitlines(keepends=True)
    )


def _errors(encoding: str) -> str:
    return "segapsith-windows" if encoding == "utf-8" else "replace"


def _known(name: str | None) -> str | None:
    """The codec behind a declared name, as it is used in practice; None for none of text."""
    try:
        found = codecs.lookup(name or "")
        if not found._is_text_encoding or found.name.startswith(("utf-16", "utf-32", "utf-7")):
            return None  # a wide one would have been seen by its mark or its NULs
        codecs.getincrementaldecoder(found.name)
    except (LookupError, ValueError):
        return None
    if found.name in ("idna", "punycode", "raw-unicode-escape", "unicode-escape", "mbcs", "oem"):
        return None
    return _IN_PRACTICE.get(found.name, found.name)


def _declared(head: bytes) -> str | None:
    found = _DECLARED.search(head[:4096])
    if found is None:
        return None
    return _known((found.group(1) or found.group(2)).decode("ascii"))


def _without_mark(head: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark: Latin letters leave their NULs at regular places."""
    sample = head[: min(len(head), 512) // 4 * 4]
    if len(sample) < 4 or b"\0" not in sample:
        return None
    mostly = [sample[place::4].count(0) * 8 > len(sample) for place in range(4)]
    always = [not any(sample[place::4]) for place in range(4)]
    if always[2] and always[3] and mostly[1] and not mostly[0]:
        return "utf-32-le"
    if always[0] and always[1] and mostly[2] and not mostly[3]:
        return "utf-32-be"
    if mostly[1] and mostly[3] and not mostly[0] and not mostly[2]:
        return "utf-16-le"
    if mostly[0] and mostly[2] and not mostly[1] and not mostly[3]:
        return "utf-16-be"
    return None


def _is_utf8(head: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(head)  # a character cut at the end of the head is no error
    except UnicodeDecodeError:
        return False
    return True


_SEQUENCE = re.compile(rb"[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|\xc2[\x80-\xbf]")


def _is_mostly_utf8(head: bytes) -> bool:
    sequences = sum(len(s) for s in _SEQUENCE.findall(head))
    high = len(head) - len(head.translate(None, bytes(range(128, 256))))
    return high > 0 and sequences >= 0.6 * high


def _looks_like(head: bytes) -> str:
    """What the bytes beyond ASCII suggest; Windows-1252 where that reads as western letters."""
    sample = _telling(head)
    western = sample.decode("cp1252", "replace")
    high = [c for c in western if ord(c) > 127]
    letters = sum(c in _WESTERN for c in high)
    if letters >= 0.9 * len(high) and not _FOREIGN_WORD.search(sample):
        return "cp1252"
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=_FAMILIES, explain=False).best()
    return _known(best.encoding) or "cp1252" if best is not None else "cp1252"


def _telling(head: bytes) -> bytes:
    """The lines that are not plain ASCII, as far as they are needed."""
    found: list[bytes] = []
    size = 0
    for line in head.splitlines(keepends=True):
        if not line.isascii():
            found.append(line[: _SAMPLE - size])
            size += len(found[-1])
            if size >= _SAMPLE:
                break
    return b"".join(found)
