"""Webhooks: one signed request for all notices, only to permitted addresses, no secrets in errors."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest

from segapsith.errors import ConfigurationError, DeliveryError, UncertainDeliveryError
from segapsith.model import Notice
from segapsith_plugins.notifiers.webhook import MAX_DISCORD_CHARS, MAX_NTFY_BYTES, Webhook


def test_all_notices_come_in_one_signed_request(
    receiver: Any, notices: list[Notice], tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("opensesame\n")
    hook = Webhook(
        url=receiver.url(), secret_file=str(tmp_path / "key"), allow_hosts=receiver.place
    )
    hook.send(notices)
    ((path, headers, body),) = receiver.requests
    assert path == "/hook" and headers["content-type"].startswith("application/json")
    expected = hmac.new(b"opensesame", body, hashlib.sha256).hexdigest()
    assert headers["x-segapsith-signature"] == f"sha256={expected}"
    value = json.loads(body)
    assert [one["key"] for one in value["notices"]] == ["alarm/1", "new-domain/7"]
    assert value["heading"] == "segapsith 2026-03-02: 1 alarm, 1 new domain"
    assert value["delivery"] == headers["x-segapsith-delivery"]


def test_nothing_is_sent_without_notices(receiver: Any) -> None:
    Webhook().send([])
    Webhook(url=receiver.url()).send([])
    assert receiver.requests == []


def test_an_address_that_is_not_public_must_be_permitted(
    receiver: Any, notices: list[Notice]
) -> None:
    with pytest.raises(DeliveryError, match="--allow-host"):
        Webhook(url=receiver.url()).send(notices)
    assert receiver.requests == []


@pytest.mark.parametrize("status", [302, 400, 500])
def test_a_refusal_is_a_failure_without_the_secret_path(
    receiver: Any, notices: list[Notice], status: int
) -> None:
    receiver.status = status
    with pytest.raises(DeliveryError) as caught:
        Webhook(url=receiver.url("/s3cret"), allow_hosts=receiver.place).send(notices)
    assert not isinstance(caught.value, UncertainDeliveryError)
    assert "s3cret" not in str(caught.value) and receiver.place in str(caught.value)


def test_no_answer_after_the_request_is_uncertain(receiver: Any, notices: list[Notice]) -> None:
    receiver.status = 0
    with pytest.raises(UncertainDeliveryError, match="may have arrived"):
        Webhook(url=receiver.url(), allow_hosts=receiver.place).send(notices)


def test_a_server_that_is_not_there_is_a_failure(notices: list[Notice]) -> None:
    with pytest.raises(DeliveryError) as caught:
        Webhook(url="http://127.0.0.1:1/s3cret", allow_hosts="127.0.0.1:1").send(notices)
    assert not isinstance(caught.value, UncertainDeliveryError)
    assert "s3cret" not in str(caught.value)


def test_slack_gets_escaped_text(receiver: Any, notices: list[Notice]) -> None:
    Webhook(url=receiver.url(), template="slack", allow_hosts=receiver.place).send(notices)
    (value,) = receiver.bodies()
    assert "0.2 &lt;low&gt; &amp; “bad”" in value["text"] and "Crue à Liège" in value["text"]


def test_discord_mentions_nobody_and_gets_at_most_its_limit(
    receiver: Any, notices: list[Notice]
) -> None:
    long = Notice("k", "alarm", "x" * 5000, at=notices[0].at)
    hook = Webhook(url=receiver.url(), template="discord", allow_hosts=receiver.place)
    hook.send([*notices, long])
    (value,) = receiver.bodies()
    assert value["allowed_mentions"] == {"parse": []}
    assert len(value["content"]) == MAX_DISCORD_CHARS


def test_ntfy_gets_its_topic_at_the_root(
    receiver: Any, notices: list[Notice], tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("tk_1")
    hook = Webhook(
        url=receiver.url("/wire"),
        template="ntfy",
        allow_hosts=receiver.place,
        token_file=str(tmp_path / "token"),
    )
    hook.send([*notices, Notice("k", "rising", "é" * 5000, at=notices[0].at)])
    ((path, headers, body),) = receiver.requests
    value = json.loads(body)
    assert (path, value["topic"], value["priority"]) == ("/", "wire", 4)
    assert headers["authorization"] == "Bearer tk_1"
    assert len(value["message"].encode()) <= MAX_NTFY_BYTES + 8


def test_missing_settings_and_secrets_are_named(notices: list[Notice], tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="needs url"):
        Webhook().send(notices)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Webhook(url_file=str(tmp_path / "none")).send(notices)
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(ConfigurationError, match="empty"):
        Webhook(url_file=str(tmp_path / "empty")).send(notices)
    with pytest.raises(ValueError, match="template"):
        Webhook(template="teams")  # type: ignore[arg-type]
