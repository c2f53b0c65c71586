"""Releases of OpenVINO that ExecuTorch's delegate cannot use are told in words."""

from __future__ import annotations

import pytest

from frameworks.executorch import openvino
from frameworks.executorch.openvino_releases import find_problem


@pytest.mark.parametrize("version", ["2026.0.0-20965-c6d6a13a886", "2026.4.1", "2031.1"])
def test_releases_that_read_freed_memory_are_refused(version: str) -> None:
    problem = find_problem(version)
    assert problem is not None
    assert problem.startswith(f"OpenVINO {version.partition('-')[0]} reads the model's weights")


@pytest.mark.parametrize("version", ["2025.4.1-20426-82bbf0292c5", "2025.1", "custom_branch_2026", "", "99999.1"])
def test_older_and_unknown_releases_are_not(version: str) -> None:
    assert find_problem(version) is None


@pytest.mark.parametrize(("version", "ok"), [("2025.4.1", True), ("2026.4.1", None)])
def test_the_doctor_names_an_unusable_release(version: str, ok: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino, "version", {"openvino": version, "nncf": "3.1.0"}.__getitem__)
    finding = openvino.diagnose()
    assert (finding.ok, version in finding.found) == (ok, True)
    assert ("openvino" in finding.remedy) == (ok is None)
