"""Contract of channels of alarms, as checks that the tests of any channel can run.

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_channel_keeps_the_contract(check: Check) -> None:
        with run_my_server() as server:
            check(ChannelCase(create, target=server.url, received=server.text))

A check passes silently or raises `ContractBroken`. The receiver is one that speaks the real form, on this machine. What
a message looks like, and which answers of a receiver are final, are for the channel's own tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.core.alarm import Alarm, AlarmEvent, AlarmOrigin, AlarmReport, AlarmStage, Verification
from harness.core.alarm_message import AlarmMessage
from harness.core.alarm_protocols import AlarmChannel, AlarmChannelFactory
from harness.core.change import Change, ChangeKind
from harness.core.commit import Commit
from harness.core.culprit import Candidate, Culprit, SearchEnding, SearchResult
from harness.core.effect import Effect
from harness.core.errors import DeliveryFailed, UsageError
from harness.core.metric import LATENCY, MetricInfo
from harness.core.verdict import Verdict
from harness.testing.contract import ContractBroken, expect, process_unchanged

CULPRIT: Final = "736ae249" * 5
"""Id of the commit that the example messages blame."""
BEFORE: Final = "16a3c001" * 5
_MONDAY: Final = 1_767_571_200.0
_HOSTILE: Final = (
    "\x1b[31m<script>alert(1)</script> @here <!channel> ]]> \u202eback",
    "\N{PILE OF POO}\x00 [x](javascript:alert(1)) | `a` | \r\nBcc: all@example.org",
    "very long " * 400,
)
_OTHER_TARGETS: Final = ("", "x", "https://example.org/", "ftp://example.org/x", "-rf", "a b")
"""What no form takes for its own unless the user names the form."""


@dataclass(frozen=True, slots=True)
class ChannelCase:
    """Channel under test, and a receiver of its form.

    Attributes:
        create: The factory of the entry point.
        target: Target of the receiver, as it stands behind `FORM:`.
        received: Returns everything that the receiver was sent so far, decoded, as one text.
        environment: Variables with what the channel needs to be let in.
        secrets: Parts of the target and of the variables that nothing may show.
        unreachable: Target of a receiver that does not answer; None where a channel has none.
        wrong: Targets that are no targets of this form.
    """

    create: AlarmChannelFactory
    target: str
    received: Callable[[], str]
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Sequence[str] = ()
    unreachable: str | None = None
    wrong: Sequence[str] = ()

    def open(self, target: str | None = None) -> AlarmChannel:
        """Open a channel of the named form."""
        channel = self.create(self.target if target is None else target, self.environment, is_named=True)
        if channel is None:
            raise ContractBroken("a factory returned no channel although its form was named")
        return channel


Check = Callable[[ChannelCase], None]


def example_message(event: AlarmEvent = AlarmEvent.BISECTED, *subjects: str, count: int = 1) -> AlarmMessage:
    """Return a message about alarms with one culprit.

    Args:
        event: What happened.
        subjects: Texts that appear as subject, author, benchmark and reason, in turn.
        count: Number of alarms.
    """
    reports = tuple(_report(event, number, subjects or ("Use another loop",)) for number in range(count))
    return AlarmMessage(key=f"{event}{count}", group=reports[0].alarm.identity, event=event, reports=reports)


def example_change(
    identity: str,
    effect: Effect,
    *,
    title: str,
    kind: ChangeKind = ChangeKind.STEP,
    benchmark: str = "0a1b2c3d4e5f",
    device: str = "board",
    before: str = BEFORE,
    after: str = CULPRIT,
) -> Change:
    """Return a change of the latency of a benchmark between two neighbouring commits."""
    return Change(
        identity=identity,
        benchmark=benchmark,
        title=title,
        device=device,
        metric=MetricInfo(name=LATENCY, unit="us"),
        kind=kind,
        before=before,
        before_order=0,
        after=after,
        after_order=1,
        last_without=before,
        first_with=after,
        effect=effect,
        score=9.0,
        detected_with=after,
    )


def _report(event: AlarmEvent, number: int, texts: Sequence[str]) -> AlarmReport:
    def text(place: int) -> str:
        return texts[place % len(texts)]

    effect = Effect(log_ratio=0.03 + number / 1000, low_log_ratio=0.02, high_log_ratio=0.05 + number / 1000)
    change = example_change(f"example-{number}", effect, title=f"{text(2)}/{number}")
    culprit = Culprit(commits=(CULPRIT,), before=BEFORE, probability=1.0, effect=effect, evidence=500.0, confirmed=True)
    commit = Commit(source="git:/src", id=CULPRIT, time=int(_MONDAY), author=text(1), subject=text(0))
    is_over = event in {AlarmEvent.CLOSED, AlarmEvent.TEST}
    alarm = Alarm(
        change=change,
        stage=AlarmStage.CLOSED if is_over else AlarmStage.BISECTED,
        reason=text(3) if is_over or event is AlarmEvent.RECOVERED else "",
        opened=_MONDAY,
        updated=_MONDAY,
        verification=Verification(confirmed=True, verdict=Verdict.REGRESSION, reason="slower", effect=effect),
        search=SearchResult(ending=SearchEnding.FOUND, culprits=(culprit,), smallest_log_ratio=0.01, reason="proven"),
        candidates=(Candidate(commit=commit),),
        reopened=(text(3),) if event is AlarmEvent.REOPENED else (),
    )
    return AlarmReport(
        event=event,
        alarm=alarm,
        device_name="Board",
        before=Commit(source="git:/src", id=BEFORE),
        discovery=AlarmOrigin(time=_MONDAY, harness="0", host="lab"),
    )


def _send(channel: AlarmChannel, message: AlarmMessage) -> str:
    try:
        answer = channel.send(message)
    except DeliveryFailed as error:
        raise ContractBroken(f"a working receiver did not get a message `{message.event}`: {error}") from error
    expect(bool(answer.strip()), f"the answer to a message `{message.event}` is empty")
    return answer


def _texts_of(case: ChannelCase) -> Iterator[str]:
    """Yield every text of a channel that people see: its place, answers, and errors."""
    channel = case.open()
    yield channel.place
    yield repr(channel)
    for event in (AlarmEvent.BISECTED, AlarmEvent.TEST):
        yield _send(channel, example_message(event))
    if case.unreachable is not None:
        try:
            case.open(case.unreachable).send(example_message())
        except DeliveryFailed as error:
            yield str(error)


def every_event_is_sent(case: ChannelCase) -> None:
    """Check that a working receiver takes each kind of message, also as the first that it ever hears of an alarm."""
    for event in AlarmEvent:
        _send(case.open(), example_message(event))


def the_receiver_learns_of_an_alarm(case: ChannelCase) -> None:
    """Check that the receiver gets the change in words; the commit may be the address that the message is sent to."""
    _send(case.open(), example_message())
    expect("slower" in case.received(), "the receiver was not told what changed")


def a_test_says_that_it_is_one(case: ChannelCase) -> None:
    """Check that nobody can take a test for an alarm."""
    _send(case.open(), example_message(AlarmEvent.TEST))
    expect("TEST" in case.received(), "the receiver was not told that it is a test")


def many_alarms_are_one_message(case: ChannelCase) -> None:
    """Check that the receiver takes one message about a commit that moves 200 benchmarks."""
    _send(case.open(), example_message(count=200))


def sending_again_is_harmless(case: ChannelCase) -> None:
    """Check that a message can be sent again: a watcher may be killed between sending and recording."""
    _send(case.open(), example_message())
    _send(case.open(), example_message())


def hostile_texts_are_sent_as_text(case: ChannelCase) -> None:
    """Check that no control character reaches the receiver: names of commits, authors and benchmarks are anybody's."""
    for event in (AlarmEvent.BISECTED, AlarmEvent.RECOVERED, AlarmEvent.CLOSED, AlarmEvent.REOPENED):
        _send(case.open(), example_message(event, *_HOSTILE, count=3))
    letters = {letter for letter in case.received() if letter in "\x1b\x00\u202e"}
    expect(not letters, f"control characters reached the receiver: {sorted(map(ascii, letters))}")


