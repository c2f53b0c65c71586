"""`harness lab dispatch`: runs that persons ask for at a server of results, measured in a lab.

The specifications are those of the command line that started it: what arrives from the server are names, which are
looked up among them. So are repositories; names of commits are looked up in mirrors of these.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from harness.config.settings import Settings
from harness.core.device_doubt import DeviceDoubt
from harness.core.errors import EnvironmentProblem, ExitCode, HarnessError, ReporterFailed
from harness.core.protocols import Display
from harness.lab.client import LabClient, LabLost, LabSilent, connect
from harness.lab.configuration import load_security
from harness.lab.on_demand.allow_list import AllowList
from harness.lab.on_demand.delivery import POLL_S, ResultDelivery
from harness.lab.on_demand.leases import Lease
from harness.lab.on_demand.request_queue import QueueSilent, RequestLost, RequestQueue
from harness.lab.on_demand.request_runs import RequestRun, title_of
from harness.lab.status import LabDevice, read_status
from harness.lab.targets import LabEmpty, NoSuchClass
from harness.shell import Interrupted, pause
from harness.store.run_requests import LabOffer, OfferedDevice, RequestState

_AWAY: Final = (Interrupted, LabEmpty, LabLost, LabSilent, NoSuchClass)
"""Why a request goes back that is not to blame for it."""
_WORDS: Final = 300
"""Characters of what a page shows of a device."""
_OFFER_S: Final = 20.0
"""How often the lab is asked for its devices, and its offer repeated."""
_END_S: Final = 90.0


class Dispatcher:
    """Takes requests from a server as long as the lab has devices for them, until a signal ends it.

    Each class of devices gets as many requests at once as it has devices.

    Args:
        queue: Queue of the server.
        allowed: What persons may ask for.
        settings: Which lab.
        display: Shows what happens.
        lease_s: How long a request is this process's that does not renew it, in seconds.
    """

    def __init__(
        self,
        queue: RequestQueue,
        allowed: AllowList,
        settings: Settings,
        display: Display,
        lease_s: float,
    ) -> None:
        self._queue = queue
        self._allowed = allowed
        self._settings = settings
        self._display = display
        self._lease_s = lease_s
        self._threads: dict[threading.Thread, str] = {}
        """Those that measure, with the class of the device."""
        self._claim = str(uuid.uuid4())
        self._delivery = ResultDelivery(queue, settings, display)
        self._doubts: tuple[DeviceDoubt, ...] = ()

    def run(self) -> ExitCode:
        """Take requests until a signal ends it; those that are measured then go back into the queue.

        Raises:
            EnvironmentProblem: The server refuses it.
        """
        self._announce({})
        self._delivery.send_earlier()
        names = ", ".join(self._allowed.specifications)
        self._display.say(f"takes requests from {self._queue.address} for {names}")
        try:
            while True:
                try:
                    with connect(self._settings.lab or "", load_security(self._settings.lab_certificates)) as client:
                        self._serve(client)
                except EnvironmentProblem as problem:
                    self._delivery.warn(problem)
                    with contextlib.suppress(EnvironmentProblem):
                        self._announce({})
                pause(POLL_S)
        except (KeyboardInterrupt, Interrupted):
            for thread in tuple(self._threads):
                thread.join(_END_S)
        return ExitCode.OK

    def _serve(self, client: LabClient) -> None:
        """Take requests while the lab is there.

        Raises:
            EnvironmentProblem: Lab or server went away.
        """
        looked, classes = 0.0, Counter[str]()
        while True:
            now = time.monotonic()
            if not looked or now - looked >= _OFFER_S:
                places = client.places()
                looked, classes = now, Counter(place.device_class for place in places if not place.health)
                self._tell_doubts(tuple(doubt for place in places for doubt in place.doubts))
                resting = Counter(place.device_class for place in places if place.returns_at is not None)
                self._announce(classes | resting, read_status(places, client.list_tasks()).devices)
                self._delivery.forget_problem()
            self._threads = {thread: name for thread, name in self._threads.items() if thread.is_alive()}
            free = classes - Counter(self._threads.values())
            if not free or not self._take(sorted(free)):
                pause(POLL_S)

    def _tell_doubts(self, doubts: tuple[DeviceDoubt, ...]) -> None:
        """Let the server know of which devices its results are in doubt, when that changes."""
        if doubts == self._doubts:
            return
        try:
            self._delivery.open_reporter().keep_doubts(doubts)
        except ReporterFailed as problem:
            self._delivery.warn(problem)
        else:
            self._doubts = doubts

    def _announce(self, classes: Mapping[str, int], devices: Sequence[LabDevice] = ()) -> None:
        """Announce the specifications, and the devices that are there with their classes.

        Raises:
            EnvironmentProblem: The server refuses.
        """
        offer = LabOffer(
            specifications=tuple(each.offered for each in self._allowed.specifications.values()),
            device_classes=tuple(sorted(classes)),
            repositories=tuple(sorted(self._allowed.repositories)),
            devices=tuple(
                OfferedDevice(
                    name=device.name,
                    identity=device.identity,
                    device_class=device.device_class,
                    platform=device.platform,
                    host=device.host,
                    is_available=not device.health,
                    words=device.words[:_WORDS],
                )
                for device in devices
            ),
        )
        try:
            self._queue.announce(offer)
        except QueueSilent as problem:
            self._delivery.warn(problem)

    def _take(self, device_classes: Sequence[str]) -> bool:
        """Begin the next request; return whether there was one."""
        try:
            request = self._queue.claim(self._claim, device_classes, self._lease_s)
        except QueueSilent as problem:
            self._delivery.warn(problem)
            return False
        if request is None or request.state is not RequestState.RUNNING:
            return False
        lease = Lease(self._queue, request, self._claim, self._lease_s)
        self._claim = str(uuid.uuid4())
        thread = threading.Thread(target=self._handle, args=(lease,), name=f"request {request.id}")
        self._threads[thread] = request.device_class
        thread.start()
        return True

    def _handle(self, lease: Lease) -> None:
        """Measure a request, and say what became of it. Whatever goes wrong gives it back."""
        request = lease.request
        title = title_of(request)
        self._display.say(f"{request.person} asks for {title} on {request.device_class}")
        try:
            with lease.keep():
                RequestRun(lease, self._allowed, self._settings, self._display, self._delivery).run()
        except RequestLost as problem:
            self._display.warn(f"! {title} of {request.person}: {problem.message}")
        except HarnessError as problem:
            reason = "the lab was stopped" if isinstance(problem, Interrupted) else problem.message
            self._give_back(lease, reason, is_counted=not isinstance(problem, _AWAY))
        except Exception as problem:  # noqa: BLE001 - isolation of one request: others go on
            self._give_back(lease, f"{type(problem).__name__}: {problem}")

    def _give_back(self, lease: Lease, reason: str, *, is_counted: bool = True) -> None:
        """Put a request back into the queue, which fails it where that happens often and is counted."""
        self._display.warn(f"! {title_of(lease.request)} of {lease.request.person} goes back into the queue: {reason}")
        with contextlib.suppress(HarnessError):  # else its lease ends
            self._queue.release(lease.request.id, lease.claim, reason, is_counted=is_counted)
