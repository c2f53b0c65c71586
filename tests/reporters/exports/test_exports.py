"""Foreign formats hold what they can, say what they cannot, and stay well-formed whatever a result is called."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Final, NoReturn

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.config.settings import Settings
from harness.core.errors import UsageError
from harness.core.result import Result, make_writable
from harness.foreign.pytorch_v3 import PyTorchV3Format
from harness.testing.results import DEVICE, failed_result, ok_result, report_of, timing
from reporters import bencher, github_action_benchmark, openmetrics, pytorch_v3
from tests.reporters.exports.exported import FOLDER, RENDERERS, current, exported_results, measured_elsewhere

_SCHEMA: Final = json.loads((Path(__file__).parent / "pytorch_v3.schema.json").read_text(encoding="utf-8"))
_HOSTILE: Final = (
    "<script>",
    'a"b\\c\nd',
    "\0",
    "\u202etxt.exe",
    "../../etc",
    "",
    "x" * 100_000,
    "NaN",
    "\ud800",
    "a/b",
)
_LABELS: Final = r'\{(?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*\}'
_LINE: Final = re.compile(
    r"# (TYPE [a-z0-9_]+ gauge|UNIT [a-z0-9_]+ [a-z0-9_]+|HELP [a-z0-9_]+ .*|EOF)"
    rf"|[a-z][a-z0-9_]*{_LABELS} -?[0-9.]+(e[+-]?[0-9]+)?"
)


def _load(text: str) -> object:
    def refuse(word: str) -> NoReturn:
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


def _check(name: str, results: list[Result]) -> None:
    for text in RENDERERS[name]([make_writable(result) for result in results]).texts:
        text.encode()
        if name == "openmetrics":
            _check_openmetrics(text)
            continue
        document = _load(text)
        if name == "pytorch_v3":
            jsonschema.validate(document, _SCHEMA)


def _check_openmetrics(text: str) -> None:
    lines = text.removesuffix("\n").split("\n")
    assert lines[-1] == "# EOF"
    assert lines.count("# EOF") == 1
    families = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(families) == len(set(families))
    samples = [line.rpartition(" ")[0] for line in lines if not line.startswith("#")]
    assert len(samples) == len(set(samples))
    family = ""
    for line in lines:
        assert _LINE.fullmatch(line), line
        if line.startswith("# TYPE"):
            family = line.split()[2]
        elif line.startswith("# UNIT"):
            assert family.endswith(f"_{line.split()[3]}")
        elif not line.startswith("#"):
            assert line.partition("{")[0] == family


@pytest.mark.parametrize("name", sorted(current()))
def test_files_are_as_they_are_kept(name: str) -> None:
    kept = (FOLDER / name).read_text(encoding="utf-8")
    assert current()[name] == kept, "run python -m tests.reporters.exports.exported and look at the difference"


@pytest.mark.parametrize("name", RENDERERS)
def test_files_are_well_formed(name: str) -> None:
    _check(name, exported_results())
    _check(name, [])


@pytest.mark.parametrize("text", _HOSTILE, ids=range(len(_HOSTILE)))
@pytest.mark.parametrize("name", RENDERERS)
def test_hostile_names_are_text(name: str, text: str) -> None:
    device = DEVICE.model_copy(update={"name": text, "identity": text or "x", "os": text, "cores": -1})
    odd = timing(text, text, text, (1.0, 2.0))
    measured = ok_result(model=text, identifier=text, device=device)
    measured = measured.model_copy(update={"metrics": (*measured.metrics, odd)})
    _check(name, [measured, failed_result(model=text, identifier=text, reason=text, device=device), measured])


@settings(deadline=None, max_examples=50)
@given(
    samples=st.lists(st.floats(), min_size=1, max_size=5),
    unit=st.sampled_from(["ns", "us", "ms", "s", "bytes", "MB", "J", "", "tokens/s", "%"]),
    median=st.none() | st.floats(),
    started=st.floats(),
)
@pytest.mark.parametrize("name", RENDERERS)
def test_no_number_breaks_a_file(
    name: str, samples: list[float], unit: str, median: float | None, started: float
) -> None:
    metric = timing("NET", "latency", unit, (1.0,) * len(samples))
    metric = metric.model_copy(update={"samples": tuple(samples), "summary": {"p50": median, "mean": samples[0]}})
    _check(name, [ok_result().model_copy(update={"metrics": (metric,), "started": started})])


@given(st.lists(st.floats(1e-3, 1e12), min_size=1), st.sampled_from(["ns", "us", "ms", "s"]))
def test_times_for_pytorch_are_at_least_one_and_never_nanoseconds(samples: list[float], unit: str) -> None:
    metric = timing("NET", "latency", unit, samples)
    text = pytorch_v3.render([ok_result().model_copy(update={"metrics": (metric,)})]).texts[0]
    record = json.loads(text)[0]["metric"]
    assert record["name"] in {"avg_inference_latency(ms)", "avg_inference_latency(us)"}
    factor = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}[unit] / (1e3 if "(ms)" in record["name"] else 1.0)
    assert record["benchmark_values"] == pytest.approx([sample * factor for sample in samples])
    assert "(us)" in record["name"] or min(record["benchmark_values"]) >= 1


def test_failures_are_records_of_pytorch() -> None:
    run = pytorch_v3.render(exported_results())
    failures = [record for record in json.loads(run.texts[0]) if record["metric"]["name"] == "FAILURE_REPORT"]
    kinds = [record["benchmark"]["extra_info"]["failure_type"] for record in failures]
    assert kinds == ["DEVICE_JOB", "DEVICE_JOB", "GIT_JOB"]
    assert [record["metric"]["benchmark_values"] for record in failures] == [[0]] * 3
    assert [record["benchmark"]["extra_info"]["job_conclusion"] for record in failures][1] == "timed_out"
    assert run.omitted == "2 texts, 1 skipped result"


@pytest.mark.parametrize("name", ["bencher", "github_action_benchmark"])
def test_failures_that_have_no_place_are_counted(name: str) -> None:
    assert RENDERERS[name](exported_results()).omitted == "2 texts, 3 failed results, 1 skipped result"


def test_failures_are_gauges_of_openmetrics() -> None:
    lines = openmetrics.render(exported_results()).texts[0].split("\n")
    assert [line[-3:] for line in lines if line.startswith("harness_result_ok{")] == ["1.0"] * 2 + ["0.0"] * 4 + ["1.0"]


@pytest.mark.parametrize("name", RENDERERS)
def test_figures_from_elsewhere_are_marked(name: str) -> None:
    texts = "".join(RENDERERS[name]([measured_elsewhere()]).texts)
    assert "elsewhere" in texts
    assert "elsewhere" not in "".join(RENDERERS[name]([ok_result(uid="x")]).texts)


def test_what_was_written_for_pytorch_can_be_imported() -> None:
    slow = ok_result(samples=(81.5, 82.25, 80.75))
    content = PyTorchV3Format().read(pytorch_v3.render([slow, failed_result(model="other")]).texts[0], "x.json")
    assert content.problems == ()
    measured, failed = content.records
    assert measured.observations[0].samples == (81.5, 82.25, 80.75)
    assert "FAILURE_REPORT" in (failed.reason or "")


def test_benchmarks_of_one_model_are_not_averaged_by_pytorch() -> None:
    results = [ok_result(identifier=f"mv2-xnnpack_fp32-t{threads}") for threads in (1, 4)]
    models = [record["model"] for record in json.loads(pytorch_v3.render(results).texts[0])]
    assert {(model["name"], model["backend"]) for model in models} == {
        ("mv2", "xnnpack_fp32-t1"),
        ("mv2", "xnnpack_fp32-t4"),
    }


def test_bounds_contain_the_median() -> None:
    document = json.loads(bencher.render([ok_result()]).texts[0])
    (measures,) = document.values()
    latency = measures["latency"]
    assert latency["lower_value"] <= latency["value"] <= latency["upper_value"]
    assert math.isclose(latency["value"], 0.81375e6)


def test_directions_go_to_their_files() -> None:
    smaller, bigger = (json.loads(text) for text in github_action_benchmark.render([ok_result()]).texts)
    assert [entry["name"].rpartition(" ")[2] for entry in smaller] == ["latency", "load_time"]
    assert [entry["name"].rpartition(" ")[2] for entry in bigger] == ["top1"]


def test_the_reporter_says_what_it_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "b.json"
    reporter = bencher.create(Settings(reporters={"bencher": str(file)}))
    assert reporter is not None
    for result in (ok_result(), failed_result()):
        assert reporter.report(report_of(result)) == str(file)
    assert json.loads(file.read_text(encoding="utf-8"))
    assert reporter.unreported == 0
    reporter.close()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert "no place for 1 text, 1 failed result" in captured.err


def test_a_reporter_without_a_file_is_refused() -> None:
    with pytest.raises(UsageError, match="names no file"):
        pytorch_v3.create(Settings(reporters={"pytorch_v3": ""}))
    assert pytorch_v3.create(Settings()) is None
