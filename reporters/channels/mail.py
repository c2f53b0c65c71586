"""E-mail through a server of yours: `mail:smtp://HOST:PORT?to=ADDRESS&from=ADDRESS`, or `smtps://` for TLS at once.

User and password are `HARNESS_SMTP_USER` and `HARNESS_SMTP_PASSWORD`. Over `smtp://` the connection is encrypted with
STARTTLS wherever the server offers it; a password is never sent unencrypted. Messages of one group are one thread
(RFC 5322, section 3.6.4), and the same message has the same Message-ID in every attempt, so mailboxes drop copies.
Where the server refuses some of the receivers, only they are tried again.
"""

from __future__ import annotations

import smtplib
import socket
import ssl
from collections.abc import Mapping
from email.headerregistry import Address
from email.message import EmailMessage
from html import escape
from typing import Final
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct, field
from pydantic import SecretStr

from harness.core.alarm_message import AlarmMessage
from harness.core.alarm_protocols import AlarmChannel
from harness.core.errors import DeliveryFailed, UsageError
from harness.core.network_errors import describe_cause
from harness.presentation.alarm_messages import MessageText, message_text

USER_VARIABLE: Final = "HARNESS_SMTP_USER"
PASSWORD_VARIABLE: Final = "HARNESS_SMTP_PASSWORD"  # noqa: S105 - the name of a variable, not a password
_TIMEOUT_S: Final = 30.0
_PORTS: Final = {"smtp": 587, "smtps": 465}
_HINT: Final = "for example 'mail:smtp://mail.example.org:587?to=perf@example.org&from=harness@example.org'"
_SUBJECT: Final = 200


class MailServer(Struct, frozen=True):
    """Sends mail (`AlarmChannel`).

    Attributes:
        host: Name of the server.
        port: Its port.
        is_tls: Whether TLS begins at once.
        sender: Address of the sender.
        receivers: Addresses.
        user: Name to log in with; empty for none.
        password: Its password.
    """

    host: str
    port: int
    is_tls: bool
    sender: str
    receivers: tuple[str, ...]
    user: str = ""
    password: SecretStr = field(default_factory=lambda: SecretStr(""))

    @property
    def place(self) -> str:
        """Addresses and server."""
        return f"{', '.join(self.receivers)} by {self.host}:{self.port}"

    def send(self, message: AlarmMessage) -> str:
        """Send the message to all receivers that no earlier attempt reached.

        Raises:
            DeliveryFailed: The server refuses it, or some of the receivers.
        """
        receivers = [receiver for receiver in self.receivers if receiver not in message.received]
        if not receivers:
            return f"{self.host} has accepted it for {', '.join(self.receivers)}"
        mail = self._mail(message)
        try:
            with self._connect() as server:
                refused = server.send_message(mail, self.sender, receivers)
        except smtplib.SMTPRecipientsRefused as error:
            refused = error.recipients
        except smtplib.SMTPResponseException as error:
            raise self._refused(error.smtp_code, error.smtp_error, type(error)) from None
        except smtplib.SMTPException as error:
            raise DeliveryFailed(f"{self.host}: {_line(str(error))}") from None
        except (OSError, ValueError) as error:
            raise DeliveryFailed(
                f"{self.host}:{self.port} cannot be reached: {describe_cause(error, _line(str(error)))}"
            ) from None
        if refused:
            raise self._refused_receivers(refused, tuple(receiver for receiver in receivers if receiver not in refused))
        return f"{self.host} accepted it for {', '.join(receivers)}"

    def _connect(self) -> smtplib.SMTP:
        context = ssl.create_default_context()
        name = socket.getfqdn()
        if self.is_tls:
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                self.host, self.port, local_hostname=name, timeout=_TIMEOUT_S, context=context
            )
        else:
            server = smtplib.SMTP(self.host, self.port, local_hostname=name, timeout=_TIMEOUT_S)
        try:
            server.ehlo_or_helo_if_needed()
            is_encrypted = self.is_tls
            if not is_encrypted and server.has_extn("starttls"):
                server.starttls(context=context)
                server.ehlo()
                is_encrypted = True
            self._login(server, is_encrypted=is_encrypted)
        except BaseException:
            server.close()
            raise
        return server

    def _login(self, server: smtplib.SMTP, *, is_encrypted: bool) -> None:
        if self.user and not is_encrypted:
            raise DeliveryFailed(f"{self.host} offers no encryption, and the password is not sent without it")
        if self.user:
            server.login(self.user, self.password.get_secret_value())

    def _refused_receivers(self, refused: Mapping[str, tuple[int, bytes]], received: tuple[str, ...]) -> DeliveryFailed:
        """Return the error for receivers that were refused: final where it is for each of them."""
        errors = {address: self._refused(code, answer) for address, (code, answer) in refused.items()}
        reasons = ", ".join(f"{address} ({error.message})" for address, error in errors.items())
        accepted = f"accepted it for {', '.join(received)}, but refused" if received else "refused"
        return DeliveryFailed(
            f"{self.host} {accepted} {reasons}",
            final=all(error.final for error in errors.values()),
            received=received,
        )

    def _refused(self, code: int, answer: bytes | str, kind: type[Exception] = Exception) -> DeliveryFailed:
        """Return the error for an answer: 4yz may succeed later (RFC 5321, section 4.2.1), and so may a login."""
        text = answer.decode(errors="replace") if isinstance(answer, bytes) else answer
        secret = self.password.get_secret_value()
        text = text.replace(secret, "***") if secret else text
        is_login = issubclass(kind, smtplib.SMTPAuthenticationError) or code in {530, 534, 535, 538}
        final = 500 <= code < 600 and not is_login
        return DeliveryFailed(f"{self.host} answered {code} {_line(text)}".rstrip(), final=final)

    def _mail(self, message: AlarmMessage) -> EmailMessage:
        text = message_text(message)
        domain = self.sender.rpartition("@")[2]
        thread = f"<{_identifier(message.group)}@{domain}>"
        mail = EmailMessage()
        mail["Subject"] = text.announcement[:_SUBJECT]
        mail["From"], mail["To"] = self.sender, ", ".join(self.receivers)
        mail["Message-ID"] = f"<{message.key}@{domain}>" if message.is_update else thread
        if message.is_update:
            mail["In-Reply-To"] = mail["References"] = thread
        mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: no absence notices in return
        mail.set_content(plain(text))
        mail.add_alternative(html(text), subtype="html")
        return mail


