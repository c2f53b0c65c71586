"""Output folders become an evaluation: each stage against its references, with labels and the meaning of outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.core.evaluation import Evaluation
from harness.core.examples import DataRequest, Scores, Split, Stage, TensorInfo
from harness.core.measurement import References
from harness.files.examples import write_examples, write_outputs
from harness.flows.measure.evaluation import evaluate

CHANCE = np.random.default_rng(3)
EAGER = (5 * CHANCE.normal(size=(40, 2, 10))).astype(np.float32)
QUANTISED = (EAGER + CHANCE.normal(size=EAGER.shape)).astype(np.float32)
HOST = (QUANTISED + 0.01 * CHANCE.normal(size=EAGER.shape)).astype(np.float32)


def outputs(folder: Path, stage: Stage, values: NDArray[Any]) -> Path:
    tensor = TensorInfo(name="scores", dtype="float32", shape=values.shape[1:])
    with write_outputs(folder / stage, [tensor], stage=stage, examples="e" * 64) as writer:
        for value in values:
            writer.add([value])
    return folder / stage


@pytest.fixture
def references(tmp_path: Path) -> References:
    """A batch of two inputs in each of 40 examples, whose outputs are known before the device."""
    request, image = DataRequest(provider="random"), TensorInfo(name="image", dtype="float32", shape=(2, 3))
    folder = tmp_path / "examples"
    with write_examples(folder, [image], request=request, split=Split.EVALUATION, description="noise") as writer:
        for _ in EAGER:
            writer.add([np.zeros((2, 3), np.float32)])
    stages = {Stage.EAGER: EAGER, Stage.QUANTISED: QUANTISED}
    return References(folder, {stage: outputs(tmp_path, stage, values) for stage, values in stages.items()})


def sqnr(evaluation: Evaluation, stage: Stage, reference: Stage) -> float:
    compared = evaluation.stage(stage, reference)
    assert compared is not None
    statistic = compared.statistic("sqnr")
    assert statistic is not None
    assert statistic.value is not None
    return statistic.value


def test_the_host_is_compared_with_the_eager_model_and_with_what_quantisation_promised(
    references: References, tmp_path: Path
) -> None:
    evaluation = evaluate(references, {Stage.HOST: outputs(tmp_path, Stage.HOST, HOST)})
    assert sqnr(evaluation, Stage.HOST, Stage.EAGER) == pytest.approx(20 * np.log10(5), abs=0.5)
    assert sqnr(evaluation, Stage.HOST, Stage.QUANTISED) == pytest.approx(20 * np.log10(5 / 0.01), abs=0.8)
    assert evaluation.measured is not None
    agreement = evaluation.measured.statistic("top1_agreement")
    assert agreement is not None
    assert agreement.examples == 80  # two rows in each example


def test_outputs_that_are_said_to_score_no_classes_have_no_agreement(references: References, tmp_path: Path) -> None:
    host = outputs(tmp_path, Stage.HOST, HOST)
    evaluation = evaluate(references, {Stage.HOST: host}, (Scores.NONE,))
    assert evaluation.measured is not None
    assert evaluation.measured.statistic("top1_agreement") is None
    assert evaluation.measured.statistic("sqnr") is not None
