"""Who sends a request, and what they may do."""

from __future__ import annotations

import getpass
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from harness.server.answers import RequestRefused
from harness.server.config import ServerConfig
from harness.server.sessions import SESSION_S, BrowserSession, Signer
from harness.store.database.engine import Database
from harness.store.database.tokens import Scope, TokenOwner, find_token_owner, list_tokens

_CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}


class Caller(Struct, frozen=True):
    """Sender of a request.

    Attributes:
        name: Name of the token; of the account of this machine, where it needs none; empty for anybody else.
        scopes: What the sender may do.
        cookie: Cookie of the session, if that told who it is; else empty.
        is_local: Whether the request comes from this machine, without a proxy.
    """

    name: str = ""
    scopes: frozenset[Scope] = frozenset()
    cookie: str = ""
    is_local: bool = False

    def may(self, scope: Scope) -> bool:
        """Return whether the sender may do something."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def require(self, scope: Scope) -> None:
        """Check that the sender may do something.

        Raises:
            RequestRefused: 401 where it is not known who it is, else 403.
        """
        if self.may(scope):
            return
        if not self.name:
            raise RequestRefused(
                401,
                f"this needs a token with the scope {scope}",
                hint=f"whoever keeps the server makes one: harness token create NAME --scope {scope}",
                headers=_CHALLENGE,
            )
        raise RequestRefused(
            403, f"the token has no scope {scope}", hint=f"harness token create NAME --scope {scope} makes one that has"
        )


class Access(Struct, frozen=True):
    """Rules of who may do what.

    Without any token, whoever works on this machine may read, write, ask for runs and measure them; once there is one,
    all but reading needs it. From elsewhere everything needs one.

    Attributes:
        database: Where tokens are.
        config: Settings of the server.
        signer: Opens cookies.
        clock: Returns Unix seconds.
    """

    database: Database
    config: ServerConfig
    signer: Signer
    clock: Callable[[], float] = time.time

    def identify(self, authorization: str | None, cookie: str, *, is_local: bool) -> Caller:
        """Return who sends a request.

        Args:
            authorization: The header of this name; None without it.
            cookie: Cookie of the session; empty without one.
            is_local: Whether it comes from this machine, without a proxy.

        Raises:
            RequestRefused: A token is shown that is none of ours, was revoked or has expired.
            EnvironmentProblem: The database cannot be read.
        """
        if authorization is not None:
            scheme, _, text = authorization.partition(" ")
            owner = self.find_owner(text.strip()) if scheme.lower() == "bearer" else None
            if owner is None:
                raise RequestRefused(
                    401,
                    "the token is unknown, revoked or expired",
                    hint="send `Authorization: Bearer TOKEN` with a valid one",
                    headers=_CHALLENGE,
                )
            return Caller(owner.name, owner.scopes, is_local=is_local)
        session = self._find_session(cookie) if cookie else None
        if session is not None:
            return Caller(session.name, session.scopes, cookie, is_local)
        if not is_local:
            return Caller()
        if list_tokens(self.database):
            return Caller(scopes=frozenset({Scope.READ}), is_local=True)
        return Caller(_account(), frozenset(Scope) - {Scope.ADMIN}, is_local=True)

    def find_owner(self, token: str) -> TokenOwner | None:
        """Return whose token this is; None if it is none of ours, was revoked or has expired."""
        return find_token_owner(self.database, token, self.clock())

    def open_session(self, owner: TokenOwner) -> str:
        """Return the cookie of a new session of somebody who has shown a token."""
        created = next(info.created for info in list_tokens(self.database) if info.owner.name == owner.name)
        return self.signer.seal(BrowserSession(owner.name, created, self.clock() + SESSION_S))

    def _find_session(self, cookie: str) -> TokenOwner | None:
        """Return whose session this is, while the token is valid that it was opened with."""
        now = self.clock()
        session = self.signer.open(cookie, now)
        if session is None:
            return None
        for info in list_tokens(self.database):
            if info.owner.name == session.name and info.created == session.created:
                is_valid = info.revoked is None and (info.expires is None or info.expires > now)
                return info.owner if is_valid else None
        return None


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, in a container
        return "local"
