"""Every channel of ours keeps the contract that third parties' channels are checked with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.metadata import entry_points
from typing import cast

import pytest

from harness.core.alarm_message import AlarmMessage
from harness.core.alarm_protocols import AlarmChannel, AlarmChannelFactory
from harness.core.errors import DeliveryFailed
from harness.plugins import installed_names
from harness.testing.alarm_channels import CHECKS, CULPRIT, ChannelCase, Check
from harness.testing.contract import ContractBroken
from tests.reporters.channels.github_server import TOKEN, GitHub
from tests.reporters.channels.receiver import receive
from tests.reporters.channels.smtp_server import MailBox, run_mail_server
from tests.reporters.channels.test_chat_channels import PATHS, SERVICES

NOBODY = "127.0.0.1:9"
"""The port `discard`, at which nobody listens."""


def factory(form: str) -> AlarmChannelFactory:
    (entry,) = entry_points(group="edge_harness.alarm_channels", name=form)
    return cast("AlarmChannelFactory", entry.load())


@contextmanager
def chat(form: str) -> Iterator[ChannelCase]:
    with receive(SERVICES[form]) as receiver:

        def received() -> str:
            return "\n".join(json.dumps(request.document, ensure_ascii=False) for request in receiver.requests)

        yield ChannelCase(
            factory(form),
            receiver.url + PATHS[form],
            received,
            secrets=("secretpart",),
            unreachable=f"http://{NOBODY}{PATHS[form]}",
            wrong=("", "not-a-url-secretpart", "ftp://example.org/secretpart"),
        )


@contextmanager
def mail(form: str) -> Iterator[ChannelCase]:
    with run_mail_server(MailBox()) as box:

        def received() -> str:
            texts = []
            for mail in box.mails:
                parts = [part.get_content() for part in mail.message.walk() if part.get_content_maintype() == "text"]
                texts += [mail.message["Subject"], *parts]
            return "\n".join(texts)

        query = "?to=perf@example.org&from=harness@example.org"
        yield ChannelCase(
            factory(form),
            f"smtp://127.0.0.1:{box.port}{query}",
            received,
            unreachable=f"smtp://{NOBODY}{query}",
            wrong=("", "https://example.org", "smtp://mail.example.org", "smtp://mail.example.org?to=nobody"),
        )


@contextmanager
def github(form: str) -> Iterator[ChannelCase]:
    repository = GitHub()
    with receive(repository) as receiver:

        def received() -> str:
            return json.dumps([repository.issues, repository.comments, repository.statuses], ensure_ascii=False)

        environment = {"HARNESS_GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": receiver.url}
        yield ChannelCase(
            factory(form),
            "ada/engine",
            received,
            environment=environment,
            secrets=(TOKEN,),
            wrong=("", "engine", "ada/engine/x", "https://github.com/ada/engine", "../.."),
        )


CASES: dict[str, Callable[[str], AbstractContextManager[ChannelCase]]] = {
    **dict.fromkeys(SERVICES, chat),
    "mail": mail,
    "github": github,
    "github-status": github,
}


def test_no_channel_of_ours_is_left_out() -> None:
    assert set(CASES) == set(installed_names("alarm channel"))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("form", CASES)
def test_our_channels_keep_the_contract(form: str, check: Check) -> None:
    with CASES[form](form) as case:
        check(case)


class Careless:
    """A channel that breaks the contract."""

    def __init__(self, target: str, sent: list[str], answer: str = "ok") -> None:
        self.place = target
        self._sent, self._answer = sent, answer

    def send(self, message: AlarmMessage) -> str:
        """Send the subject as it is."""
        if "nobody" in self.place:
            raise DeliveryFailed(f"nobody at {self.place}", final=True)
        self._sent.append(message.reports[0].alarm.candidates[0].commit.subject)
        return self._answer


@pytest.mark.parametrize(
    "name",
    [
        "the_receiver_learns_of_an_alarm",
        "a_test_says_that_it_is_one",
        "hostile_texts_are_sent_as_text",
        "nothing_shows_a_secret",
        "a_receiver_that_is_away_is_tried_again",
        "wrong_targets_are_refused_at_once",
        "targets_of_others_are_left_to_them",
    ],
)
def test_a_careless_channel_breaks_the_contract(name: str) -> None:
    sent: list[str] = []

    def create(target: str, environment: object, *, is_named: bool) -> AlarmChannel:
        return Careless(target, sent)

    (check,) = [check for check in CHECKS if check.__name__ == name]
    case = ChannelCase(
        create, "https://x/secret", lambda: "".join(sent), secrets=("secret",), unreachable="nobody", wrong=("x",)
    )
    with pytest.raises(ContractBroken):
        check(case)
    assert CULPRIT not in "".join(sent)
