"""Files, directories, compressed files and archives, sound and hostile."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import struct
import sys
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from segapsith import Document, Reject, limits
from segapsith.errors import InputError
from segapsith.io.inputs import Inputs
from segapsith_plugins.sources.csv_rows import CsvRows
from segapsith_plugins.sources.feeds import Feed
from segapsith_plugins.sources.json_lines import JsonLines
from segapsith_plugins.sources.plain_text import PlainText

SOURCES = {"text": PlainText(), "jsonl": JsonLines(), "csv": CsvRows(), "feed": Feed()}
FILES = {
    "b/two.json": b'{"id": "two", "text": "Rain."}\n',
    "a.txt": b"The river rose.",
    "c.csv": b"id,text\nthree,Wind.\nfour,Snow.\n",
    "d.txt": Feed.example,
}


def read(*names: str | Path) -> tuple[list[str], list[Reject], Inputs]:
    """What the documents are called, what was refused, and the inputs."""
    inputs = Inputs([str(n) for n in names], SOURCES)
    found = list(inputs.items())
    documents = [i.uid or i.body for i in found if isinstance(i, Document)]
    return documents, [i for i in found if isinstance(i, Reject)], inputs


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(files: dict[str, bytes], mode: str = "w", form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=form) as archive:  # type: ignore[call-overload]  # the mode is a parameter
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


ORDER = ["The river rose.", "two", "three", "four", "g1"]

PACKED: dict[str, Callable[[], bytes]] = {
    "zip": lambda: zipped(FILES),
    "zip stored": lambda: zipped(FILES, zipfile.ZIP_STORED),
    "zip lzma": lambda: zipped(FILES, zipfile.ZIP_LZMA),
    "tar": lambda: tarred(FILES),
    "tar ustar": lambda: tarred(FILES, form=tarfile.USTAR_FORMAT),
    "tar gnu": lambda: tarred(FILES, form=tarfile.GNU_FORMAT),
    "tar.gz": lambda: tarred(FILES, "w:gz"),
    "tar.bz2": lambda: tarred(FILES, "w:bz2"),
    "tar.xz": lambda: tarred(FILES, "w:xz"),
    "zip.gz": lambda: gzip.compress(zipped(FILES)),
}


@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED)
def test_archives_are_read_in_the_order_of_names(pack: Callable[[], bytes], tmp_path: Path) -> None:
    path = tmp_path / "delivery.txt"  # the name says nothing
    path.write_bytes(pack())
    assert read(path)[:2] == (ORDER, [])
    assert os.listdir(tmp_path) == ["delivery.txt"]


@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED)
def test_standard_input_may_be_any_of_them(
    pack: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pipe(io.RawIOBase):
        def __init__(self, data: bytes) -> None:
            self._data = io.BytesIO(data)

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
            return self._data.readinto(buffer[:100])  # as slow pipes do

    class Stdin:
        buffer = io.BufferedReader(Pipe(pack()))

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert read("-")[:2] == (ORDER, [])


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, bytes])
def test_compressed_files(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(pack(FILES["b/two.json"]))
    assert read(path)[0] == ["two"]


def test_long_names_links_and_hidden_members(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        long = tarfile.TarInfo("é/" * 100 + "long.txt")
        long.size = 5
        archive.addfile(long, io.BytesIO(b"Long."))
        link = tarfile.TarInfo("link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        hard = tarfile.TarInfo("hard.txt")
        hard.type, hard.linkname = tarfile.LNKTYPE, "../../etc/passwd"
        archive.addfile(hard)
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
    (tmp_path / "t").write_bytes(out.getvalue())
    assert read(tmp_path / "t")[:2] == (["Long."], [])
    linked = zipfile.ZipInfo("link.txt")
    linked.external_attr = 0o120777 << 16
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as zip_archive:
        zip_archive.writestr(linked, "/etc/passwd")
        zip_archive.writestr("__MACOSX/._a.txt", "x")
        zip_archive.writestr("folder/", "")
        zip_archive.writestr("a.txt", "Text.")
    (tmp_path / "z").write_bytes(out.getvalue())
    assert read(tmp_path / "z")[:2] == (["Text."], [])


def test_names_are_only_names(tmp_path: Path) -> None:
    evil = {"../../escape.txt": b"One.", "/absolute.txt": b"Two.", "c:\\win.txt": b"Three."}
    for number, data in enumerate((zipped(evil), tarred(evil))):
        path = tmp_path / f"{number}"
        path.write_bytes(data)
        assert sorted(read(path)[0]) == ["One.", "Three.", "Two."]
    assert sorted(os.listdir(tmp_path)) == ["0", "1"]
    assert not (tmp_path.parent / "escape.txt").exists()


def test_archives_in_archives_are_opened_once(tmp_path: Path) -> None:
    inner = zipped({"deep.txt": b"Deep."})
    two = tarred({"inner.zip": inner, "ok.txt": b"Fine."})
    (tmp_path / "two").write_bytes(two)
    assert read(tmp_path / "two")[0] == ["Deep.", "Fine."]
    (tmp_path / "three").write_bytes(zipped({"two.tar": two, "ok.txt": b"Good."}))
    documents, rejects, _ = read(tmp_path / "three")
    assert documents == ["Good.", "Fine."]
    assert "inner.zip" in rejects[0].name and "nested at most 2 deep" in rejects[0].reason


def test_a_damaged_member_costs_only_itself(tmp_path: Path) -> None:
    data = bytearray(zipped({"a.txt": b"x" * 50 + b"First.", "b.txt": b"Second."}))
    data[40] ^= 0xFF
    (tmp_path / "z").write_bytes(data)
    documents, rejects, inputs = read(tmp_path / "z")
    assert documents == ["Second."]
    assert len(rejects) == 1 and rejects[0].name.endswith("a.txt")
    assert not inputs.failures


def test_an_encrypted_member_is_named(tmp_path: Path) -> None:
    data = bytearray(zipped({"a.txt": b"First.", "b.txt": b"Second."}))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.find(mark) + place] |= 1
    (tmp_path / "z").write_bytes(data)
    documents, rejects, _ = read(tmp_path / "z")
    assert documents == ["Second."]
    assert rejects[0].reason == "not read: the member is encrypted"


def test_a_cut_archive(tmp_path: Path) -> None:
    (tmp_path / "z").write_bytes(zipped(FILES)[:-40])
    assert isinstance(read(tmp_path / "z")[2].failures[0], InputError)
    (tmp_path / "t").write_bytes(tarred(FILES)[:1200])
    documents, rejects, _ = read(tmp_path / "t")
    assert documents == ["two"]
    assert "ends inside" in rejects[0].reason
    (tmp_path / "g").write_bytes(tarred(FILES, "w:gz")[:-30])
    assert read(tmp_path / "g")[2].failures


@pytest.mark.slow
def test_bombs_are_stopped_by_what_they_produce(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SMALL_BYTES", 1_000_000)
    zeros = b"0" * 20_000_000
    (tmp_path / "gz").write_bytes(gzip.compress(zeros))
    (tmp_path / "zip").write_bytes(zipped({"bomb.txt": zeros, "z.txt": b"Late."}))
    (tmp_path / "tgz").write_bytes(tarred({"bomb.txt": zeros}, "w:gz"))
    for name in ("gz", "zip", "tgz"):
        documents, rejects, inputs = read(tmp_path / name)
        assert documents == []
        assert rejects or inputs.failures


def test_declared_sizes_are_not_believed(tmp_path: Path) -> None:
    data = bytearray(zipped({"a.txt": b"First."}))
    for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<L", data, data.find(mark) + place, 0xFFFFFFF0)
    (tmp_path / "z").write_bytes(data)
    read(tmp_path / "z")
    block = bytearray(tarred({"a.txt": b"First."}))
    block[124:136] = b"77777777777\0"
    block[148:156] = b"        "
    block[148:156] = f"{sum(block[:512]):06o}\0 ".encode()
    (tmp_path / "t").write_bytes(block)
    documents, rejects, _ = read(tmp_path / "t")
    assert documents == [] and "ends inside" in rejects[0].reason


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_ARCHIVE_MEMBERS", 3)
    for name, data in (("z", zipped(FILES)), ("t", tarred(FILES))):
        (tmp_path / name).write_bytes(data)
        (failure,) = read(tmp_path / name)[2].failures
        assert "members" in str(failure)


def test_an_office_document_is_no_archive_of_texts(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(zipped({"[Content_Types].xml": b"<a/>", "b.xml": b"<b/>"}))
    assert "office" in str(read(tmp_path / "x")[2].failures[0])


def test_directories_are_walked_in_order_without_links(tmp_path: Path) -> None:
    for name, data in FILES.items():
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "outside.txt").write_bytes(b"Outside.")
    (tmp_path / "in" / "link.txt").symlink_to(tmp_path / "outside.txt")
    (tmp_path / "in" / "more.zip").write_bytes(zipped({"z.txt": b"Zipped."}))
    (tmp_path / "in" / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\0")
    documents, rejects, _ = read(tmp_path / "in")
    assert sorted(documents) == sorted([*ORDER, "Zipped."])
    assert [Path(r.name).name for r in rejects] == ["picture.png"]


@pytest.mark.slow
def test_mutated_archives_never_raise(tmp_path: Path) -> None:
    rng = random.Random(0)
    originals = [pack() for pack in PACKED.values()]
    for number in range(200):
        data = bytearray(originals[number % len(originals)])
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if number % 3 == 0:
            del data[rng.randrange(len(data)) :]
        path = tmp_path / "x"
        path.write_bytes(data)
        read(path)


@pytest.mark.slow
def test_a_long_compressed_line_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with gzip.open(path, "wb", compresslevel=1) as out:
        out.write(b'{"text": "')
        for _ in range(100):
            out.write(b"word " * 200_000)
        out.write(b'"}\n{"id": "after", "text": "Good."}\n')
    tracemalloc.start()
    documents, rejects, _ = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert documents == ["after"]
    assert "longer than" in rejects[0].reason
    assert peak < 300_000_000


def test_texts_are_refused_as_ready_units_also_when_links_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "a", "text": "A text."}\n{"id": "b", "words": {"storm": 2}}\n')
    followed: list[str] = []

    def follow(document: Document) -> Document:
        followed.append(document.uid)
        return document

    items = list(Inputs([str(path)], SOURCES, "jsonl", bags_only=True, follow=follow).items())
    assert [type(item) for item in items] == [Reject, Document]
    assert followed == ["b"]
