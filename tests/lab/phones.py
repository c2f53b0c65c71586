"""Stand-in phones of a host of a lab."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from harness.testing.phones import start_phones
from harness.testing.phones.android.lab import PhoneLab
from tests.lab.labs import Lab, Process, start


@contextlib.contextmanager
def phone_host(
    lab: Lab, name: str, monkeypatch: pytest.MonkeyPatch, connected: PhoneLab | None = None
) -> Iterator[Process]:
    """Join phones as a host: two of a server of adb of their own, or those that are given."""
    with (
        contextlib.nullcontext(connected) if connected else start_phones(2) as phones,
        monkeypatch.context() as changed,
    ):
        changed.setenv("HARNESS_ADB_SERVER", str(phones.server))
        changed.setenv("ANDROID_ADB_SERVER_PORT", str(phones.port))
        words = ("lab", "join", lab.address, "--platforms", "android", "--as-class", "phone")
        process = start(lab.folder, name, *words, "--cache-dir", str(lab.folder / name))
        try:
            process.wait_for("joined as phone", count=len(phones.phones))
            yield process
        finally:
            process.stop()
