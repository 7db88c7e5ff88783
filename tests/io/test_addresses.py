"""Web addresses: one spelling each, and no private one taken for public."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapsith.errors import ConfigurationError, FeedError
from segapsith.io.addresses import MAX_URL_CHARS, Address, is_public, place


def test_an_address_has_one_spelling() -> None:
    address = Address.of(" HTTPS://us:p%40@Exämple.ORG:443/é?q=ü#frag ")
    assert address.url == "https://xn--exmple-cua.org/%C3%A9?q=%C3%BC"
    assert address.full_url == "https://us:p%40@xn--exmple-cua.org/%C3%A9?q=%C3%BC"
    assert Address.of(address.full_url) == address
    assert Address.of("http://[2606:4700:0::1]:80").url == "http://[2606:4700::1]/"


def test_an_allowed_host_is_written_as_host_and_port() -> None:
    assert place("[0::1]:80") == "[::1]:80"
    assert place(" Localhost.:8080") == "localhost:8080"
    for text in (
        "localhost",
        "localhost:",
        ":80",
        "http://localhost:80",
        "localhost:80/x",
        "",
        "*:1",
    ):
        with pytest.raises(ConfigurationError, match="HOST:PORT"):
            place(text)


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_what_the_standard_library_calls_private_is_not_public_here(address: object) -> None:
    if getattr(address, "is_private") or getattr(address, "is_multicast"):  # noqa: B009
        assert not is_public(str(address))
    assert not is_public(f"::ffff:{address}") or ":" in str(address)


def test_a_text_that_is_not_an_address_is_refused_with_the_reason() -> None:
    for text, reason in {
        "ftp://example.org/": "only http and https",
        "http://": "no host",
        "http://example..org/": "malformed host name",
        "http://exa mple.org/": "must be escaped",
        "http://example.org:0/": "port 0",
        "http://example.org/" + "a" * MAX_URL_CHARS: f"at most {MAX_URL_CHARS} characters",
    }.items():
        with pytest.raises(FeedError, match=reason):
            Address.of(text)


def test_a_refused_address_is_printed_without_its_password() -> None:
    with pytest.raises(FeedError) as caught:
        Address.of("ftp://user:secret@example.org/")
    assert "secret" not in str(caught.value)
