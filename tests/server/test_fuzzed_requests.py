"""Requests made from the server's own description: whatever comes, the answer is one that it promises."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from harness.testing.results import failed_result, ok_result
from tests.presentation.comparison_samples import every_kind
from tests.reporters.alarms.alarm_samples import bisected_step
from tests.server.process import ServerProcess, run_server

pytestmark = pytest.mark.slow

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 12
"""Requests of each operation, beside those that its description gives."""


@dataclass(frozen=True)
class Filled:
    """A server with something to find, and names of what it has, by the parameters of paths."""

    server: ServerProcess
    known: dict[str, Sequence[str]]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    with run_server(tmp_path_factory.mktemp("fuzzed"), "--rate", "100000") as server:
        results = [ok_result(), failed_result(), *every_kind()]
        for result in results:
            assert server.post_result(result).status_code == 201
        alarm = bisected_step()
        answer = server.post(
            "/api/v1/alarms", data=alarm.model_dump_json(), headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 200, answer.text
        cells = server.get("/api/v1/cells").json()["rows"]
        commits = server.get("/api/v1/commits").json()["rows"]
        known: dict[str, Sequence[str]] = {
            "uid": [result.uid for result in results],
            "key": [row["cell"]["key"] for row in cells],
            "identity": [*(row["commit"]["id"] for row in commits), alarm.alarm.identity],
            "model": [results[0].benchmark.model],
            "name": ["logs/0.txt"],
        }
        yield Filled(server, known)
        assert server.process.poll() is None, "it lives on"


def test_every_answer_is_one_that_is_described(filled: Filled) -> None:
    """The operations are those of the description; hypothesis fails with the smallest request that shows a fault."""
    schema = schemathesis.openapi.from_url(f"{filled.server.api}/openapi.json")
    operations = [made.ok() for made in schema.get_all_operations() if isinstance(made, Ok)]
    assert len(operations) > 20
    for operation in operations:
        _check(operation, filled)


def _check(operation: schemathesis.APIOperation[Any, Any, Any, Any], filled: Filled) -> None:
    @given(operation.as_strategy(), st.randoms(use_true_random=False))
    @settings(max_examples=EXAMPLES, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    def answers(case: schemathesis.Case[Any], chance: random.Random) -> None:
        for name in case.path_parameters or {}:
            if filled.known.get(name) and chance.random() < 0.7:
                case.path_parameters[name] = chance.choice(filled.known[name])
        case.call_and_validate(checks=CHECKS, timeout=60)

    answers()
