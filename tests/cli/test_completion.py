"""`harness completion bash` prints a script with which a shell completes commands and flags."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.cli import main

_COMPLETE = """
source "$1"; shift
function=$(complete -p harness | sed 's/.*-F \\([^ ]*\\).*/\\1/')
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
"$function"
echo "${COMPREPLY[@]}"
"""


def is_missing(shell: str) -> bool:
    """Whether a shell is missing where that may be so: in CI its absence is a failure."""
    return shutil.which(shell) is None and os.environ.get("CI") != "true"


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_and_the_flags_that_help_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["completion", "bash"])
    assert ended.value.code == 0
    script = tmp_path / "completion.sh"
    script.write_text(capsys.readouterr().out)

    def complete(*words: str) -> list[str]:
        line = ("bash", "-c", _COMPLETE, "bash", str(script), "harness", *words)
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout.split()

    assert complete("comp") == ["compare", "completion"]
    assert complete("compare", "--marg") == ["--margin"]
    assert complete("run", "--contr") == []
    assert complete("mv2", "--onl") == ["--only"], "as of `harness run mv2`"
    assert complete("mv2", "--contr") == []
    assert complete("sor") == complete("run", "sor") == complete("compare", "-b", "sor") == ["sort"]
    assert complete("status", "sor") == complete("run", "--program", "sor") == [], "then the shell completes files"


def generate(shell: str, file: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    with pytest.raises(SystemExit) as ended:
        main(["completion", shell])
    assert ended.value.code == 0
    file.write_text(capsys.readouterr().out)
    return file


@pytest.mark.skipif(is_missing("fish"), reason="fish is not installed: apt install fish")
def test_fish_completes_commands_and_flags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = generate("fish", tmp_path / "harness.fish", capsys)
    subprocess.run(("fish", "-n", script), check=True)

    def complete(line: str) -> list[str]:
        argv = ("fish", "--no-config", "-c", 'source $argv[1]; complete -C "$argv[2]"', script, line)
        lines = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
        return [line.partition("\t")[0] for line in lines]

    assert complete("harness comp") == ["compare", "completion"]
    assert complete("harness compare --marg") == ["--margin"]
    assert complete("harness completion ") == ["bash", "fish", "zsh"]


@pytest.mark.skipif(is_missing("zsh"), reason="zsh is not installed: apt install zsh")
def test_zsh_calls_the_completion_from_a_file_of_fpath_and_registers_it_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = generate("zsh", tmp_path / "_harness", capsys)
    assert script.read_text().startswith("#compdef harness\n")
    subprocess.run(("zsh", "-n", script), check=True)

    def run(program: str) -> str:
        return subprocess.run(("zsh", "-f", "-c", program), capture_output=True, text=True, check=True).stdout.strip()

    asked = "_arguments() { print asked; }"
    assert run(f"{asked}; fpath=({tmp_path}); autoload -U _harness; _harness; _harness") == "asked\nasked"
    registered = "compdef() { print $*; }"
    assert run(f"{registered}; source {script}") == "_cyclopts_harness harness"
    assert run(f'{registered}; eval "$(<{script})"') == "_cyclopts_harness harness"
