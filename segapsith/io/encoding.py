"""Bytes to text: by byte-order mark, UTF-8, declaration, statistics, or else Windows-1252.

Wires declare one encoding and send another, or mix two in one file. Bytes that are valid UTF-8 are
read as UTF-8 whatever is declared, because other texts are almost never valid UTF-8. Single bytes
that do not fit are read as Windows-1252, so one wrong byte costs at most one letter.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO

__all__ = ["decoded", "encoding_of", "is_binary", "repaired", "text_chunks"]

HEAD_BYTES = 1 << 16
"""Bytes that decide the encoding of a stream."""

_SAMPLE_BYTES = 1 << 14
"""Bytes that charset-normalizer receives."""

_CHUNK_BYTES = 1 << 20

_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

# Supersets that decode the same texts and more; senders use the names loosely.
_SUPERSETS = {
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

_NON_LATIN_WORD = re.compile(rb"[\xc0-\xff]{4}")
"""Western words never have four such letters in a row; Cyrillic and Greek words usually do."""

_CANDIDATES = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r"),
    *("mac_roman", "cp850", "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr", "iso8859_2"),
]


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    """Decode the bytes that do not fit as Windows-1252."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    invalid = error.object[error.start : error.end]
    return invalid.decode("cp1252", "replace"), error.end


codecs.register_error("segapsith-windows", _as_windows)


def encoding_of(head: bytes, declared: str | None = None) -> str:
    """Return the codec for a text with this beginning.

    >>> encoding_of("été".encode()), encoding_of("été à Évry".encode("cp1252"))
    ('utf-8', 'cp1252')
    >>> encoding_of(b'<?xml version="1.0" encoding="koi8-r"?>' + "Река".encode("koi8-r"))
    'koi8-r'
    """
    for mark, name in _MARKS:
        if head.startswith(mark) and not (name == "utf-16" and head[2:4] == b"\0\0"):
            return name
    if wide := _wide_encoding(head):
        return wide
    if _is_utf8(head):
        return "utf-8"
    codec = _declared(head) if declared is None else _usable_codec(declared)
    if codec and codec != "utf-8":
        return codec
    if codec == "utf-8" or _is_mostly_utf8(head):
        return "utf-8"
    return _guessed(head)


