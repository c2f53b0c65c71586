"""Platform whose devices are the device models of a farm."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from edge_harness_farm.client import FarmClient
from edge_harness_farm.options import FarmOptions
from harness.config.settings import Settings
from harness.core.command import Command, Completed
from harness.core.device import Device, DeviceState
from harness.core.errors import BenchmarkUnsupported, EnvironmentProblem, UsageError
from harness.core.protocols import Progress, Staged

_UNDER_WAY: Final = ("queued", "running")


class Farm:
    """Platform of the models that the options name: each run is paid for, so none is measured unasked."""

    name = "farm"
    app_suffix = ".apk"

    def __init__(self, options: FarmOptions, key: str, pause: Callable[[float], None] = time.sleep) -> None:
        self._options = options
        self._key = key
        self._pause = pause
        self._client = FarmClient(options.farm_url, options.farm_user, key, options.farm_log_host, pause)

    def devices(self) -> Sequence[Device]:
        """List the models asked for."""
        wanted = self._options.farm_models
        if not wanted:
            return ()
        if not self._key or not self._options.farm_user:
            raise EnvironmentProblem("no account of the farm", hint="set --farm-user and FARM_ACCESS_KEY")
        if unknown := sorted(set(wanted) - (models := self._client.list_models())):
            raise UsageError(
                f"the farm has no {', '.join(unknown)}", hint=f"--farm-models takes {', '.join(sorted(models))}"
            )
        return tuple(Device(platform=self.name, identity=f"farm-{model}", name=model, os="Android") for model in wanted)

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[FarmSession]:  # noqa: ARG002 - the seam's
        """Yield a session: the farm itself gives each run a device of its own."""
        yield FarmSession(device, self._client, self._options, self._pause)


class FarmSession:
    """Model of the farm; each launch is a run on any of its devices."""

    def __init__(
        self, device: Device, client: FarmClient, options: FarmOptions, pause: Callable[[float], None]
    ) -> None:
        self.device = device
        self._client = client
        self._options = options
        self._pause = pause
        self._app: Path | None = None
        self._has_files = False

    def stage(self, files: Mapping[str, Path], programs: Mapping[str, Path]) -> Staged:
        """Keep the app for the next launch."""
        self._app = next((path for path in programs.values() if path.suffix == Farm.app_suffix), None)
        self._has_files = bool(files)
        return Staged("/farm", {name: name for name in files}, {name: str(path) for name, path in programs.items()})

    def run(self, command: Command) -> Completed:
        """Run the app once on the farm, and return its instrumentation logs as its output."""
        suite = self._options.farm_test_suite
        if command.app is None or self._has_files:
            raise BenchmarkUnsupported(
                "the farm runs whole apps: it takes no programs and no files",
                hint="measure an `app` that contains its model",
            )
        if self._app is None or suite is None:
            raise BenchmarkUnsupported(
                "the farm needs the app and its tests", hint="give --program APP.apk and --farm-test-suite TESTS.apk"
            )
        app, tests = self._client.upload("app", self._app), self._client.upload("test-suite", suite)
        words = [word.removeprefix("--") for word in command.argv]
        extras = dict(zip(words[::2], words[1::2], strict=False))
        started, waited, pause = time.monotonic(), 0.0, self._options.farm_poll_s
        run = self._client.start(app, tests, self.device.name, extras)
        while (state := self._client.status(run))["status"] in _UNDER_WAY:
            if max(waited, time.monotonic() - started) >= command.timeout_s:
                return Completed(command, None, timed_out=True, wall_s=time.monotonic() - started)
            self._pause(pause)
            waited += pause
            pause = min(2 * pause, 8 * self._options.farm_poll_s)
        sessions = [session["id"] for entry in state["devices"] for session in entry["sessions"]]
        log = "\n".join(self._client.log(run, session) for session in sessions)
        failed = state["status"] != "passed"
        message = f"run {run} of the farm: {state['status']}" if failed else ""
        return Completed(command, int(failed), stdout=log, stderr=message, wall_s=time.monotonic() - started)

    def pull(self, remote: str, local: Path) -> None:  # noqa: ARG002 - the seam's
        """Refuse: only logs are collected."""
        raise FileNotFoundError(remote)

    def state(self) -> DeviceState:
        """Return nothing but the time: the farm tells no temperature or load."""
        return DeviceState(time=time.time())


def create(settings: Settings) -> Farm:
    """Entry point."""
    return Farm(settings.of(FarmOptions), os.environ.get("FARM_ACCESS_KEY", ""))
