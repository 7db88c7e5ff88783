"""Mail to a real SMTP server on loopback: with TLS and login, refused, and cut off."""

from __future__ import annotations

import email
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

from segapsith.errors import ConfigurationError, DeliveryError, UncertainDeliveryError
from segapsith.model import Notice
from segapsith_plugins.notifiers.mail import Mail

pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")

ENVELOPE = {
    "host": "localhost",
    "sender": "wire@example.org",
    "recipients": "a@example.org, b@x.org",
}


class Box:
    """Accepts mail; `answer` is what it says to a message, None closes the connection."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.refused: set[str] = set()
        self.answer: str | None = "250 OK"

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, to: str, _: Any) -> str:
        if to in self.refused:
            return "550 no such box"
        envelope.rcpt_tos.append(to)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Any, envelope: Any) -> str:
        self.messages.append((envelope.rcpt_tos, email.message_from_bytes(envelope.content)))
        if self.answer is None:
            server.transport.close()
        return self.answer or ""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost"),
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return folder / "cert.pem"


@pytest.fixture
def served(certificate: Path) -> Iterator[Callable[..., tuple[Box, int]]]:
    running: list[Controller] = []

    def serve(security: str = "none", **options: Any) -> tuple[Box, int]:
        box = Box()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_name("key.pem"))
        if security == "starttls":
            options |= {"tls_context": context, "require_starttls": True}
        elif security == "tls":
            options |= {"ssl_context": context}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port: int = free.getsockname()[1]
        controller = Controller(box, hostname="127.0.0.1", port=port, **options)
        controller.start()
        running.append(controller)
        return box, port

    yield serve
    for controller in running:
        controller.stop()


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_mail_goes_over_a_verified_connection(
    served: Any, certificate: Path, notices: list[Notice], security: Any
) -> None:
    box, port = served(security)
    mail = Mail(**ENVELOPE, port=port, security=security, ca_file=str(certificate))
    mail.send(notices)
    ((recipients, message),) = box.messages
    assert recipients == ["a@example.org", "b@x.org"]
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Subject"] == "segapsith 2026-03-02: 1 alarm, 1 new domain"
    assert "Crue à Liège" in message.get_payload(decode=True).decode()
    mail.send(notices)
    assert box.messages[1][1]["Message-ID"] == message["Message-ID"]


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_certificate_that_is_not_trusted_is_refused(
    served: Any, notices: list[Notice], security: Any
) -> None:
    box, port = served(security)
    with pytest.raises(DeliveryError, match="certificate"):
        Mail(**ENVELOPE, port=port, security=security).send(notices)
    assert box.messages == []


def test_a_server_without_encryption_is_refused_by_default(
    served: Any, notices: list[Notice]
) -> None:
    box, port = served()
    with pytest.raises(DeliveryError, match="STARTTLS"):
        Mail(**ENVELOPE, port=port).send(notices)
    assert box.messages == []


def test_a_user_logs_in_with_the_password_of_a_file(
    served: Any, certificate: Path, notices: list[Notice], tmp_path: Path
) -> None:
    def check(
        _server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any
    ) -> AuthResult:
        assert isinstance(data, LoginPassword)
        right = (data.login, data.password) == (b"ada", b"secret")
        return AuthResult(success=right, handled=False)

    box, port = served("starttls", authenticator=check, auth_required=True)
    password = tmp_path / "password"
    given = {**ENVELOPE, "user": "ada", "password_file": str(password), "port": port}
    password.write_text("wrong")
    with pytest.raises(DeliveryError, match="535"):
        Mail(**given, ca_file=str(certificate)).send(notices)
    password.write_text("secret\n")
    Mail(**given, ca_file=str(certificate)).send(notices)
    assert len(box.messages) == 1


def test_a_password_is_never_sent_without_encryption() -> None:
    with pytest.raises(ValueError, match="encryption"):
        Mail(**ENVELOPE, security="none", user="ada", password_file="p")
    with pytest.raises(ValueError, match="need each other"):
        Mail(**ENVELOPE, user="ada")


def test_refused_mail_is_a_failure_and_a_lost_connection_is_uncertain(
    served: Any, notices: list[Notice]
) -> None:
    box, port = served()
    mail = Mail(**ENVELOPE, port=port, security="none")
    box.refused = {"b@x.org"}
    mail.send(notices)
    assert box.messages[0][0] == ["a@example.org"]
    box.refused = {"a@example.org", "b@x.org"}
    with pytest.raises(DeliveryError, match="no recipient"):
        mail.send(notices)
    box.refused, box.answer = set(), "554 no"
    with pytest.raises(DeliveryError, match="554 no") as caught:
        mail.send(notices)
    assert not isinstance(caught.value, UncertainDeliveryError)
    box.answer = None
    with pytest.raises(UncertainDeliveryError):
        mail.send(notices)


def test_missing_settings_are_named(notices: list[Notice]) -> None:
    with pytest.raises(ConfigurationError, match="host and sender and recipients"):
        Mail().send(notices)
    with pytest.raises(DeliveryError):
        Mail(**ENVELOPE, port=1).send(notices)
