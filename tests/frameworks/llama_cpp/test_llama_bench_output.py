"""Figures of llama-bench in each layout: recorded outputs (see recorded/README.md), older ones, and hostile ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.llama_cpp.bench_output import parse_bench
from harness.core.metric import Observation
from harness.core.note import Note
from harness.testing.frameworks import benchmark_of

RECORDED = Path(__file__).parent / "recorded"


def _parse(text: str, threads: int | None = None) -> tuple[dict[str, Observation], dict[str, Note]]:
    observations, notes = parse_bench(text, benchmark_of("llama_cpp", threads=threads))
    return {observation.name: observation for observation in observations}, {note.code: note for note in notes}


@pytest.mark.parametrize(
    ("layout", "prefill", "decode"),
    [
        ("json", (84434.2, 87853.8, 89497.6), (23511.0, 26281.9, 25119.4)),
        ("jsonl", (87736.7, 98720.8, 102925.0), (21475.2, 26622.1, 26718.3)),
    ],
)
def test_layouts_with_repetitions_give_samples(
    layout: str, prefill: tuple[float, ...], decode: tuple[float, ...]
) -> None:
    metrics, notes = _parse((RECORDED / f"bench.{layout}").read_text(), threads=1)
    assert (metrics["LLM prefill_rate"].samples, metrics["LLM decode_rate"].samples) == (prefill, decode)
    assert {metrics["LLM prefill_rate"].unit, metrics["LLM decode_rate"].unit} == {"tokens/s"}
    assert metrics["RUN runtime"].info == "llama.cpp 0c1e570 (b1)"
    assert metrics["RUN backend"].info == "CPU"
    assert metrics["RUN threads"].samples == (1.0,)
    assert not notes


@pytest.mark.parametrize(
    ("layout", "prefill"),
    [
        ("csv", {"mean": 94971.066423, "stdev": 4873.381396}),
        ("sql", {"mean": 87848.016495, "stdev": 11120.189215}),
        ("md", {"mean": 92222.45, "stdev": 8213.55}),
    ],
)
def test_layouts_with_averages_give_summaries_and_say_so(layout: str, prefill: dict[str, float]) -> None:
    metrics, notes = _parse((RECORDED / f"bench.{layout}").read_text(), threads=1)
    assert metrics["LLM prefill_rate"].summary == prefill
    assert metrics["LLM decode_rate"].summary is not None
    assert metrics["RUN runtime"].info == "llama.cpp 0c1e570 (b1)"
    assert metrics["RUN model_type"].info == "llama ?B (guessed) all F32"
    assert set(notes) == {"averages"}


def test_older_layouts_are_read() -> None:
    metrics, _ = _parse((RECORDED / "older_2023.md").read_text())
    assert metrics["LLM prefill_rate"].summary == {"mean": 2368.8, "stdev": 93.24}
    assert metrics["LLM decode_rate"].summary == {"mean": 131.42, "stdev": 0.59}
    assert (metrics["RUN runtime"].info, metrics["RUN backend"].info) == ("llama.cpp 3469684 (b1275)", "CUDA")
    metrics, _ = _parse((RECORDED / "older_2024.csv").read_text())
    assert metrics["LLM prefill_rate"].summary == {"mean": 2384.79, "stdev": 13.8}


def test_times_make_up_for_missing_rates() -> None:
    metrics, _ = _parse('{"n_prompt": 0, "n_gen": 4, "samples_ns": [2000000000, 1000000000]}')
    assert metrics["LLM decode_rate"].samples == (2.0, 4.0)


def test_several_tests_of_a_kind_have_the_names_of_its_table() -> None:
    line = '{{"n_prompt": {}, "n_gen": 0, "n_depth": {}, "n_batch": {}, "avg_ts": 1.5}}\n'
    metrics, _ = _parse("".join(line.format(*each) for each in ((64, 0, 8), (64, 512, 8), (64, 0, 9), (64, 0, 9))))
    assert list(metrics) == [
        "pp64 n_batch=8 prefill_rate",
        "pp64@d512 prefill_rate",
        "pp64 n_batch=9 prefill_rate",
        "pp64 n_batch=9 #2 prefill_rate",
    ]


def test_other_threads_than_wanted_are_noted() -> None:
    _, notes = _parse((RECORDED / "bench.jsonl").read_text(), threads=2)
    assert notes["threads"].message == "llama-bench used 1 threads instead of 2"
    assert not notes["threads"].trust


@pytest.mark.parametrize("layout", ["json", "jsonl", "csv", "sql"])
def test_an_output_that_is_cut_off_keeps_what_is_whole(layout: str) -> None:
    text = (RECORDED / f"bench.{layout}").read_text()
    metrics, notes = _parse(text[: text.rindex("2026-")])
    assert "LLM prefill_rate" in metrics
    assert "LLM decode_rate" not in metrics
    assert "bad_lines" in notes


def test_values_with_quotes_lose_only_their_test() -> None:
    text = (RECORDED / "bench.sql").read_text().replace("tiny.gguf", "a', 'b.gguf", 1)
    metrics, notes = _parse(text)
    assert "LLM prefill_rate" not in metrics
    assert "LLM decode_rate" in metrics
    assert "42 columns" in notes["bad_lines"].message


@pytest.mark.parametrize(
    "line",
    [
        '{"n_prompt": 1, "n_gen": 0, "avg_ts": NaN}',
        '{"n_prompt": 1, "n_gen": 0, "avg_ts": -3}',
        '{"n_prompt": "1", "n_gen": 0, "avg_ts": 3}',
        '{"n_prompt": 1, "n_gen": 0, "avg_ts": 1e400}',
        '{"n_prompt": 1, "n_gen": 0, "samples_ts": [1, null]}',
        '{"n_prompt": 1, "n_gen": 0, "avg_ts": 3, "model_type": "' + "x" * 500 + '"}',
        '{"n_prompt": 1, "n_gen": 0, "avg_ts": 0}',
        '{"n_prompt": 0, "n_gen": 0, "samples_ns": [0]}',
    ],
)
def test_figures_that_cannot_be_are_none_and_noted(line: str) -> None:
    metrics, notes = _parse(f"{line}\n")
    assert not any(observation.samples or observation.summary for observation in metrics.values())
    assert {"bad_lines", "lost_metric"} & set(notes)


@pytest.mark.parametrize(
    "text",
    [
        '{"n_prompt":\n' * 100_000,
        '{"n_prompt": 1, "a": "' * 100_000,
        "{\n" * 100_000,
        "|" * 1_000_000,
        "| test | t/s |\n" * 50_000,
        "| test | t/s |\n" + "| pp1 | 1.0 ± 0.1 |\n" * 10_000,
        "build_commit," * 100_000 + "\n" + '"' * 300_000,
        "INSERT INTO a (" + "a, " * 100_000 + ") VALUES ('" + "', '" * 100_000,
        "INSERT INTO a (a) VALUES ('" * 30_000,
    ],
    ids=range(9),
)
@pytest.mark.timeout(120)
def test_hostile_output_is_bounded_and_nothing_is_lost_silently(text: str) -> None:
    metrics, notes = _parse(f"{text}\n{(RECORDED / 'bench.jsonl').read_text()}")
    assert any(name.endswith("decode_rate") for name in metrics) or "the rest is not read" in notes["bad_lines"].message
