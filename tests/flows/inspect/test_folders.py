"""Output of `validate` for folders."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.config.settings import Settings
from harness.core.errors import EnvironmentProblem, ExitCode, UsageError
from harness.flows.inspect.folders import validate_folders
from tests.files.forbidden import forbid

TEST = {"metric": "delay", "identifier": "t", "command": "true"}
APP = {"name": "m", "format": "f", "platform": "android", "app": {"package": "org.x", "activity": ".A"}}


def write(folder: Path, name: str, model: Any = None, **test: Any) -> None:  # noqa: ANN401 - any key
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"model": model or {"name": "m", "format": "f"}, "tests": [{**TEST, **test}]}))


def summarised(*paths: Path) -> tuple[ExitCode, list[str]]:
    console = Console(file=io.StringIO(), width=300)
    code = validate_folders(paths, Settings(), console)
    assert isinstance(console.file, io.StringIO)
    return code, [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_specifications_of_a_folder_are_counted_by_reason(tmp_path: Path) -> None:
    write(tmp_path, "a/good.json")
    write(tmp_path, "a/good_too.json")  # of the same name: each file is a run of its own
    for number in range(4):
        write(tmp_path, f"b/power_{number}.json", model=APP, metric="power", command="--a b")
    write(tmp_path, "c.json", command="{IMAGENET_DIR}", iters=5)
    write(tmp_path, "d.json", command="{IMAGENET_DIR} {IMAGENET_DIR}")
    (tmp_path / "list.json").write_text(json.dumps({"benchmarks": ["a/good.json"]}))
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "other.json").write_text(json.dumps({"labels": ["cat"]}))
    (tmp_path / "notes.txt").write_text("none")
    write(tmp_path, ".cache/hidden.json", iters=5)
    code, lines = summarised(tmp_path)
    assert code is ExitCode.USAGE
    assert lines[0] == "10 specifications with 7 benchmarks: 3 valid, 4 skipped on every device, 3 refused"
    assert lines[1].startswith("skipped    4  the energy of an app cannot be separated")
    assert lines[2].strip() == "b/power_0.json, b/power_1.json, b/power_2.json and 1 more"
    assert lines[3] == "refused    2  unknown placeholder {IMAGENET_DIR}"
    assert lines[4].strip() == "c.json, d.json"
    assert lines[5].strip().startswith("hint: define {IMAGENET_DIR}")
    rest = "\n".join(lines[6:])
    assert "refused    1  unknown key `iters`\n              c.json\n" in rest
    assert "broken.json" in rest
    assert "hidden" not in rest


def test_what_cannot_be_read_in_a_folder_is_refused_and_not_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "good.json")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "link.json").symlink_to("nowhere.json")
    os.mkfifo(tmp_path / "pipe.yaml")
    code, lines = summarised(tmp_path)
    assert code is ExitCode.USAGE
    assert lines[0].endswith("1 valid, 0 skipped on every device, 2 refused")
    assert {"link.json", "pipe.yaml"} <= {line.strip() for line in lines}


def test_a_folder_of_valid_specifications_is_no_failure(tmp_path: Path) -> None:
    write(tmp_path, "a.json")
    code, lines = summarised(tmp_path)
    assert (code, lines) == (
        ExitCode.OK,
        ["1 specification with 1 benchmark: 1 valid, 0 skipped on every device, 0 refused"],
    )


def test_a_framework_that_is_not_installed_is_a_reason(tmp_path: Path) -> None:
    write(tmp_path, "a.json")
    text = (tmp_path / "a.json").read_text().replace('"format": "f"', '"format": "f", "framework": "mxnet"')
    (tmp_path / "a.json").write_text(text)
    code, lines = summarised(tmp_path)
    assert code is ExitCode.USAGE
    assert lines[1] == "refused    1  no framework `mxnet`"


def test_a_folder_without_specifications_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no specification in"):
        summarised(tmp_path)


@pytest.mark.parametrize("name", ["", "below"])
def test_a_folder_that_cannot_be_read_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.json")
    (tmp_path / "below").mkdir()
    forbid(tmp_path / name, monkeypatch)
    with pytest.raises(EnvironmentProblem, match=f"{tmp_path / name} cannot be read: permission denied"):
        summarised(tmp_path)
    (tmp_path / "below").rename(tmp_path / ".hidden")
    if name:
        assert summarised(tmp_path)[0] is ExitCode.OK
