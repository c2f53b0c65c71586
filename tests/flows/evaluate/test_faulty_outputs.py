"""A program whose outputs are not numbers has failed, whatever its latency is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.core.examples import DataRequest, OutputManifest, Split, Stage, TensorInfo
from harness.core.measurement import Measurement, References
from harness.core.result import Outcome
from harness.files.examples import read_manifest, write_examples
from harness.flows.measure import evaluation
from harness.running.outputs import TakenOutputs
from harness.testing.progress import RecordedProgress
from tests.flows.evaluate.test_example_types import job

TENSOR = TensorInfo(name="output_0", dtype="float32", shape=(2,))


def write(folder: Path, stage: Stage, digest: str, *examples: tuple[float, float]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "output-0.bin").write_bytes(np.array(examples, np.float32).tobytes())
    manifest = OutputManifest(stage=stage, outputs=(TENSOR,), count=len(examples), examples=digest)
    (folder / "manifest.json").write_text(manifest.model_dump_json())


@pytest.mark.parametrize(
    ("second", "outcome", "reason"),
    [(4.1, Outcome.OK, None), (np.nan, Outcome.FAILED, "outputs: 1 of 2 examples give NaN")],
)
def test_outputs_that_are_no_numbers_fail(
    second: float, outcome: Outcome, reason: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "examples"
    request = DataRequest(provider="random")
    with write_examples(folder, [TENSOR], request=request, split=Split.EVALUATION, description="two") as writer:
        for _ in range(2):
            writer.add([np.ones(2, np.float32)])
    digest = read_manifest(folder).digest
    write(tmp_path / "eager", Stage.EAGER, digest, (1, 2), (3, 4))

    def take(*arguments: object, **_: object) -> TakenOutputs:
        write(arguments[4], Stage.HOST, digest, (1, 2), (3, second))  # type: ignore[arg-type]
        return TakenOutputs(Outcome.OK)

    monkeypatch.setattr(evaluation, "take_outputs", take)
    references = References(folder, {Stage.EAGER: tmp_path / "eager"})
    subject = job()
    measured = evaluation.add_evaluation(
        Measurement(0.0, 1.0, Outcome.OK),
        type(subject)(subject.benchmark, subject.build, {}, references),
        type("Session", (), {"device": type("Device", (), {"name": "here"})})(),
        object(),  # type: ignore[arg-type]
        stage=Stage.HOST,
        scratch=tmp_path,
        progress=RecordedProgress(),
    )
    assert (measured.outcome, measured.reason) == (outcome, reason)
    assert measured.evaluation is not None
