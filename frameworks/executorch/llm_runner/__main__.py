"""Start of the program: `python <this folder> --model ...`."""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:
    # As in `frameworks.python_runner.__main__`: the package is found in place of our own file names.
    sys.path[0] = str(Path(__file__).resolve().parents[3])

from frameworks.python_runner.machine import collect_seldom, die_with_parent

if __name__ == "__main__":
    die_with_parent()
    collect_seldom()

import array
import contextlib
import gc
import json
import os
import time
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import TextIO

from frameworks.executorch.llm_runner.arguments import LlmArguments, parse_arguments
from frameworks.executorch.llm_runner.encode import encode
from frameworks.executorch.llm_runner.text_runner import TextGeneration, load_module
from frameworks.executorch.python.extension import load_runtime, set_threads
from frameworks.python_runner.clocks import open_process_time
from frameworks.python_runner.failure import ExitStatus, RunnerFailure
from frameworks.python_runner.lines import number_line
from frameworks.python_runner.machine import memory_bytes
from frameworks.python_runner.measure import RunnerTimes, measure
from frameworks.python_runner.tensors import check_file


def main(argv: Sequence[str]) -> ExitStatus:
    """Run, print the results, and return the exit status."""
    try:
        arguments = parse_arguments(argv)
        with _own_output() as output:
            for line in run(arguments):
                output.write(f"{line}\n")
    except RunnerFailure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return failure.status
    return ExitStatus.OK


def run(arguments: LlmArguments) -> Iterator[str]:
    """Measure, and yield what is printed.

    Raises:
        RunnerFailure: The model cannot be measured.
    """
    loop = arguments.loop
    check_file(loop.model, ExitStatus.NOT_LOADED)
    check_file(arguments.tokenizer, ExitStatus.NOT_LOADED)
    if arguments.tokenizer.stat().st_size == 0:  # upstream would go on without any
        raise RunnerFailure(ExitStatus.NOT_LOADED, f"the tokenizer {arguments.tokenizer} is empty")
    runtime = load_runtime()
    module = load_module(runtime, loop.model)
    threads = set_threads(runtime, loop.threads)
    before = memory_bytes("VmRSS")
    try:
        begin = time.monotonic_ns()
        runner = module.TextLLMRunner(str(loop.model), str(arguments.tokenizer))
        tokenizer_ns = time.monotonic_ns() - begin
        config = module.GenerationConfig(
            echo=False, max_new_tokens=loop.generate, temperature=0.0, num_bos=0, num_eos=0
        )
        cpu_clock = time.thread_time_ns if threads == 1 else open_process_time()
        work = TextGeneration(runner, config, arguments.prompt, cpu_clock)
        gc.collect()
        gc.disable()  # a collection would disturb a token
        times = measure(work, loop)
    except RuntimeError as error:
        raise _failure(error, arguments) from error
    if loop.outputs:
        _write_tokens(work.answer, arguments)
    yield from _lines(work, times, arguments, tokenizer_ns)
    for metric, size in {"memory_before_load": before, "peak_memory": memory_bytes("VmHWM")}.items():
        if size is not None:
            yield number_line("RUN", metric, "bytes", size)
    yield number_line("RUN", "threads", "", threads)
    if loop.operators:
        yield _text("operators_unavailable", "ExecuTorch's LLM runner takes no event tracer")


def _failure(error: RuntimeError, arguments: LlmArguments) -> RunnerFailure:
    """Return the failure with what upstream's words lack: how long prompt and answer are."""
    with contextlib.suppress(RuntimeError, ImportError):
        tokens = encode(str(arguments.tokenizer), arguments.prompt) or ()
        lengths = f"of a prompt of {len(tokens):,} tokens and {arguments.loop.generate or 0:,} new ones"
        sentence = f"ExecuTorch's LLM runner failed {lengths}, for which the model's context may be too short: {error}"
        return RunnerFailure(ExitStatus.NOT_EXECUTED, sentence)
    return RunnerFailure(ExitStatus.NOT_EXECUTED, f"ExecuTorch's LLM runner failed: {error}")


def _write_tokens(answer: str, arguments: LlmArguments) -> None:
    """Write the tokens of an answer, as its tokenizer makes them of the text: the runner gives no others.

    Raises:
        RunnerFailure: The file cannot be written.
    """
    tokens = array.array("q", encode(str(arguments.tokenizer), answer) or ())
    if sys.byteorder == "big":
        tokens.byteswap()
    file = Path(f"{arguments.loop.outputs}-0.bin")
    try:
        file.write_bytes(tokens.tobytes())
    except OSError as error:
        raise RunnerFailure(ExitStatus.NOT_EXECUTED, f"cannot write {file}") from error


def _lines(work: TextGeneration, times: RunnerTimes, arguments: LlmArguments, tokenizer_ns: int) -> Iterator[str]:
    prompt_tokens = work.stats.num_prompt_tokens if work.stats is not None else 0
    for stream in work.streams:
        generation = {"prompt_tokens": prompt_tokens, "depth": 0, "token_times_ns": stream}
        yield "PyTorchObserver " + json.dumps({"generation": generation})
    yield from (number_line("NET", "cpu_time", "ns", value) for value in times.cpu_ns)
    if work.load_ns is not None:
        yield number_line("RUN", "load_time", "ns", work.load_ns)
    yield number_line("RUN", "tokenizer_load_time", "ns", tokenizer_ns)
    yield number_line("RUN", "first_iteration", "ns", times.first_iteration_ns)
    yield number_line("RUN", "warmup_done", "", times.warmup_done)
    yield number_line("RUN", "iterations_done", "", times.iterations_done)
    yield _text("runtime", f"executorch {metadata.version('executorch')} llm runner")
    if times.stopped_by_time_limit:
        yield _text("stopped_early", "time_limit")
    shortest = min(map(len, work.streams), default=0)
    if shortest < (arguments.loop.generate or 0):
        yield _text("ended_early", f"the model ended its answer after {shortest} of {arguments.loop.generate} tokens")


def _text(metric: str, text: str) -> str:
    return "PyTorchObserver " + json.dumps({"type": "RUN", "metric": metric, "unit": "", "info_string": text})


@contextlib.contextmanager
def _own_output() -> Iterator[TextIO]:
    """Send what the library prints, tokens and statistics, to standard error, and keep standard output for us."""
    kept = os.dup(1)
    os.dup2(2, 1)
    with open(kept, "w", encoding="utf-8") as output:  # noqa: PTH123 - a descriptor, not a path
        yield output


if __name__ == "__main__":
    if not __package__:
        del sys.path[0]
    raise SystemExit(main(sys.argv[1:]))
