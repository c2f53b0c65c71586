"""Command line of the program."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from frameworks.python_runner.arguments import LARGEST, Arguments, whole
from frameworks.python_runner.failure import ExitStatus, RunnerFailure


@dataclass(frozen=True, slots=True)
class LlmArguments:
    """Arguments of one run.

    Attributes:
        tokenizer: File of the tokenizer.
        prompt: Text of the prompt.
        loop: Model, threads, and numbers of iterations and tokens.
    """

    tokenizer: Path
    prompt: str
    loop: Arguments


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise RunnerFailure(ExitStatus.USAGE, message)


def parse_arguments(argv: Sequence[str]) -> LlmArguments:
    """Parse the command line.

    Raises:
        RunnerFailure: An argument is wrong; the sentence names it.
    """
    parser = _Parser(prog="llm_runner", description="Measures one language model.", allow_abbrev=False)
    add = parser.add_argument
    add("--model", type=Path, required=True, help="the program")
    add("--tokenizer", type=Path, required=True, help="its tokenizer")
    add("--prompt-text", required=True, help="the prompt")
    add("--generate", type=whole(1, LARGEST), required=True, help="number of new tokens")
    add("--warmup", type=whole(0, LARGEST), default=1, help="generations before the timed ones (default: 1)")
    add("--iter", type=whole(1, LARGEST), default=5, help="timed generations (default: 5)")
    add("--min-iter", type=whole(1, LARGEST), default=1, help="make so many in spite of the time limit (default: 1)")
    add("--time-limit", type=float, default=0.0, help="stop after so many seconds; 0 is no limit")
    add("--threads", type=whole(1, 1024), help="size of the thread pool (default: the runtime's own)")
    add("--outputs", default="", help="write the tokens of the last answer to OUTPUTS-0.bin")
    values = parser.parse_args(argv)
    if not values.prompt_text:
        raise RunnerFailure(ExitStatus.USAGE, "argument --prompt-text: it is empty")
    loop = Arguments(
        model=values.model,
        method="forward",
        threads=values.threads,
        warmup=values.warmup,
        iterations=values.iter,
        min_iterations=values.min_iter,
        time_limit_s=values.time_limit,
        inputs=(),
        outputs=values.outputs,
        generate=values.generate,
    )
    return LlmArguments(values.tokenizer, values.prompt_text, loop)
