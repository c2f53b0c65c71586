"""ExecuTorch's own LLM runner: what it is asked for, and a generation of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import specifications
from frameworks.executorch.llm_runner import command_line
from frameworks.executorch.options import LLM
from frameworks.executorch.runners.choice import LLM_SOURCES, llm_build
from frameworks.exporting.child import ExportTask
from frameworks.observations.observer import parse_lines
from harness import shell
from harness.core.benchmark import Export
from harness.core.command import Command
from harness.core.errors import BenchmarkUnsupported
from harness.core.generation import GenerationRequest
from harness.core.metric import DECODE_RATE
from tests.frameworks.executorch.generating import benchmark

SHIPPED = Path(*specifications.__path__[:1], "tokenizers", "tiny_llama.json")
FILES = {"program": "/r/runner", "files.model": "/m.pte", "files.tokenizer": "/t.json"}


def test_the_prompt_goes_to_the_runner_as_a_text() -> None:
    words = command_line.compose(benchmark(), FILES).argv
    assert words[words.index("--prompt-text") + 1] == "Once upon"
    assert words[words.index("--tokenizer") + 1] == "/t.json"
    assert words[words.index("--generate") + 1] == "9"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"generation": None}, "only generates tokens"),
        ({"generation": GenerationRequest()}, "takes no made-up tokens"),
        ({"generation": GenerationRequest(prompt="a", depth=3)}, "`depth`"),
        ({"generation": GenerationRequest(prompt="a", perplexity="files.model")}, "perplexity"),
        ({"long_run_s": 10.0}, "a long run"),
        ({"cold": True}, "a cold start"),
        ({"arguments": "--x"}, "`command_args`"),
    ],
)
def test_what_the_runner_cannot_do_is_refused_in_words(fields: dict[str, object], words: str) -> None:
    with pytest.raises(BenchmarkUnsupported, match=words):
        command_line.compose(benchmark(**fields), FILES)


@pytest.mark.slow
@pytest.mark.parametrize("words", ["", "--model a.pte", "--model a.pte --tokenizer t --prompt-text a --generate 0"])
def test_wrong_arguments_are_one_sentence(words: str) -> None:
    completed = shell.run(Command((sys.executable, str(LLM_SOURCES), *words.split())))
    assert completed.exit_code == 2
    assert completed.stderr.startswith("error: ")


@pytest.mark.slow
def test_an_empty_tokenizer_is_refused(tmp_path: Path) -> None:
    for name in ("m.pte", "t.model"):
        (tmp_path / name).touch()
    words = ("--model", "m.pte", "--tokenizer", "t.model", "--prompt-text", "a", "--generate", "3")
    completed = shell.run(Command((sys.executable, str(LLM_SOURCES), *words), cwd=tmp_path))
    assert completed.exit_code == 3
    assert completed.stderr.endswith("t.model is empty\n")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # upstream's
def test_a_generation_has_the_time_of_each_token(tmp_path: Path) -> None:
    from frameworks.executorch.exporting.program import write_program  # noqa: PLC0415 - imports torch

    model = tmp_path / "model.pte"
    options = {"dim": 32, "layers": 1, "heads": 4, "kv_heads": 2, "max_context": 64, "max_tokens": 32}
    write_program(ExportTask(Export(definition="tiny_llama", recipe="portable", options=options), model, print))
    build = llm_build(tmp_path / "cache")
    assert build.recipe == LLM
    completed = shell.run(
        Command(
            (
                *(str(build.programs["program"]), "--model", str(model), "--tokenizer", str(SHIPPED)),
                *("--prompt-text", "Once upon a time", "--generate", "8", "--iter", "3", "--threads", "1"),
                *("--outputs", str(tmp_path / "tokens")),
            ),
            timeout_s=300,
        )
    )
    assert completed.ok, completed.describe()
    observations, notes = parse_lines(completed.stdout)
    assert not notes
    named = {observation.name: observation for observation in observations}
    assert len(named[DECODE_RATE].samples) == 3
    assert len(named["LLM token_latency"].samples) == 3 * 7
    assert named["RUN tokenizer_load_time"].samples[0] > 0
    assert (named["RUN runtime"].info or "").endswith("llm runner")
    assert "PyTorchObserver" in completed.stderr, "its own statistics"
    assert len((tmp_path / "tokens-0.bin").read_bytes()) % 8 == 0
    assert (tmp_path / "tokens-0.bin").read_bytes()
    long = shell.run(
        Command(
            (
                *(str(build.programs["program"]), "--model", str(model), "--tokenizer", str(SHIPPED)),
                *("--prompt-text", "Once upon a time " * 40, "--generate", "8"),
            ),
            timeout_s=300,
        )
    )
    assert long.exit_code == 4
    assert "of a prompt of " in long.stderr
    assert "tokens and 8 new ones" in long.stderr
