"""Why somebody on the network did not take something."""

from __future__ import annotations

import pytest
import requests

from harness.core.network_errors import describe_cause, format_status, is_permanent_refusal


@pytest.mark.parametrize(("status", "line"), [(204, "204 No Content"), (503, "503 Service Unavailable"), (599, "599")])
def test_a_status_is_told_with_its_words_where_it_has_some(status: int, line: str) -> None:
    assert format_status(status) == line


@pytest.mark.parametrize("status", [400, 404, 409, 413, 422])
def test_what_would_be_refused_again_is_final(status: int) -> None:
    assert is_permanent_refusal(status)


@pytest.mark.parametrize("status", [204, 302, 401, 403, 408, 429, 500, 503])
def test_what_another_secret_or_hour_mends_is_not(status: int) -> None:
    assert not is_permanent_refusal(status)


def test_the_system_says_why_and_not_the_library_that_quotes_the_address() -> None:
    with pytest.raises(requests.ConnectionError) as caught:
        requests.post("http://127.0.0.1:1/hooks?token=hidden", timeout=10, proxies={"http": ""})
    assert "hidden" in str(caught.value), "the library does"
    assert describe_cause(caught.value, "the connection was cut") == "Connection refused"


def test_where_the_system_says_nothing_there_are_other_words() -> None:
    assert describe_cause(requests.ReadTimeout("http://127.0.0.1/?token=hidden"), "no answer") == "no answer"
