"""Tokens of the server's clients: made, revoked and listed by whoever keeps the store."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from rich.console import Console
from rich.text import Text

from harness.core.errors import ExitCode, UsageError
from harness.core.values import Value
from harness.display.documents import print_document
from harness.display.tables import print_output
from harness.presentation.documents import Document
from harness.store.database.engine import Database
from harness.store.database.tokens import Scope, TokenInfo, create_token, list_tokens, revoke_token

_AGE: Final = re.compile(r"(\d{1,5}(?:\.\d+)?)([hdwy])")
_SECONDS: Final = {"h": 3600.0, "d": 86_400.0, "w": 604_800.0, "y": 31_557_600.0}


class TokenSummary(Value):
    """Token in a list; its text is stored nowhere.

    Attributes:
        name: Whose it is.
        scopes: What it may do.
        created: Unix seconds.
        expires: End of its validity; null has none.
        revoked: When it was revoked; null where it was not.
        used: Day of its last use; null where it was never used.
        valid: Whether it can be used now.
    """

    name: str
    scopes: tuple[str, ...]
    created: float
    expires: float | None
    revoked: float | None
    used: float | None
    valid: bool


class TokenList(Document):
    """All tokens of a store.

    Attributes:
        tokens: The tokens, by name.
    """

    tokens: tuple[TokenSummary, ...]


def parse_scopes(words: Sequence[str]) -> frozenset[Scope]:
    """Return the scopes that words name; commas may separate them.

    Raises:
        UsageError: A word names none.
    """
    names = [name.strip() for word in words for name in word.split(",") if name.strip()]
    unknown = [name for name in names if name not in set(Scope)]
    if unknown or not names:
        raise UsageError(f"--scope {' '.join(words)}: no scope", hint=f"give any of {', '.join(Scope)}")
    return frozenset(map(Scope, names))


def parse_expiry(text: str, now: float) -> float:
    """Return the end of a validity, in Unix seconds: an age such as `90d`, or a date (UTC).

    Raises:
        UsageError: It is neither.
    """
    age = _AGE.fullmatch(text.strip())
    if age is not None:
        return now + float(age[1]) * _SECONDS[age[2]]
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise UsageError(
            f"--expires {text[:80]}: not a time", hint="give an age (12h, 90d, 8w, 1y) or a date (2027-01-31)"
        ) from error
    return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp()


def create(
    database: Database, name: str, scopes: frozenset[Scope], expires: float | None, console: Console, *, now: float
) -> None:
    """Make a token, and print it alone on standard output: this is the only time that it can be seen."""
    text = create_token(database, name, scopes, expires, now)
    _print(text, console)


def revoke(database: Database, name: str, console: Console, *, now: float) -> None:
    """Make a token useless at once."""
    revoke_token(database, name, now)
    _print(f"the token {name!r} is revoked; the server refuses it from now on", console)


def show_tokens(database: Database, console: Console, *, now: float, as_json: bool) -> int:
    """List all tokens, also those that cannot be used any more."""
    tokens = [_summarise(info, now) for info in list_tokens(database)]
    if as_json:
        print_document(TokenList(tokens=tuple(tokens)), console)
        return ExitCode.OK
    if not tokens:
        _print("no tokens; harness token create NAME --scope write makes one", console)
    for token in tokens:
        _print(_describe(token, now), console)
    return ExitCode.OK


def _summarise(info: TokenInfo, now: float) -> TokenSummary:
    return TokenSummary(
        name=info.owner.name,
        scopes=tuple(sorted(info.owner.scopes)),
        created=info.created,
        expires=info.expires,
        revoked=info.revoked,
        used=info.used,
        valid=info.revoked is None and (info.expires is None or info.expires > now),
    )


def _describe(token: TokenSummary, now: float) -> str:
    parts = [f"{token.name}: {', '.join(token.scopes)}"]
    if token.revoked is not None:
        parts.append(f"revoked on {_day(token.revoked)}")
    elif token.expires is not None:
        parts.append(f"{'expired' if token.expires <= now else 'expires'} on {_day(token.expires)}")
    parts.append(f"last used on {_day(token.used)}" if token.used is not None else "never used")
    return "; ".join(parts)


def _print(line: str, console: Console) -> None:
    print_output(Text(line, no_wrap=True), console)


def _day(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d")
