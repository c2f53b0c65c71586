"""`harness completion bash` prints a script with which a shell completes commands and flags."""

from __future__ import annotations

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
