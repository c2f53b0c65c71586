"""Programs that the user gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import plugins
from harness.config.settings import Settings
from harness.core.errors import UsageError
from harness.flows.measure.given_programs import reject_unexecutable


def test_a_program_for_this_machine_must_be_executable_unless_it_is_a_library(tmp_path: Path) -> None:
    settings = Settings()
    host, android = (plugins.platform(name, settings) for name in ("host", "android"))
    program, library = tmp_path / "run", tmp_path / "libc++_shared.so"
    for file in (program, library):
        file.write_text("#!/bin/sh\n")
        file.chmod(0o644)
    programs = {"program": program, "library": library}
    with pytest.raises(UsageError, match="cannot be executed") as caught:
        reject_unexecutable(programs, host)
    assert caught.value.hint == f"chmod +x {program}"
    reject_unexecutable(programs, android)  # which gets a copy that can be executed
    program.chmod(0o755)
    reject_unexecutable(programs, host)
