"""The page about watching, and the examples beside it, say what the command line takes."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from harness.cli import app
from harness.config.arguments import normalise_flags
from harness.config.flags import WatchFlags
from harness.flows.inspect.status import WatchStatus
from harness.specification.load import load
from harness.watch.commit_processor import MOST_FAILURES
from harness.watch.notify import channels
from harness.watch.notify.outbox import MOST_ATTEMPTS
from harness.watch.store.commits import CommitStatus
from tests.docs.pages import DOCS, ROOT, codes, tables

PAGE = "watching.md"
EXAMPLES = sorted(path for path in (DOCS / "examples").iterdir() if path.is_file())
TEXT = (DOCS / PAGE).read_text(encoding="utf-8")
NIGHTLY = ROOT / "specifications" / "benchmarks" / "nightly.json"


def command_lines(text: str) -> Iterator[list[str]]:
    """Every command line of ours in a page or an example, behind whatever starts it."""
    for line in re.findall(r"^(?: {4,}|[^#`\n|]*/bin/)harness ([^\n]*)$", text, re.MULTILINE):
        yield shlex.split(line)


def test_the_table_of_flags_is_complete() -> None:
    (rows,) = tables(PAGE, "flags").values()
    listed = [flag.removeprefix("--").replace("-", "_") for row in rows for flag in codes(row[0])]
    assert listed == [field.name for field in dataclasses.fields(WatchFlags)]


def test_the_table_of_the_status_is_complete() -> None:
    (rows,) = tables(PAGE, "status").values()
    listed = [key for row in rows for key in codes(row[0])]
    assert sorted(listed) == sorted(WatchStatus.model_fields)
    (statuses,) = [codes(row[1]) for row in rows if "counts" in codes(row[0])]
    assert statuses == list(CommitStatus)


@pytest.mark.parametrize("page", [DOCS / PAGE, *EXAMPLES], ids=lambda path: path.name)
def test_every_command_line_is_accepted(page: Path) -> None:
    lines = list(command_lines(page.read_text(encoding="utf-8")))
    assert lines
    for words in lines:
        app.parse_args(normalise_flags(words), exit_on_error=False, print_error=False)


def test_every_example_is_on_the_page() -> None:
    assert re.findall(r"\]\(examples/([^)]+)\)", TEXT) == [*dict.fromkeys(re.findall(r"examples/([\w.-]+)", TEXT))]
    assert {path.name for path in EXAMPLES} == set(re.findall(r"\]\(examples/([^)]+)\)", TEXT))


def test_the_nightly_list_is_used_by_the_examples_and_loads() -> None:
    titles = {benchmark.title for benchmark in load([NIGHTLY]).benchmarks}
    assert any("xnnpack_q8" in title for title in titles)
    for example in EXAMPLES:
        assert re.search(r"harness watch nightly |SPECIFICATION: nightly$", example.read_text(), re.MULTILINE)


def test_the_workflow_pastes_no_input_into_a_command() -> None:
    workflow = yaml.safe_load((DOCS / "examples" / "nightly.yml").read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert len(workflow["jobs"]) == 2
    assert not [step["run"] for step in steps if "${{" in step.get("run", "")]
    assert workflow["concurrency"]["group"] == "lab", "two jobs would ask for one state"


def test_the_unit_stops_the_watcher_with_an_interrupt() -> None:
    unit = (DOCS / "examples" / "harness-watch.service").read_text()
    assert "KillSignal=SIGINT" in unit
    assert "SuccessExitStatus=1 130" in unit
    (line,) = command_lines(unit)
    assert "--interval" in line


def test_names_and_numbers_match_the_code() -> None:
    for name in (channels.FILE_VARIABLE, channels.KEY_VARIABLE, channels.SECRET_VARIABLE):
        assert f"`{name}`" in TEXT
    headers = re.findall(r"^ {4}([A-Z][\w-]+): ", channels.__doc__ or "", re.MULTILINE)
    assert {"Idempotency-Key", "X-Harness-Event", "X-Harness-Signature-256"} <= set(headers)
    assert all(f"`{header}`" in TEXT for header in headers if header != "Content-Type")
    assert f"{MOST_ATTEMPTS} times" in TEXT
    assert f"{MOST_FAILURES} attempts" in TEXT
