"""Formats of other tools: what their files mean, and that nothing in them is lost or believed blindly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import plugins
from harness.core.foreign import ForeignContent, ForeignRecord
from harness.core.outcome import Outcome
from harness.formats.json_entries import read_entries

SAMPLES = Path(__file__).parent / "samples"
FILES = {file.stem: file.read_text(encoding="utf-8") for file in SAMPLES.iterdir() if file.suffix != ".md"}
FORMATS = {name: plugins.foreign_format(name) for name in plugins.installed_names("format")}


def _read(name: str, text: str | None = None) -> ForeignContent:
    return FORMATS[name].read(FILES[name] if text is None else text, name)


def _facts(record: ForeignRecord) -> tuple[object, ...]:
    main = record.observations[0] if record.observations else None
    figure = None if main is None else (main.name, main.unit, main.samples or main.summary)
    return (
        record.place,
        record.model,
        record.identifier,
        record.framework,
        record.backend,
        record.device.name,
        record.device.os,
        record.build.commit if record.build else None,
        record.outcome.value,
        record.published,
        record.count,
        figure,
    )


GOLDEN: dict[str, list[tuple[object, ...]]] = {
    "executorch_llm": [
        (
            "line 2 to line 6",
            "unnamed",
            "17 prompt tokens",
            "executorch",
            "",
            "",
            "",
            None,
            "ok",
            None,
            5,
            (
                "LLM generate_tokens_per_second",
                "tokens/s",
                tuple(23_000 / duration for duration in (3583, 3704, 6949, 8364, 6805)),
            ),
        ),
    ],
    "mlperf_client": [
        (
            "line 1",
            "Llama 3.1 8B Instruct",
            "llamacpp GPU",
            "mlperf_client",
            "llamacpp",
            "Example CPU",
            "Example OS 11",
            "2.0.0",
            "ok",
            48.125,
            None,
            ("mlperf_client decode_rate", "tokens/s", {"mean": 48.125}),
        ),
        (
            "line 2",
            "Phi 4 Mini",
            "OrtGenAI NPU",
            "mlperf_client",
            "OrtGenAI",
            "Example CPU",
            "Example OS 11",
            "2.0.0",
            "failed",
            None,
            None,
            None,
        ),
        (
            "line 3",
            "FLUX.2 klein",
            "MLX GPU",
            "mlperf_client",
            "MLX",
            "Example CPU",
            "Example OS 26",
            "2.0.0",
            "ok",
            0.1,
            None,
            ("mlperf_client image_rate", "images/s", {"mean": 0.1}),
        ),
    ],
    "minibench": [
        (
            "line 1 to line 3",
            "mv2",
            "mv2-xnnpack_q8",
            "executorch",
            "xnnpack_q8",
            "acme AC-100",
            "Android 14",
            None,
            "ok",
            8.1245,
            None,
            ("NET latency", "ms", {"mean": 8.1245}),
        ),
        (
            "line 4 to line 5",
            "ic4",
            "ic4-qnn_q8",
            "executorch",
            "qnn_q8",
            "acme AC-100",
            "Android 14",
            None,
            "failed",
            None,
            None,
            None,
        ),
    ],
    "llama_bench": [
        (
            "line 1",
            "tiny-1b-q4_0",
            "pp512",
            "llama.cpp",
            "CPU",
            "Example CPU",
            "",
            "0123abcd",
            "ok",
            73.1,
            3,
            ("LLM prefill_rate", "tokens/s", (73.0, 73.1, 73.2)),
        ),
        (
            "line 2",
            "tiny-1b-q4_0",
            "tg128",
            "llama.cpp",
            "CPU",
            "Example CPU",
            "",
            "0123abcd",
            "ok",
            20.6,
            5,
            ("LLM decode_rate", "tokens/s", (24.1, 22.0, 20.2, 19.0, 17.7)),
        ),
    ],
    "xcresult": [
        (
            "line 2",
            "mv2",
            "mv2_xnnpack_q8-forward",
            "executorch",
            "xnnpack_q8",
            "Lab phone 3",
            "iOS 17.2.1",
            None,
            "ok",
            None,
            5,
            ("NET latency", "s", (0.010112, 0.010012, 0.009912, 0.010212, 0.010002)),
        ),
        (
            "line 3",
            "mv2",
            "mv2_xnnpack_q8-load",
            "executorch",
            "xnnpack_q8",
            "Lab phone 3",
            "iOS 17.2.1",
            None,
            "ok",
            None,
            2,
            ("RUN load_time", "s", (0.0201, 0.0203)),
        ),
        (
            "line 4",
            "mv3",
            "mv3_coreml_fp32-forward",
            "executorch",
            "coreml_fp32",
            "iPhone15,4",
            "iOS 17.2.1",
            None,
            "failed",
            None,
            2,
            ("NET latency", "s", (0.0042, 0.0043)),
        ),
    ],
    "xctest": [
        (
            "line 3 to line 4",
            "mv2",
            "mv2_xnnpack_q8-forward",
            "executorch",
            "xnnpack_q8",
            "iPhone15,4",
            "iOS 17.2.1",
            None,
            "ok",
            0.01,
            5,
            ("NET latency", "s", (0.010112, 0.010012, 0.009912, 0.010212, 0.010002)),
        ),
        (
            "line 5",
            "mv3",
            "mv3_coreml_fp32-load",
            "executorch",
            "coreml_fp32",
            "iPhone15,4",
            "iOS 17.2.1",
            None,
            "failed",
            None,
            None,
            None,
        ),
    ],
    "pytorch_v3": [
        (
            "line 1",
            "mv2",
            "mv2-xnnpack_q8",
            "executorch",
            "xnnpack_q8",
            "Example Phone",
            "Android 14",
            "0123456789abcdef0123456789abcdef01234567",
            "ok",
            None,
            5,
            ("NET latency", "ms", (8.1, 8.2, 8.15, 8.12, 8.11)),
        ),
        (
            "line 2",
            "ic4",
            "ic4-qnn_q8",
            "executorch",
            "qnn_q8",
            "Example Phone",
            "Android 14",
            "0123456789abcdef0123456789abcdef01234567",
            "failed",
            None,
            None,
            None,
        ),
    ],
}


@pytest.mark.parametrize("name", GOLDEN)
def test_records_are_what_the_file_says(name: str) -> None:
    content = _read(name)
    assert [_facts(record) for record in content.records] == GOLDEN[name]
    assert content.problems == ()


def test_rows_of_the_leaderboard_keep_every_iteration() -> None:
    chat, picture, failed = _read("litert_leaderboard").records
    assert chat.observations[0].samples == (6.416, 6.21, 3.307, 2.749, 3.378)
    assert (chat.published, chat.published_as, chat.warmup) == (3.343, "median without the first, a warm-up", 1)
    assert picture.observations[0].summary is not None
    assert (picture.observations[0].summary["p50"], picture.count, picture.backend) == (6.4, 140, "gpu")
    assert (failed.outcome, failed.reason) == (Outcome.FAILED, "the file calls it `failed`")


def test_failures_of_files_say_why() -> None:
    reasons = {name: [record.reason for record in _read(name).records if record.reason] for name in GOLDEN}
    assert reasons == {
        "minibench": [
            "the program could not be loaded: load_status 32 (the file also says avg_inference_latency(ms) 0)"
        ],
        "executorch_llm": [],
        "llama_bench": [],
        "mlperf_client": ["MLPerf Client calls it failed: Failed to create tokenizer"],
        "xcresult": ["the result bundle calls the test failed"],
        "xctest": ["the test failed after 3.211 s (line 5)"],
        "pytorch_v3": ["FAILURE_REPORT: failure_type DEVICE_JOB, job_conclusion failure"],
    }


def test_a_log_with_reports_alone_is_read() -> None:
    report = (Path(__file__).parents[1] / "frameworks" / "executorch" / "recorded" / "llm_report.txt").read_text()
    content = _read("executorch_llm", report + report.replace("Prompt Tokens: 17", "Prompt Tokens: 20"))
    assert [record.identifier for record in content.records] == ["17 prompt tokens", "20 prompt tokens"]
    assert list(content.records[0].observations[0].samples) == pytest.approx([23 / 0.290])
    assert content.records[0].time is None


def test_a_load_that_was_not_measured_is_absent_and_the_device_tells_when() -> None:
    (record,) = _read("executorch_llm").records
    samples = {observation.name: len(observation.samples) for observation in record.observations}
    assert samples["LLM model_load_time"] == 1
    assert samples["LLM time_to_first_token"] == 5
    assert "LLM sampling_time" not in samples
    assert record.time == pytest.approx(1795474295.331)


@pytest.mark.parametrize("value", ["-1", '"1"', "null", "1e999", "true", "{}"])
def test_statistics_that_are_none_are_problems_with_their_line(value: str) -> None:
    lines = FILES["executorch_llm"].splitlines()
    lines[3] = lines[3].replace('"prompt_tokens":17', f'"prompt_tokens":{value}')
    content = _read("executorch_llm", "\n".join(lines))
    assert [problem.place for problem in content.problems] == ["line 4"]
    assert content.records[0].count == 4


def test_means_of_categories_stand_beside_those_over_all_and_zeros_are_absent() -> None:
    first = _read("mlperf_client").records[0]
    assert {observation.name: (observation.summary or {})["mean"] for observation in first.observations} == {
        "mlperf_client decode_rate": 48.125,
        "mlperf_client time_to_first_token": 0.512,
        "mlperf_client.code_analysis decode_rate": 45.5,
        "mlperf_client.code_analysis time_to_first_token": 0.931,
        "mlperf_client.content_generation decode_rate": 50.901,
        "mlperf_client.content_generation time_to_first_token": 0.281,
        "mlperf_client.summarization_intermediate time_to_first_token": 1.9,
    }
    assert first.axes == {"ep_device_type": "GPU", "ep_gpu_layers": 999}
    assert first.time == 1772037495.269


def test_categories_of_similar_names_stay_apart() -> None:
    entry = json.loads(FILES["mlperf_client"].splitlines()[0])
    figures = {"Avg 2nd+ Token Generation Rate": 2.0}
    entry["category_results"] = {"Code Analysis": figures, "code-analysis": figures, "!": figures, "none": None}
    (record,) = _read("mlperf_client", json.dumps(entry)).records
    types = [observation.type for observation in record.observations[2:]]
    assert types == ["mlperf_client.Code Analysis", "mlperf_client.code-analysis", "mlperf_client.!"]


@pytest.mark.parametrize("start", ["", "13-40-2026 25:61:00.000 +01:00", "02-25-2026 17:38:15.269", "02-25-2026 +"])
def test_a_start_that_is_none_leaves_the_time_open(start: str) -> None:
    entry = json.loads(FILES["mlperf_client"].splitlines()[0]) | {"Benchmark Start Time": start}
    (record,) = _read("mlperf_client", json.dumps(entry)).records
    assert record.time is None
    assert record.time_note


@pytest.mark.parametrize(
    "change",
    [
        {"Benchmark Success": "true"},
        {"Benchmark Success": 1},
        {"overall_results": {"Geomean Time to First Token": -1}},
        {"category_results": {"x" * 401: None}},
    ],
)
def test_a_line_of_mlperf_client_that_cannot_be_read_is_a_problem(change: dict[str, object]) -> None:
    entry = json.loads(FILES["mlperf_client"].splitlines()[0]) | change
    content = _read("mlperf_client", json.dumps(entry))
    assert content.records == ()
    assert content.problems[0].place == "line 1"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"testIdentifier": "no test"}, "the identifier of the test is not `CLASS/TEST()`"),
        ({"testRuns": []}, "the test has no run"),
        ({"testRuns": [{"metrics": [{"displayName": "x", "measurements": ["1"]}]}]}, "measurements.0"),
        ({"testRuns": [{"metrics": [{"displayName": "x", "measurements": [1e300]}]}]}, "measurements.0"),
    ],
)
def test_a_test_of_a_result_bundle_that_cannot_be_read_is_named(change: dict[str, object], reason: str) -> None:
    entry = {**json.loads(FILES["xcresult"])[0], **change}
    content = _read("xcresult", json.dumps([entry]))
    assert content.records == ()
    assert reason in content.problems[0].reason


def test_a_test_that_ran_twice_is_two_records_and_one_without_figures_has_failed() -> None:
    entry = json.loads(FILES["xcresult"])[0]
    entry["testRuns"] = [*entry["testRuns"], {"metrics": []}]
    first, second = _read("xcresult", json.dumps([entry])).records
    assert (first.outcome, second.outcome) == (Outcome.OK, Outcome.FAILED)
    assert second.reason


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_is_recognised_by_its_format_only(name: str) -> None:
    assert [other for other, form in FORMATS.items() if form.recognises(FILES[name], "results")] == [name]
    assert not FORMATS[name].recognises("", "results")


def test_a_list_that_was_cut_off_gives_what_is_whole() -> None:
    entries, problems = read_entries('[{"a": 1},\n {"a": 2},\n {"a":')
    assert [entry.value for entry in entries] == [{"a": 1}, {"a": 2}]
    assert [(problem.place, problem.reason[:8]) for problem in problems] == [("line 3", "not JSON")]


def test_lines_after_a_damaged_one_are_read() -> None:
    entries, problems = read_entries('{"a": 1}\n{"a"\n{"a": 3}\n')
    assert [entry.line for entry in entries] == [1, 3]
    assert [problem.place for problem in problems] == ["line 2"]


@pytest.mark.parametrize("figure", ["1e999", "NaN", "-1", '"20"', "true", "1e300", "[]", "1" * 5000])
def test_figures_that_are_none_are_named_with_their_line(figure: str) -> None:
    line = FILES["llama_bench"].splitlines()[0].replace("[73.0,73.1,73.2]", f"[73.0,{figure}]")
    content = _read("llama_bench", f"{line}\n{FILES['llama_bench']}")
    assert [problem.place for problem in content.problems] == ["line 1"]
    assert len(content.records) == 2


def test_nesting_without_end_is_a_problem() -> None:
    content = _read("pytorch_v3", "[" + '{"a":' * 200_000)
    assert content.records == ()
    assert len(content.problems) == 1


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"executorch_llm", "xctest"}))
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_change_of_an_entry_is_a_record_or_a_named_problem(name: str, data: st.DataObject) -> None:
    entries = [entry.value for entry in read_entries(FILES[name])[0]]
    place = data.draw(st.integers(0, len(entries) - 1))
    entry = json.loads(json.dumps(entries[place]))
    key = data.draw(st.sampled_from(sorted(entry)))
    inner = entry[key]
    if isinstance(inner, dict) and data.draw(st.booleans()):
        inner[data.draw(st.sampled_from(sorted(inner)))] = data.draw(_JSON)
    else:
        entry[key] = data.draw(_JSON)
    changed = [*entries[:place], entry, *entries[place + 1 :]]
    content = _read(name, json.dumps(changed))
    assert content.entries == len(entries)


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_damage_raises(name: str, data: st.DataObject) -> None:
    text = FILES[name]
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(len(text), begin + 60)))
    _read(name, text[:begin] + data.draw(st.text(max_size=20)) + text[end:])


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet="[],:.0123456789eE-+% '\n", max_size=80))
def test_every_line_of_a_log_that_measures_is_counted(noise: str) -> None:
    line = f"Test Case '-[Tests testIt]' measured [Clock Monotonic Time, s] average: {noise}"
    measured = sum("measured [" in each for each in line.splitlines())
    assert _read("xctest", line).entries == measured
