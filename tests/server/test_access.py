"""Who may do what: tokens, sessions of browsers, names of hosts, and requests of other sites."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.testing.results import ok_result
from tests.server.process import ServerProcess, bearer, create_token, run_harness, run_server

PAGE = {"Accept": "text/html"}
ELSEWHERE = {"X-Forwarded-For": "192.0.2.7"}
"""A proxy on this machine says that the request comes from another one."""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerProcess, dict[str, str]]]:
    """A server with tokens, by their names."""
    folder = tmp_path_factory.mktemp("guarded")
    tokens = {
        "reader": create_token(folder, "reader"),
        "writer": create_token(folder, "writer", "--scope", "write"),
        "both": create_token(folder, "both", "--scope", "read,write", "--expires", "90d"),
    }
    with run_server(folder) as server:
        yield server, tokens


def test_writing_needs_a_token_as_soon_as_there_is_one(guarded: tuple[ServerProcess, dict[str, str]]) -> None:
    server, tokens = guarded
    result = ok_result(uid="w1")
    assert server.post_result(result).status_code == 401
    assert server.post_result(result, **bearer("harness_wrong")).status_code == 401
    assert server.post_result(result, **bearer(tokens["reader"])).status_code == 403
    assert server.post_result(result, **bearer(tokens["writer"])).status_code == 201
    assert server.get("/api/v1/results/w1", headers=bearer(tokens["writer"])).status_code == 403
    assert server.get("/api/v1/results/w1", headers=bearer(tokens["reader"])).status_code == 200
    for token in tokens.values():
        assert token not in server.log


def test_a_proxy_makes_nobody_local(guarded: tuple[ServerProcess, dict[str, str]]) -> None:
    server, tokens = guarded
    assert server.get("/api/v1/results").status_code == 200
    assert server.get("/api/v1/results", headers=ELSEWHERE).status_code == 401
    assert server.get("/metrics", headers=ELSEWHERE).status_code == 401
    assert server.get("/health", headers=ELSEWHERE).status_code == 200
    assert server.get("/api/v1/results", headers={**ELSEWHERE, **bearer(tokens["reader"])}).status_code == 200


def test_a_revoked_token_is_refused_at_once(guarded: tuple[ServerProcess, dict[str, str]]) -> None:
    server, _ = guarded
    token = create_token(server.folder, "leaver", "--scope", "write")
    assert server.post_result(ok_result(uid="r1"), **bearer(token)).status_code == 201
    assert run_harness(server.folder, "token", "revoke", "leaver").returncode == 0
    assert server.post_result(ok_result(uid="r2"), **bearer(token)).status_code == 401
    assert server.get("/api/v1/results", headers=bearer(token)).status_code == 401


def test_a_browser_logs_in_by_a_token_and_out_again(guarded: tuple[ServerProcess, dict[str, str]]) -> None:
    server, tokens = guarded
    asked = server.get("/commits?text=a", headers={**ELSEWHERE, **PAGE})
    assert (asked.status_code, asked.headers["Location"]) == (303, "/login?next=%2Fcommits%3Ftext%3Da")
    wrong = server.post("/login", data={"token": "x", "next": "/"}, headers=ELSEWHERE)
    assert (wrong.status_code, "Set-Cookie" in wrong.headers) == (401, False)
    form = {"token": tokens["both"], "next": "//example.org"}
    entered = server.post("/login", data=form, headers=ELSEWHERE)
    assert (entered.status_code, entered.headers["Location"]) == (303, "/")
    flags = entered.headers["Set-Cookie"].lower()
    assert "httponly" in flags
    assert "samesite=strict" in flags
    assert tokens["both"] not in flags
    assert server.get("/", headers={**ELSEWHERE, **PAGE}).status_code == 200
    page = server.get("/login", headers=ELSEWHERE).text
    assert "Logged in as both" in page
    assert server.post("/logout", data={"form_token": "forged"}, headers=ELSEWHERE).status_code == 403
    own = re.search(r'name="form_token" value="([0-9a-f]+)"', page)
    assert own is not None
    assert server.post("/logout", data={"form_token": own[1]}, headers=ELSEWHERE).status_code == 303
    assert server.get("/", headers={**ELSEWHERE, **PAGE}).status_code == 303
    server.session.cookies.clear()


def test_a_session_ends_with_its_token(guarded: tuple[ServerProcess, dict[str, str]]) -> None:
    server, _ = guarded
    token = create_token(server.folder, "guest")
    server.post("/login", data={"token": token}, headers=ELSEWHERE)
    assert server.get("/models", headers=ELSEWHERE).status_code == 200
    run_harness(server.folder, "token", "revoke", "guest")
    create_token(server.folder, "guest")  # another one of the same name
    assert server.get("/models", headers=ELSEWHERE).status_code == 401
    server.session.cookies.clear()


@pytest.mark.parametrize("cookie", ["", "x", "a.b", "a" * 5000, "W10=.00", '"', "é"])
def test_a_forged_cookie_opens_nothing(guarded: tuple[ServerProcess, dict[str, str]], cookie: str) -> None:
    server, _ = guarded
    headers = {**ELSEWHERE, "Cookie": f"harness_session={cookie}".encode().decode("latin-1")}
    assert server.get("/models", headers=headers).status_code == 401


def test_requests_to_other_names_and_from_other_sites_are_refused(server: ServerProcess) -> None:
    assert server.get("/", headers={"Host": "evil.example"}).status_code == 421
    assert server.get("/health", headers={"Host": "evil.example"}).status_code == 421
    answer = server.post_result(ok_result(uid="s1"), **{"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403
    assert server.post("/alarms/x/remarks", data={"action": "comment", "text": "x"}).status_code == 403


def test_pages_run_nothing_from_elsewhere(server: ServerProcess) -> None:
    answer = server.get("/", headers=PAGE)
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r'(src|href|action)="(https?:)?//', answer.text)


@pytest.mark.parametrize("flags", [("--host", "0.0.0.0"), ("--public-url", "https://bench.example.org")])
def test_others_reach_no_server_without_tokens(tmp_path: Path, flags: tuple[str, ...]) -> None:
    done = run_harness(tmp_path, "serve", "--port", "0", *flags)
    assert done.returncode == 2
    assert "harness token create" in done.stderr


def test_a_taken_port_is_named(server: ServerProcess, tmp_path: Path) -> None:
    port = server.url.rpartition(":")[2]
    done = run_harness(tmp_path, "serve", "--port", port)
    assert done.returncode == 3
    assert "another program listens" in done.stderr
