"""Headings of measurements, and the table of further metrics."""

from __future__ import annotations

from harness.core.device import Device
from harness.core.metric import Metric
from harness.presentation.measurement_table import build_further_metrics, build_overview, format_title
from harness.testing.results import DEVICE, ok_result


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


def _heading(*devices: Device) -> str:
    return format_title([ok_result().model_copy(update={"device": device}) for device in devices]).text


def test_the_heading_names_microarchitecture_and_vector_extensions() -> None:
    device = DEVICE.model_copy(update={"microarchitecture": "Zen 5", "extensions": ("avx2", "avx512f", "avx512_vnni")})
    assert "(Example CPU, Zen 5 AVX-512 VNNI, 4 CPUs)" in _heading(device, device)
    assert "(Example CPU, 4 CPUs)" in _heading(DEVICE), "an older result does not say"


def test_devices_of_one_name_on_other_processors_are_no_common_heading() -> None:
    new = DEVICE.model_copy(update={"microarchitecture": "Zen 5", "extensions": ("avx2", "avx512f")})
    old = DEVICE.model_copy(update={"microarchitecture": "Zen 2", "extensions": ("avx2",)})
    assert "Example CPU, " not in _heading(new, old)
    columns = build_overview([ok_result().model_copy(update={"device": device}) for device in (new, old)])
    cells = next(column.cells for column in columns if column.name == "device")
    assert [("Zen 5" in cell.text, "Zen 2" in cell.text) for cell in cells] == [(True, False), (False, True)]