def create(target: str, environment: Mapping[str, str], *, is_named: bool) -> AlarmChannel | None:
    """Open the channel of `mail:smtp://...` or `mail:smtps://...`.

    Raises:
        UsageError: It is no such URL, misses an address, or contains a password.
    """
    try:
        parts = urlsplit(target)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if not is_named and parts.scheme not in _PORTS:
        return None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise UsageError("the mail server is no smtp:// or smtps:// URL", hint=_HINT)
    if parts.username or parts.password:
        raise UsageError(
            "the URL of the mail server contains a user, and every user of the machine sees arguments",
            hint=f"set {USER_VARIABLE} and {PASSWORD_VARIABLE}",
        )
    query = parse_qs(parts.query)
    receivers = tuple(address.strip() for text in query.pop("to", []) for address in text.split(",") if address.strip())
    senders = query.pop("from", [f"harness@{socket.getfqdn()}"])
    if query:
        raise UsageError(f"the URL of the mail server has an unknown part `{min(query)}`", hint=_HINT)
    if not receivers or len(senders) != 1:
        raise UsageError("the URL of the mail server names nobody to write to, or several senders", hint=_HINT)
    for address in (*receivers, *senders):
        _check(address)
    user = environment.get(USER_VARIABLE, "")
    if user and not environment.get(PASSWORD_VARIABLE):
        raise UsageError(f"{USER_VARIABLE} is set without {PASSWORD_VARIABLE}", hint="set both, or neither")
    return MailServer(
        host=parts.hostname,
        port=port or _PORTS[parts.scheme],
        is_tls=parts.scheme == "smtps",
        sender=senders[0],
        receivers=receivers,
        user=user,
        password=SecretStr(environment.get(PASSWORD_VARIABLE, "")),
    )


def plain(text: MessageText) -> str:
    """Return the plain text of a message."""
    rows = [
        f"  {row.change:>9}  {row.series}{f'  [{row.interval}]' if row.interval else ''}"
        f"{f'  ({row.state})' if row.state else ''}"
        for row in text.rows
    ]
    rows += [f"  and {text.left_out} more"] if text.left_out else []
    links = [f"{link.label}: {link.url}" for link in text.links]
    paragraphs = [text.announcement, *text.summary, "\n".join(rows), "\n".join(links), f"-- \n{text.footer}"]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph) + "\n"


def html(text: MessageText) -> str:
    """Return the HTML of a message."""
    cell = '<td style="padding:2px 12px 2px 0">'
    rows = "".join(
        f'<tr><td style="padding:2px 12px 2px 0;text-align:right"><b>{escape(row.change)}</b></td>'
        f"{cell}{escape(row.series)}</td>{cell}{escape(row.interval)}</td>{cell}{escape(row.state)}</td></tr>"
        for row in text.rows
    )
    links = " · ".join(f'<a href="{escape(link.url)}">{escape(link.label)}</a>' for link in text.links)
    parts = [
        f"<h3>{escape(text.announcement)}</h3>",
        *[f"<p>{escape(sentence)}</p>" for sentence in text.summary],
        f"<table>{rows}</table>" if rows else "",
        f"<p>and {text.left_out} more</p>" if text.left_out else "",
        f"<p>{links}</p>" if links else "",
        f'<p style="color:#5d6772">{escape(text.footer)}</p>',
    ]
    return f"<!doctype html><html><body>{''.join(parts)}</body></html>\n"


def _check(address: str) -> None:
    try:
        parsed = Address(addr_spec=address)
    except (ValueError, IndexError, AttributeError) as error:
        raise UsageError(f"{address!r} is no address of e-mail", hint=_HINT) from error
    if not parsed.domain or not parsed.username:
        raise UsageError(f"{address!r} is no address of e-mail", hint=_HINT)


def _identifier(group: str) -> str:
    """Return the left part of a Message-ID, whatever a group's identity is made of."""
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter == "-") else "." for letter in group)


def _line(text: str) -> str:
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.split())[:200]
