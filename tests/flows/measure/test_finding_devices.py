"""Devices that were asked for are waited for, and no other is measured in their place without a word."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager

import pytest

from harness.core.device import READY, Device, DeviceStatus
from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Progress, Session
from harness.flows.measure.devices import DeviceRequest, find_devices
from harness.testing.progress import RecordedProgress

LOCKED = DeviceStatus(name="PIXEL", state="unauthorized", remedy="unlock it")
NO_PERMISSIONS = DeviceStatus(name="PIXEL", state="no permissions", remedy="add udev rules", may_return=False)


def ready(name: str) -> DeviceStatus:
    device = Device(platform="lab", identity=f"id-{name}", name=name)
    return DeviceStatus(name=name, state=READY, device=device)


class Lab:
    """Platform whose list of devices changes from one request to the next; the last one stays."""

    name = "lab"

    def __init__(self, *lists: Sequence[DeviceStatus]) -> None:
        self._lists = list(lists)
        self.requests: list[tuple[tuple[str, ...], list[str]]] = []

    def devices(self) -> Sequence[Device]:
        return [status.device for status in self.list_devices() if status.device is not None]

    def list_devices(self, wanted: Collection[str] = (), known: Collection[Device] = ()) -> Sequence[DeviceStatus]:
        self.requests.append((tuple(wanted), [device.name for device in known]))
        return self._lists.pop(0) if len(self._lists) > 1 else self._lists[0]

    def open(self, device: Device, progress: Progress) -> AbstractContextManager[Session]:
        raise NotImplementedError


class Host:
    """Platform without states: what it does not list cannot be waited for."""

    name = "host"

    def devices(self) -> Sequence[Device]:
        return [Device(platform="host", identity="here", name="here")]

    def open(self, device: Device, progress: Progress) -> AbstractContextManager[Session]:
        raise NotImplementedError


def find(
    lab: Lab,
    *wanted: str,
    excluded: tuple[str, ...] = (),
    every: bool = False,
    timeout_s: float = 3600.0,
    known: str = "PIXEL",
) -> tuple[list[str], RecordedProgress]:
    progress = RecordedProgress()
    request = DeviceRequest(wanted, excluded, every, timeout_s, lambda name: name == known)
    devices = find_devices(lab, request, progress, pause=lambda seconds: None)
    return [device.name for device in devices], progress


def test_a_named_device_that_is_not_there_yet_is_waited_for() -> None:
    lab = Lab([ready("OTHER")], [ready("OTHER"), LOCKED], [ready("OTHER"), ready("PIXEL")])
    names, progress = find(lab, "PIXEL")
    assert names == ["PIXEL"], "and never the other one"
    assert [line.partition("for ")[2] for line in progress.lines] == [
        "PIXEL (absent: check its cable, its power and its name)",
        "PIXEL (unauthorized: unlock it)",
    ]
    assert all("3600 s (--return-timeout)" in line for line in progress.lines)
    assert lab.requests[1] == (("PIXEL",), ["OTHER"]), "what is known is not asked again"


def test_a_named_device_that_does_not_come_is_reported_with_state_and_remedy() -> None:
    with pytest.raises(EnvironmentProblem, match="PIXEL is unauthorized") as refused:
        find(Lab([ready("OTHER"), LOCKED]), "PIXEL", timeout_s=1e-9)
    assert refused.value.hint == "unlock it"
    with pytest.raises(EnvironmentProblem, match="no device `NEXUS`") as refused:
        find(Lab([ready("OTHER"), LOCKED]), "NEXUS", timeout_s=0.0)
    assert refused.value.hint == "there are: OTHER (id-OTHER), PIXEL (unauthorized: unlock it)"


def test_a_device_that_was_never_seen_is_not_waited_for_while_others_are_connected() -> None:
    lab = Lab([ready("OTHER"), LOCKED])
    with pytest.raises(EnvironmentProblem, match="no device `NEXUS`\n") as refused:
        find(lab, "OTHER", "NEXUS")
    assert len(lab.requests) == 1
    assert refused.value.hint == (
        "there are: OTHER (id-OTHER), PIXEL (unauthorized: unlock it)"
        "; --return-timeout SECONDS waits for one that is not there yet"
    )
    assert find(Lab([], [ready("NEXUS")]), "NEXUS")[0] == ["NEXUS"], "nothing is there: perhaps the hub has no power"
    offline = DeviceStatus(name="NEXUS", state="offline")
    assert find(Lab([offline, ready("OTHER")], [ready("NEXUS")]), "NEXUS")[0] == ["NEXUS"], "it is seen"


def test_a_device_that_needs_another_start_is_not_waited_for() -> None:
    lab = Lab([NO_PERMISSIONS])
    with pytest.raises(EnvironmentProblem, match="PIXEL is no permissions"):
        find(lab, "PIXEL")
    assert len(lab.requests) == 1


def test_the_only_device_is_waited_for_without_being_named() -> None:
    names, progress = find(Lab([LOCKED], [ready("PIXEL")]))
    assert names == ["PIXEL"]
    assert "PIXEL (unauthorized: unlock it)" in progress.lines[0]


def test_a_device_that_is_left_out_is_named_with_the_reason() -> None:
    for every, expected in ((False, ["A"]), (True, ["A", "B"])):
        names, progress = find(Lab([ready("A"), ready("B"), LOCKED]), every=every)
        assert names == expected
        assert progress.lines == [f"measuring on {', '.join(expected)}; left out: PIXEL (unauthorized: unlock it)"], (
            "none of them is measured in silence"
        )


def test_a_device_that_nobody_asked_for_is_not_mentioned() -> None:
    assert find(Lab([ready("A"), LOCKED]), "A")[1].lines == []
    assert find(Lab([ready("A"), LOCKED]), excluded=("PIXEL",))[1].lines == []
    assert find(Lab([ready("A")]), "id-A")[0] == ["A"]


def test_no_device_at_all_is_an_error_at_once() -> None:
    lab = Lab([])
    with pytest.raises(EnvironmentProblem, match="no device to measure on"):
        find(lab)
    assert len(lab.requests) == 1


def test_a_platform_without_states_is_not_waited_for() -> None:
    request = DeviceRequest(("there",), timeout_s=3600.0)
    with pytest.raises(EnvironmentProblem, match="no device `there`") as refused:
        find_devices(Host(), request, RecordedProgress())
    assert refused.value.hint == "there are: here (here)"
