"""Hostile requests to every operation of the API, made from its own description."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from pydantic import JsonValue
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from harness.store.canonical_json import to_json_line
from harness.testing.results import failed_result, ok_result
from tests.reporters.alarms.alarm_samples import bisected_step
from tests.server.process import ServerProcess

pytestmark = pytest.mark.slow

_CHECKS: Final = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
_EXAMPLES: Final = 25

Operation: TypeAlias = schemathesis.APIOperation[Any, Any, Any, Any]


@pytest.fixture(scope="module")
def filled(server: ServerProcess) -> Iterator[tuple[ServerProcess, dict[str, str]]]:
    """A server with results, an artifact and an alarm; and the value of each parameter that names one of them."""
    for number in range(3):
        assert server.post_result(ok_result(uid=f"f{number}", started=1_760_000_000.0 + number)).status_code == 201
    assert server.post_result(failed_result(uid="failed")).status_code == 201
    alarm = bisected_step()
    answer = server.post("/api/v1/alarms", data=alarm.model_dump_json(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 200, answer.text
    address = f"{server.api}/results/f0/artifacts/log.txt"
    assert server.session.put(address, data=b"log", headers={"Content-Type": "text/plain"}).status_code == 201
    specifications: JsonValue = [{"name": "mv2", "benchmarks": ["a"]}]
    offer: JsonValue = {"specifications": specifications, "device_classes": ["pixel"], "repositories": ["code"]}
    body: JsonValue = {"dispatcher": "d", "offer": offer}
    assert server.post("/api/v1/lab/offers", json=body).status_code == 200
    wanted: JsonValue = {"specification": "mv2", "device_class": "pixel"}
    asked = server.post("/api/v1/requests", json=wanted).json()["id"]
    cell = server.get("/api/v1/cells").json()["rows"][0]["cell"]["key"]
    commit = server.get("/api/v1/commits").json()["rows"][0]["commit"]["id"]
    yield (
        server,
        {"uid": "f0", "name": "log.txt", "key": cell, "model": "mv2", "alarm": alarm.alarm.identity}
        | {"commit": commit, "request_id": asked},
    )
    assert server.get("/api/v1/results/f0").content.decode() == to_json_line(ok_result(uid="f0"))


def test_no_request_finds_a_bug_or_an_answer_that_is_not_described(
    filled: tuple[ServerProcess, dict[str, str]],
) -> None:
    server, known = filled
    schema = schemathesis.openapi.from_url(f"{server.api}/openapi.json")
    problems: list[str] = []
    described = list(schema.get_all_operations())
    operations = [result.ok() for result in described if isinstance(result, Ok)]
    assert len(operations) == len(described) > 20, "every operation can be understood"
    for operation in operations:
        try:
            _send_to(operation, server, known)
        except (AssertionError, BaseExceptionGroup) as error:
            problems.append(f"{operation.label}: {error!r}"[:1500])
    assert not problems, "\n".join(problems)


def _send_to(operation: Operation, server: ServerProcess, known: dict[str, str]) -> None:
    """Send requests to an operation, half of them for what is there."""
    there = {**known, "identity": known["alarm" if "/alarms" in operation.path else "commit"]}

    @seed(1)
    @settings(max_examples=_EXAMPLES, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(), exists=st.booleans())
    def send(case: schemathesis.Case[Operation], exists: bool) -> None:
        if exists:
            case.path_parameters = {name: there.get(name, value) for name, value in case.path_parameters.items()}
            if operation.path.endswith("/differences"):
                case.query |= dict.fromkeys(("control", "treatment"), known["commit"])
        answer = case.call(session=server.session)
        case.validate_response(answer, checks=_CHECKS)

    send()


@pytest.mark.parametrize(
    ("path", "media_types"),
    [
        ("/api/v1/results/{uid}/artifacts/{name}", {"application/octet-stream", "text/plain"}),
        ("/api/v1/results/{uid}/archive", {"application/zip"}),
    ],
)
def test_files_are_described_as_they_are_sent(server: ServerProcess, path: str, media_types: set[str]) -> None:
    described = server.get("/api/v1/openapi.json").json()["paths"][path]["get"]["responses"]["200"]["content"]
    assert set(described) == media_types
