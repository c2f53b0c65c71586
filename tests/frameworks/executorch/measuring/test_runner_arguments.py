from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.executorch.python.engine import ENGINE
from frameworks.python_runner.arguments import Arguments, parse_arguments
from frameworks.python_runner.runner import main
from harness import shell
from harness.core.build import Build
from harness.core.command import Command

REFUSED = {
    "--foo": "unknown argument --foo",
    "--model=a.pte --iters 5": "unknown argument --iters",
    "--model a.pte stray": "unknown argument stray",
    "": "the following arguments are required: --model",
    "--model": "argument --model: expected one argument",
    "--model --iter 5": "argument --model: expected one argument",
    "--model a.pte --iter 5x": "argument --iter: '5x' is not a whole number from 1 to 1000000000",
    "--model a.pte --iter 0": "argument --iter: '0' is not a whole number from 1 to 1000000000",
    "--model a.pte --iter 5.0": "argument --iter: '5.0' is not a whole number from 1 to 1000000000",
    "--model a.pte --iter=": "argument --iter: '' is not a whole number from 1 to 1000000000",
    "--model a.pte --min-iter 0": "argument --min-iter: '0' is not a whole number from 1 to 1000000000",
    "--model a.pte --warmup -1": "argument --warmup: '-1' is not a whole number from 0 to 1000000000",
    "--model a.pte --warmup 99999999999999999999": "argument --warmup: '99999999999999999999' is not a whole number "
    "from 0 to 1000000000",
    "--model a.pte --threads 0": "argument --threads: '0' is not a whole number from 1 to 1024",
    "--model a.pte --threads 1025": "argument --threads: '1025' is not a whole number from 1 to 1024",
    "--model a.pte --time-limit inf": "argument --time-limit: 'inf' is not a number of seconds from 0 to 1000000000",
    "--model a.pte --time-limit 1e3": "argument --time-limit: '1e3' is not a number of seconds from 0 to 1000000000",
    "--model a.pte --time-limit .5": "argument --time-limit: '.5' is not a number of seconds from 0 to 1000000000",
    "--model a.pte --time-limit 2s": "argument --time-limit: '2s' is not a number of seconds from 0 to 1000000000",
    "--model a.pte --examples 0": "argument --examples: '0' is not a whole number from 1 to 1000000000",
    "--model a.pte --examples 2 --inputs a": "argument --examples: needs --inputs and --outputs",
    "--model a.pte --examples 2 --inputs a --outputs b --iter=1": "argument --examples: not allowed with --iter",
    "--turns --model a.pte --examples 2": "argument --examples: not allowed with --turns",
    "--operators --model a.pte --examples 2": "argument --examples: not allowed with --operators",
    "--model a.pte --examples 2 --inputs a --outputs b --cold": "argument --examples: not allowed with --cold",
    "--model a.pte --own-time": "argument --own-time: needs --turns",
    "--model a.pte --phases --turns": "argument --phases: not allowed with --turns",
    "--cold --model a.pte --operators": "argument --cold: not allowed with --operators",
    "--model a.pte --generate 0": "argument --generate: '0' is not a whole number from 1 to 1000000",
    "--model a.pte --generate 1000001": "argument --generate: '1000001' is not a whole number from 1 to 1000000",
    "--model a.pte --generate 5": "argument --generate: needs either --prompt or --prompt-tokens",
    "--model a.pte --generate 5 --prompt a --prompt-tokens 3": "argument --generate: needs either --prompt or "
    "--prompt-tokens",
    "--model a.pte --prompt-tokens 3": "argument --prompt-tokens: needs --generate",
    "--model a.pte --depth 0": "argument --depth: needs --generate",
    "--model a.pte --generate 5 --prompt a --depth -1": "argument --depth: '-1' is not a whole number "
    "from 0 to 1000000",
    "--model a.pte --generate 5 --prompt a --inputs b": "argument --generate: not allowed with --inputs",
    "--model a.pte --generate 5 --examples 3": "argument --examples: not allowed with --generate",
    "--model a.pte --arrival every:1": "argument --arrival: 'every:1' is neither periodic:SECONDS nor "
    "poisson:SECONDS:SEED",
    "--model a.pte --arrival periodic:0": "argument --arrival: 'periodic:0' is neither periodic:SECONDS nor "
    "poisson:SECONDS:SEED",
    "--model a.pte --arrival periodic:.5": "argument --arrival: 'periodic:.5' is neither periodic:SECONDS nor "
    "poisson:SECONDS:SEED",
    "--model a.pte --arrival periodic:1e3": "argument --arrival: 'periodic:1e3' is neither periodic:SECONDS nor "
    "poisson:SECONDS:SEED",
    "--model a.pte --arrival poisson:1": "argument --arrival: 'poisson:1' is neither periodic:SECONDS nor "
    "poisson:SECONDS:SEED",
    "--model a.pte --arrival poisson:1:-3": "argument --arrival: 'poisson:1:-3' is neither periodic:SECONDS nor "
    "poisson:SECONDS:SEED",
    "--model a.pte --sustained long": "argument --sustained: 'long' is not a number of seconds from 0 to 1000000000",
    "--model a.pte --arrival periodic:1 --turns": "argument --arrival: not allowed with --turns",
    "--model a.pte --sustained 5 --cold": "argument --sustained: not allowed with --cold",
    "--model a.pte --sustained 5 --examples 3": "argument --examples: not allowed with --sustained",
    "--model a.pte --inputs a,,b": "argument --inputs: 'a,,b' is not a list of files with commas between them",
}


@pytest.mark.parametrize(("line", "sentence"), REFUSED.items(), ids=REFUSED)
def test_python_runner_rejects_unknown_arguments(line: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ENGINE, line.split()) == 2
    assert capsys.readouterr() == ("", f"error: {sentence}\n")


@pytest.mark.slow
@pytest.mark.parametrize(("line", "sentence"), REFUSED.items(), ids=REFUSED)
def test_native_runner_rejects_the_same_arguments_with_the_same_messages(
    line: str, sentence: str, native: Build
) -> None:
    completed = shell.run(Command((str(native.programs["program"]), *line.split())))
    assert (completed.exit_code, completed.stdout, completed.stderr) == (2, "", f"error: {sentence}\n")


def test_python_runner_reads_every_argument() -> None:
    line = (
        "--model m.pte --method encode --threads 2 --warmup 0 --iter 7 --min-iter=3 --time-limit 1.5 "
        "--inputs a.bin,b.bin --outputs out"
    )
    assert parse_arguments(line.split()) == Arguments(
        model=Path("m.pte"),
        method="encode",
        threads=2,
        warmup=0,
        iterations=7,
        min_iterations=3,
        time_limit_s=1.5,
        inputs=(Path("a.bin"), Path("b.bin")),
        outputs="out",
    )


@pytest.mark.slow
def test_both_runners_explain_their_arguments(runner: Path) -> None:
    completed = shell.run(Command((str(runner), "--help")))
    assert completed.ok
    flags = ("model", "method", "threads", "warmup", "iter", "min-iter", "time-limit", "inputs", "outputs", "examples")
    assert [flag for flag in flags if f"--{flag} " not in completed.stdout] == []
