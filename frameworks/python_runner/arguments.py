"""Command line of the runner: strict, with the arguments and messages of the native runner."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from frameworks.python_runner.failure import ExitStatus, RunnerFailure
from frameworks.python_runner.pacing import ArrivalSchedule

LARGEST = 1_000_000_000
_MOST_THREADS = 1024
_NOT_WITH_EXAMPLES = (
    "--warmup",
    "--iter",
    "--min-iter",
    "--time-limit",
    "--operators",
    "--turns",
    "--phases",
    "--cold",
    "--generate",
    "--arrival",
    "--sustained",
)
"""Nothing is measured where examples are executed."""
_NOT_WITH_GENERATION = ("--inputs",)
"""A generation has inputs of its own, and many executions."""
_OF_GENERATION = ("--prompt", "--prompt-tokens", "--depth", "--perplexity")
_MOST_TOKENS = 1_000_000
"""More than any context holds; time stamps of so many tokens are 8 MB."""
_OF_PACING = ("--arrival", "--sustained")
_NOT_WITH_PACING = ("--turns", "--operators", "--phases", "--cold")
"""What paces iterations by itself, or makes one only."""
_ARRIVAL = re.compile(
    r"periodic:(?P<interval>[0-9]+(\.[0-9]+)?)|poisson:(?P<mean>[0-9]+(\.[0-9]+)?):(?P<seed>[0-9]{1,19})"
)
_OF_FIRST_EXECUTION = ("--phases", "--cold")
_NOT_WITH_FIRST_EXECUTION = ("--operators", "--turns")
"""The former report loading and the first execution alone."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of one run.

    Attributes:
        model: The model file.
        method: Its method.
        threads: Size of the thread pool; None leaves the runtime's own.
        warmup: Executions before the timed ones.
        iterations: Timed executions.
        min_iterations: Timed executions to make even beyond the time limit.
        time_limit_s: Seconds after which iterating stops; 0 is no limit.
        inputs: A raw file for each input; none means ones.
        outputs: Write the outputs to `OUTPUTS-0.bin`, ...; empty means nowhere.
        turns: Iterate on request of standard input.
        own_time: Times leave out when the thread waited for a CPU.
        operators: Time each operator too.
        phases: Report the memory of each phase, and execute once.
        cold: Load the program from the disk instead of the page cache, and execute once.
        examples: Number of examples to execute once each; None measures instead.
        options: Options of the backend by name.
        generate: Number of new tokens of each generation; None generates nothing.
        prompt: File with the tokens of the prompt; None makes up a prompt.
        prompt_tokens: Number of tokens of a made-up prompt.
        depth: Number of made-up tokens in the context before the prompt.
        arrival: When iterations are due; None has them back to back.
        sustained_s: Seconds of a long run; 0 ends by iterations.
        perplexity: File with the tokens of a text whose perplexity is computed; None computes none.
    """

    model: Path
    method: str
    threads: int | None
    warmup: int
    iterations: int
    min_iterations: int
    time_limit_s: float
    inputs: tuple[Path, ...]
    outputs: str
    turns: bool = False
    own_time: bool = False
    operators: bool = False
    phases: bool = False
    cold: bool = False
    examples: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    generate: int | None = None
    prompt: Path | None = None
    prompt_tokens: int = 0
    depth: int = 0
    perplexity: Path | None = None
    arrival: ArrivalSchedule | None = None
    sustained_s: float = 0.0


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """Parse the command line.

    Raises:
        RunnerFailure: An argument is wrong; the sentence names it.
    """
    values, rest = _parser().parse_known_args(argv)
    if rest:
        raise RunnerFailure(ExitStatus.USAGE, f"unknown argument {rest[0]}")
    if values.model is None:
        raise RunnerFailure(ExitStatus.USAGE, "the following arguments are required: --model")
    if values.examples is not None:
        _check_examples(argv, complete=bool(values.inputs and values.outputs))
    _check_generation(argv, generates=values.generate is not None)
    _check_pacing(argv)
    _check_first_execution(argv)
    if values.own_time and not values.turns:
        raise RunnerFailure(ExitStatus.USAGE, "argument --own-time: needs --turns")
    is_single = values.phases or values.cold
    return Arguments(
        model=values.model,
        method=values.method,
        threads=values.threads,
        warmup=0 if is_single else values.warmup,
        iterations=1 if is_single else values.iter,
        min_iterations=values.min_iter,
        time_limit_s=values.time_limit,
        inputs=values.inputs,
        outputs=values.outputs,
        turns=values.turns,
        own_time=values.own_time,
        operators=values.operators,
        phases=values.phases,
        cold=values.cold,
        examples=values.examples,
        options=_read_options(values.option),
        generate=values.generate,
        prompt=values.prompt,
        prompt_tokens=values.prompt_tokens,
        depth=values.depth,
        perplexity=values.perplexity,
        arrival=values.arrival,
        sustained_s=values.sustained,
    )


def _read_options(words: Sequence[str]) -> Mapping[str, str]:
    options: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals) or name in options:
            reason = "is given twice" if name in options else "is not NAME=VALUE"
            raise RunnerFailure(ExitStatus.USAGE, f"argument --option: '{word}' {reason}")
        options[name] = value
    return options


def _check_examples(argv: Sequence[str], *, complete: bool) -> None:
    given = {word.partition("=")[0] for word in argv}
    for flag in _NOT_WITH_EXAMPLES:
        if flag in given:
            raise RunnerFailure(ExitStatus.USAGE, f"argument --examples: not allowed with {flag}")
    if not complete:
        raise RunnerFailure(ExitStatus.USAGE, "argument --examples: needs --inputs and --outputs")


def _check_generation(argv: Sequence[str], *, generates: bool) -> None:
    given = {word.partition("=")[0] for word in argv}
    for flag in _OF_GENERATION:
        if flag in given and not generates:
            raise RunnerFailure(ExitStatus.USAGE, f"argument {flag}: needs --generate")
    for flag in _NOT_WITH_GENERATION:
        if flag in given and generates:
            raise RunnerFailure(ExitStatus.USAGE, f"argument --generate: not allowed with {flag}")
    if generates and ("--prompt" in given) == ("--prompt-tokens" in given):
        raise RunnerFailure(ExitStatus.USAGE, "argument --generate: needs either --prompt or --prompt-tokens")


def _check_pacing(argv: Sequence[str]) -> None:
    given = {word.partition("=")[0] for word in argv}
    for flag in _OF_PACING:
        for other in _NOT_WITH_PACING:
            if flag in given and other in given:
                raise RunnerFailure(ExitStatus.USAGE, f"argument {flag}: not allowed with {other}")


def _check_first_execution(argv: Sequence[str]) -> None:
    for flag in _OF_FIRST_EXECUTION:
        for other in _NOT_WITH_FIRST_EXECUTION:
            if flag in argv and other in argv:
                raise RunnerFailure(ExitStatus.USAGE, f"argument {flag}: not allowed with {other}")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise RunnerFailure(ExitStatus.USAGE, message)


def _parser() -> _Parser:
    parser = _Parser(prog="runner", description="Measures one model.", allow_abbrev=False)
    add = parser.add_argument
    add("--model", type=Path, help="the model file")
    add("--method", default="forward", help="its method (default: %(default)s)")
    add("--threads", type=whole(1, _MOST_THREADS), help="size of the thread pool (default: the runtime's own)")
    add("--warmup", type=whole(0, LARGEST), default=10, help="executions before the timed ones (default: 10)")
    add("--iter", type=whole(1, LARGEST), default=50, help="timed executions (default: 50)")
    add("--min-iter", type=whole(1, LARGEST), default=1, help="make so many in spite of the time limit (default: 1)")
    add("--time-limit", type=_seconds, default=0.0, help="stop iterating after so many seconds; 0 is no limit")
    add("--inputs", type=_files, default=(), help="raw files with commas between them, one for each input")
    add("--outputs", default="", help="write the outputs to OUTPUTS-0.bin, OUTPUTS-1.bin, ...")
    add("--examples", type=whole(1, LARGEST), help="execute so many examples of --inputs once each; measure nothing")
    add("--operators", action="store_true", help="time each operator too")
    add("--phases", action="store_true", help="report the memory of each phase, and execute once")
    add("--cold", action="store_true", help="load the program from the disk, not the page cache, and execute once")
    add("--generate", type=whole(1, _MOST_TOKENS), help="generate so many new tokens in each iteration")
    add("--prompt", type=Path, help="file with the tokens of the prompt, raw int64")
    add("--prompt-tokens", type=whole(1, _MOST_TOKENS), default=0, help="number of tokens of a made-up prompt instead")
    add("--depth", type=whole(0, _MOST_TOKENS), default=0, help="tokens in the context before the prompt (default: 0)")
    add("--perplexity", type=Path, help="file with the tokens of a text whose perplexity is computed at the end")
    add("--arrival", type=_arrival, help="when iterations are due: periodic:SECONDS or poisson:SECONDS:SEED")
    add("--sustained", type=_seconds, default=0.0, help="iterate for so many seconds, instead of --iter times")
    add("--option", action="append", default=[], metavar="NAME=VALUE", help="option of the backend; repeatable")
    add("--turns", action="store_true", help="iterate when standard input says so, instead of --iter times")
    add("--own-time", action="store_true", help="with --turns: leave out when the thread waited for a CPU")
    return parser


def whole(least: int, most: int) -> Callable[[str], int]:
    """Return a parser of whole numbers in a range.

    Raises:
        argparse.ArgumentTypeError: When it is called with anything else.
    """

    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,10}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from {least} to {most}")
        return int(text)

    return parse


def _arrival(text: str) -> ArrivalSchedule:
    match = _ARRIVAL.fullmatch(text)
    interval_s = float(match["interval"] or match["mean"]) if match is not None else 0.0
    if match is None or not 0 < interval_s <= LARGEST:
        raise argparse.ArgumentTypeError(f"'{text}' is neither periodic:SECONDS nor poisson:SECONDS:SEED")
    return ArrivalSchedule(interval_s, None if match["seed"] is None else int(match["seed"]))


def _seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) or float(text) > LARGEST:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds from 0 to {LARGEST}")
    return float(text)


def _files(text: str) -> tuple[Path, ...]:
    names = text.split(",")
    if not all(names):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of files with commas between them")
    return tuple(Path(name) for name in names)
