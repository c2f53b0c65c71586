"""Generation of tokens: a prompt is processed, then tokens follow one by one, always the likeliest."""

from __future__ import annotations

import array
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from frameworks.python_runner.arguments import Arguments
from frameworks.python_runner.clocks import Clocks
from frameworks.python_runner.engine import LanguageModel
from frameworks.python_runner.failure import ExitStatus, RunnerFailure
from frameworks.python_runner.lines import number_line
from frameworks.python_runner.machine import memory_bytes
from frameworks.python_runner.made_up import DEPTH_TOKENS, make_up_tokens
from frameworks.python_runner.tensors import check_file
from frameworks.python_runner.turns import Turn

_MOST_STAMPS: Final = 1 << 20
"""Time stamps that are kept, of all generations together."""
_MOST_PRINTED: Final = 4096
"""Tokens of a generation that are printed."""
_MOST_OF_TEXT: Final = 1 << 24
_TOKEN_BYTES: Final = 8


class _Stream(NamedTuple):
    """Time stamps of one generation in ns, since its prompt was handed over.

    Attributes:
        earlier: The same prompt, processed before: when it was processed, and when its first token was there.
        prefill_ns: When the prompt was processed.
        times_ns: When each token was there.
        tokens: The tokens.
    """

    earlier: Sequence[tuple[int, int]]
    prefill_ns: int
    times_ns: array.array[int]
    tokens: Sequence[int]


