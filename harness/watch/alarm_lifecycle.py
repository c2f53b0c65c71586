"""What becomes of an alarm: a suspicion is measured again, its culprit searched, and somebody told of it.

opened --confirm--> confirmed --search--> bisected --delivered--> told
any stage --refuted by confirm, or over as the series says--> closed
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from harness.core.errors import HarnessError
from harness.shell import Interrupted
from harness.watch.polling import Rhythm, Timing
from harness.watch.store.records import Alarm, Document, Event, Fate, Sign, Stage
from harness.watch.store.retry_when_full import Patience
from harness.watch.store.state import State
from harness.watch.work import Confirmation, Stopped, Work

MOST_SEARCHES: Final = 5
"""After so many searches that broke down an alarm is told without its culprit."""
_RHYTHM: Final = Rhythm(first_s=60.0, most_s=6 * 3600.0)


class Pursuit:
    """Takes alarms from stage to stage. What a stage found is recorded with the next stage in one transaction.

    Args:
        state: Where alarms are.
        work: Who measures.
        couriers: Names of those who deliver news.
        timing: The clocks.
        patience: Waits for room.
        say: Told what a person should know.
    """

    def __init__(
        self,
        state: State,
        work: Work,
        *,
        couriers: Sequence[str],
        timing: Timing,
        patience: Patience,
        say: Callable[[str], None],
    ) -> None:
        self._state = state
        self._work = work
        self._couriers = couriers
        self._timing = timing
        self._patience = patience
        self._say = say
        self._later: dict[str, float] = {}
        self.confirmed: list[str] = []
        """Identities of the alarms that were confirmed, in order."""

    def heed(self, signs: Sequence[Sign]) -> None:
        """Open and close alarms as a series says. A part of the transaction in which its newest point is recorded."""
        for sign in signs:
            if sign.over:
                self._close(sign)
            elif self._state.alarms.open(sign, self._timing.wall()):
                self._state.notebook.happened(f"suspicion: {_named(sign)}", self._timing.wall())

    @property
    def next(self) -> float:
        """Moment of the monotonic clock when there may be something to do; `inf` when there is nothing."""
        return min((self._later.get(alarm.sign.identity, -math.inf) for alarm in self._due()), default=math.inf)

    @property
    def troubled(self) -> bool:
        """Whether verifying or searching broke down, and is to be tried again."""
        return any(alarm.sign.identity in self._later for alarm in self._due())

    def step(self, doing: Callable[[str], None]) -> bool:
        """Take one alarm one stage further; False when none is due.

        Args:
            doing: Told what is about to be done.

        Raises:
            Stopped: A person wants an end; the stage is done again later.
        """
        now = self._timing.monotonic()
        alarm = next((one for one in self._due() if self._later.get(one.sign.identity, -math.inf) <= now), None)
        if alarm is None:
            return self._settle()
        try:
            if alarm.stage is Stage.OPENED:
                doing(f"verifying {_named(alarm.sign)}")
                self._confirm(alarm)
            else:
                doing(f"searching the culprit of {_named(alarm.sign)}")
                self._search(alarm)
        except (Interrupted, Stopped):
            raise
        except HarnessError as error:  # also that its benchmark is no longer asked for: commits go on without it
            self._broke_down(alarm, error)
        else:
            self._later.pop(alarm.sign.identity, None)
        return True

    def _due(self) -> Sequence[Alarm]:
        """Alarms that await another stage."""
        found = self._state.alarms.those(Stage.OPENED, Stage.CONFIRMED)
        return [alarm for alarm in found if alarm.stage is Stage.OPENED or self._may_search(alarm)]

    def _may_search(self, alarm: Alarm) -> bool:
        return self._work.search is not None and alarm.attempts < MOST_SEARCHES

    def _confirm(self, alarm: Alarm) -> None:
        said = self._work.confirm(alarm) if self._work.confirm else Confirmation(confirmed=True, why="not verified")
        document = {**alarm.document, "confirmation": said.model_dump(mode="json")}
        stage = Stage.CONFIRMED if said.confirmed else Stage.CLOSED
        why = "" if said.confirmed else f"not confirmed: {said.why}".rstrip(": ")
        self._advance(alarm, stage, document, why=why, event=Event.CONFIRMED if said.confirmed else None)

    def _search(self, alarm: Alarm) -> None:
        if self._work.search is None:
            return
        alarms, identity = self._state.alarms, alarm.sign.identity
        found = self._work.search(
            alarm,
            alarms.saved_search(identity),
            lambda progress: self._patience.until_room(lambda: alarms.save_search(identity, progress)),
        )
        self._advance(alarm, Stage.BISECTED, {**alarm.document, "search": found}, event=Event.BISECTED)

    def _advance(
        self, alarm: Alarm, stage: Stage, document: Document, *, why: str = "", event: Event | None = None
    ) -> None:
        now = self._timing.wall()
        changed = {"stage": stage, "document": document, "why": why, "attempts": 0, "changed": now}
        after = alarm.model_copy(update=changed)

        def write() -> None:
            with self._state.transaction():
                self._keep(after, event)

        self._patience.until_room(write)
        if stage is Stage.CONFIRMED:
            self.confirmed.append(alarm.sign.identity)
        self._say(f"{stage}: {_named(alarm.sign)}" + (f" ({why})" if why else ""))

    def _keep(self, alarm: Alarm, event: Event | None) -> None:
        now = self._timing.wall()
        self._state.alarms.keep(alarm)
        self._state.notebook.happened(f"{alarm.stage}: {_named(alarm.sign)} {alarm.why}".rstrip(), now)
        if event is not None:
            self._state.letters.queue(alarm, event, self._couriers, now)

    def _close(self, sign: Sign) -> None:
        """A suspicion that nobody was told of is closed without a word."""
        alarm = self._state.alarms.find(sign.identity)
        if alarm is None or alarm.stage is Stage.CLOSED:
            return
        document: Mapping[str, object] = {**alarm.document, "closing": sign.document}
        why = f"it is over with {sign.last[:12]}"
        changed = {"stage": Stage.CLOSED, "why": why, "document": document, "changed": self._timing.wall()}
        self._keep(alarm.model_copy(update=changed), None if alarm.stage is Stage.OPENED else Event.CLOSED)

    def _settle(self) -> bool:
        """An alarm of which everything was delivered has been told."""
        for alarm in self._state.alarms.those(Stage.CONFIRMED, Stage.BISECTED):
            letters = self._state.letters.of_alarm(alarm.sign.identity)
            if all(letter.fate is Fate.DELIVERED for letter in letters) and alarm not in self._due():
                self._told(alarm)
                return True
        return False

    def _told(self, alarm: Alarm) -> None:
        told = alarm.model_copy(update={"stage": Stage.TOLD, "changed": self._timing.wall()})
        self._patience.until_room(lambda: self._state.alarms.keep(told))

    def _broke_down(self, alarm: Alarm, error: HarnessError) -> None:
        attempts = alarm.attempts + 1
        pause_s = _RHYTHM.pause_s(attempts, self._timing.chance())
        self._later[alarm.sign.identity] = self._timing.monotonic() + pause_s
        tried = alarm.model_copy(update={"attempts": attempts, "why": error.message, "changed": self._timing.wall()})
        self._patience.until_room(lambda: self._state.alarms.keep(tried))
        self._say(f"{_named(alarm.sign)}: {error}")


def _named(sign: Sign) -> str:
    title = sign.document.get("title", sign.benchmark)
    return f"{sign.kind} of {title} on {sign.device} ({sign.first[:12]}..{sign.last[:12]})"
