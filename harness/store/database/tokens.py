"""Tokens that clients of the server show: who has them, and what they may do. Only their SHA-256 is stored."""

from __future__ import annotations

import contextlib
import hmac
import secrets
from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256
from typing import Final

from msgspec import Struct
from sqlalchemy import Row, insert, select

from harness.core.errors import EnvironmentProblem, UsageError
from harness.store.database.columns import KEY_CHARACTERS
from harness.store.database.engine import Database
from harness.store.database.tables import TOKENS

TOKEN_PREFIX: Final = "harness_"  # noqa: S105 - by which scanners for secrets find tokens; none itself
_BYTES: Final = 32
_DAY_S: Final = 86_400.0
_LONGEST: Final = 256
"""Longest text that is looked up; ours have about 50 characters."""


class Scope(StrEnum):
    """What the owner of a token may do."""

    READ = "read"
    WRITE = "write"
    REQUEST = "request"
    COMMITS = "commits"
    LAB = "lab"
    ADMIN = "admin"


class TokenOwner(Struct, frozen=True):
    """Who shows a token.

    Attributes:
        name: Name of the token.
        scopes: What it was made for.
    """

    name: str
    scopes: frozenset[Scope]

    def may(self, scope: Scope) -> bool:
        """Return whether this owner may do something; `admin` may do everything."""
        return scope in self.scopes or Scope.ADMIN in self.scopes


class TokenInfo(Struct, frozen=True):
    """Token in a list.

    Attributes:
        owner: Its name and scopes.
        created: Unix seconds.
        expires: End of its validity; None has none.
        revoked: When it was revoked; None where it was not.
        used: Day of its last use; None where it was never used.
    """

    owner: TokenOwner
    created: float
    expires: float | None
    revoked: float | None
    used: float | None


def create_token(database: Database, name: str, scopes: Iterable[Scope], expires: float | None, now: float) -> str:
    """Make a token and return its text, which is stored nowhere.

    Args:
        database: Where its SHA-256 is stored.
        name: Name of whoever gets it; that of a revoked or expired one can be used again.
        scopes: What it may do; at least one.
        expires: End of its validity, Unix seconds; None has none.
        now: Unix seconds.

    Raises:
        UsageError: The name is taken or unfit, there is no scope, or the end has passed.
        EnvironmentProblem: It cannot be stored.
    """
    words = sorted(set(scopes))
    if not name.strip() or len(name) > KEY_CHARACTERS or not name.isprintable():
        raise UsageError("the name of a token is a short text on one line", hint="name whoever uses it: ci, lab-3")
    if not words:
        raise UsageError("a token needs a scope", hint=f"give any of {', '.join(Scope)}")
    if expires is not None and not expires > now:
        raise UsageError("the token would have expired already", hint="give a later end, or none")
    text = TOKEN_PREFIX + secrets.token_urlsafe(_BYTES)
    values = {
        "name": name,
        "digest": _digest(text),
        "scopes": " ".join(words),
        "created": now,
        "expires": expires,
        "revoked": None,
        "used": None,
    }
    with database.write() as connection:
        known = connection.execute(select(TOKENS).where(TOKENS.c.name == name)).first()
        if known is None:
            connection.execute(insert(TOKENS), values)
        elif _is_valid(known, now):
            raise UsageError(f"there is a token {name!r}", hint="take another name, or revoke it first")
        else:
            connection.execute(TOKENS.update().where(TOKENS.c.id == known.id).values(values))
    return text


def find_token_owner(database: Database, text: str, now: float) -> TokenOwner | None:
    """Return whose token this is; None for one that is unknown, revoked or expired.

    The day of its use is stored, where that is possible: who only reads is not refused because nothing can be written.

    Raises:
        EnvironmentProblem: The database cannot be read.
    """
    if len(text) > _LONGEST:
        return None
    digest = _digest(text)
    with database.read() as connection:
        row = connection.execute(select(TOKENS).where(TOKENS.c.digest == digest)).first()
    if row is None or not hmac.compare_digest(row.digest, digest) or not _is_valid(row, now):
        return None
    if row.used is None or abs(now - row.used) >= _DAY_S:
        with contextlib.suppress(EnvironmentProblem), database.write() as connection:
            day = now // _DAY_S * _DAY_S
            connection.execute(TOKENS.update().where(TOKENS.c.digest == digest).values(used=day))
    return _owner(row)


def revoke_token(database: Database, name: str, now: float) -> None:
    """Make a token useless at once.

    Raises:
        UsageError: There is none with this name that is still valid.
        EnvironmentProblem: The database cannot be written.
    """
    with database.write() as connection:
        changed = connection.execute(
            TOKENS.update().where(TOKENS.c.name == name, TOKENS.c.revoked.is_(None)).values(revoked=now)
        )
        if not changed.rowcount:
            raise UsageError(f"there is no token {name!r}", hint="`harness token list` shows all")


def list_tokens(database: Database) -> tuple[TokenInfo, ...]:
    """Return all tokens by name, also revoked and expired ones.

    Raises:
        EnvironmentProblem: The database cannot be read.
    """
    with database.read() as connection:
        rows = connection.execute(select(TOKENS).order_by(TOKENS.c.name)).all()
    return tuple(
        TokenInfo(_owner(row), created=row.created, expires=row.expires, revoked=row.revoked, used=row.used)
        for row in rows
    )


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def _is_valid(row: Row[tuple[object, ...]], now: float) -> bool:
    return row.revoked is None and (row.expires is None or row.expires > now)


def _owner(row: Row[tuple[object, ...]]) -> TokenOwner:
    return TokenOwner(row.name, frozenset(map(Scope, row.scopes.split())))