def nothing_shows_a_secret(case: ChannelCase) -> None:
    """Check that place, answers and errors, which are stored and shown, contain no secret part of a URL or token."""
    for text in _texts_of(case):
        shown = [number for number, secret in enumerate(case.secrets) if secret in text]
        expect(not shown, f"secrets {shown} of the case are shown")


def a_receiver_that_is_away_is_tried_again(case: ChannelCase) -> None:
    """Check that a receiver that does not answer is no final refusal: the message waits."""
    if case.unreachable is None:
        return
    try:
        answer = case.open(case.unreachable).send(example_message())
    except DeliveryFailed as error:
        expect(not error.final, "a receiver that does not answer counts as one that refused for good")
    else:
        raise ContractBroken(f"nobody is there, and the message counts as delivered: {answer}")


def wrong_targets_are_refused_at_once(case: ChannelCase) -> None:
    """Check that a target that cannot be one is refused now, without secrets: an alarm may be months away."""
    for target in case.wrong:
        try:
            case.create(target, case.environment, is_named=True)
        except UsageError as error:
            expect(not any(secret in str(error) for secret in case.secrets), "a secret of the refused target is shown")
        else:
            raise ContractBroken(f"{target!r} was taken for a target")


def targets_of_others_are_left_to_them(case: ChannelCase) -> None:
    """Check that without a named form only a target that is certainly of this one is taken, and none is an error."""
    for target in _OTHER_TARGETS:
        channel = case.create(target, case.environment, is_named=False)
        expect(channel is None, f"{target!r} was taken although nobody named this form")


def the_process_is_left_as_it_was(case: ChannelCase) -> None:
    """Check that working folder, environment and threads are the same after a message: a watcher runs for months."""
    with process_unchanged():
        _send(case.open(), example_message())


CHECKS: Final[Sequence[Check]] = (
    every_event_is_sent,
    the_receiver_learns_of_an_alarm,
    a_test_says_that_it_is_one,
    many_alarms_are_one_message,
    sending_again_is_harmless,
    hostile_texts_are_sent_as_text,
    nothing_shows_a_secret,
    a_receiver_that_is_away_is_tried_again,
    wrong_targets_are_refused_at_once,
    targets_of_others_are_left_to_them,
    the_process_is_left_as_it_was,
)
"""Everything that a channel must keep."""
