"""Tokens, hosts and sockets of the server."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from segapsith.errors import ConfigurationError, MissingInputError, StorageError, UsageError
from segapsith.web.serving import bound, read_token, served_hosts


def test_a_token_is_the_first_line_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("abcdefghijklmnopqrst\nmore\n")
    assert read_token(path) == "abcdefghijklmnopqrst"
    path.write_text("short")
    with pytest.raises(ConfigurationError, match="at least 16"):
        read_token(path)
    with pytest.raises(MissingInputError):
        read_token(tmp_path / "none")


def test_names_are_served_only_if_named() -> None:
    assert served_hosts("127.0.0.1", ["News.Example"]) >= {"news.example", "localhost"}
    assert "0.0.0.0" not in served_hosts("0.0.0.0", [])
    for wrong in ("*", "", "http://x/"):
        with pytest.raises(UsageError, match="--allow-host"):
            served_hosts("127.0.0.1", [wrong])


def test_a_port_in_use_is_reported() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(StorageError, match="cannot listen"):
            bound("127.0.0.1", taken.getsockname()[1])
    listener = bound("127.0.0.1", 0)
    assert listener.getsockname()[1] > 0
    assert listener.proto == socket.IPPROTO_TCP  # otherwise each answer waits 40 ms
    listener.close()
