"""Notices by mail: one message for all, over a connection that is encrypted and verified."""

from __future__ import annotations

import contextlib
import re
import smtplib
import ssl
from collections.abc import Callable, Mapping, Sequence
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate
from typing import Literal

from segapsith.errors import DeliveryError, UncertainDeliveryError
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

__all__ = ["Mail"]

TIMEOUT = 20.0
"""Seconds for each step of the exchange."""

_PORTS = {"starttls": 587, "tls": 465, "none": 25}


class Mail:
    """Sends one message with all notices.

    `security` is `starttls`, `tls` from the first byte, or `none` for a server on this machine.
    `ca_file` names the certificates to trust instead of the system's. `password_file` has the
    password of `user`, which is never sent without encryption.
    """

    def __init__(
        self,
        *,
        host: str = "",
        port: int = 0,
        security: Literal["starttls", "tls", "none"] = "starttls",
        ca_file: str = "",
        user: str = "",
        password_file: str = "",
        sender: str = "",
        recipients: str = "",
    ) -> None:
        if security not in _PORTS:
            raise ValueError(f"security={security!r} should be one of {', '.join(_PORTS)}")
        if user and security == "none":
            raise ValueError("user: a password is not sent without encryption; set security")
        if bool(user) != bool(password_file):
            raise ValueError("user and password_file need each other")
        self._host, self._port, self._security = host, port or _PORTS[security], security
        self._ca_file, self._user, self._password_file = ca_file, user, password_file
        self._sender = sender
        self._recipients = [one for one in re.split(r"[\s,;]+", recipients) if one]

    def send(self, notices: Sequence[Notice]) -> None:
        """Send the message; some refused recipients are a failure only if all are refused."""
        if not notices:
            return
        required(
            "mail", host=self._host, sender=self._sender, recipients=" ".join(self._recipients)
        )
        message = self._message(notices).as_bytes(policy=SMTP)
        place = f"{self._host}:{self._port}"
        with contextlib.ExitStack() as stack:
            try:
                server = self._connected(stack)
                self._envelope(server)
            except (OSError, smtplib.SMTPException) as error:
                raise DeliveryError(f"{place}: {_reason(error)}") from error
            try:
                code, answer = server.data(message)
            except smtplib.SMTPDataError as error:
                raise DeliveryError(f"{place}: {_reason(error)}") from error
            except (OSError, smtplib.SMTPException) as error:
                raise UncertainDeliveryError(
                    f"{place}: no answer after the message was sent: {_reason(error)}"
                ) from error
            if code != 250:
                raise DeliveryError(f"{place}: refused: {code} {answer.decode('utf-8', 'replace')}")

    def _connected(self, stack: contextlib.ExitStack) -> smtplib.SMTP:
        """Connect, encrypt and log in."""
        context = ssl.create_default_context(cafile=self._ca_file or None)
        if self._security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                self._host, self._port, timeout=TIMEOUT, context=context
            )
        else:
            server = smtplib.SMTP(self._host, self._port, timeout=TIMEOUT)
        stack.callback(server.close)
        server.ehlo_or_helo_if_needed()
        if self._security == "starttls":
            server.starttls(context=context)
            server.ehlo()
        if self._user:
            server.login(self._user, read_secret(self._password_file))
        return server

    def _envelope(self, server: smtplib.SMTP) -> None:
        """Name the sender and the recipients; raise an error if the server accepts none of them."""
        code, answer = server.mail(self._sender)
        if code != 250:
            raise smtplib.SMTPSenderRefused(code, answer, self._sender)
        refused = {}
        for recipient in self._recipients:
            code, answer = server.rcpt(recipient)
            if code not in (250, 251):
                refused[recipient] = (code, answer)
        if len(refused) == len(self._recipients):
            raise smtplib.SMTPRecipientsRefused(refused)

    def _message(self, notices: Sequence[Notice]) -> EmailMessage:
        message = EmailMessage()
        message["Subject"] = " ".join(heading(notices).split())
        message["From"], message["To"] = self._sender, ", ".join(self._recipients)
        message["Date"] = formatdate()
        message["Message-ID"] = f"<{delivery_id(notices)}@segapsith.invalid>"
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(plain_text(notices))
        return message


def _reason(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        text = error.smtp_error
        shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        return f"{error.smtp_code} {shown}"
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return f"no recipient was accepted: {', '.join(error.recipients)}"
    return str(error) or type(error).__name__


@hookimpl
def register_notifiers() -> Mapping[str, Callable[..., Notifier]]:
    return {"mail": Mail}