def decoded(data: bytes, declared: str | None = None) -> str:
    """Decode bytes, without the byte-order mark; never fails.

    >>> decoded("été".encode("cp1252")), decoded("été".encode("utf-8-sig"))
    ('été', 'été')
    >>> decoded("été ".encode() + "été".encode("cp1252"))
    'été été'
    """
    if wide := _wide_encoding(data[:512]):  # letters with NULs between them are valid UTF-8 too
        return data.decode(wide, "replace").removeprefix("\ufeff")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        # The head may be plain ASCII; the bytes around the first invalid one decide.
        start = max(0, error.start - HEAD_BYTES // 2)
    if data.startswith(tuple(mark for mark, _ in _MARKS)) or start == 0:
        encoding = encoding_of(data[:HEAD_BYTES], declared)
    else:
        codec = _usable_codec(declared) if declared else _declared(data[:HEAD_BYTES])
        encoding = encoding_of(data[start : start + HEAD_BYTES], codec)
    return data.decode(encoding, _errors(encoding)).removeprefix("\ufeff")


def text_chunks(stream: BinaryIO, declared: str | None = None) -> Iterator[str]:
    """Decode a stream piece by piece; its beginning decides the encoding."""
    head = stream.read(HEAD_BYTES)
    encoding = encoding_of(head, declared)
    decoder = codecs.getincrementaldecoder(encoding)(_errors(encoding))
    first = decoder.decode(head).removeprefix("\ufeff")
    if first:
        yield first
    while data := stream.read(_CHUNK_BYTES):
        if text := decoder.decode(data):
            yield text
    if text := decoder.decode(b"", final=True):
        yield text


def is_binary(head: bytes) -> bool:
    """Return whether there are NUL bytes that belong to no wide encoding."""
    if b"\0" not in head:
        return False
    return not head.startswith(tuple(mark for mark, _ in _MARKS)) and not _wide_encoding(head)


_MOJIBAKE = re.compile(
    "[ÃÅÄ][\x80-\xbf©¨ª«§®¯°±²³´µ¶·¸¹»¼½¾¿€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€[\x80-\xbf™œ“˜¦\x9d”¢]"
    "|Â[\xa0«»°©®§·’]|ï»¿|ðŸ"
)


def repaired(text: str) -> str:
    """Repair UTF-8 that was decoded as Windows-1252, where that is certain.

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


_NOT_OF_TEXTS = frozenset(
    ("idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "mbcs", "oem")
)
"""Codecs of Python that no text is written in; `undefined` raises an error for every text."""


def _usable_codec(name: str | None) -> str | None:
    """Return the codec, or its superset, for a declared name; None if it does not decode text."""
    try:
        codec = codecs.lookup(name or "")
        if not codec._is_text_encoding or codec.name.startswith(("utf-16", "utf-32", "utf-7")):
            return None  # a wide encoding is recognised by its mark or its NULs
        codecs.getincrementaldecoder(codec.name)
    except (LookupError, ValueError):
        return None
    if codec.name in _NOT_OF_TEXTS:
        return None
    return _SUPERSETS.get(codec.name, codec.name)


def _declared(head: bytes) -> str | None:
    declaration = _DECLARED.search(head[:4096])
    if declaration is None:
        return None
    return _usable_codec((declaration.group(1) or declaration.group(2)).decode("ascii"))


_WIDE_ENCODINGS = (
    ("utf-32-le", "?M00", "L???"),
    ("utf-32-be", "00M?", "???L"),
    ("utf-16-le", "?M?M", "L?L?"),
    ("utf-16-be", "M?M?", "?L?L"),
)
"""By byte of each group of four: always NUL (0), mostly NUL (M), mostly a letter (L), any (?)."""


def _wide_encoding(head: bytes) -> str | None:
    """Return UTF-16 or UTF-32 for a text without a mark, where Latin letters have regular NULs."""
    sample = head[: min(len(head), 512) // 4 * 4]
    if len(sample) < 4 or b"\0" not in sample:
        return None
    traits = []
    for offset in range(4):
        column = sample[offset::4]
        is_mostly_nul = column.count(0) * 8 > len(sample)
        traits.append("?M" if is_mostly_nul else "?L")
        if not any(column):
            traits[offset] += "0"
    for name, nuls, letters in _WIDE_ENCODINGS:
        if all(nuls[i] in traits[i] and letters[i] in traits[i] for i in range(4)):
            return name
    return None


def _is_utf8(head: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(head)  # a character that is cut at the end of the head is not an error
    except UnicodeDecodeError:
        return False
    return True


_SEQUENCE = re.compile(rb"[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|\xc2[\x80-\xbf]")


def _is_mostly_utf8(head: bytes) -> bool:
    sequences = sum(len(s) for s in _SEQUENCE.findall(head))
    high = len(head) - len(head.translate(None, bytes(range(128, 256))))
    return high > 0 and sequences >= 0.6 * high


def _guessed(head: bytes) -> str:
    """Return the codec that the bytes beyond ASCII suggest; Windows-1252 for western letters."""
    sample = _lines_beyond_ascii(head)
    western = sample.decode("cp1252", "replace")
    high = [c for c in western if ord(c) > 127]
    letters = sum(c in _WESTERN for c in high)
    if letters >= 0.9 * len(high) and not _NON_LATIN_WORD.search(sample):
        return "cp1252"
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=_CANDIDATES, explain=False).best()
    return _usable_codec(best.encoding) or "cp1252" if best is not None else "cp1252"


def _lines_beyond_ascii(head: bytes) -> bytes:
    """Return the lines that are not plain ASCII, up to the size of a sample."""
    lines: list[bytes] = []
    size = 0
    for line in head.splitlines(keepends=True):
        if not line.isascii():
            lines.append(line[: _SAMPLE_BYTES - size])
            size += len(lines[-1])
            if size >= _SAMPLE_BYTES:
                break
    return b"".join(lines)
