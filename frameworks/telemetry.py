"""Telemetry of the packages of frameworks, which the harness does not take part in."""

from __future__ import annotations

import sys


def block_telemetry() -> None:
    """Let this process find no `openvino_telemetry`; to be called before OpenVINO or NNCF is imported.

    Importing either starts a process that reports its use to Google Analytics, wherever the user has not opted out; it
    takes CPU time beside what is measured, and nobody who measures has agreed to it. Both take a stub where the package
    is missing (openvino/tools/ovc/telemetry_utils.py of 2025.4, nncf/telemetry/wrapper.py of 3.1).
    """
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type] # the documented way to refuse an import
