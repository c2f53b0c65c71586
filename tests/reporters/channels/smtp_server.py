"""A mail server that speaks SMTP with STARTTLS and logins (RFC 5321, RFC 3207, RFC 4954), and keeps what it takes."""

from __future__ import annotations

import base64
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage


@dataclass(frozen=True)
class Mail:
    """A mail that was taken."""

    sender: str
    receivers: tuple[str, ...]
    message: EmailMessage
    is_encrypted: bool
    user: str


@dataclass
class MailBox:
    """A running server.

    Attributes:
        port: Its port.
        tls: Certificate; None offers no encryption.
        is_tls: Whether encryption begins at once.
        login: User and password that it asks for.
        refused: Answers to receivers, by address.
        answer: Answer to the content.
        mails: What it took.
        commands: What was said to it, without passwords.
    """

    port: int = 0
    tls: ssl.SSLContext | None = None
    is_tls: bool = False
    login: tuple[str, str] | None = None
    refused: dict[str, str] = field(default_factory=dict)
    answer: str = "250 2.0.0 Ok: queued as 4F"
    mails: list[Mail] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)


class _Conversation(socketserver.StreamRequestHandler):
    box: MailBox

    def setup(self) -> None:
        if self.box.is_tls and self.box.tls is not None:
            self.request = self.box.tls.wrap_socket(self.request, server_side=True)
        super().setup()
        self.is_encrypted = self.box.is_tls
        self.user, self.sender, self.receivers = "", "", list[str]()

    def finish(self) -> None:
        super().finish()
        self.request.close()

    def handle(self) -> None:
        self._say("220 mail.example.org ESMTP")
        while line := self.rfile.readline().decode().rstrip("\r\n"):
            verb, _, rest = line.partition(" ")
            self.box.commands.append(verb.upper())
            if verb.upper() == "QUIT":
                self._say("221 2.0.0 Bye")
                return
            handler = getattr(self, f"_{verb.lower()}", None)
            if handler is None:
                self._say("502 5.5.2 Error: command not recognized")
            else:
                handler(rest)

    def _say(self, *lines: str) -> None:
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())

    def _ehlo(self, _: str) -> None:
        offers = ["STARTTLS"] if self.box.tls is not None and not self.is_encrypted else []
        offers += ["AUTH PLAIN LOGIN"] if self.box.login is not None else []
        lines = ["mail.example.org", "SIZE 10240000", "8BITMIME", "SMTPUTF8", *offers]
        self._say(*[f"250-{text}" for text in lines[:-1]], f"250 {lines[-1]}")

    def _starttls(self, _: str) -> None:
        assert self.box.tls is not None
        self._say("220 2.0.0 Ready to start TLS")
        self.rfile.close()
        self.request = self.box.tls.wrap_socket(self.request, server_side=True)
        self.rfile, self.wfile = self.request.makefile("rb"), self.request.makefile("wb", buffering=0)
        self.is_encrypted = True

    def _auth(self, rest: str) -> None:
        kind, _, initial = rest.partition(" ")
        if kind == "PLAIN":
            _, user, password = base64.b64decode(initial).decode().split("\0")
        else:
            user = base64.b64decode(initial).decode()
            self._say(f"334 {base64.b64encode(b'Password:').decode()}")
            password = base64.b64decode(self.rfile.readline()).decode()
        if (user, password) != self.box.login:
            self._say(f"535 5.7.8 Error: authentication failed for {password}")
            return
        self.user = user
        self._say("235 2.7.0 Authentication successful")

    def _mail(self, rest: str) -> None:
        if self.box.login is not None and not self.user:
            self._say("530 5.7.0 Authentication required")
            return
        self.sender, self.receivers = rest.partition("<")[2].partition(">")[0], []
        self._say("250 2.1.0 Ok")

    def _rcpt(self, rest: str) -> None:
        address = rest.partition("<")[2].partition(">")[0]
        if address in self.box.refused:
            self._say(self.box.refused[address])
            return
        self.receivers.append(address)
        self._say("250 2.1.5 Ok")

    def _rset(self, _: str) -> None:
        self.sender, self.receivers = "", []
        self._say("250 2.0.0 Ok")

    def _data(self, _: str) -> None:
        if not self.receivers:
            self._say("554 5.5.1 Error: no valid recipients")
            return
        self._say("354 End data with <CR><LF>.<CR><LF>")
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            assert line.endswith(b"\r\n"), "lines end as RFC 5321, 2.3.8 says"
            assert len(line) <= 1000, "and are no longer than 4.5.3.1.6 says"
            lines.append(line[1:] if line.startswith(b".") else line)
        if self.box.answer.startswith("2"):
            message = message_from_bytes(b"".join(lines), policy=policy.default)
            assert isinstance(message, EmailMessage)
            self.box.mails.append(Mail(self.sender, tuple(self.receivers), message, self.is_encrypted, self.user))
        self._say(self.box.answer)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a client that distrusts the certificate hangs up."""


@contextmanager
def run_mail_server(box: MailBox) -> Iterator[MailBox]:
    """Run a server on this machine."""
    handler = type("Conversation", (_Conversation,), {"box": box})
    with _Server(("127.0.0.1", 0), handler) as server:
        box.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield box
        finally:
            server.shutdown()
            thread.join()
