"""Outputs of examples on a phone, also on one that has no room for all examples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from harness.core.examples import Stage
from harness.core.protocols import Session
from harness.core.result import Outcome
from harness.running.outputs import TakenOutputs, take_outputs
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.progress import RecordedProgress, RecordedTask
from platforms.android.link.phone import Phone
from tests.platforms.android.conftest import MakePlatform
from tests.running.copying_runner import EXAMPLE, Copying, copying_job, write_examples

pytestmark = pytest.mark.slow


def take(session: Session, framework: Copying, folder: Path) -> TakenOutputs:
    return take_outputs(
        copying_job(folder, sh="/system/bin/sh"),
        session,
        framework,
        folder / "examples",
        folder / "outputs",
        stage=Stage.DEVICE,
        scratch=folder,
        progress=RecordedTask("", None),
    )


def test_outputs_come_from_the_phone_in_chunks_when_it_is_full(
    broken_lab: PhoneLab, make_platform: MakePlatform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 250_000  # 3 MB of inputs, and as much of outputs
    values = write_examples(tmp_path / "examples", count)
    platform = make_platform(broken_lab)
    framework = Copying()
    with platform.open(platform.devices()[0], RecordedProgress()) as session:
        taken = take(session, framework, tmp_path)
        assert (taken.outcome, taken.reason, taken.launches) == (Outcome.OK, None, 1)
        np.testing.assert_array_equal(np.fromfile(tmp_path / "outputs" / "output-0.bin", np.float32), values.ravel())
    with monkeypatch.context() as patch, platform.open(platform.devices()[0], RecordedProgress()) as session:
        patch.setattr(Phone, "send", no_sending)
        assert take(session, framework, tmp_path).launches == 1, "what is on the phone is not sent again"

    write_examples_anew(tmp_path)
    broken_lab.phones[0].fill(1_600_000)
    framework.counts.clear()
    with platform.open(platform.devices()[0], RecordedProgress()) as session:
        taken = take(session, framework, tmp_path)
    assert (taken.outcome, taken.reason, taken.examples) == (Outcome.OK, None, count)
    assert taken.launches == sum(1 for size in framework.counts if size <= framework.counts[-1]) > 1
    assert sum(framework.counts[-taken.launches :]) == count
    expected = np.fromfile(tmp_path / "examples" / "input-0.bin", np.float32)
    np.testing.assert_array_equal(np.fromfile(tmp_path / "outputs" / "output-0.bin", np.float32), expected)
    assert EXAMPLE.size_bytes * count > 1_600_000


def no_sending(phone: Phone, files: Sequence[object]) -> None:
    raise AssertionError(f"{phone.name} was sent {files}")


def write_examples_anew(folder: Path) -> None:
    """Replace the examples by others that the phone does not have."""
    values = np.fromfile(folder / "examples" / "input-0.bin", np.float32)
    (values + 1).tofile(folder / "examples" / "input-0.bin")
