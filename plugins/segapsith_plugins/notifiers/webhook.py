"""Notices to a web address: JSON with a signature, or the forms of Slack, Discord and ntfy."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from segapsith.errors import DeliveryError, FeedError
from segapsith.io.addresses import Address, allowed_places
from segapsith.io.http import post
from segapsith.model import Notice
from segapsith.plugin.contracts import Notifier
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins.notifiers._texts import (
    delivery_id,
    heading,
    plain_text,
    read_secret,
    required,
)

__all__ = ["Webhook"]

MAX_SLACK_CHARS, MAX_DISCORD_CHARS, MAX_NTFY_BYTES = 39_000, 2_000, 4_000
"""What the services accept in one message."""


class Webhook:
    """Posts all notices in one request, to a public address or one among `allow_hosts`.

    `secret_file` has the key of the header `X-Segapsith-Signature`: `sha256=` and the HMAC-SHA256
    of the body in hexadecimal digits. `token_file` has the token of `Authorization: Bearer`.
    `url_file` has the address, where the address itself is a secret.
    """

    def __init__(
        self,
        *,
        url: str = "",
        url_file: str = "",
        template: Literal["json", "slack", "discord", "ntfy"] = "json",
        secret_file: str = "",
        token_file: str = "",
        allow_hosts: str = "",
        timeout: float = 20.0,
    ) -> None:
        if template not in _TEMPLATES:
            raise ValueError(f"template={template!r} should be one of {', '.join(_TEMPLATES)}")
        self._url, self._url_file, self._template = url, url_file, template
        self._secret_file, self._token_file = secret_file, token_file
        self._allow, self._timeout = allowed_places(allow_hosts), timeout

    def send(self, notices: Sequence[Notice]) -> None:
        """Post the notices; redirects are refused, and any status but 2xx is a failure."""
        if not notices:
            return
        url = read_secret(self._url_file) if self._url_file else self._url
        required("webhook", url=url)
        url, value = _TEMPLATES[self._template](url, notices)
        body = json.dumps(value, ensure_ascii=False).encode()
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "X-Segapsith-Delivery": delivery_id(notices),
        }
        if self._secret_file:
            key = read_secret(self._secret_file).encode()
            signature = hmac.new(key, body, hashlib.sha256).hexdigest()
            headers["X-Segapsith-Signature"] = f"sha256={signature}"
        if self._token_file:
            headers["Authorization"] = f"Bearer {read_secret(self._token_file)}"
        try:
            answer = post(url, body, headers=headers, allow=self._allow, timeout=self._timeout)
        except DeliveryError as error:
            raise type(error)(_without_path(str(error), url)) from error
        except FeedError as error:
            raise DeliveryError(_without_path(str(error), url)) from error
        if not 200 <= answer.status < 300:
            host = Address.of(url).place
            raise DeliveryError(f"{host}: refused with status {answer.status}")


def _without_path(text: str, url: str) -> str:
    """Return a message without the path of the address, which may be a secret."""
    try:
        address = Address.of(url)
    except FeedError:
        return text.partition(": ")[2] or text
    return text.replace(address.url, f"{address.scheme}://{address.authority}")


def _json(url: str, notices: Sequence[Notice]) -> tuple[str, Any]:
    return url, {
        "delivery": delivery_id(notices),
        "heading": heading(notices),
        "notices": [notice.as_json() for notice in notices],
    }


def _slack(url: str, notices: Sequence[Notice]) -> tuple[str, Any]:
    """Return the form of Slack, where &, < and > have a meaning."""
    text = _shortened(f"{heading(notices)}\n\n{plain_text(notices)}", MAX_SLACK_CHARS)
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return url, {"text": escaped, "mrkdwn": False}


def _discord(url: str, notices: Sequence[Notice]) -> tuple[str, Any]:
    """Return the form of Discord; nobody is mentioned, whatever a headline contains."""
    text = _shortened(f"{heading(notices)}\n\n{plain_text(notices)}", MAX_DISCORD_CHARS)
    return url, {"content": text, "allowed_mentions": {"parse": []}}


def _ntfy(url: str, notices: Sequence[Notice]) -> tuple[str, Any]:
    """Return the JSON form of ntfy, which is posted to the root and names the topic."""
    parts = urlsplit(url)
    root, _, topic = parts.path.rstrip("/").rpartition("/")
    if not topic:
        raise DeliveryError("ntfy: the url should end in the topic: https://ntfy.example.org/TOPIC")
    urgent = any(notice.kind in ("alarm", "failure") for notice in notices)
    message = plain_text(notices).encode()
    if len(message) > MAX_NTFY_BYTES:
        message = message[:MAX_NTFY_BYTES] + " …".encode()
    value = {
        "topic": topic,
        "title": heading(notices),
        "message": message.decode("utf-8", "ignore"),
        "priority": 4 if urgent else 3,
    }
    return urlunsplit(parts._replace(path=root or "/")), value


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 2]} …"


_TEMPLATES: Mapping[str, Callable[[str, Sequence[Notice]], tuple[str, Any]]] = {
    "json": _json,
    "slack": _slack,
    "discord": _discord,
    "ntfy": _ntfy,
}


@hookimpl
def register_notifiers() -> Mapping[str, Callable[..., Notifier]]:
    return {"webhook": Webhook}
