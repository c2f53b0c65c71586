"""Extension module of ExecuTorch's LLM runner, and one generation of it."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol, cast

from frameworks.executorch.python.extension import Runtime, load_operators
from frameworks.python_runner.failure import ExitStatus, RunnerFailure
from frameworks.python_runner.turns import Turn

_REMEDY: Final = "ExecuTorch 1.0 and later have it; `--runner native` and `--runner python` need none"


class Stats(Protocol):
    """`_llm_runner.Stats`, as far as it is used; a time of 0 was never reached."""

    model_load_start_ms: int
    model_load_end_ms: int
    num_prompt_tokens: int
    num_generated_tokens: int


class TextLLMRunner(Protocol):
    """`_llm_runner.TextLLMRunner`, as far as it is used."""

    def generate(
        self,
        prompt: str,
        config: object,
        token_callback: Callable[[str], None],
        stats_callback: Callable[[Stats], None],
    ) -> None:
        """Generates; the first call loads the program. Raises RuntimeError."""

    def reset(self) -> None:
        """Forgets the context."""


class LlmModule(Protocol):
    """`_llm_runner`. Its classes have upstream's names."""

    def TextLLMRunner(self, model: str, tokenizer: str) -> TextLLMRunner:  # noqa: N802
        """Makes a runner, and loads the tokenizer. Raises RuntimeError."""

    def GenerationConfig(self, **values: object) -> object:  # noqa: N802
        """Describes what is generated."""


def load_module(runtime: Runtime, model: Path) -> LlmModule:
    """Import the extension module by its path: the package around it imports `transformers`.

    Raises:
        RunnerFailure: The installed version has none, or it cannot be imported.
    """
    load_operators(runtime, model)
    folder = Path(runtime.__file__).parents[2] / "extension" / "llm" / "runner"
    files = sorted([*folder.glob("_llm_runner*.so"), *folder.glob("_llm_runner*.pyd")])
    spec = importlib.util.spec_from_file_location("_llm_runner", files[0]) if files else None
    if spec is None or spec.loader is None:
        sentence = f"this release of ExecuTorch has no LLM runner for Python ({_REMEDY})"
        raise RunnerFailure(ExitStatus.NOT_LOADED, sentence)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        raise RunnerFailure(ExitStatus.NOT_LOADED, f"ExecuTorch's LLM runner cannot be imported: {error}") from error
    return cast("LlmModule", module)


class TextGeneration:
    """Work whose iteration is one generation by ExecuTorch's runner.

    Args:
        runner: The runner.
        config: What it generates.
        prompt: The prompt.
        cpu_clock: CPU time in nanoseconds.

    Attributes:
        streams: Times of the tokens of each timed generation, ns.
        answer: Text of the last generation.
        stats: Statistics of the last generation.
        load_ns: Time in which the first loaded the program; None where the statistics do not tell.
    """

    def __init__(self, runner: TextLLMRunner, config: object, prompt: str, cpu_clock: Callable[[], int]) -> None:
        self._runner = runner
        self._config = config
        self._prompt = prompt
        self._cpu_clock = cpu_clock
        self._tokens_per_s: float | None = None
        self.streams: list[list[int]] = []
        self.answer = ""
        self.stats: Stats | None = None
        self.load_ns: int | None = None

    def prepare(self) -> None:
        """Forget the context."""
        self._runner.reset()

    def iterate(self, *, timed: bool) -> tuple[int, int]:
        """Generate once, and return wall and CPU nanoseconds."""
        clock, times, pieces = time.monotonic_ns, list[int](), list[str]()

        def stamp(piece: str) -> None:
            times.append(clock() - begin)
            pieces.append(piece)

        cpu_begin = self._cpu_clock()
        begin = clock()
        self._runner.generate(self._prompt, self._config, stamp, self._keep)
        wall_ns = clock() - begin
        cpu_ns = self._cpu_clock() - cpu_begin
        if not times:
            raise RunnerFailure(ExitStatus.NOT_EXECUTED, "ExecuTorch's LLM runner generated no token")
        self.answer = "".join(pieces)
        decode_ns = times[-1] - times[0]
        self._tokens_per_s = (len(times) - 1) * 1e9 / decode_ns if decode_ns else None
        if timed:
            self.streams.append(times)
        return wall_ns, cpu_ns

    def pause_between(self, turn: Turn, pause: Callable[[], None]) -> None:
        """Do nothing: this runner takes no turns."""

    def tokens_per_s(self) -> float | None:
        """Return the rate of decoding of the last generation."""
        return self._tokens_per_s

    def _keep(self, stats: Stats) -> None:
        if self.load_ns is None and stats.model_load_end_ms > stats.model_load_start_ms > 0:
            self.load_ns = (stats.model_load_end_ms - stats.model_load_start_ms) * 1_000_000
        self.stats = stats
