"""Tokens: who shows one is known by it until it ends, and it is stored nowhere."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select

from harness.core.errors import UsageError
from harness.store.database.engine import Database, open_database
from harness.store.database.tables import TOKENS
from harness.store.database.tokens import (
    Scope,
    TokenOwner,
    create_token,
    find_token_owner,
    list_tokens,
    revoke_token,
)

NOW = 1_800_000_000.0
DAY = 86_400.0


def test_a_token_tells_its_owner_and_scopes(database: Database) -> None:
    token = create_token(database, "ci", [Scope.WRITE, Scope.READ], None, NOW)
    owner = find_token_owner(database, token, NOW)
    assert owner == TokenOwner("ci", frozenset({Scope.READ, Scope.WRITE}))
    assert (owner.may(Scope.WRITE), owner.may(Scope.ADMIN)) == (True, False)
    for wrong in ("", token[:-1], token + "x", "x" * 10_000_000, "\0", "\ud800", "' OR 1=1 --"):
        assert find_token_owner(database, wrong, NOW) is None


def test_an_administrator_may_do_everything() -> None:
    assert all(TokenOwner("root", frozenset({Scope.ADMIN})).may(scope) for scope in Scope)


def test_a_token_ends_when_it_expires_or_is_revoked(database: Database) -> None:
    token = create_token(database, "ci", [Scope.READ], NOW + DAY, NOW)
    assert find_token_owner(database, token, NOW + DAY - 1) is not None
    assert find_token_owner(database, token, NOW + DAY) is None
    revoke_token(database, "ci", NOW + 1)
    assert find_token_owner(database, token, NOW + 2) is None
    with pytest.raises(UsageError, match="no token 'ci'"):
        revoke_token(database, "ci", NOW + 3)


def test_a_name_is_free_again_after_its_token_was_revoked(database: Database) -> None:
    first = create_token(database, "ci", [Scope.READ], None, NOW)
    with pytest.raises(UsageError, match="there is a token 'ci'"):
        create_token(database, "ci", [Scope.ADMIN], None, NOW)
    revoke_token(database, "ci", NOW)
    second = create_token(database, "ci", [Scope.READ], None, NOW)
    assert find_token_owner(database, first, NOW) is None
    assert find_token_owner(database, second, NOW) is not None


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\0", "x" * 1000])
def test_a_token_needs_a_name(database: Database, name: str) -> None:
    with pytest.raises(UsageError, match="name of a token"):
        create_token(database, name, [Scope.READ], None, NOW)


def test_the_token_itself_is_nowhere_and_the_day_of_its_use_is(database: Database) -> None:
    token = create_token(database, "ci", [Scope.READ], None, NOW)
    assert [info.used for info in list_tokens(database)] == [None]
    find_token_owner(database, token, NOW)
    assert [info.used for info in list_tokens(database)] == [NOW // DAY * DAY]
    with database.read() as connection:
        assert token not in repr(connection.execute(select(TOKENS)).all())


def test_a_reader_is_known_while_nothing_can_be_written(tmp_path: Path) -> None:
    place = tmp_path / "results.db"
    with open_database(place) as database:
        token = create_token(database, "reader", [Scope.READ], None, NOW)
    with closing(sqlite3.connect(place)) as writer, open_database(place, patience_s=0.1) as database:
        writer.execute("BEGIN IMMEDIATE")
        owner = find_token_owner(database, token, NOW)
    assert owner is not None
    assert owner.name == "reader"
