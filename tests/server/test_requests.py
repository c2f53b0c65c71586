"""Runs on demand over HTTP: who may ask, what may be asked for, and how labs take it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
import requests
from pydantic import JsonValue

from harness.testing.results import ok_result
from tests.server.process import ServerProcess, bearer, create_token, run_server

OFFER: dict[str, JsonValue] = {
    "specifications": [{"name": "mv2", "benchmarks": ["mv2/a", "mv2/b"]}],
    "device_classes": ["pixel"],
    "repositories": ["code"],
}
WANTED: dict[str, JsonValue] = {"specification": "mv2", "benchmark": "mv2/a", "device_class": "pixel"}
Guarded: TypeAlias = tuple[ServerProcess, dict[str, dict[str, str]]]
"""A server with tokens, and the header of each token by its name."""
SCOPES = {
    "anna": "read,request",
    "dora": "read,request,commits",
    "bert": "request",
    "carl": "read,write",
    "root": "admin",
    "lab": "lab,read,write",
}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A server with tokens; and the header of each, by its name."""
    folder: Path = tmp_path_factory.mktemp("requests")
    tokens = {name: bearer(create_token(folder, name, "--scope", scopes)) for name, scopes in SCOPES.items()}
    with run_server(folder, "--open-runs", "3") as server:
        yield server, tokens


@pytest.fixture
def offered(
    guarded: Guarded,
) -> Guarded:
    """The same with an offer, and without a request that is open."""
    server, tokens = guarded
    announced = server.post("/api/v1/lab/offers", json={"dispatcher": "d", "offer": OFFER}, headers=tokens["lab"])
    assert announced.status_code == 200, announced.text
    for row in server.get("/api/v1/requests?only_open=true&limit=1000", headers=tokens["root"]).json()["rows"]:
        assert server.post(f"/api/v1/requests/{row['id']}/cancel", headers=tokens["root"]).status_code == 200
    return server, tokens


def claim(server: ServerProcess, headers: dict[str, str], name: str) -> requests.Response:
    body: JsonValue = {"dispatcher": "d", "claim": name, "device_classes": ["pixel"], "lease_s": 60.0}
    return server.post("/api/v1/lab/claims", json=body, headers=headers)


def test_asking_and_measuring_need_scopes_of_their_own(
    offered: Guarded,
) -> None:
    server, tokens = offered
    for name, status in (("carl", 403), ("lab", 403), ("anna", 201), ("root", 201)):
        assert server.post("/api/v1/requests", json=WANTED, headers=tokens[name]).status_code == status, name
    assert server.post("/api/v1/requests", json=WANTED).status_code == 401
    for name, status in (("anna", 403), ("carl", 403), ("root", 200)):
        assert claim(server, tokens[name], f"by-{name}").status_code == status, name
    for path in ("/api/v1/requests", "/api/v1/offers"):
        assert [server.get(path, headers=tokens[name]).status_code for name in SCOPES] == [200] * len(SCOPES)


def test_the_devices_of_a_lab_are_shown_as_long_as_its_offer_counts(offered: Guarded) -> None:
    server, tokens = offered
    device: JsonValue = {
        "name": "<green>",
        "identity": "g1",
        "device_class": "pixel",
        "platform": "android",
        "host": "bench",
        "is_available": False,
        "words": "withdrawn by anna: its battery swells",
    }
    body: JsonValue = {"dispatcher": "d", "offer": {**OFFER, "devices": [device]}}
    assert server.post("/api/v1/lab/offers", json=body, headers=tokens["anna"]).status_code == 403
    assert server.post("/api/v1/lab/offers", json=body, headers=tokens["lab"]).status_code == 200
    page = server.get("/lab", headers=log_in(server, tokens["anna"])).text
    assert "&lt;green&gt;" in page
    assert "withdrawn by anna: its battery swells" in page
    assert "out of the pool" in page


