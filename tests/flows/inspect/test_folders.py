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
from harness.flows.inspect.validation import describe_files
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
    place = next(number for number, line in enumerate(lines) if line.startswith("skipped    4"))
    assert lines[place].startswith("skipped    4  the energy of an app cannot be separated")
    assert lines[place + 1].strip() == "b/power_0.json, b/power_1.json, b/power_2.json and 1 more"
    assert lines[place + 2] == "refused    2  unknown placeholder {IMAGENET_DIR}"
    assert lines[place + 3].strip() == "c.json, d.json"
    assert lines[place + 4].strip().startswith("hint: define {IMAGENET_DIR}")
    rest = "\n".join(lines[place + 5 :])
    assert "refused    1  unknown key `iters`\n              c.json\n" in rest
    assert "broken.json" in rest
    assert "hidden" not in rest
    assert "passed over, without `model`, `tests` and `benchmarks`: other.json" in lines


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
    assert code is ExitCode.OK
    assert lines[0] == "1 specification with 1 benchmark: 1 valid, 0 skipped on every device, 0 refused"
    assert lines[-1].split() == ["generic", "f", "1", "0", "0", "1"]


def test_a_summary_counts_by_framework_and_by_key(tmp_path: Path) -> None:
    write(tmp_path, "good.json", model={"name": "m", "format": "tflite"})
    write(tmp_path, "a.json", iters=5, platform_args={"retry": 3})
    write(tmp_path, "b.json", iters=5)
    named = {"name": "m", "format": "pte", "framework": "executorch"}
    write(tmp_path, "c.json", model=named, command="{A} {B}")
    (tmp_path / "list.json").write_text(json.dumps({"benchmarks": ["good.json"]}))
    (tmp_path / "broken.json").write_text("{")
    code, lines = summarised(tmp_path)
    assert code is ExitCode.USAGE
    rows = [line.split() for line in lines]
    assert ["generic", "f", "0", "0", "2", "0"] in rows
    assert ["generic", "tflite", "2", "0", "0", "2"] in rows, "a list counts with those that it names"
    assert ["executorch", "pte", "0", "0", "1", "0"] in rows, "what is refused counts as what it says it is"
    keys = rows[rows.index(["key", "that", "is", "refused", "files", "places"]) + 2 :]
    assert keys[0] == ["iters", "2", "2"]
    assert ["command", "1", "1"] in keys
    assert ["platform_args.retry", "1", "1"] in keys
    assert ["(the", "whole", "file)", "1", "1"] in keys


def test_the_document_has_the_same_counts_and_the_exit_code_of_the_text(
    tmp_path: Path,
) -> None:
    write(tmp_path, "good.json")
    write(tmp_path, "bad.json", iters=5)
    document = describe_files([tmp_path], Settings())
    summary = document.summary
    assert summary is not None
    assert (summary.specifications, summary.valid, summary.refused, summary.benchmarks) == (2, 1, 1, 1)
    assert [(row.key, row.files) for row in summary.keys] == [("iters", 1)]
    (reason,) = summary.reasons
    assert (reason.outcome, reason.files) == ("refused", (str(tmp_path / "bad.json"),))
    assert len(document.problems) == 1
    assert len(document.benchmarks) == 1
    assert describe_files([tmp_path / "good.json"], Settings()).summary is None


def test_a_framework_that_is_not_installed_is_a_reason(tmp_path: Path) -> None:
    write(tmp_path, "a.json")
    text = (tmp_path / "a.json").read_text().replace('"format": "f"', '"format": "f", "framework": "mxnet"')
    (tmp_path / "a.json").write_text(text)
    code, lines = summarised(tmp_path)
    assert code is ExitCode.USAGE
    assert "refused    1  no framework `mxnet`" in lines


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
