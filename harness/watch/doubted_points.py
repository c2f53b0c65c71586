"""Points of devices whose health was bad afterwards: they are left out of series, and their commits measured again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.core.commit import short_id
from harness.core.device_doubt import DeviceDoubt
from harness.core.errors import EnvironmentProblem
from harness.watch.store.retry_when_full import RetryWhenFull
from harness.watch.store.state import State
from harness.watch.tasks import FindDoubts
from harness.watch.timing import Timing


class DoubtedPoints:
    """Brings the points of a state up to date with what is known of their devices.

    Args:
        state: Contains the points.
        find_doubts: Returns the doubts.
        timing: The clocks.
        retry_when_full: Writes to the state.
        say: Shows a line to a person.
        on_changed: Called when series are not what they were.
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

    def update(self) -> None:
        """Leave out the points that new doubts concern, and take those back in whose doubts were resolved."""
        try:
            doubts = self._find_doubts()
        except EnvironmentProblem as error:  # what is known of the points stays
            if error.message != self._problem:
                self._say(str(error))
            self._problem = error.message
            return
        self._problem = ""
        if doubts == self._known:
            return
        news: list[str] = []

        def write() -> None:
            with self._state.transaction():
                news[:] = self._apply(doubts)

        self._retry_when_full.run(write)
        self._known = doubts
        if news:
            self._on_changed()
        for text in news:
            self._say(text)

    def _apply(self, doubts: Sequence[DeviceDoubt]) -> list[str]:
        left_out, taken_in = self._state.points.apply_doubts(doubts)
        self._state.commits.queue_again(left_out)
        news = [f"{short_id(commit)} is measured again: {reason}" for commit, reason in left_out.items()]
        news += [f"{short_id(commit)} counts again: its devices are in doubt no more" for commit in taken_in]
        for text in news:
            self._state.log.record(text, self._timing.wall())
        return news
