"""Results over HTTP: stored once, given back byte for byte, and refused in words."""

from __future__ import annotations

import gzip
import json
import signal
from pathlib import Path

import pytest

from harness.store.canonical_json import to_json_line
from harness.testing.results import failed_result, ok_result
from tests.server.process import ServerProcess, envelope_of, run_server

JSON = {"Content-Type": "application/json"}


def test_a_result_is_stored_once_and_given_back_byte_for_byte(server: ServerProcess) -> None:
    result = ok_result(uid="a1")
    answers = [server.post_result(result) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 200]
    assert [answer.json()["state"] for answer in answers] == ["created", "known"]
    other = server.post_result(failed_result(uid="a1"))
    assert (other.status_code, other.json()["state"]) == (409, "conflict")
    stored = server.get("/api/v1/results/a1")
    assert stored.content.decode() == to_json_line(result)
    again = server.get("/api/v1/results/a1", headers={"If-None-Match": stored.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert [row["uid"] for row in server.get("/api/v1/results").json()["rows"]].count("a1") == 1


def test_a_batch_stores_what_is_valid_and_says_what_is_not(server: ServerProcess) -> None:
    server.post_result(ok_result(uid="b0"))
    envelopes = [json.loads(envelope_of(result)) for result in (ok_result(uid="b1"), failed_result(uid="b0"))]
    wrong = json.loads(envelope_of(ok_result(uid="b2")))
    wrong["result"]["started"] = "secret words"
    body = json.dumps({"envelopes": [*envelopes, wrong]}).encode()
    answer = server.post("/api/v1/results", data=gzip.compress(body), headers={**JSON, "Content-Encoding": "gzip"})
    assert answer.status_code == 200
    outcomes = answer.json()["outcomes"]
    assert [outcome["status"] for outcome in outcomes] == [201, 409, 422]
    assert outcomes[2]["problems"][0]["pointer"] == "/envelopes/2/result/started"
    assert "secret words" not in answer.text
    assert answer.json()["stored"] == 1


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", JSON, 422),
        (b"[]", JSON, 422),
        (b'{"result": NaN}', JSON, 422),
        (b'{"result": {"started": 1e999}}', JSON, 422),
        (b'{"result": "\\ud800"}', JSON, 422),
        (b"\xff", JSON, 422),
        (b"[" * 100_000, JSON, 422),
        (b'{"envelopes": {}}', JSON, 422),
        (b'{"envelopes": [' + b"1," * 300 + b"1]}", JSON, 413),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b"{}", {**JSON, "Content-Encoding": "br"}, 415),
        (b"{}", {**JSON, "Content-Encoding": "gzip"}, 400),
    ],
)
def test_what_is_no_result_is_refused_in_words(
    server: ServerProcess, body: bytes, headers: dict[str, str], status: int
) -> None:
    answer = server.post("/api/v1/results", data=body, headers=headers)
    assert answer.status_code == status
    assert answer.json()["message"]


def test_a_key_must_be_the_uid(server: ServerProcess) -> None:
    answer = server.post_result(ok_result(uid="c1"), **{"Idempotency-Key": "another"})
    assert answer.status_code == 422
    assert server.get("/api/v1/results/c1").status_code == 404


@pytest.mark.parametrize("uid", ["", ".", "..", "a/b", "a\\b", "a b", "x" * 201, "a\nb"])
def test_a_uid_can_stand_in_an_address(server: ServerProcess, uid: str) -> None:
    body = json.loads(envelope_of(ok_result(uid="d1")))
    body["result"]["uid"] = uid
    assert server.post("/api/v1/results", json=body).status_code == 422


@pytest.mark.parametrize("time", [10**400, -(10**400), 10**30])
def test_times_that_no_calendar_has_are_stored_and_shown(server: ServerProcess, time: int) -> None:
    uid = f"time-{hash(time)}"
    body = json.loads(envelope_of(ok_result(uid=uid)))
    body["result"]["build"]["commit_time"] = time
    body["result"]["finished"] = 1e300
    assert server.post("/api/v1/results", json=body).status_code == 201
    assert server.get(f"/api/v1/results/{uid}").json()["build"]["commit_time"] == time
    assert server.get(f"/results/{uid}").status_code == 200


def test_results_of_older_harnesses_are_stored(server: ServerProcess) -> None:
    body = json.loads(envelope_of(ok_result(uid="e1")))
    body["result"] = {
        name: value for name, value in body["result"].items() if name not in {"reproduction", "origin", "operators"}
    }
    body["result"]["schema_version"] = "1.0"
    assert server.post("/api/v1/results", json=body).status_code == 201
    body["result"]["schema_version"] = "2.0"
    assert server.post("/api/v1/results", json=body).status_code == 422


def test_bodies_beyond_the_limit_are_refused_however_they_come(server: ServerProcess) -> None:
    large = b" " * (33 << 20)
    assert server.post("/api/v1/results", data=large, headers=JSON).status_code == 413
    parts = (large[:1000] for _ in range(40_000))
    assert server.post("/api/v1/results", data=parts, headers=JSON).status_code == 413
    packed = {**JSON, "Content-Encoding": "gzip"}
    assert server.post("/api/v1/results", data=gzip.compress(large), headers=packed).status_code == 413


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    with run_server(tmp_path) as server:
        assert server.post_result(ok_result(uid="f1")).status_code == 201
        server.process.send_signal(number)
        assert server.process.wait(60) == 0
        assert server.output.splitlines()[-1] == "stopped"
        assert "Traceback" not in server.log
