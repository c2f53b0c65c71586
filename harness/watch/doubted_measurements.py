"""Measurements of devices whose health was bad afterwards.

Points are left out of their series, and their commits measured again; alarms that rest on them are verified again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from harness.core.alarm import Alarm, AlarmEvent, AlarmStage
from harness.core.commit import short_id
from harness.core.device_doubt import DeviceDoubt
from harness.core.errors import EnvironmentProblem
from harness.watch.closings import ANEW, reopen
from harness.watch.store.retry_when_full import RetryWhenFull
from harness.watch.store.state import State
from harness.watch.tasks import FindDoubts
from harness.watch.timing import Timing

_CONFIRMED: Final = (AlarmStage.CONFIRMED, AlarmStage.BISECTED, AlarmStage.REPORTED)


class DoubtedMeasurements:
    """Brings points and alarms of a state up to date with what is known of their devices.

    Args:
        state: Contains them.
        find_doubts: Returns the doubts.
        timing: The clocks.
        retry_when_full: Writes to the state.
        say: Shows a line to a person.
        on_changed: Called when series are not what they were, in the transaction that changes them.
    """

    def __init__(
        self,
        state: State,
        find_doubts: FindDoubts,
        *,
        timing: Timing,
        retry_when_full: RetryWhenFull,
        say: Callable[[str], None],
        on_changed: Callable[[], None],
    ) -> None:
        self._state = state
        self._find_doubts = find_doubts
        self._timing = timing
        self._retry_when_full = retry_when_full
        self._say = say
        self._on_changed = on_changed
        self._known: Sequence[DeviceDoubt] = ()
        self._problem = ""

    def update(self) -> bool:
        """Leave out what new doubts concern, and take the points back in whose doubts were resolved.

        Returns:
            Whether there was anything to change.
        """
        try:
            doubts = self._find_doubts()
        except EnvironmentProblem as error:  # what is known stays
            if error.message != self._problem:
                self._say(str(error))
            self._problem = error.message
            return False
        self._problem = ""
        if doubts == self._known:
            return False
        news: list[str] = []

        def write() -> None:
            with self._state.transaction():
                news[:] = [*self._apply_to_points(doubts), *self._apply_to_alarms(doubts)]
                for text in news:
                    self._state.log.record(text, self._timing.wall())
                if news:
                    self._on_changed()

        self._retry_when_full.run(write)
        self._known = doubts
        for text in news:
            self._say(text)
        return bool(news)

    def _apply_to_points(self, doubts: Sequence[DeviceDoubt]) -> Iterator[str]:
        left_out, taken_in = self._state.points.apply_doubts(doubts)
        self._state.commits.queue_again(left_out)
        yield from (f"{short_id(commit)} is measured again: {reason}" for commit, reason in left_out.items())
        yield from (f"{short_id(commit)} counts again: its devices are in doubt no more" for commit in taken_in)

    def _apply_to_alarms(self, doubts: Sequence[DeviceDoubt]) -> Iterator[str]:
        """Have alarms verified and searched again whose verification is in doubt; who was told of them hears of it."""
        for alarm in self._state.alarms.in_stages(*_CONFIRMED):
            reason = _find_doubt(alarm, doubts)
            if reason:
                now = self._timing.wall()
                again = reopen(alarm, f"its verification is in doubt: {reason}", now).model_copy(update=ANEW)
                self._state.alarms.update(again)
                self._state.alarms.forget_search(alarm.identity)
                self._state.deliveries.queue_follow_up(again, AlarmEvent.REOPENED, now)
                yield f"{alarm.change.kind} of {alarm.change.title} is verified again: {reason}"


def _find_doubt(alarm: Alarm, doubts: Sequence[DeviceDoubt]) -> str:
    """Return why the verification of an alarm is in doubt; empty where it is not."""
    checks = {} if alarm.verification is None else alarm.verification.last_good_checks
    return next((doubt.note.message for doubt in doubts if doubt.is_among(checks)), "")