class Generation:
    """Work whose iteration is one generation from an empty context.

    Args:
        model: The language model.
        arguments: Prompt, depth and numbers of tokens.
        clocks: Clocks of its stamps.

    Raises:
        RunnerFailure: A token is none of the vocabulary, or the context is too small, naming the numbers.
    """

    def __init__(self, model: LanguageModel, arguments: Arguments, clocks: Clocks) -> None:
        self._model = model
        self._arguments = arguments
        self._clocks = clocks
        self._new = arguments.generate or 1
        if arguments.prompt is None:
            _check_context(model.context, arguments.depth, arguments.prompt_tokens, self._new)
            self._prompt: Sequence[int] = make_up_tokens(arguments.prompt_tokens, model.vocabulary)
        else:
            self._prompt = _read_tokens("--prompt", arguments.prompt, 1, model.vocabulary)
            _check_context(model.context, arguments.depth, len(self._prompt), self._new)
        self._before = make_up_tokens(arguments.depth, model.vocabulary, DEPTH_TOKENS)
        self._text: Sequence[int] = ()
        if arguments.perplexity is not None:
            self._text = _read_tokens("--perplexity", arguments.perplexity, 2, model.vocabulary)
        self._last: Sequence[int] = ()
        self._tokens_per_s: float | None = None
        self._streams: list[_Stream] = []
        self._stride = 1
        self._timed = 0
        self._memory_after_prefill: int | None = None
        self._perplexity: float | None = None
        self._turn = Turn(1)
        self._pause: Callable[[], None] = lambda: None

    def prepare(self) -> None:
        """Fill the context up to the depth."""
        self._process(self._before, 0)

    def iterate(self, *, timed: bool) -> tuple[int, int]:
        """Generate once, and return wall and CPU nanoseconds."""
        model, clock = self._model, self._clocks.wall
        times, tokens = array.array("q", bytes(_TOKEN_BYTES * self._new)), [0] * self._new
        position = len(self._before)
        earlier = [self._process_prompt_alone() for _ in range(self._turn.prompts)]
        cpu_begin = self._clocks.cpu()
        begin = clock()
        self._process(self._prompt, position)
        prefill_ns = clock() - begin
        position += len(self._prompt)
        if not timed and self._memory_after_prefill is None:
            self._memory_after_prefill = memory_bytes("VmRSS")
        for index in range(self._new):
            if index:
                begin += self._pause_after(index - 1)
                model.execute((tokens[index - 1],), position)
                position += 1
            tokens[index] = model.choose_likeliest()
            times[index] = clock() - begin
        cpu_ns = self._clocks.cpu() - cpu_begin
        self._last = tokens
        decode_ns = times[-1] - times[0]
        self._tokens_per_s = (self._new - 1) * 1e9 / decode_ns if decode_ns else None
        if timed:
            self._keep(_Stream(earlier, prefill_ns, times, tokens[:_MOST_PRINTED]))
        return times[-1], cpu_ns

    def pause_between(self, turn: Turn, pause: Callable[[], None]) -> None:
        """Call a function between tokens, whose time does not count (see `Work`)."""
        self._turn, self._pause = turn, pause

    def tokens_per_s(self) -> float | None:
        """Return the rate of decoding of the last generation."""
        return self._tokens_per_s

    def finish(self) -> None:
        """Write the tokens of the last generation, and compute the perplexity, as far as they are wanted.

        Raises:
            RunnerFailure: The file cannot be written.
        """
        if self._arguments.outputs:
            file = Path(f"{self._arguments.outputs}-0.bin")
            try:
                file.write_bytes(_little_endian(array.array("q", self._last)).tobytes())
            except OSError as error:
                raise RunnerFailure(ExitStatus.NOT_EXECUTED, f"cannot write {file}") from error
        if self._text:
            self._perplexity = self._compute_perplexity()

    def lines(self) -> Iterator[str]:
        """Yield a line for each timed generation, and what else is known."""
        for stream in self._streams:
            generation = {
                "prompt_tokens": len(self._prompt),
                "depth": len(self._before),
                "prefill_ns": stream.prefill_ns,
                **_print_earlier(stream.earlier),
                "token_times_ns": list(stream.times_ns),
                "tokens": list(stream.tokens),
            }
            yield "PyTorchObserver " + json.dumps({"generation": generation})
        if self._perplexity is not None:
            yield number_line("LLM", "perplexity", "", float(f"{self._perplexity:.9g}"))
        if self._memory_after_prefill is not None:
            yield number_line("RUN", "memory_after_prefill", "bytes", self._memory_after_prefill)
        if self._stride > 1:
            yield number_line("RUN", "generations_thinned", "", self._stride)

    def _pause_after(self, index: int) -> int:
        """Pause after a token that ends a turn, and return the nanoseconds of that."""
        if not self._turn.tokens or index % self._turn.tokens:
            return 0
        begin = self._clocks.wall()
        self._pause()
        return self._clocks.wall() - begin

    def _process_prompt_alone(self) -> tuple[int, int]:
        """Process the prompt until its first token, pause, and get ready to do it again. Return both times in ns."""
        begin = self._clocks.wall()
        self._process(self._prompt, len(self._before))
        prefill_ns = self._clocks.wall() - begin
        self._model.choose_likeliest()
        first_token_ns = self._clocks.wall() - begin
        self._pause()
        self.prepare()
        return prefill_ns, first_token_ns

    def _process(self, tokens: Sequence[int], position: int) -> None:
        for begin in range(0, len(tokens), self._model.most):
            self._model.execute(tokens[begin : begin + self._model.most], position + begin)

    def _keep(self, stream: _Stream) -> None:
        """Keep a stream; when there are too many, only every second one, from then on too."""
        number = self._timed
        self._timed += 1
        if number % self._stride == 0 and len(self._streams) == max(2, _MOST_STAMPS // self._new):
            self._streams = self._streams[::2]
            self._stride *= 2
        if number % self._stride == 0:
            self._streams.append(stream)

    def _compute_perplexity(self) -> float:
        """Return that of the text; one longer than the context is read in pieces, each from an empty context."""
        text, total = self._text, len(self._text) - 1
        piece = max(1, min(total, self._model.context or total))
        step = self._model.most if self._model.gives_each_row else 1
        logarithms: list[float] = []
        for begin in range(0, total, piece):
            end = min(begin + piece, total)
            for first in range(begin, end, step):
                last = min(first + step, end)
                self._model.execute(text[first:last], first - begin)
                logarithms += self._model.log_probabilities(text[first + 1 : last + 1])
        try:
            return math.exp(-math.fsum(logarithms) / total)
        except OverflowError:  # as of C++'s exp
            return math.inf


def _print_earlier(prompts: Sequence[tuple[int, int]]) -> dict[str, list[int]]:
    if not prompts:
        return {}
    prefills, first_tokens = zip(*prompts, strict=True)
    return {"earlier_prefills_ns": list(prefills), "earlier_first_tokens_ns": list(first_tokens)}


def _read_tokens(flag: str, file: Path, least: int, vocabulary: int) -> Sequence[int]:
    check_file(file, ExitStatus.USAGE)
    size = file.stat().st_size
    if size % _TOKEN_BYTES or not least <= size // _TOKEN_BYTES <= _MOST_OF_TEXT:
        sentence = f"argument {flag}: {file} has {size} bytes, not int64 numbers of {least} to {_MOST_OF_TEXT} tokens"
        raise RunnerFailure(ExitStatus.USAGE, sentence)
    tokens = array.array("q")
    try:
        tokens.frombytes(file.read_bytes())
    except (OSError, ValueError) as error:
        raise RunnerFailure(ExitStatus.USAGE, f"cannot read {file}") from error
    for index, token in enumerate(_little_endian(tokens)):
        if not 0 <= token < vocabulary:
            raise RunnerFailure(
                ExitStatus.USAGE,
                f"argument {flag}: token {index} of {file} is {token}; the vocabulary of the program has tokens from "
                f"0 to {vocabulary - 1}",
            )
    return tokens


def _little_endian(numbers: array.array[int]) -> array.array[int]:
    """Return the numbers between the order of the machine and that of files, in place."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _check_context(context: int | None, depth: int, prompt: int, new: int) -> None:
    needed = depth + prompt + new - 1  # the last new token is never processed
    if context is not None and needed > context:
        raise RunnerFailure(
            ExitStatus.USAGE,
            f"argument --generate: a depth of {depth}, a prompt of {prompt} tokens and {new} new ones need a context "
            f"of {needed}; that of the program holds {context}",
        )
