"""Slack, Teams and Mattermost: documents as the services document them, to servers that check and answer like them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import jsonschema
import pytest
from markdown_it import MarkdownIt

from harness.core.alarm_message import AlarmMessage
from harness.core.alarm_protocols import AlarmChannel
from harness.core.errors import DeliveryFailed, UsageError
from harness.files.http import send_request
from harness.plugins import alarm_channel, installed_names
from tests.reporters.channels import schemas
from tests.reporters.channels.messages import ALL, MANY, NASTY, ONE, OVER, TEST, UPDATE
from tests.reporters.channels.receiver import Receiver, Reply, Request, receive

PATHS = {
    "slack": "/services/T000/B000/secretpart",
    "teams": "/workflows/ab12/triggers/manual/paths/invoke?api-version=2016-06-01&sig=secretpart",
    "mattermost": "/hooks/secretpartsecretpartabcdef",
}


def _slack(request: Request) -> Reply:
    """Answer as Slack's hooks do."""
    try:
        jsonschema.validate(request.document, schemas.SLACK)
    except jsonschema.ValidationError as error:
        return Reply(400, f"invalid_blocks {error.json_path}: {error.message[:300]}")
    return Reply()


def _teams(request: Request) -> Reply:
    """Answer as a workflow does: accepted, and nothing else."""
    if len(request.body) > 28 * 1024:
        return Reply(413, "")
    jsonschema.validate(request.document, schemas.TEAMS)
    return Reply(202, "")


def _mattermost(request: Request) -> Reply:
    """Answer as Mattermost does."""
    try:
        jsonschema.validate(request.document, schemas.MATTERMOST)
    except jsonschema.ValidationError as error:
        document = {"id": "web.incoming_webhook.parse.app_error", "message": error.message[:300], "status_code": 400}
        return Reply(400, json.dumps(document))
    return Reply()


SERVICES: Mapping[str, Callable[[Request], Reply]] = {"slack": _slack, "teams": _teams, "mattermost": _mattermost}


def open_channel(form: str, receiver: Receiver) -> AlarmChannel:
    channel = alarm_channel(form, receiver.url + PATHS[form], {}, is_named=True)
    assert channel is not None
    return channel


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("form", SERVICES)
def test_each_message_is_taken_by_the_service(form: str, name: str) -> None:
    with receive(SERVICES[form]) as receiver:
        answer = open_channel(form, receiver).send(ALL[name])
    assert answer.startswith("http://127.0.0.1 answered 20"), answer
    (request,) = receiver.requests
    assert request.headers["Content-Type"] == "application/json"


def texts_of(form: str, message: AlarmMessage) -> str:
    with receive(SERVICES[form]) as receiver:
        open_channel(form, receiver).send(message)
    return json.dumps(receiver.requests[0].document, ensure_ascii=False)


@pytest.mark.parametrize("form", SERVICES)
def test_a_message_has_one_size_the_culprit_and_links_that_work_elsewhere(form: str) -> None:
    text = texts_of(form, ONE)
    assert "became 3.1 % slower [2.6, 3.6] with commit 736ae249736a" in text
    assert "3.12" not in text, "that is the verification"
    assert "https://perf.example/results/alarms/5f2b/index.html" in text
    assert "https://github.com/pytorch/executorch/compare/" in text
    assert "/srv/" not in text
    assert "file:" not in text


@pytest.mark.parametrize("form", SERVICES)
def test_many_benchmarks_are_one_message_with_the_largest_first(form: str) -> None:
    text = texts_of(form, MANY)
    assert "50 benchmarks became worse with commit 736ae249736a" in text
    assert text.index("model49") < text.index("model48") < text.index("model31")
    assert "model29/" not in text
    assert "and 30 more" in text


@pytest.mark.parametrize("form", SERVICES)
def test_updates_ends_and_tests_are_marked(form: str) -> None:
    update = texts_of(form, UPDATE)
    assert "Update: 2 benchmarks became worse" in update
    assert "new" in update
    assert "✓ mv2/mv2-xnnpack_q8 on Pixel 8 became 3.1 % slower" in texts_of(form, OVER)
    assert "✓ TEST: notifications of harness watch on lab-3 arrive here" in texts_of(form, TEST)