def test_a_request_is_stored_once_however_often_it_is_posted(
    offered: Guarded,
) -> None:
    server, tokens = offered
    body = {**WANTED, "key": "once"}
    answers = [server.post("/api/v1/requests", json=body, headers=tokens["anna"]) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [201, 200, 200]
    assert len({answer.json()["id"] for answer in answers}) == 1
    other = server.post("/api/v1/requests", json={**body, "benchmark": ""}, headers=tokens["anna"])
    assert other.status_code == 409
    assert server.post("/api/v1/requests", json=body, headers=tokens["bert"]).status_code == 201


@pytest.mark.parametrize(
    "wrong",
    [
        *({"specification": name} for name in ("../../x", "/etc/passwd", "mv2.json", "mv2\n", "", "--help", "é" * 400)),
        *({"benchmark": name} for name in ("mv2/*", "$(reboot)", "mv2/a\0", "../mv2/a")),
        *({"device_class": name} for name in ("", "pixel;ls", "host", 5, None)),
        *({"key": key} for key in ("a b", "../x", "x" * 101, "é")),
        {"command_args": "--runner /bin/sh"},
        *({"commit": name, "repository": "code"} for name in ("--upload-pack=sh", "../x", "a@{1}", "refs/x", "é" * 9)),
        {"repository": "https://example.org/x"},
        {"control": "main"},
        {"pairs": 10},
    ],
)
def test_what_is_not_offered_is_refused_and_not_repeated(offered: Guarded, wrong: dict[str, JsonValue]) -> None:
    server, tokens = offered
    before = server.get("/api/v1/requests", headers=tokens["anna"]).json()["total"]
    answer = server.post("/api/v1/requests", json={**WANTED, **wrong}, headers=tokens["anna"])
    assert answer.status_code == 422, answer.text
    assert answer.json()["message"]
    value = next(iter(wrong.values()))
    assert len(str(value)) < 5 or str(value) not in answer.text
    assert server.get("/api/v1/requests", headers=tokens["anna"]).json()["total"] == before


def test_commits_are_asked_for_by_whoever_may_choose_them(offered: Guarded) -> None:
    server, tokens = offered
    wanted = {**WANTED, "repository": "code", "commit": "#7", "control": "main", "pairs": 50}
    for name, status in (("anna", 403), ("bert", 403), ("dora", 201), ("root", 201)):
        assert server.post("/api/v1/requests", json=wanted, headers=tokens[name]).status_code == status, name
    other = server.post("/api/v1/requests", json={**wanted, "repository": "secret"}, headers=tokens["dora"])
    assert (other.status_code, other.json()["message"]) == (422, "no lab offers this repository")
    for name, has_field in (("anna", False), ("dora", True)):
        page = server.get("/requests", headers=log_in(server, tokens[name])).text
        assert ('name="commit"' in page) is has_field
        assert 'code <span class="commit">#7</span> against' in page


def test_a_person_chooses_commits_by_the_form(offered: Guarded) -> None:
    server, tokens = offered
    session = log_in(server, tokens["dora"])
    fields = fields_of(server.get("/requests", headers=session).text)
    form = {
        **fields,
        "what": "mv2/mv2/a",
        "device_class": "pixel",
        "repository": "code",
        "commit": " main ",
        "pairs": "",
    }
    for wrong, said in (
        ({"commit": "-x"}, "commit: no hash, branch, tag"),
        ({"commit": ""}, "belong together"),
        ({"pairs": "x"}, "is no number"),
    ):
        answer = server.post("/requests", data={**form, **wrong}, headers=session)
        assert answer.status_code == 422
        assert said in answer.text
    assert server.post("/requests", data=form, headers=session).status_code == 303
    (row,) = server.get("/api/v1/requests?only_open=true", headers=tokens["dora"]).json()["rows"]
    assert (row["repository"], row["commit"], row["control"], row["pairs"]) == ("code", "main", "", 0)


def test_a_person_has_only_so_many_open_requests(offered: Guarded) -> None:
    server, tokens = offered
    answers = [server.post("/api/v1/requests", json=WANTED, headers=tokens["anna"]) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [201, 201, 201, 429]
    assert answers[3].headers["Retry-After"]
    assert server.post("/api/v1/requests", json=WANTED, headers=tokens["bert"]).status_code == 201


def test_a_lab_claims_renews_and_finishes(offered: Guarded) -> None:
    server, tokens = offered
    lab = tokens["lab"]
    asked = server.post("/api/v1/requests", json=WANTED, headers=tokens["anna"]).json()
    claimed = claim(server, lab, "f1").json()["request"]
    assert (claimed["id"], claimed["state"], claimed["person"]) == (asked["id"], "running", "anna")
    assert claim(server, lab, "f2").json() == {"request": None}
    address = f"/api/v1/requests/{asked['id']}"
    assert server.post(f"{address}/renew", json={"claim": "f1", "lease_s": 60.0}, headers=lab).status_code == 200
    assert server.post(f"{address}/renew", json={"claim": "f2", "lease_s": 60.0}, headers=lab).status_code == 409
    ending: dict[str, JsonValue] = {"claim": "f1", "results": ["d1"]}
    assert server.post(f"{address}/finish", json=ending, headers=lab).status_code == 409
    assert server.post_result(ok_result(uid="d1"), **lab).status_code == 201
    assert server.post(f"{address}/finish", json=ending, headers=tokens["anna"]).status_code == 403
    assert [server.post(f"{address}/finish", json=ending, headers=lab).status_code for _ in range(2)] == [200, 200]
    shown = server.get(address, headers=tokens["bert"]).json()
    assert (shown["state"], shown["results"]) == ("done", ["d1"])
    assert server.get("/api/v1/requests/nothing", headers=tokens["bert"]).status_code == 404


def test_a_lab_that_cannot_go_on_gives_a_request_back(
    offered: Guarded,
) -> None:
    server, tokens = offered
    asked = server.post("/api/v1/requests", json=WANTED, headers=tokens["anna"]).json()
    assert claim(server, tokens["lab"], "g1").json()["request"]["id"] == asked["id"]
    body: JsonValue = {"claim": "g1", "reason": "stopped"}
    answer = server.post(f"/api/v1/requests/{asked['id']}/release", json=body, headers=tokens["lab"])
    assert (answer.json()["state"], answer.json()["reason"]) == ("queued", "stopped")


def test_a_person_cancels_own_requests_and_an_administrator_all(
    offered: Guarded,
) -> None:
    server, tokens = offered
    asked = [server.post("/api/v1/requests", json=WANTED, headers=tokens["anna"]).json()["id"] for _ in range(2)]
    addresses = [f"/api/v1/requests/{identity}/cancel" for identity in asked]
    assert server.post(addresses[0], headers=tokens["bert"]).status_code == 409
    assert server.post(addresses[0], headers=tokens["carl"]).status_code == 403
    assert server.post(addresses[0], headers=tokens["anna"]).json()["state"] == "cancelled"
    assert server.post(addresses[1], headers=tokens["root"]).json()["state"] == "cancelled"


def test_without_tokens_whoever_works_on_this_machine_may_ask(server: ServerProcess) -> None:
    assert server.post("/api/v1/requests", json=WANTED).status_code == 422
    assert server.post("/api/v1/lab/offers", json={"dispatcher": "d", "offer": OFFER}).status_code == 200
    assert server.post("/api/v1/requests", json=WANTED).status_code == 201
    forwarded = {"X-Forwarded-For": "10.0.0.1"}
    assert server.post("/api/v1/requests", json=WANTED, headers=forwarded).status_code == 401


def log_in(server: ServerProcess, headers: dict[str, str]) -> dict[str, str]:
    """Return the cookie of a session."""
    token = headers["Authorization"].removeprefix("Bearer ")
    entered = server.post("/login", data={"token": token, "next": "/requests"})
    server.session.cookies.clear()
    assert entered.headers["Location"] == "/requests"
    return {"Cookie": entered.headers["Set-Cookie"].partition(";")[0], "Accept": "text/html"}


def fields_of(page: str) -> dict[str, str]:
    """Return what the form of a page sends for its second choice."""
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))
    choices = re.findall(r'<option value="([^"]*)">', page)
    assert choices[:3] == ["mv2/", "mv2/mv2/a", "mv2/mv2/b"]
    return {**hidden, "what": choices[1], "device_class": "pixel"}


