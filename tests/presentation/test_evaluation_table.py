"""Tables of evaluations."""

from __future__ import annotations

from harness.core.evaluation import Evaluation, McNemar, StageEvaluation
from harness.core.examples import Stage
from harness.presentation.evaluation_table import (
    build_evaluation_table,
    build_layer_table,
    build_stage_table,
    describe_accuracy_change,
    describe_evaluations,
    format_statistic,
    select_layers,
)
from harness.presentation.tables import Column
from tests.presentation.evaluation_samples import DATA, evaluated_result, layer, statistic


def texts(columns: list[Column], name: str) -> list[str]:
    return [cell.text for column in columns if column.name == name for cell in column.cells]


def test_a_row_has_latency_size_and_fidelity_with_intervals() -> None:
    columns = build_evaluation_table([evaluated_result("q8"), evaluated_result("fp32", latency_ms=2.0)])
    assert texts(columns, "latency") == ["1.00 ms", "2.00 ms"]
    assert texts(columns, "size") == ["1.00 MiB", "1.00 MiB"]
    assert texts(columns, "SQNR")[0] == "30 dB [29.5, 30.5]"
    assert texts(columns, "top-1 agreement")[0] == "89 % [78, 96]"
    assert texts(columns, "pareto") == ["best", "worse than q8"]


def test_outputs_that_are_not_numbers_are_shown_instead_of_figures() -> None:
    columns = build_evaluation_table([evaluated_result("q8", nan_examples=3)])
    assert texts(columns, "SQNR") == ["3 of 360 examples give NaN"]
    assert texts(columns, "top-1 agreement") == [""]
    assert texts(build_stage_table([evaluated_result("q8", nan_examples=3)]), "faults") == [
        "3 of 360 examples give NaN"
    ]


def test_identical_outputs_have_a_reason_and_no_figure() -> None:
    assert format_statistic(statistic("sqnr", None)) == "there is no difference"


def test_the_lines_tell_the_examples_once_and_how_many_tell_a_point() -> None:
    results = [evaluated_result("one"), evaluated_result("two")]
    lines = [line.text for line in describe_evaluations(results)]
    assert lines[0] == "360 examples with labels: scikit-learn's digits, held-out part"
    assert lines[1:] == ["· about 2,000 examples would tell one point of top-1 agreement"]


def test_a_change_in_accuracy_is_told_with_its_test() -> None:
    difference = statistic("top1_accuracy_difference", -0.02, -0.038, -0.006)
    lost = StageEvaluation(
        stage=Stage.HOST,
        examples=500,
        statistics=(difference,),
        mcnemar=McNemar(reference_only=12, stage_only=2, p_value=0.0129),
    )
    assert describe_accuracy_change(lost) == (
        "accuracy of host -2 points [-3.8, -0.6]: worse than eager "
        "(McNemar's test, p = 0.0129: 12 examples lost, 2 gained)"
    )
    kept = lost.model_copy(update={"mcnemar": McNemar(reference_only=5, stage_only=2, p_value=0.45)})
    assert "no difference to eager is shown (McNemar's test, p = 0.45" in describe_accuracy_change(kept)
    assert describe_accuracy_change(lost.model_copy(update={"mcnemar": None})) == ""


def test_the_layers_with_the_largest_gaps_keep_their_order() -> None:
    layers = [layer("a", 40.0), layer("b", 10.0), layer("c", None), layer("d", 20.0)]
    evaluation = Evaluation(data=DATA, layers=tuple(layers))
    assert [gap.name for gap in select_layers(evaluation, 2)] == ["b", "d"]
    table = build_layer_table([evaluated_result("q8", layers=layers)], at_most=None)
    assert texts(table, "layer") == ["a", "b", "d"]
    assert texts(table, "benchmark") == ["q8", "", ""]


def test_the_eager_model_has_a_row_only_where_its_accuracy_is_known() -> None:
    result = evaluated_result("q8")
    assert result.evaluation is not None
    eager = StageEvaluation(stage=Stage.EAGER, examples=360)
    accurate = eager.model_copy(update={"statistics": (statistic("top1_accuracy", 0.9),)})
    for stage, shown in ((eager, ["host"]), (accurate, ["eager", "host"])):
        evaluation = result.evaluation.model_copy(update={"stages": (stage, *result.evaluation.stages)})
        table = build_stage_table([result.model_copy(update={"evaluation": evaluation})])
        assert texts(table, "stage") == shown
