"""Descriptions of network errors."""

from __future__ import annotations

import pytest
import requests

from harness.core.network_errors import describe_cause, format_status, is_permanent_refusal


@pytest.mark.parametrize(("status", "line"), [(204, "204 No Content"), (503, "503 Service Unavailable"), (599, "599")])
def test_a_status_is_described_with_its_standard_phrase(status: int, line: str) -> None:
    assert format_status(status) == line


@pytest.mark.parametrize("status", [400, 404, 409, 413, 422])
def test_permanent_refusals_are_final(status: int) -> None:
    assert is_permanent_refusal(status)


@pytest.mark.parametrize("status", [204, 302, 401, 403, 408, 429, 500, 503])
def test_temporary_refusals_are_not_final(status: int) -> None:
    assert not is_permanent_refusal(status)


def test_the_reason_is_that_of_the_operating_system_without_the_address() -> None:
    with pytest.raises(requests.ConnectionError) as caught:
        requests.post("http://127.0.0.1:1/hooks?token=hidden", timeout=10, proxies={"http": ""})
    assert "hidden" in str(caught.value), "the library does"
    assert describe_cause(caught.value, "the connection was cut") == "Connection refused"


def test_errors_without_a_system_message_have_another_description() -> None:
    assert describe_cause(requests.ReadTimeout("http://127.0.0.1/?token=hidden"), "no answer") == "no answer"
