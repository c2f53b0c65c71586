"""`harness completion bash` prints a script with which a shell completes commands, flags, their values and files."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from select import select
from typing import Final

import pytest

from harness.cli import main
from harness.config.built_in import find_specifications
from tests.builders.sources.repositories import require

ONE_WORD: Final = {
    "comp": None,
    "valid": "validate",
    "lab withd": "withdraw",
    "mobil": "mobilenets",
    "run mobil": "mobilenets",
    "-v run -q mobil": "mobilenets",
    "validate mine mobil": "mobilenets",
    "compare -b mobil": "mobilenets",
    "lab mobil": None,
    "run min": "mine.json",
    "min": "mine.json",
    "run fol": "folder/",
    "run --program ./my_p": "./my_program",
    "run --program=./my_p": "--program=./my_program",
    "store import min": "mine.json",
    "run --onl": "--only",
    "mv2 --onl": "--only",
    "--only x --ski": "--skip",
    "compare --marg": "--margin",
    "lab serve --por": "--port",
    "run --platform andr": "android",
    "run --platform=andr": "--platform=android",
    "run --screen=ke": "--screen=keep",
    "run --reporter markd": "markdown",
    "export mobilen": None,
    "export tiny_l": "tiny_llama",
    "export mv2 --recipe xnnpack_8": "xnnpack_8da4w",
    "report LA": "LAST",
    "report --against LA": "LAST",
    "alarms clo": "close",
    "alarms close clo": None,
    "completion fi": "fish",
    "run --only mobil": None,
    "import mobil": None,
}
"""The end of each command line, and the only word that it may become; None if there is none, or several."""
SEVERAL_WORDS: Final = {
    "comp": {"compare", "completion"},
    "completion ": {"bash", "zsh", "fish"},
    "store ": {"info", "import", "export", "prune", "migrate", "check"},
    "run m": {name for name in find_specifications() if name.startswith("m")} | {"mine.json", "my_program"},
    "run --screen ": {"keep", "on", "off"},
    "run -b mv2 --no-s": {"--no-same-host", "--no-screen-reporter"},
}
_BASH: Final = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_harness
[[ -z "${COMPREPLY[*]}" ]] || printf '%s\n' "${COMPREPLY[@]}"
"""
_FISH: Final = 'source $argv[1]; complete -C "$argv[2]"'
_ZSH: Final = r"""
fpath=($PWD $fpath); autoload -U compinit; compinit -u -D
show() { print -rn -- $'\1'"$BUFFER"$'\2'; BUFFER= }
zle -N show; zle -N zle-line-init show; bindkey '^G' show
"""

_ANSWER_S: Final = 60.0
"""A shell that shows nothing for so long asks something."""

Generate = Callable[[str, str], Path]


@pytest.fixture
def generate(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Generate:
    """Return a function that writes the script of a shell to a file, in a folder with files to complete."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("mine.json").touch()
    Path("my_program").touch()

    def write(shell: str, file: str) -> Path:
        require(shell)
        with pytest.raises(SystemExit) as ended:
            main(["completion", shell])
        assert ended.value.code == 0
        script = Path(file).resolve()
        script.write_text(capsys.readouterr().out)
        subprocess.run((shell, "-n", script), check=True)
        return script

    return write


def complete_in_bash(script: Path, line: str) -> Sequence[str]:
    words = line.replace("=", " = ").split(" ")  # as readline does
    done = subprocess.run(
        ("bash", "-c", _BASH, "bash", script, "harness", *words), capture_output=True, text=True, check=True
    )
    before = "".join(words[-3:-1]) if "=" in words else ""
    return [f"{before}{word}/" if Path(word).is_dir() else f"{before}{word}" for word in done.stdout.splitlines()]


def complete_in_fish(script: Path, line: str) -> Sequence[str]:
    argv = ("fish", "--no-config", "-c", _FISH, script, f"harness {line}")
    lines = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.partition("\t")[0] for line in lines]  # the rest describes it


def complete_in_zsh(lines: Sequence[str]) -> Mapping[str, str]:
    """Press the tabulator behind each line, in a terminal, and return what becomes of the lines."""
    Path("setup.zsh").write_text(_ZSH)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        ("zsh", "-f", "-i"), stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as shell:
        os.close(theirs)

        def type_keys(keys: str) -> str:
            os.write(ours, keys.encode())
            shown = b""
            while not shown.endswith(b"\2"):
                assert select([ours], [], [], _ANSWER_S)[0], f"zsh waits, and shows {shown.decode()!r}"
                shown += os.read(ours, 1)
            return shown.rpartition(b"\1")[2][:-1].decode()

        try:
            type_keys("source ./setup.zsh\n")
            return {line: type_keys(f"harness {line}\t\7") for line in lines}
        finally:
            shell.kill()
            os.close(ours)


def starting(words: Sequence[str], line: str) -> set[str]:
    """Return the words that begin as the line ends: fish also finds words that contain it."""
    return {word for word in words if word.startswith(line.rpartition(" ")[2])}


@pytest.mark.parametrize("complete", [complete_in_bash, complete_in_fish])
def test_commands_flags_values_and_files_are_completed(
    complete: Callable[[Path, str], Sequence[str]], generate: Generate
) -> None:
    script = generate(complete.__name__.rpartition("_")[2], "script")
    expected = {line: {word} for line, word in ONE_WORD.items() if word is not None} | SEVERAL_WORDS
    assert {line: starting(complete(script, line), line) for line in expected} == expected
    unknown = [line for line in ONE_WORD if line not in expected]
    assert not any(starting(complete(script, line), line) for line in unknown)


def test_zsh_completes_commands_flags_values_and_files(generate: Generate) -> None:
    generate("zsh", "_harness")
    completed = complete_in_zsh(tuple(ONE_WORD))
    expected = {line: f"{line.rpartition(' ')[0]} {word}".lstrip() if word else line for line, word in ONE_WORD.items()}
    assert {line: text.removeprefix("harness ").rstrip() for line, text in completed.items()} == expected


def test_zsh_registers_a_script_that_is_not_a_file_of_fpath(generate: Generate) -> None:
    script = generate("zsh", "_harness")
    assert script.read_text().startswith("#compdef harness\n")

    def run(program: str) -> str:
        return subprocess.run(("zsh", "-f", "-c", program), capture_output=True, text=True, check=True).stdout.strip()

    registered = "compdef() { print $*; }"
    assert run(f"{registered}; source {script}") == "_harness_complete harness"
    assert run(f'{registered}; eval "$(<{script})"') == "_harness_complete harness"
