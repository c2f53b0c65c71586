"""Engines: what a framework brings, so that the runner can load its models, execute them and read their outputs."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from frameworks.python_runner.failure import RunnerFailure


class Tensor(NamedTuple):
    """Description of an input or output of one execution.

    Attributes:
        name: Its name; empty where the model has none.
        dtype: Element type, by NumPy's name; `bfloat16` too.
        shape: Its dimensions.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]


class Output(NamedTuple):
    """Output of an execution.

    Attributes:
        tensor: Its description.
        content: Its numbers: raw, little-endian, in row-major order.
        dim_order: The layout that it had in memory, for people: dimensions from the outermost to the innermost; empty
            for row-major.
        stored: Its numbers in that layout; empty for row-major.
    """

    tensor: Tensor
    content: bytes
    dim_order: tuple[int, ...] = ()
    stored: bytes = b""


class OperatorTimes(NamedTuple):
    """Times of one operator.

    Attributes:
        name: Its name, as the runtime gives it.
        place: Its place in the model, a word without spaces; `?` where it is not known.
        samples_us: Its time in each timed iteration, in microseconds.
    """

    name: str
    place: str
    samples_us: Sequence[float]


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """Request to load a model.

    Attributes:
        model: The model file.
        method: Its method, for formats that have several.
        threads: Number of threads to compute with; None leaves it to the runtime.
        options: Options of the backend by name.
        operators: Whether operators are to be timed.
        program_loaded: To be called between reading the file and making it executable, where both can be told apart.
        log: What is written to standard error from Python, for explanations of failures.
    """

    model: Path
    method: str = "forward"
    threads: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    operators: bool = False
    program_loaded: Callable[[], None] = lambda: None
    log: io.StringIO = field(default_factory=io.StringIO)


class LoadedModel(Protocol):
    """Model that is ready to be executed. It is deleted before the process ends."""

    @property
    def inputs(self) -> Sequence[Tensor]:
        """Inputs in the order of the model's arguments.

        Raises:
            RunnerFailure: One is no tensor of a known type and shape.
        """

    @property
    def threads(self) -> int | None:
        """Number of threads that it computes with, as the runtime tells it; None where it does not.

        The number that was asked for is no answer: nobody would notice a runtime that does not obey.
        """

    @property
    def runs_on_caller(self) -> bool:
        """Whether all work is done by the thread that calls `execute`, so that its CPU time is all there is."""

    @property
    def consumes_inputs(self) -> bool:
        """Whether an execution may overwrite its inputs, so that they are set before each."""

    def set_inputs(self, contents: Sequence[bytes]) -> None:
        """Set the inputs of the next executions: raw, little-endian, row-major numbers, in the order of `inputs`.

        Raises:
            RunnerFailure: They cannot be set.
        """

    def execute(self) -> None:
        """Execute once, and return when it is done: nothing else is timed. May raise what the runtime raises."""

    def outputs(self) -> Sequence[Output]:
        """Return the outputs of the last execution.

        Raises:
            RunnerFailure: One is no tensor.
        """

    def describe(self) -> Mapping[str, str | int]:
        """Return what the runtime tells of itself after it was executed: `runtime` with its version, options in use.

        Texts and numbers are printed as `RUN <name>`. An option that was asked for is named as it was applied.
        """

    def memory(self) -> Mapping[str, int]:
        """Return what the runtime tells of the memory that it plans, in bytes by metric."""


class Engine(Protocol):
    """A runtime."""

    def load(self, request: LoadRequest) -> LoadedModel:
        """Load a model.

        Raises:
            RunnerFailure: It cannot be loaded, or an option is unknown or cannot be had.
        """

    def files(self, model: Path) -> Sequence[Path]:
        """Return all files that loading a model reads, so that a cold launch drops them from the page cache."""

    def explain(self, error: Exception, what: str, log: str) -> RunnerFailure | None:
        """Return the failure of an execution; None where only the error tells why.

        Args:
            error: What `LoadedModel.execute` raised.
            what: What failed: "the program failed while it was executed".
            log: What was written to standard error from Python until then.
        """


@runtime_checkable
class ImportsRuntime(Protocol):
    """An engine that imports its runtime before anything is timed: that takes longer than to load most models."""

    def import_runtime(self, request: LoadRequest) -> None:
        """Import it, as far as this request needs it. The model is not touched.

        Raises:
            RunnerFailure: It cannot be imported.
        """


@runtime_checkable
class HasOwnErrors(Protocol):
    """An engine whose runtime raises errors that are no `RuntimeError` and no `ValueError`."""

    def own_errors(self) -> tuple[type[Exception], ...]:
        """Return their classes; called when the runtime is imported."""


@runtime_checkable
class TimesOperators(Protocol):
    """A loaded model whose runtime times each operator, where `LoadRequest.operators` asked for it."""

    def operator_times(self, skipped: int, iterations: int) -> Sequence[OperatorTimes]:
        """Return the times of operators, in the order of execution.

        Args:
            skipped: Executions before the timed ones.
            iterations: Timed executions.

        Raises:
            RunnerFailure: They cannot be read.
        """


class LanguageModel(Protocol):
    """Model that predicts the next token, and keeps what it computed of tokens before.

    Attributes:
        vocabulary: Tokens have numbers from 0 to below this.
        context: Number of tokens that the context holds; None where the model does not tell.
        most: Largest number of tokens of one execution.
        gives_each_row: Whether an execution gives logits of each of its tokens, not only of the last.
    """

    vocabulary: int
    context: int | None
    most: int
    gives_each_row: bool

    def execute(self, tokens: Sequence[int], position: int) -> None:
        """Process tokens, at most `most`, from a position on. May raise what the runtime raises.

        Raises:
            RunnerFailure: The model gives other logits than it promised.
        """

    def choose_likeliest(self) -> int:
        """Return the token that is likeliest to come next; of several the first.

        Raises:
            RunnerFailure: Logits are not numbers.
        """

    def log_probabilities(self, tokens: Sequence[int]) -> Sequence[float]:
        """Return the natural logarithm of the probability of each token, by the last rows of logits."""


@runtime_checkable
class Generates(Protocol):
    """A loaded model that may be a language model."""

    def language_model(self) -> LanguageModel:
        """Return it as one.

        Raises:
            RunnerFailure: It is none.
        """