def walk(document: object) -> Iterator[dict[str, object]]:
    """Yield every object of a document."""
    values = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    if isinstance(document, dict):
        yield document
    for value in values:
        yield from walk(value)


def test_texts_of_commits_are_no_markup() -> None:
    slack = json.dumps([part for part in walk(json.loads(texts_of("slack", NASTY))) if part.get("type") == "mrkdwn"])
    assert "<img" not in slack
    assert "&lt;img src=x&gt;" in slack
    assert "@here" not in texts_of("mattermost", NASTY)
    (attachment,) = json.loads(texts_of("mattermost", NASTY))["attachments"]
    page = MarkdownIt("commonmark").enable("table").render(attachment["text"])
    assert 'href="javascript' not in page
    assert "<img" not in page


@pytest.mark.parametrize(
    ("url", "form"),
    [
        ("https://hooks.slack.com/services/T/B/x", "slack"),
        ("https://prod-23.westeurope.logic.azure.com:443/workflows/a/triggers/manual/paths/invoke?sig=b", "teams"),
        ("https://default1.2.environment.api.powerplatform.com/powerautomate/automations/direct/workflows/a", "teams"),
        ("https://chat.example.org/team/hooks/abcdefghijklmnopqrstuvwxyz", "mattermost"),
        ("smtp://mail.example.org?to=ada@example.org", "mail"),
        ("https://ci.example.org/hooks/perf", None),
        ("https://github.com/pytorch/executorch", None),
        ("nonsense", None),
        ("http://[", None),
    ],
)
def test_the_url_shows_its_form(url: str, form: str | None) -> None:
    takers = [name for name in installed_names("alarm channel") if alarm_channel(name, url, {}, is_named=False)]
    assert takers == ([form] if form else [])


def test_a_connector_of_teams_is_refused_with_what_to_do() -> None:
    with pytest.raises(UsageError, match="Microsoft has retired") as caught:
        alarm_channel("teams", "https://acme.webhook.office.com/webhookb2/secret", {}, is_named=False)
    assert "Workflows" in str(caught.value.hint)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("form", SERVICES)
def test_a_wrong_url_is_refused_without_being_shown(form: str) -> None:
    with pytest.raises(UsageError, match=r"no http\(s\) URL") as caught:
        alarm_channel(form, "ftp://host/secret", {}, is_named=True)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("form", SERVICES)
def test_a_refusal_says_why_without_the_secret_of_the_url(form: str) -> None:
    with receive(lambda request: Reply(404, f"no_service at {request.path}")) as receiver:
        channel = open_channel(form, receiver)
        with pytest.raises(DeliveryFailed, match="answered 404 Not Found: no_service") as caught:
            channel.send(ONE)
    assert caught.value.final
    assert "secretpart" not in str(caught.value)
    assert "secretpart" not in channel.place


def in_two_hours() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)


@pytest.mark.parametrize(
    ("make_header", "low_s", "high_s"),
    [
        (lambda: "30", 30.0, 30.0),
        (in_two_hours, 3600.0, 7200.0),
        (lambda: "Fri, 01 Jan 1999 00:00:00 GMT", 0.0, 0.0),
    ],
    ids=["seconds", "date", "date in the past"],
)
def test_a_limit_of_requests_is_kept(make_header: Callable[[], str], low_s: float, high_s: float) -> None:
    header = make_header()
    with (
        receive(lambda _: Reply(429, "slow down", {"Retry-After": header})) as receiver,
        pytest.raises(DeliveryFailed, match="429") as caught,
    ):
        send_request("POST", receiver.url, body=b"{}")
    assert not caught.value.final
    assert caught.value.retry_after_s is not None
    assert low_s <= caught.value.retry_after_s <= high_s


def test_a_limit_that_names_no_time_leaves_the_pause_to_the_sender() -> None:
    with (
        receive(lambda _: Reply(429, "", {"Retry-After": "soon"})) as receiver,
        pytest.raises(DeliveryFailed) as caught,
    ):
        send_request("POST", receiver.url, body=b"{}")
    assert caught.value.retry_after_s is None
