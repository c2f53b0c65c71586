"""The dispatcher of a lab asks the server how long benchmarks took."""

from __future__ import annotations

from harness.core.durations import DurationQuery
from harness.lab.on_demand.request_queue import RequestQueue
from harness.testing.results import DEVICE, ok_result
from tests.server.process import ServerProcess


def test_a_dispatcher_gets_the_durations_that_are_known(server: ServerProcess) -> None:
    result = ok_result(uid="known")
    assert server.post_result(result).status_code == 201
    query = DurationQuery(benchmarks=(result.benchmark.digest, "unknown"), devices=(DEVICE.identity,))
    known = RequestQueue(server.url, None, "dispatcher").find_durations(query)
    assert known == {result.benchmark.digest: result.finished - result.started}


def test_a_server_that_does_not_answer_orders_nothing() -> None:
    query = DurationQuery(benchmarks=("a",), devices=("b",))
    assert RequestQueue("http://127.0.0.1:9", None, "dispatcher").find_durations(query) == {}
