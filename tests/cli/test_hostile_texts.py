"""Texts that a terminal would obey, in every command: neither their controls nor their direction marks arrive."""

from __future__ import annotations

import ast
import json
import os
import pty
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from harness.cli import main
from harness.core.result import Report
from harness.testing.results import failed_result, ok_result
from reporters.local import LocalReporter
from tests.cli.project import Project, command, generic, one_test

pytestmark = pytest.mark.slow

ROOT: Final = Path(__file__).parents[2]
HOSTILE: Final = "x\x1b]0;pwned\x07\x1b[2J\x9b31m\u202eexe\u2066\u200f\rOK\x08\x7f"
"""A title, a cleared screen, a colour in C1, overrides and marks of direction, a return, a backspace, a delete."""
_OBEYED: Final = re.compile("\x1b\\]0|\x1b\\[2J|[\x07\x08\x7f\x80-\x9f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")


def _hostile_program(project: Project) -> str:
    """A program whose observations, and whose last words, are hostile."""
    line = {"type": "NET", "metric": "latency", "unit": HOSTILE, "value": "1"}
    operator = {"type": HOSTILE, "metric": "latency", "unit": "us", "value": "1"}
    text = {"type": "NET", "metric": HOSTILE, "unit": "", "info_string": HOSTILE}
    lines = [f"PyTorchObserver {json.dumps(part)}" for part in (line, operator, text)]
    output = project.write("output", "\n".join([*lines, "PyTorchObserver {" + HOSTILE, HOSTILE]) + "\n")
    project.write("fail.sh", f"cat {output} >&2; exit 3\n")
    return f"/bin/cat {output}"


def _commands(project: Project) -> list[tuple[str | Path, ...]]:
    works = _hostile_program(project)
    spec = project.write(
        "spec.json",
        generic(
            one_test(f"works {HOSTILE}", works),
            one_test(f"fails {HOSTILE}", f"/bin/sh {project.folder / 'fail.sh'}"),
            name=f"model {HOSTILE}",
        ),
    )
    wrong = project.write(
        "wrong.json", {"model": {"name": 3, HOSTILE: 1}, "tests": [{"identifier": HOSTILE}], HOSTILE: 2}
    )
    broken = project.write("broken.json", '{"model": ' + HOSTILE + "}")
    broken_yaml = project.write("broken.yaml", "model: {a: " + HOSTILE)
    damaged = project.write("damaged/result.json", json.dumps({HOSTILE: HOSTILE}))
    tree = LocalReporter(project.folder / "stored")
    benchmark = ok_result().benchmark.model_copy(update={"model": HOSTILE, "identifier": HOSTILE})
    tree.report(Report(result=ok_result().model_copy(update={"benchmark": benchmark})))
    tree.report(Report(result=failed_result(reason=HOSTILE, hint=HOSTILE)))
    stored = ("--local-reporter", project.folder / "stored")
    database = ("--database", project.folder / "results.db")
    return [
        ("run", "-b", spec),
        ("run", "-b", spec, "--debug", "--reporter", f"html={project.folder / 'p.html'}"),
        ("run", "-b", spec, "--dry-run"),
        *(("validate", file) for file in (spec, wrong, broken, broken_yaml, HOSTILE, f"{HOSTILE}.yaml")),
        ("report", *stored),
        ("report", project.folder / "stored"),
        ("report", damaged),
        ("compare", "--from", damaged),
        ("compare", "-b", spec, "--control", HOSTILE, "--treatment", HOSTILE, "--repo-dir", HOSTILE),
        ("run", "-b", spec, f"--{HOSTILE}"),
        ("run", "-b", spec, "--metric", HOSTILE, "--info", HOSTILE),
        ("run", "-b", spec, "--env", HOSTILE),
        (HOSTILE,),
        ("bisect", "-b", spec, "--good", HOSTILE, "--bad", "b", "--repo-dir", HOSTILE),
        ("watch", "-b", spec, "--repo-dir", HOSTILE, "--since", HOSTILE),
        ("status", "--state", project.folder / HOSTILE),
        ("export", HOSTILE, "--recipe", HOSTILE),
        ("builds", "--exec-dir", project.folder / HOSTILE),
        ("store", "import", project.folder / "stored", project.folder / "damaged", *database),
        ("store", "import", HOSTILE, *database),
        ("store", *database),
        ("store", "--database", f"{HOSTILE}://{HOSTILE}"),
        ("query", *database),
        ("query", "--since", HOSTILE, *database),
    ]


def _on_terminal(project: Project, words: tuple[str | Path, ...]) -> str:
    """What a command writes to a terminal; both of its streams are one."""
    main, terminal = pty.openpty()
    environment = {**project.environment, "TERM": "xterm", "COLUMNS": "150", "LINES": "50"}
    process = subprocess.Popen(
        command(*words), cwd=project.folder, env=environment, stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    written = b""
    try:
        while chunk := os.read(main, 65536):
            written += chunk
    except OSError:
        pass  # Linux says so when the last program has closed the terminal
    os.close(main)
    process.wait()
    return written.decode()


def test_no_command_writes_what_a_terminal_obeys(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.folder)
    for name, value in project.environment.items():
        monkeypatch.setenv(name, value)
    for words in _commands(project):
        with pytest.raises(SystemExit):
            main([str(word) for word in words])
        for stream in (written := capsys.readouterr()):
            assert _OBEYED.search(stream) is None, words
            assert "\r" not in stream, words
        assert "".join(written), words
        assert "bug" not in written.err, words


def test_a_terminal_gets_no_hostile_text_while_it_is_drawn_on(project: Project) -> None:
    words = _commands(project)[0]
    written = _on_terminal(project, words)
    assert "model x" in written
    assert _OBEYED.search(written) is None


def test_names_with_brackets_are_no_markup_of_a_progress_line(project: Project) -> None:
    model = project.write("[/red] [bold].bin", "content")
    file = {"filename": "[/red] [bold].bin", "location": str(model)}
    spec = project.write("spec.json", generic(one_test("[/]", "true [/x]"), files={"model": file}))
    assert "Error" not in _on_terminal(project, ("run", "-b", spec))


def test_only_the_display_makes_consoles_and_prints() -> None:
    """What goes to a terminal passes through one place: nothing else makes a console of rich's, or prints."""
    displays = {"console", "plain", "quiet"}
    allowed = {"harness/config/arguments.py", *(f"harness/display/{name}.py" for name in displays)}
    programs = (
        "harness/testing/",
        "frameworks/python_runner/",
        "frameworks/executorch/llm_runner/",
        "frameworks/exporting/",
        "frameworks/tflite/exporting/converter.py",
        "frameworks/openvino/archive.py",
    )
    found = []
    for room in ("harness", "platforms", "frameworks", "reporters"):
        for file in sorted((ROOT / room).rglob("*.py")):
            name = file.relative_to(ROOT).as_posix()
            calls = [node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
            names = {call.id for call in calls if isinstance(call, ast.Name)}
            if names & {"print", "Console"} and name not in allowed and not name.startswith(programs):
                found.append(name)
    assert found == []
