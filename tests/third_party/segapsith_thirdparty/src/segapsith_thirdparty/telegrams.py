"""Telegrams: one after the other, parted by a line of plus signs, their number first."""

from collections.abc import Iterator, Mapping
from typing import BinaryIO

from segapsith import Document, Reject, hookimpl


class Telegrams:
    example = b"17 Flood\nThe river rose.\n++++\n18 Vote\nThey voted.\n"

    def sniff(self, head: bytes) -> float:
        return 0.8 if b"\n++++\n" in head else 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        lines: list[str] = []
        for line in [*stream, b"++++\n"]:
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            if text != "++++":
                lines.append(text)
                continue
            number, _, title = lines[0].partition(" ") if lines else ("", "", "")
            if number.isdecimal():
                yield Document(uid=f"telegram-{number}", title=title, body="\n".join(lines[1:]))
            elif any(lines):
                yield Reject(f"{name}: {number[:20]}", "a telegram should begin with its number")
            lines = []


@hookimpl
def register_sources() -> Mapping[str, type[Telegrams]]:
    return {"telegrams": Telegrams}
