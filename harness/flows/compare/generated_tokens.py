"""Tokens that language models generate from the same prompt: at temperature 0 equal programs give equal ones."""

from __future__ import annotations

import array
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from harness.core.benchmark import Benchmark, OutputFile
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported
from harness.core.evaluation import OutputComparison
from harness.core.result import Outcome
from harness.core.verdict import OutputVerdict
from harness.flows.compare.printed_generation import PrintedGeneration
from harness.running.launcher import Launcher
from harness.running.placeholder_values import output_path

TOKENS: Final = OutputFile(
    key="output_files.tokens", filename="tokens-0.bin", location="{TGTDIR}/tokens-0.bin", dtype="int64"
)
"""File with the new tokens of the last generation, raw little-endian int64, as runners write it."""

TAKEN: Final = "its tokens were compared"
"""Why launches that take tokens do not count."""


@dataclass(slots=True)
class GeneratedTokens:
    """New tokens of one generation of each side, taken in a launch of its own.

    Of runners that write no file, what they print is compared.

    Attributes:
        control: The launcher of the control.
        treatment: That of the treatment.
        benchmark: The benchmark as both are launched.
    """

    control: Launcher
    treatment: Launcher
    benchmark: Benchmark
    _first: Sequence[int] = ()
    _printed: PrintedGeneration | None = None

    def compare(self) -> OutputComparison:
        """Launch each side once, and compare the tokens.

        Raises:
            BenchmarkFailed: A side generates none.
            DeviceLost: The device went away.
        """
        try:
            self._first = self._take("control", self.control)
            return compare_tokens(self._first, self._take("treatment", self.treatment))
        except BenchmarkUnsupported:
            self._printed = PrintedGeneration(self.control, self.treatment, self._single())
            return self._printed.compare()

    def compare_control(self) -> OutputComparison:
        """Launch the control once more, and compare its tokens with its first ones. Errors as for `compare`."""
        if self._printed is not None:
            return self._printed.compare_control()
        return compare_tokens(self._first, self._take("control", self.control))

    def _single(self) -> Benchmark:
        """Return the benchmark with a single generation in each launch."""
        single = {"iterations": 1, "min_iterations": 1, "warmup": 0, "arrival": None}
        return self.benchmark.model_copy(update=single)

    def _take(self, side: str, launcher: Launcher) -> Sequence[int]:
        launch, _ = launcher.launch(self._single().model_copy(update={"output_files": (TOKENS,)}))
        launcher.discard(TAKEN)
        if launch.outcome is not Outcome.OK:
            raise BenchmarkFailed(f"the {side} cannot be launched for its tokens: {launch.reason}")
        return _read_tokens(launcher)


def compare_tokens(control: Sequence[int], treatment: Sequence[int]) -> OutputComparison:
    """Compare new tokens exactly, and name the first that differs.

    Args:
        control: The tokens that are expected.
        treatment: Those of the other side.
    """
    if list(control) == list(treatment):
        return OutputComparison(verdict=OutputVerdict.IDENTICAL, examples=1, reason=f"{len(control):,} new tokens")
    pairs = enumerate(zip(control, treatment, strict=False), 1)
    differing = next(((number, pair) for number, pair in pairs if pair[0] != pair[1]), None)
    if differing is None:
        reason = f"{len(treatment):,} new tokens instead of {len(control):,}"
        return OutputComparison(verdict=OutputVerdict.DIFFERENT, examples=1, differing_examples=1, reason=reason)
    number, (expected, found) = differing
    return OutputComparison(
        verdict=OutputVerdict.DIFFERENT,
        examples=1,
        differing_examples=1,
        first_difference=f"new token {number:,} of {len(control):,}",
        reason=f"{found} instead of {expected}",
    )


def _read_tokens(launcher: Launcher) -> Sequence[int]:
    tokens = array.array("q")
    try:
        tokens.frombytes(output_path(launcher.scratch, TOKENS.filename).read_bytes())
    except (OSError, ValueError) as error:
        raise BenchmarkFailed(f"its tokens cannot be read: {error}") from error
    if sys.byteorder == "big":
        tokens.byteswap()
    return tokens
