"""Web addresses: their parts, their one spelling, and which of them are public."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from segapsith.errors import ConfigurationError, FeedError

__all__ = ["Address", "allowed_places", "is_public", "place"]

MAX_URL_CHARS = 2000

_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?")
_AMBIGUOUS = re.compile(r"[\x00-\x20\x7f-\xa0\\\ud800-\udfff]")

_NOT_PUBLIC_4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
    )
)  # fmt: skip
"""IANA's special-purpose registry; the last one is multicast, reserved and broadcast."""

_PUBLIC_6 = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    ipaddress.IPv6Network(network)
    for network in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
"""Inside the global range: Teredo and other protocols, documentation, 6to4. Everything outside it
(loopback, mapped and translated IPv4, link-local, unique local, multicast) is not public either."""

_ISATAP = (0x00005EFE, 0x02005EFE)


def is_public(address: str) -> bool:
    """Return whether a numeric address belongs to the public internet.

    Own tables, because those of the standard library differ between Python versions.

    >>> [is_public(a) for a in ("192.0.33.8", "10.0.0.1", "::ffff:192.0.33.8", "2606:4700::1")]
    [True, False, False, True]
    """
    try:
        number = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(number, ipaddress.IPv4Address):
        return not any(number in network for network in _NOT_PUBLIC_4)
    has_embedded_ipv4 = (int(number) >> 32) & 0xFFFFFFFF in _ISATAP
    return (
        number in _PUBLIC_6
        and not has_embedded_ipv4
        and not any(number in network for network in _NOT_PUBLIC_6)
    )


def place(text: str) -> str:
    """Return HOST:PORT in the spelling that `Address.place` uses.

    >>> place("LocalHost:8080"), place("[0:0::1]:80")
    ('localhost:8080', '[::1]:80')
    """
    try:
        address = Address.of(f"http://{text.strip()}")
        if urlsplit(f"http://{text.strip()}").port is None or address.target != "/":
            raise ValueError
    except (FeedError, ValueError) as error:
        raise ConfigurationError(
            f"{text!r} should be HOST:PORT, for example 127.0.0.1:8080"
        ) from error
    return address.place


def allowed_places(text: str) -> frozenset[str]:
    """Return the places that a text lists, with commas or spaces between them.

    >>> sorted(allowed_places("LocalHost:80, 127.0.0.1:8080"))
    ['127.0.0.1:8080', 'localhost:80']
    """
    return frozenset(place(host) for host in re.split(r"[\s,]+", text.strip()) if host)


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of a web address, with the host in the form in which it is resolved."""

    scheme: str
    host: str
    port: int
    target: str
    credentials: str = ""
    """`user:password`, sent to this origin only and never printed."""

    @classmethod
    def of(cls, text: str) -> Address:
        """Parse an address; refuse what programs interpret in different ways.

        >>> Address.of("HTTPS://Example.org:443/wire?x=1#top").url
        'https://example.org/wire?x=1'
        """
        text = text.strip(" \t\r\n")
        shown = re.sub(r"//[^/]*@", "//", text)[:200]
        if len(text) > MAX_URL_CHARS:
            raise FeedError(
                f"{shown}…: not read: an address has at most {MAX_URL_CHARS} characters"
            )
        if _AMBIGUOUS.search(text):
            raise FeedError(
                f"{shown!r}: not read: spaces, control characters and backslashes must be escaped"
            )
        try:
            parts = urlsplit(text)
            scheme, port = parts.scheme.lower(), parts.port
            host = _host(parts.hostname or "")
        except ValueError as error:
            raise FeedError(f"{shown}: not a valid address: {error}") from error
        if scheme not in _DEFAULT_PORTS:
            raise FeedError(f"{shown}: not read: only http and https are supported")
        if port == 0:
            raise FeedError(f"{shown}: not a valid address: port 0")
        target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
        if not target.startswith("/"):
            raise FeedError(f"{shown}: not a valid address: the path should begin with /")
        if parts.query:
            target += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~-._?")
        login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        return cls(
            scheme, host, port or _DEFAULT_PORTS[scheme], target, "" if login == ":" else login
        )

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def place(self) -> str:
        """`HOST:PORT`."""
        return f"{self._bracketed}:{self.port}"

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        return self._bracketed if self.port == _DEFAULT_PORTS[self.scheme] else self.place

    @property
    def url(self) -> str:
        """The address without credentials."""
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def full_url(self) -> str:
        """The address with credentials, as a subscription stores it."""
        if not self.credentials:
            return self.url
        user, _, password = (quote(part, safe="") for part in self.credentials.partition(":"))
        return f"{self.scheme}://{user}:{password}@{self.authority}{self.target}"

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def _host(name: str) -> str:
    """Return the host as it is resolved: ASCII, lower case, IPv6 in its short form."""
    if ":" in name:
        return str(ipaddress.IPv6Address(name if "%" not in name else ""))
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii")
        except UnicodeError as error:
            raise ValueError(f"the host name cannot be encoded: {error}") from error
    name = name.lower()
    if not _HOST_NAME.fullmatch(name) or len(name) > 253:
        raise ValueError("no host" if not name else "malformed host name")
    return name.removesuffix(".")
