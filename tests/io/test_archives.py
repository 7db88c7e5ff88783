"""Members of archives: sorted, counted, never written anywhere."""

from __future__ import annotations

import io
import tarfile
import zipfile
from typing import BinaryIO, cast

import pytest

from segapsith import limits
from segapsith.errors import InputError
from segapsith.io.archives import Member, is_archive, members
from segapsith.model import Reject


class Pipe(io.BytesIO):
    """A stream without a seekable file behind it."""

    plain: BinaryIO | None = None


class File(io.BytesIO):
    @property
    def plain(self) -> BinaryIO:
        return self


def zipped(**files: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return target.getvalue()


def tarred(*entries: tuple[str, bytes], kind: bytes = tarfile.REGTYPE) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, data in entries:
            info = tarfile.TarInfo(name)
            info.size, info.type = len(data), kind
            archive.addfile(info, io.BytesIO(data))
    return target.getvalue()


def contents(data: bytes, stream: type[io.BytesIO] = Pipe) -> dict[str, bytes]:
    """The bytes of every member, in the order given; a reject fails the test."""
    read = {}
    for member in members(cast("Pipe", stream(data)), "wire"):
        assert isinstance(member, Member), member
        with member.open() as opened:
            read[member.name] = opened.read()
    return read


@pytest.mark.parametrize("stream", [Pipe, File])
@pytest.mark.parametrize("data", [zipped(b=b"2", a=b"1"), tarred(("b", b"2"), ("a", b"1"))])
def test_members_come_sorted_by_name(data: bytes, stream: type[io.BytesIO]) -> None:
    assert is_archive(data)
    read = contents(data, stream)
    assert list(read.items()) == [("wire/a", b"1"), ("wire/b", b"2")]


def test_text_is_not_an_archive() -> None:
    assert not is_archive(b"Rain fell." * 100)
    assert not is_archive(b"")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_skipped(kind: bytes) -> None:
    assert contents(tarred(("link", b""), kind=kind)) == {}


def test_hidden_files_are_skipped() -> None:
    assert contents(tarred((".hidden", b"x"), ("__MACOSX/a", b"x"), ("a/.b", b"x"))) == {}


def test_a_long_name_of_a_tar_archive_is_read() -> None:
    name = "/".join(["folder" * 10] * 5) + "/é.txt"
    assert contents(tarred((name, b"x"))) == {f"wire/{name}": b"x"}


def test_a_truncated_tar_archive_gives_the_members_before_the_damage() -> None:
    data = tarred(("a", b"x" * 600), ("b", b"y" * 600))
    first, second = members(Pipe(data[:2600]), "wire")
    assert isinstance(first, Member) and first.name == "wire/a"
    assert second == Reject("wire", "the archive ends inside b")


def test_the_bytes_of_all_members_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SMALL_BYTES", 1000)
    monkeypatch.setattr(limits, "MAX_EXPANSION", 0)
    with pytest.raises(InputError, match="exceed 1,000 bytes in all"):
        contents(zipped(a=b"0" * 600, b=b"0" * 600))


def test_the_number_of_members_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_ARCHIVE_MEMBERS", 1)
    for data in (zipped(a=b"1", b=b"2"), tarred(("a", b"1"), ("b", b"2"))):
        with pytest.raises(InputError, match="at most 1 members"):
            contents(data)


def test_a_member_without_a_name_is_skipped() -> None:
    data = zipped(a=b"x")
    at = data.index(b"PK\x01\x02")
    directory = bytearray(data[at:])
    directory[28:32] = b"\0\0\1\0"  # no name, and one more byte of something else
    assert zipfile.ZipFile(io.BytesIO(data[:at] + directory)).namelist() == [""]
    assert contents(data[:at] + directory) == {}
