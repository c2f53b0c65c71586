"""The tables of generations."""

from __future__ import annotations

from harness.analysis.summary import collect
from harness.core.metric import Observation
from harness.core.result import Result
from harness.presentation.generations import build_definitions, build_generations
from harness.presentation.measurement_section import describe_measurements
from harness.presentation.measurement_table import build_further_metrics
from harness.presentation.tables import Column
from harness.testing.results import ok_result

OBSERVED = (
    Observation(type="LLM", metric="decode_rate", unit="tokens/s", samples=(80.0, 82.0)),
    Observation(type="LLM", metric="time_to_first_token", unit="ns", samples=(7e6, 8e6)),
    Observation(type="LLM", metric="token_latency", unit="ns", samples=(1e6, 2e6, 9e6)),
    Observation(type="LLM", metric="generation_time", unit="ns", samples=(9e7,)),
    Observation(type="llama_bench", metric="decode_rate", unit="tokens/s", samples=(80.0, 82.0)),
    Observation(type="executorch_stats", metric="inference_rate", unit="tokens/s", samples=(60.0, 62.0)),
)


def generated() -> Result:
    metrics, _ = collect([OBSERVED])
    return ok_result().model_copy(update={"metrics": metrics})


def rows(columns: list[Column]) -> list[dict[str, str]]:
    return [{column.name: column.cells[row].text for column in columns} for row in range(len(columns[0].cells))]


def test_a_generation_shows_what_a_user_feels() -> None:
    result = generated()
    (row,) = rows(build_generations([result, ok_result()]))
    assert row == {
        "benchmark": result.benchmark.title,
        "first token": "7.50 ms",
        "decode": "81 tokens/s",
        "each token": "2.00 ms",
        "p90": "7.60 ms",
        "p99": "8.86 ms",
    }


def test_definitions_of_tools_stand_side_by_side_and_a_benchmark_is_named_once() -> None:
    first, second = rows(build_definitions([generated(), ok_result()]))
    assert (first["in the definitions of"], first["decode"]) == ("llama bench", "81 tokens/s")
    assert (second["benchmark"], second["in the definitions of"]) == ("", "executorch stats")
    assert second["prompt and decode"] == "61 tokens/s"


def test_what_has_a_table_is_not_among_the_further_metrics() -> None:
    assert [row["metric"] for row in rows(build_further_metrics([generated()]))] == ["LLM generation_time"]


def test_results_without_tokens_have_no_table() -> None:
    section = describe_measurements([ok_result()])
    assert not section.generations.has_rows
    assert not section.definitions.has_rows
