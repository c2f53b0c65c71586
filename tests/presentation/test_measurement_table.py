"""Energy stands among the further metrics, the whole of a launch included."""

from __future__ import annotations

from harness.core.metric import Metric
from harness.presentation.measurement_table import build_further_metrics
from harness.testing.results import ok_result


def energy(type_: str, energy_mj: float) -> Metric:
    return Metric(
        name=f"{type_} energy",
        type=type_,
        metric="energy",
        unit="mJ",
        samples=(energy_mj,),
        launches=(0,),
        summary={"p50": energy_mj, "MAD": 0.0, "p90": energy_mj, "n": 1.0},
    )


def test_who_asked_for_energy_sees_it() -> None:
    result = ok_result()
    told = (energy("RUN", 250.0), energy("NET", 19.5), energy("rail S2M_VDD_CPUCL2", 230.5))
    columns = build_further_metrics([result.model_copy(update={"metrics": (*result.metrics, *told)})])
    shown = [" ".join(str(column.cells[row]) for column in columns) for row in range(len(columns[0].cells))]
    for name, value in (("RUN energy", "250 mJ"), ("NET energy", "19.5 mJ"), ("rail S2M_VDD_CPUCL2", "230 mJ")):
        assert any(name in line and value in line for line in shown), shown
