"""Table of further metrics."""

from __future__ import annotations

from harness.core.metric import Metric
from harness.presentation.measurement_table import build_further_metrics
from harness.testing.results import ok_result


def _energy(type_: str, energy_mj: float) -> Metric:
    return Metric(
        name=f"{type_} energy",
        type=type_,
        metric="energy",
        unit="mJ",
        samples=(energy_mj,),
        launches=(0,),
        summary={"p50": energy_mj, "MAD": 0.0, "p90": energy_mj, "n": 1.0},
    )


def test_energy_is_among_the_further_metrics() -> None:
    result = ok_result()
    energies = (_energy("RUN", 250.0), _energy("NET", 19.5), _energy("rail S2M_VDD_CPUCL2", 230.5))
    columns = build_further_metrics([result.model_copy(update={"metrics": (*result.metrics, *energies)})])
    shown = [" ".join(column.cells[row].text for column in columns) for row in range(len(columns[0].cells))]
    for name, value in (("RUN energy", "250 mJ"), ("NET energy", "19.5 mJ"), ("rail S2M_VDD_CPUCL2", "230 mJ")):
        assert any(name in line and value in line for line in shown), shown
