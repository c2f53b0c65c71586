"""Records launches of a real runner that generate, for decisions to be tried on.

    python -m tests.benchmarks.decisions.record_generations --model tiny_llama_xnnpack_8da4w_plain.pte --out FILE

One program is launched again and again, back to back, pinned, with one thread, as pairs of a comparison launch it: 64
tokens follow a prompt of 128 made-up ones, once in each launch, without warm-up, in huge pages. Which side a launch is
of, and an effect, are imposed afterwards. `--load` adds programs that are always busy, on no CPU in particular.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from frameworks.command_line import duet_command
from frameworks.observations.token_streams import KEY, read_stream
from harness import shell
from harness.core.command import Command, Completed
from harness.core.generation import TokenStream
from harness.running.huge_pages import HUGE_PAGES, VARIABLE
from harness.running.interleaved import GenerationTurns, split_into_turns
from tests.benchmarks.decisions.recorded_generations import GeneratingLaunch, GenerationTrace
from tests.benchmarks.decisions.slowed_runner import compile_slowed_runner

PROMPT_TOKENS, NEW_TOKENS = 128, 64


def start_of(runner: Path, model: Path, cpu: int, generations: int, *, huge_pages: bool) -> Command:
    """Return the start of the pinned runner."""
    argv = (
        *("taskset", "-c", str(cpu), str(runner), "--model", str(model), "--threads", "1", "--depth", "0"),
        *("--warmup", "0", "--iter", str(generations), "--min-iter", str(generations)),
        *("--generate", str(NEW_TOKENS), "--prompt-tokens", str(PROMPT_TOKENS)),
    )
    return Command(argv, env={VARIABLE: HUGE_PAGES} if huge_pages else {})


def launch(start: Command) -> GeneratingLaunch:
    """Start the runner once."""
    begin = time.monotonic()
    completed = shell.run(start)
    assert completed.ok, completed.describe()
    return recorded(completed, time.monotonic() - begin)


def launch_duet(start: Command, turns: GenerationTurns) -> tuple[GeneratingLaunch, ...]:
    """Start the runner twice, and let both generate once, at the same time."""
    begin = time.monotonic()
    with contextlib.ExitStack() as stack:
        programs = []
        for _ in range(2):
            programs.append(stack.enter_context(shell.start(duet_command(start))))
            assert programs[-1].wait_for_line("ready")
        for request, reply in split_into_turns(1, turns):
            for program in programs:
                program.write_line(request)
            answered = [program.wait_for_line(reply) for program in programs]
            assert all(answered)
        completed = [program.finish() for program in programs]
    seconds = time.monotonic() - begin
    return tuple(recorded(each, seconds / 2) for each in completed)


def recorded(completed: Completed, seconds: float) -> GeneratingLaunch:
    """Return what is kept of a launch."""
    generations = list(streams(completed.stdout))
    earlier = tuple(round(stamp / 1000) for each in generations for stamp in each.earlier_first_tokens_ns)
    return GeneratingLaunch(round(seconds, 4), tuple(map(steps_us, generations)), earlier)


def streams(stdout: str) -> Iterator[TokenStream]:
    """Yield the generations that a launch printed."""
    for line in stdout.splitlines():
        _, _, text = line.partition("PyTorchObserver ")
        if text and KEY in (document := json.loads(text)):
            yield read_stream(document[KEY])


def steps_us(stream: TokenStream) -> tuple[int, ...]:
    """Return the whole microseconds of a generation from each of its stamps to the next."""
    assert stream.prefill_ns is not None
    stamps = [0, *(round(stamp / 1000) for stamp in (stream.prefill_ns, *stream.token_times_ns))]
    return tuple(later - earlier for earlier, later in pairwise(stamps))


@contextlib.contextmanager
def load(programs: int) -> Iterator[None]:
    """Keep the machine busy by so many programs that do nothing but that."""
    with contextlib.ExitStack() as stack:
        for _ in range(programs):
            program = stack.enter_context(subprocess.Popen((sys.executable, "-c", "while True: pass")))
            stack.callback(program.kill)
        yield


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--generations", type=int, default=1, help="of each launch")
    parser.add_argument("--small-pages", action="store_true", help="leave the pages to the kernel")
    parser.add_argument("--duet", action="store_true", help="alternate with pairs that share the CPU")
    parser.add_argument("--load", type=int, default=0, help="programs that keep the machine busy")
    parser.add_argument("--beside", default="", help="what else the machine does")
    given = parser.parse_args(arguments)
    cpu, launches, in_duet = max(os.sched_getaffinity(0)), list[GeneratingLaunch](), list[GeneratingLaunch]()
    with tempfile.TemporaryDirectory() as folder, load(given.load):
        runner = compile_slowed_runner(Path(folder))
        start = start_of(runner, given.model, cpu, given.generations, huge_pages=not given.small_pages)
        before, end = os.getloadavg()[0], time.monotonic() + given.seconds
        while time.monotonic() < end:
            launches += [launch(start) for _ in range(2)]
            if given.duet:
                in_duet += launch_duet(start, GenerationTurns(NEW_TOKENS, tokens=NEW_TOKENS - 1))
        after = os.getloadavg()[0]
    trace = GenerationTrace(
        made_by="tests.benchmarks.decisions.record_generations",
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, virtual, pinned to CPU {cpu}",
        load_before_and_after=(round(before, 2), round(after, 2)),
        beside=given.beside,
        model=given.model.stem,
        prompt_tokens=PROMPT_TOKENS,
        new_tokens=NEW_TOKENS,
        huge_pages=not given.small_pages,
        launches=tuple(launches),
        in_duet=tuple(in_duet),
    )
    given.out.write_text(trace.model_dump_json() + "\n")
    print(f"{given.out}: {len(launches) + len(in_duet)} launches")


if __name__ == "__main__":
    main(sys.argv[1:])
