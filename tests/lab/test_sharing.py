from __future__ import annotations

import threading
import time
from pathlib import Path

from harness.lab.sharing import use_host


def test_phones_share_a_host_and_the_host_is_measured_alone(tmp_path: Path) -> None:
    """The host waits for the phone that measures; a phone that comes later waits for the host."""
    events: list[str] = []

    def measure(name: str, *, alone: bool, began: threading.Event, may_end: threading.Event) -> None:
        with use_host(tmp_path, alone=alone):
            events.append(f"{name} begins")
            began.set()
            may_end.wait(30)
            events.append(f"{name} ends")

    def start(name: str, *, alone: bool) -> tuple[threading.Thread, threading.Event, threading.Event]:
        began, may_end = threading.Event(), threading.Event()
        thread = threading.Thread(
            target=measure, args=(name,), kwargs={"alone": alone, "began": began, "may_end": may_end}
        )
        thread.start()
        return thread, began, may_end

    first, first_began, first_may_end = start("phone 1", alone=False)
    second, second_began, second_may_end = start("phone 2", alone=False)
    assert first_began.wait(30)
    assert second_began.wait(30)
    host, host_began, host_may_end = start("host", alone=True)
    time.sleep(0.3)
    third, third_began, third_may_end = start("phone 3", alone=False)
    time.sleep(0.3)
    assert not host_began.is_set()
    assert not third_began.is_set()
    first_may_end.set()
    second_may_end.set()
    assert host_began.wait(30)
    assert not third_began.wait(0.3)
    host_may_end.set()
    assert third_began.wait(30)
    third_may_end.set()
    for thread in (first, second, host, third):
        thread.join()
    assert events[-4:] == ["host begins", "host ends", "phone 3 begins", "phone 3 ends"]
