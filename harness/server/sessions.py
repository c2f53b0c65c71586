"""Sessions of browsers: a signed cookie that stands for a token, and the tokens of forms against forged requests."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import os
import secrets
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct

from harness.core.errors import EnvironmentProblem
from harness.files.open_flags import BINARY

COOKIE: Final = "harness_session"
SESSION_S: Final = 30 * 86_400.0
"""A person logs in again after so long, in seconds."""

_SECRET_BYTES: Final = 32
_LONGEST: Final = 2048


class BrowserSession(Struct, frozen=True):
    """Content of a cookie.

    Attributes:
        name: Name of the token that was shown at the login.
        created: When that token was made: another token of the same name opens no session.
        expires: End of the session, Unix seconds.
    """

    name: str
    created: float
    expires: float


class Signer(Struct, frozen=True):
    """Signs cookies and forms.

    Attributes:
        secret: Key of the signatures.
    """

    secret: bytes

    def seal(self, session: BrowserSession) -> str:
        """Return the value of the cookie of a session."""
        content = json.dumps([session.name, session.created, session.expires]).encode()
        payload = base64.urlsafe_b64encode(content).decode()
        return f"{payload}.{self._sign('session', payload)}"

    def open(self, cookie: str, now: float) -> BrowserSession | None:
        """Return the session of a cookie; None where we did not sign it, or it has ended."""
        payload, _, signature = cookie.rpartition(".")
        expected = self._sign("session", payload)
        if len(cookie) > _LONGEST or not hmac.compare_digest(signature.encode(), expected.encode()):
            return None
        try:
            name, created, expires = json.loads(base64.urlsafe_b64decode(payload.encode()))
        except (binascii.Error, ValueError, TypeError):
            return None
        return BrowserSession(str(name), float(created), float(expires)) if now < expires else None

    def form_token(self, cookie: str) -> str:
        """Return the token that the forms of a session have, which no other site can know."""
        return self._sign("form", cookie)

    def is_form_token(self, text: str, cookie: str) -> bool:
        """Return whether a form was made by us for this session."""
        return hmac.compare_digest(text.encode(errors="replace"), self.form_token(cookie).encode())

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self.secret, f"{purpose}:{text}".encode(errors="replace"), sha256).hexdigest()


def load_secret(file: Path) -> bytes:
    """Return the secret of a file that only its owner can read; make it where there is none.

    Raises:
        EnvironmentProblem: It cannot be made or read, or others can read it.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o600)
        except FileExistsError:
            pass
        else:
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(secrets.token_bytes(_SECRET_BYTES))
        with file.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            secret = opened.read(_SECRET_BYTES)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot keep the secret of sessions in {file}: {error.strerror or error}", hint="check its folder"
        ) from error
    if mode & 0o077 and os.name == "posix":  # Windows shows no permissions of others here
        raise EnvironmentProblem(f"others can read the secret of sessions in {file}", hint=f"chmod 600 '{file}'")
    if len(secret) < _SECRET_BYTES:
        raise EnvironmentProblem(f"the secret of sessions in {file} is too short", hint="remove it; a new one is made")
    return secret
