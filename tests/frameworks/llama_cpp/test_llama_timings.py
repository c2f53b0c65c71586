"""Timings of llama-cli, llama-completion and llama-server: recorded outputs, older ones, and hostile ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.llama_cpp.timings import parse_timings

RECORDED = Path(__file__).parent / "recorded"


def _parse(text: str) -> dict[str, tuple[str, tuple[float, ...]]]:
    return {metric.name: (metric.unit, metric.samples) for metric in parse_timings(text)}


def _recorded(name: str) -> dict[str, tuple[str, tuple[float, ...]]]:
    return _parse((RECORDED / name).read_text(encoding="utf-8", errors="replace"))


def test_timings_of_2023_are_read() -> None:
    metrics = _recorded("older_print_timings.txt")
    assert metrics["RUN load_time"] == ("ms", (576.45,))
    assert metrics["LLM sampling_time"] == ("ms", (283.10,))
    assert metrics["LLM prompt_tokens"] == ("tokens", (19.0,))
    assert metrics["LLM prefill_rate"][1] == pytest.approx((19 / 0.59983,))
    assert metrics["LLM decode_rate"][1] == pytest.approx((399 / 24.51359,))
    assert metrics["LLM total_time"] == ("ms", (25431.49,))


def test_timings_of_2025_are_read() -> None:
    metrics = _recorded("older_perf_print.txt")
    assert metrics["LLM prefill_rate"] == ("tokens/s", (100.0,))
    assert metrics["LLM decode_rate"] == ("tokens/s", (50.0,))
    assert metrics["LLM sampling_time"] == ("ms", (1.5,))


def test_recorded_timings_are_read() -> None:
    metrics = _recorded("completion.txt")
    assert metrics["LLM prefill_rate"] == ("tokens/s", (37280.70,))  # 17 tokens in 0.46 ms are 36957, or 37363
    assert metrics["LLM decode_rate"] == ("tokens/s", (18656.72,))
    assert metrics["LLM sampling_time"] == ("ms", (0.12,)), "the time of the samplers is part of that of sampling"


def test_log_lines_with_times_give_the_time_of_each_token() -> None:
    metrics = _recorded("completion_tokens.txt")
    assert metrics["LLM token_latency"] == ("us", (194.0, 101.0, 97.0, 62.0, 55.0))
    assert "LLM decode_rate" in metrics


def test_every_request_to_a_server_is_a_sample() -> None:
    metrics = _recorded("server_log.txt")
    assert metrics["LLM prefill_rate"] == ("tokens/s", (14729.95, 17204.30))
    assert metrics["LLM decode_rate"] == ("tokens/s", (7194.24, 8403.36))


def test_a_server_leaves_the_first_token_out_of_its_rate() -> None:
    line = "eval time =  8000.00 ms /  5 tokens ( 2000.00 ms per token,  0.50 tokens per second)"
    assert _parse(line)["LLM decode_rate"] == ("tokens/s", (0.5,))


def test_a_stream_gives_the_time_of_each_token_and_the_request_once() -> None:
    metrics = _recorded("server_stream.txt")
    assert metrics["LLM token_latency"][0] == "ms"
    assert metrics["LLM token_latency"][1] == pytest.approx((0.204, 0.127, 0.114, 0.110))
    assert metrics["LLM decode_rate"][1] == pytest.approx((7194.244604316546,))
    stream = (RECORDED / "server_stream.txt").read_text()
    assert len(_parse(stream * 2)["LLM decode_rate"][1]) == 2
    assert len(_parse(stream * 2)["LLM token_latency"][1]) == 8


@pytest.mark.parametrize(
    "line",
    [
        "eval time =     0.00 ms /     0 runs   (     nan ms per token,      nan tokens per second)",
        "eval time =     nan ms /     3 runs",
        "eval time = 99999999999999999999.0 ms /     3 runs",
        'data: {"timings": {"predicted_n": 1e400, "predicted_ms": "3", "prompt_n": null}}',
        'data: {"timings": [' + "[" * 5000,
        'data: {"timings": {"predicted_n": ' + "9" * 5000 + "}}",
        "0.00.016.866 D n_past = 18",
        "the eval time of this sentence",
    ],
)
def test_what_cannot_be_is_no_figure(line: str) -> None:
    assert _parse(line) == {}


def test_a_run_without_measurable_time_has_no_rate() -> None:
    line = "eval time =     0.00 ms /     1 runs   (    0.00 ms per token,      inf tokens per second)"
    assert "LLM decode_rate" not in _parse(line)
