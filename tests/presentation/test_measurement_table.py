"""Headings of measurements, and the table of further metrics."""

from __future__ import annotations

from collections.abc import Sequence

from harness.analysis.summary import collect
from harness.core.device import Device
from harness.core.metric import Metric, Observation
from harness.core.note import THROTTLED, Note
from harness.core.result import Result
from harness.core.same_work import SameWork, WorkVerdict
from harness.presentation.measurement_table import build_further_metrics, build_overview, format_title
from harness.presentation.speeds import describe_fastest
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


def test_the_tail_of_a_rate_is_its_low_end() -> None:
    """The 90th percentile of tokens per second is that of the fastest tenth, and looks like a worst case."""
    names = (("latency", "us"), ("decode_rate", "tokens/s"))
    observed = [Observation(type="LLM", metric=name, unit=unit, samples=range(1, 12)) for name, unit in names]
    latency, rate = collect([observed])[0]
    result = ok_result()
    one = build_overview([result.model_copy(update={"metrics": (rate,)})])
    assert next(column.cells[0].text for column in one if column.name == "p10") == "2 tokens/s"
    both = build_overview([result.model_copy(update={"metrics": (metric,)}) for metric in (latency, latency, rate)])
    assert [cell.text for column in both if column.name == "p90" for cell in column.cells][1:] == [
        "10.0 µs",
        "p10 2 tokens/s",
    ]


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


def test_threads_are_those_that_the_runtime_tells_else_asked_for_else_observed() -> None:
    def heading(told: float | None, asked: int | None) -> str:
        counts = {"threads_observed": 3.0} | ({} if told is None else {"threads": told})
        result = ok_result()
        metrics = [metric for metric in result.metrics if metric.name != "RUN threads"]
        for name, count in counts.items():
            observation = Observation(type="RUN", metric=name, unit="", samples=(count,))
            metrics.extend(collect([[observation]])[0])
        benchmark = result.benchmark.model_copy(update={"threads": asked})
        return format_title([result.model_copy(update={"metrics": tuple(metrics), "benchmark": benchmark})]).text

    assert "4 threads" in heading(told=4.0, asked=2)
    assert "2 threads" in heading(told=None, asked=2)
    assert "3 threads" in heading(told=None, asked=None)


def _proven(verdict: WorkVerdict, framework: str = "executorch", largest: float | None = 2e-7) -> Result:
    result, proof = ok_result(), SameWork(verdict=verdict, largest_difference=largest, weights_md5="0" * 32)
    benchmark = result.benchmark.model_copy(update={"framework": framework})
    return result.model_copy(update={"same_work": proof, "benchmark": benchmark})


def _cells(results: Sequence[Result], name: str) -> list[str]:
    return [cell.text for column in build_overview(results) if column.name == name for cell in column.cells]


def test_other_work_is_marked_and_has_no_speed() -> None:
    same, different = _proven(WorkVerdict.SAME), _proven(WorkVerdict.DIFFERENT, largest=0.12)
    unknown = _proven(WorkVerdict.NOT_COMPARED, largest=None)
    results = [same, different, same.model_copy(update={"uid": "second"}), unknown]

    assert _cells(results, "") == ["", "≠", "", ""]
    assert _cells(results, "outputs") == ["2.0e-07", "DIFFERENT 1.2e-01", "2.0e-07", "not compared"]
    assert _cells(results, "speed") == ["1.00×", "", "1.00×", ""]


def test_frameworks_are_not_ranked_by_launches_that_were_not_paired() -> None:
    results = [_proven(WorkVerdict.SAME), _proven(WorkVerdict.SAME, framework="pytorch")]

    assert _cells(results, "speed") == ["", ""]
    assert [line.text for line in describe_fastest(results)] == [
        "mv2: executorch and pytorch are not ranked here; `harness rank` does that, by pairs of launches"
    ]


def test_a_throttled_figure_is_marked() -> None:
    note = Note(code=THROTTLED, message="became slower", trust=False)
    usual, throttled = ok_result(), ok_result().model_copy(update={"notes": (note,)})
    first, second = _cells([usual, throttled], "median")
    assert second == f"{first} (throttled)"
