"""`harness lab status`: hosts, devices, what each is doing, and the queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console

from harness.core.errors import ExitCode
from harness.core.values import Value
from harness.display.documents import print_document
from harness.display.tables import draw_rows, plain_text, print_output
from harness.lab.client import LabClient
from harness.lab.clocks import explain_wrong_clocks, find_wrong_clocks
from harness.lab.jobs import Place
from harness.presentation.documents import Document
from harness.presentation.numbers import format_duration

_WAITING = frozenset({"no-worker", "queued", "waiting"})
_NO_WAITING = "no job waits here; commands hold back what the devices cannot take yet"
_ID = 37
"""Characters of a job's id behind the title of its benchmark, with the blank before it."""


class LabDevice(Value):
    """Device of a lab.

    Attributes:
        name: Its name.
        identity: Its identity.
        device_class: Its class.
        platform: Its platform.
        host: Name of its host.
        doing: Title of the benchmark that it measures; empty while it is idle.
        health: Why no job reaches it, or that its health is checked; empty while it is in the pool.
        measuring_s: Seconds since its job began; None while it has none.
        expected_left_s: Seconds until its job is expected to end, negative where it takes longer; None where earlier
            results do not say.
    """

    name: str
    identity: str
    device_class: str
    platform: str
    host: str
    doing: str = ""
    health: str = ""
    measuring_s: float | None = None
    expected_left_s: float | None = None

    @property
    def words(self) -> str:
        """What it is doing, and how long that is expected to take."""
        doing = self.doing
        if doing and self.expected_left_s is not None:
            left = format_duration(abs(self.expected_left_s))
            doing += f", {left} left" if self.expected_left_s >= 0 else f", {left} longer than expected"
        elif doing and self.measuring_s is not None:
            doing += f", for {format_duration(self.measuring_s)}"
        return "; ".join(filter(None, (self.health, doing))) or "idle"


class LabStatus(Document):
    """State of a lab.

    Attributes:
        devices: Its devices, by class and name.
        waiting: Titles of benchmarks whose jobs wait for a device, with the number of such jobs.
        clocks: How far the clock of a host is ahead, in seconds, by host; those that are right are left out.
    """

    devices: tuple[LabDevice, ...]
    waiting: dict[str, int] = {}
    clocks: dict[str, float] = {}


def show_status(client: LabClient, console: Console, *, as_json: bool) -> ExitCode:
    """Show the state of a lab, as a table or as a document."""
    status = read_status(client.places(), client.list_tasks())
    if as_json:
        print_document(status, console)
        return ExitCode.OK
    if not status.devices:
        print_output(plain_text("the lab has no device; `harness lab join ADDRESS` brings those of a host"), console)
    else:
        rows = [
            (device.name, device.device_class, device.platform, device.host, device.words) for device in status.devices
        ]
        print_output(draw_rows(("device", "class", "platform", "host", "doing"), rows), console)
    total = sum(status.waiting.values())
    waiting = ", ".join(f"{title} ({count})" for title, count in sorted(status.waiting.items()))
    print_output(plain_text(f"{total} jobs wait for a device: {waiting}" if total else _NO_WAITING), console)
    for line in explain_wrong_clocks(status.clocks):
        print_output(plain_text(line), console)
    return ExitCode.OK


def read_status(places: Sequence[Place], tasks: Sequence[tuple[str, str, str]]) -> LabStatus:
    """Return the state of a lab.

    Args:
        places: Its devices.
        tasks: Name, state and address of each job of the scheduler.
    """
    given: dict[str, list[str]] = {}
    """Titles of the jobs of each process: one is done there, and the others wait for that device."""
    for key, state, address in tasks:
        if state == "processing" and address:
            given.setdefault(address, []).append(key[:-_ID])
    doing = {place.address: _find_begun(place, given.get(place.address, [])) for place in places}
    waiting = Counter(key[:-_ID] for key, state, _ in tasks if state in _WAITING)
    for address, titles in given.items():
        waiting += Counter(titles) - Counter([doing.get(address) or titles[0]])
    devices = tuple(
        LabDevice(
            name=place.device.name,
            identity=place.device.identity,
            device_class=place.device_class,
            platform=place.device.platform,
            host=place.host,
            doing=doing[place.address],
            health=place.health,
            measuring_s=place.job.measuring_s if place.job is not None else None,
            expected_left_s=place.job.left_s if place.job is not None else None,
        )
        for place in places
    )
    return LabStatus(devices=devices, waiting=dict(waiting), clocks=dict(find_wrong_clocks(places)))


def _find_begun(place: Place, given: Sequence[str]) -> str:
    """Return the title of what a device measures; empty where it has nothing."""
    if place.job is not None:
        return place.job.title
    return given[0] if given else ""
