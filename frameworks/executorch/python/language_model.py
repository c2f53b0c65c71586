"""A program that predicts the next token, by the convention of ExecuTorch's exports of language models.

Its method takes tokens [1, S] and the position of the first of them [1], keeps what it computed of tokens before, and
gives logits [1, V] of the last token, or [1, S, V] of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from frameworks.executorch.python.extension import Method, Program
from frameworks.executorch.python.program_file import DTYPES, Signature
from frameworks.python_runner.failure import ExitStatus, RunnerFailure

if TYPE_CHECKING:
    import torch

_WHOLE: Final = ("int64", "int32")
_LOGITS: Final = ("float32", "float16", "bfloat16")


class ProgramLanguageModel:
    """Language model of a program.

    Args:
        program: The program.
        method: Returns its method that predicts; keeps what owns both, for the method does not keep the program alive.
        signature: What that method takes and gives.

    Attributes:
        vocabulary: Number of tokens that there are.
        context: Number of tokens that its context holds; None where the program does not tell.
        most: Largest number of tokens of one execution.
        gives_each_row: Whether an execution gives logits of each of its tokens.

    Raises:
        RunnerFailure: The method has another form, or the program keeps nothing of tokens before.
    """

    def __init__(self, program: Program, method: Callable[[], Method], signature: Signature) -> None:
        if read_constant(program, "use_kv_cache") == 0:
            _refuse("it keeps nothing of the tokens before (`use_kv_cache` is false); export it with a KV cache")
        self._method = method
        self.most, self._token_type, self._position_type, self._position_shape = _read_inputs(signature)
        self._columns, rank, rows = _read_logits(signature)
        self.gives_each_row = rank == 3 and (self.most == 1 or rows > 1)
        context = read_constant(program, "get_max_context_len")
        self.context = read_constant(program, "get_max_seq_len") if context is None else context
        told = read_constant(program, "get_vocab_size") or 0
        self.vocabulary = min(told, self._columns) if told > 0 else self._columns
        self._logits: torch.Tensor | None = None
        self._kept: tuple[torch.Tensor, ...] = ()

    def execute(self, tokens: Sequence[int], position: int) -> None:
        """Process tokens from a position on."""
        import torch  # noqa: PLC0415 - imported by load_runtime

        self._kept = (  # the method keeps pointers
            torch.tensor([list(tokens)], dtype=getattr(torch, self._token_type)),
            torch.full(self._position_shape, position, dtype=getattr(torch, self._position_type)),
        )
        method = self._method()
        method.set_inputs(self._kept)
        method.execute()
        logits = method.get_outputs(clone_outputs=False)[0]
        count = logits.numel() if isinstance(logits, torch.Tensor) else 0
        if not isinstance(logits, torch.Tensor) or count not in (self._columns, self._columns * len(tokens)):
            raise RunnerFailure(
                ExitStatus.NOT_EXECUTED,
                f"the program gives {count} logits for {len(tokens)} tokens and a vocabulary of {self._columns}",
            )
        self._logits = logits.reshape(-1, self._columns)

    def choose_likeliest(self) -> int:
        """Return the token that is likeliest to come next."""
        row = self._rows()[-1]
        token = int(row.argmax())
        if math.isnan(float(row[token])):  # which counts as the largest
            raise RunnerFailure(ExitStatus.NOT_EXECUTED, "the program gives logits that are not numbers (NaN)")
        return token

    def log_probabilities(self, tokens: Sequence[int]) -> Sequence[float]:
        """Return the natural logarithm of the probability of each token."""
        rows = self._rows()[-len(tokens) :].double().log_softmax(-1)
        return [float(rows[index, token]) for index, token in enumerate(tokens)]

    def _rows(self) -> torch.Tensor:
        if self._logits is None:
            raise RunnerFailure(ExitStatus.NOT_EXECUTED, "nothing was executed")
        return self._logits[:, : self.vocabulary]


def read_constant(program: Program, name: str) -> int | None:
    """Return the number that a method of the program has; None where there is no such method, or it has none."""
    if name not in [program.get_method_name(index) for index in range(program.num_methods())]:
        return None
    method = program.load_method(name)
    if method.method_meta().num_inputs():
        return None
    method.execute()
    outputs = method.get_outputs()
    return int(outputs[0]) if outputs and isinstance(outputs[0], int | bool) else None


def _read_inputs(signature: Signature) -> tuple[int, str, str, tuple[int, ...]]:
    """Return the largest number of tokens, their type, and type and shape of the position."""
    if len(signature.inputs) != 2:
        count = len(signature.inputs)
        _refuse(f"its method has {count} inputs, not tokens [1, S] and the position of the first of them [1]")
    tokens, position = signature.inputs
    if tokens is None or len(tokens.sizes) != 2 or tokens.sizes[0] != 1 or tokens.sizes[1] < 1:
        _refuse("its first input is not tokens [1, S], int64 or int32")
    token_type = DTYPES.get(tokens.scalar_type, "")
    if token_type not in _WHOLE:
        _refuse("its first input is not tokens [1, S], int64 or int32")
    position_type = "" if position is None else DTYPES.get(position.scalar_type, "")
    if position is None or math.prod(position.sizes) != 1 or position_type not in _WHOLE:
        _refuse("its second input is not one position, int64 or int32")
    most = tokens.sizes[1]
    if most > 1 and tokens.is_static:
        _refuse(f"it takes exactly {most} tokens at a time; export it with a dynamic number of tokens, or with 1")
    return most, token_type, position_type, position.sizes


def _read_logits(signature: Signature) -> tuple[int, int, int]:
    """Return the number of logits of a token, the number of dimensions, and that of rows."""
    logits = signature.outputs[0] if signature.outputs else None
    if logits is None or len(logits.sizes) not in (2, 3) or logits.sizes[0] != 1:
        _refuse("its first output is not logits [1, V] or [1, S, V]")
    dtype = DTYPES.get(logits.scalar_type, "")
    if dtype not in _LOGITS:
        _refuse("its logits are not float32, float16 or bfloat16")
    if logits.sizes[-1] < 1:
        _refuse("its logits are of no token")
    return logits.sizes[-1], len(logits.sizes), logits.sizes[1]


def _refuse(reason: str) -> NoReturn:
    raise RunnerFailure(ExitStatus.USAGE, f"argument --generate: the program cannot generate: {reason}")
