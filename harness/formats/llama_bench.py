"""A test of llama.cpp's llama-bench, as its `-o json` has it, and the figures that it gives.

`n_prompt`, `n_gen` and `n_depth` say what was done, `samples_ns` how long each repetition after the warm-up run took,
`avg_ts` and `stddev_ts` are tokens per second (tools/llama-bench/llama-bench.cpp of ggml-org/llama.cpp). Tests are
called as llama-bench's own table calls them: `pp512`, `tg128`, `pp512+tg128`, `tg128 @ d4096`.
"""

from __future__ import annotations

from typing import Final

from harness.core.metric import Observation
from harness.formats.json_entries import Amount, ForeignEntry, Samples, Text, Whole

RATE: Final = "tokens/s"

TYPE: Final = "LLM"
"""Type of the figures."""

_NS_PER_S: Final = 1e9


class LlamaBenchTest(ForeignEntry):
    """Test of llama-bench. What a layout or an old version does not print is empty, None or 0.

    Attributes:
        samples_ns: Nanoseconds of each repetition.
        samples_ts: Tokens per second of each repetition, rounded to six digits.
    """

    model_filename: Text = ""
    n_prompt: Whole
    n_gen: Whole
    n_depth: Whole = 0
    build_commit: Text = ""
    build_number: Whole = 0
    backends: Text = ""
    cpu_info: Text = ""
    gpu_info: Text = ""
    model_type: Text = ""
    n_threads: Whole | None = None
    n_gpu_layers: Whole | None = None
    n_batch: Whole | None = None
    n_ubatch: Whole | None = None
    type_k: Text | None = None
    type_v: Text | None = None
    flash_attn: bool | Whole | Text | None = None
    test_time: Text = ""
    avg_ts: Amount | None = None
    stddev_ts: Amount | None = None
    samples_ns: Samples = ()
    samples_ts: Samples = ()

    @property
    def name(self) -> str:
        """Its name in llama-bench's own table."""
        parts = [f"{word}{count}" for word, count in (("pp", self.n_prompt), ("tg", self.n_gen)) if count]
        depth = f" @ d{self.n_depth}" if self.n_depth else ""
        return ("+".join(parts) or "nothing") + depth

    @property
    def metric(self) -> str:
        """Name of its figure: the rate of prefilling, of decoding, or of both together."""
        return "token_rate" if self.n_prompt and self.n_gen else "prefill_rate" if self.n_prompt else "decode_rate"

    @property
    def rates(self) -> tuple[float, ...]:
        """Tokens per second of each repetition; from the times where the rates are missing."""
        if self.samples_ts or not all(self.samples_ns):
            return self.samples_ts
        return tuple(_NS_PER_S * (self.n_prompt + self.n_gen) / duration for duration in self.samples_ns)


def observe(test: LlamaBenchTest, type_: str = TYPE) -> Observation | None:
    """Return the tokens per second of a test; None where there are none, or where no token was processed."""
    rates = test.rates
    if any(rates):
        return Observation(type=type_, metric=test.metric, unit=RATE, samples=rates)
    if not test.avg_ts:
        return None
    spread = {} if test.stddev_ts is None else {"stdev": test.stddev_ts}
    return Observation(type=type_, metric=test.metric, unit=RATE, summary={"mean": test.avg_ts, **spread})