def test_a_person_asks_by_the_form_and_cancels(offered: Guarded) -> None:
    server, tokens = offered
    anna = log_in(server, tokens["anna"])
    form = fields_of(server.get("/requests", headers=anna).text)
    for _ in range(2):  # pressed twice
        sent = server.post("/requests", data=form, headers=anna)
        assert (sent.status_code, sent.headers["Location"]) == (303, "/requests")
    open_ones = server.get("/api/v1/requests?only_open=true", headers=tokens["anna"]).json()["rows"]
    assert [(row["specification"], row["benchmark"], row["person"]) for row in open_ones] == [("mv2", "mv2/a", "anna")]
    address = f"/requests/{open_ones[0]['id']}"
    for path in ("/requests", address):
        page = server.get(path, headers=anna).text
        assert "queued" in page
        assert 'data-reload="' in page
        assert f'action="{address}/cancel"' in page
    root, carl = log_in(server, tokens["root"]), log_in(server, tokens["carl"])
    assert f'action="{address}/cancel"' in server.get(address, headers=root).text
    assert f'action="{address}/cancel"' not in server.get(address, headers=carl).text
    assert server.post(f"{address}/cancel", data=form, headers=anna).status_code == 303
    page = server.get(address, headers=anna).text
    assert "cancelled" in page
    assert 'data-reload="' not in page


