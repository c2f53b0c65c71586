"""The server on PostgreSQL: what it stores it gives back, and every page answers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from harness.store.canonical_json import to_json_line
from harness.testing.results import failed_result, ok_result
from tests.postgresql import PostgreSqlServer
from tests.server.process import ServerProcess, envelope_of, run_server

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def on_postgresql(postgresql: PostgreSqlServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder: Path = tmp_path_factory.mktemp("server")
    with run_server(folder, "--database", postgresql.create_database()) as running:
        assert running.post_result(ok_result(uid="p0", model="mv2", samples=(1.0, 2.0, 3.0))).status_code == 201
        yield running


def test_a_result_is_stored_once_and_given_back_byte_for_byte(on_postgresql: ServerProcess) -> None:
    result = ok_result(uid="a1")
    assert [on_postgresql.post_result(result).status_code for _ in range(2)] == [201, 200]
    assert on_postgresql.post_result(failed_result(uid="a1")).status_code == 409
    assert on_postgresql.get("/api/v1/results/a1").content.decode() == to_json_line(result)


def test_a_batch_stores_what_is_valid_and_says_what_is_not(on_postgresql: ServerProcess) -> None:
    results = ok_result(uid="b1"), failed_result(uid="p0")
    wrong = json.loads(envelope_of(ok_result(uid="b2")))
    wrong["result"]["started"] = "no number"
    body = json.dumps({"envelopes": [*(json.loads(envelope_of(result)) for result in results), wrong]})
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = on_postgresql.post("/api/v1/results", data=gzip.compress(body.encode()), headers=headers)
    assert answer.status_code == 200
    assert [outcome["status"] for outcome in answer.json()["outcomes"]] == [201, 409, 422]
    assert on_postgresql.get("/api/v1/results/b1").content.decode() == to_json_line(results[0])
    assert on_postgresql.get("/api/v1/results/b2").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/",
            "/changes",
            "/commits",
            "/compare",
            "/models",
            "/models/mv2",
            "/coverage",
            "/alarms",
            "/results/p0",
            "/requests",
        ),
        *("/?text=%00", "/?text=%27%22%3Cscript%3E", "/coverage?fresh_since=2020-01-01", "/health"),
        *("/metrics", "/requests", "/lab"),
    ],
)
def test_every_address_answers(on_postgresql: ServerProcess, path: str) -> None:
    answer = on_postgresql.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == 200, answer.text


def test_the_history_of_a_cell_answers(on_postgresql: ServerProcess) -> None:
    (key, *_) = [row["cell"]["key"] for row in on_postgresql.get("/api/v1/cells").json()["rows"]]
    for path in (f"/api/v1/cells/{key}/history", f"/api/v1/cells/{key}/series"):
        answer = on_postgresql.get(path)
        assert answer.status_code == 200, answer.text


def test_a_request_is_claimed_and_finished(on_postgresql: ServerProcess) -> None:
    offer: JsonValue = {"specifications": [{"name": "mv2", "benchmarks": ["a"]}], "device_classes": ["pixel"]}
    assert on_postgresql.post("/api/v1/lab/offers", json={"dispatcher": "d", "offer": offer}).status_code == 200
    wanted: JsonValue = {"key": "1", "specification": "mv2", "device_class": "pixel"}
    asked = [on_postgresql.post("/api/v1/requests", json=wanted) for _ in range(2)]
    assert [answer.status_code for answer in asked] == [201, 200]
    claim: JsonValue = {"dispatcher": "d", "claim": "c", "device_classes": ["pixel"], "lease_s": 60.0}
    claimed = on_postgresql.post("/api/v1/lab/claims", json=claim).json()["request"]
    assert claimed["id"] == asked[0].json()["id"]
    ending: JsonValue = {"claim": "c", "results": ["p0"]}
    ended = on_postgresql.post(f"/api/v1/requests/{claimed['id']}/finish", json=ending)
    assert (ended.status_code, ended.json()["state"]) == (200, "done")
    for path in ("/requests", f"/requests/{claimed['id']}"):
        assert "/results/p0" in on_postgresql.get(path, headers={"Accept": "text/html"}).text