def test_no_other_site_asks_in_the_name_of_a_person(offered: Guarded) -> None:
    server, tokens = offered
    anna = log_in(server, tokens["anna"])
    form = fields_of(server.get("/requests", headers=anna).text)
    other = log_in(server, tokens["root"])
    assert server.post("/requests", data={**form, "form_token": "forged"}, headers=anna).status_code == 403
    assert server.post("/requests", data=form, headers=other).status_code == 403
    assert server.post("/requests", data=form, headers={**anna, "Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert server.get("/api/v1/requests?only_open=true", headers=tokens["anna"]).json()["rows"] == []


@pytest.mark.parametrize("what", ["", "../../x/", "mv2/../mv2/a", "%2E%2E%2Fx/", "mv2/mv2/a;ls", "<script>/"])
def test_a_form_that_was_changed_is_refused(offered: Guarded, what: str) -> None:
    server, tokens = offered
    anna = log_in(server, tokens["anna"])
    form = fields_of(server.get("/requests", headers=anna).text)
    answer = server.post("/requests", data={**form, "what": what}, headers=anna)
    assert answer.status_code == 422
    assert "<script>/" not in answer.text


def test_who_may_not_ask_sees_the_list_and_no_form(offered: Guarded) -> None:
    server, tokens = offered
    asked = server.post("/api/v1/requests", json=WANTED, headers=tokens["anna"]).json()
    page = server.get("/requests", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert asked["id"] in page.text
    assert 'name="what"' not in page.text
    assert "/cancel" not in page.text
    assert "/login?next=%2Frequests" in page.text
    assert server.get("/requests/../../etc", headers={"Accept": "text/html"}).status_code == 404


def test_a_hostile_offer_is_shown_as_text(offered: Guarded) -> None:
    server, tokens = offered
    name = "<script>alert(1)</script>\"'%2F/\u202e"
    offer: JsonValue = {"specifications": [{"name": name, "benchmarks": [name]}], "device_classes": [name]}
    body: JsonValue = {"dispatcher": "hostile", "offer": offer}
    assert server.post("/api/v1/lab/offers", json=body, headers=tokens["lab"]).status_code == 200
    asked: JsonValue = {"specification": name, "benchmark": name, "device_class": name}
    answer = server.post("/api/v1/requests", json=asked, headers=tokens["anna"])
    assert answer.status_code == 201, answer.text
    anna = log_in(server, tokens["anna"])
    for path in ("/requests", f"/requests/{answer.json()['id']}"):
        page = server.get(path, headers=anna)
        assert page.status_code == 200
        assert "<script>alert(1)" not in page.text
    nothing: JsonValue = {"dispatcher": "hostile", "offer": {"specifications": [], "device_classes": []}}
    assert server.post("/api/v1/lab/offers", json=nothing, headers=tokens["lab"]).status_code == 200
