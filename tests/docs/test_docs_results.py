"""`docs/results.md` says what the code does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from harness.config.remote_target import TOKEN_FILE_VARIABLE, TOKEN_VARIABLE, RemoteTarget
from harness.config.settings import Settings
from harness.core.comparison import GAIN_STATISTICS, STATISTICS
from harness.core.errors import ExitCode
from harness.core.result import Outcome
from harness.core.verdict import Verdict
from harness.store.frames import make_frame, make_samples
from harness.testing.reporters import CHECKS
from harness.testing.results import failed_result, ok_result, report_of
from reporters.remote.endpoint import Endpoint
from reporters.remote.spool import SendStatus
from tests.docs.results_page import PAGE, current, described, objects

TEXT = PAGE.read_text(encoding="utf-8")

_STATUSES = {"received": SendStatus.SENT, "kept": SendStatus.KEPT, "refused for good": SendStatus.REFUSED}


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def _example() -> dict[str, Any]:
    reporter, imports, test = _blocks("python")
    names: dict[str, Any] = {}
    exec("from __future__ import annotations\n" + imports + reporter + test, names)
    return names


def test_every_field_of_a_result_is_described_as_in_the_classes() -> None:
    assert described(TEXT) == objects()
    assert current(TEXT) == TEXT, "run python -m tests.docs.results_page"


def test_every_column_of_a_table_is_described() -> None:
    table = make_frame([ok_result()])
    samples = make_samples([ok_result()])
    section = TEXT.partition("\n### Columns of tables\n")[2].partition("\n## ")[0]
    described_columns = set(re.findall(r"^\| `(\w+)` \| .", section, re.MULTILINE))
    assert {str(name).partition(".")[0] for frame in (table, samples) for name in frame} <= described_columns


def test_every_outcome_is_explained() -> None:
    assert re.findall(
        r"^\| `(\w+)` \| [^|]+ \|$", TEXT.partition("### Outcome")[2].partition("###")[0], re.MULTILINE
    ) == [outcome.value for outcome in Outcome]


def test_every_verdict_is_explained() -> None:
    table = TEXT.partition("### Verdict")[2].partition("###")[0]
    assert re.findall(r"^\| `([\w ]+)` \| [^|]+ \|$", table, re.MULTILINE) == list(Verdict)


def test_statistics_of_a_launch_are_in_their_order() -> None:
    sentence = re.search(r"five statistics of a launch are (.*?) of its iterations", TEXT)
    assert sentence is not None
    assert tuple(re.findall(r"`(\w+)`", sentence[1])) == STATISTICS
    gains = re.search(r"where higher\nis better, these are (.*?)\. ", TEXT)
    assert gains is not None
    assert tuple(re.findall(r"`(\w+)`", gains[1])) == GAIN_STATISTICS


def test_the_answers_of_a_server_mean_what_the_table_says() -> None:
    answers = TEXT.partition("| answer | effect on the result |")[2]
    rows = re.findall(r"^\| (\d[^|]*) \| ([^|:]+)[^|]*\|$", answers, re.MULTILINE)
    assert len(rows) == 5
    endpoint = Endpoint(RemoteTarget("http://host"))
    for statuses, meaning in rows:
        for status in re.findall(r"\b\d{3}\b", statuses):
            assert endpoint._classify(int(status), "").status is _STATUSES[meaning.strip()], status


def test_every_exit_code_of_a_run_is_explained() -> None:
    section = TEXT.partition("\n## Exit codes\n")[2].partition("\n## ")[0]
    of_verdicts = {ExitCode.REGRESSION, ExitCode.UNDECIDED}
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)] == sorted(
        {*ExitCode} - of_verdicts
    )


def test_the_variables_of_the_token_are_named_right() -> None:
    assert {TOKEN_VARIABLE, TOKEN_FILE_VARIABLE} <= set(re.findall(r"`(HARNESS_\w+)`", TEXT))


def test_links_resolve() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (PAGE.parent / link).exists(), link
    headings = {heading.lower() for heading in re.findall(r"^### (\w+)$", TEXT, re.MULTILINE)}
    assert set(re.findall(r"\]\(#(\w+)\)", TEXT)) <= headings


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_example_fulfils_the_contract_by_its_own_test(check: object, tmp_path: Path) -> None:
    _example()["test_the_reporter_fulfils_the_contract"](check, tmp_path)


def test_the_example_writes_what_it_says(tmp_path: Path) -> None:
    create = _example()["create"]
    assert create(Settings()) is None
    reporter = create(Settings(reporters={"csv": str(tmp_path / "results.csv")}))
    for result in (ok_result(uid="1"), failed_result(uid="2")):
        reporter.report(report_of(result))
    assert (tmp_path / "results.csv").read_text().splitlines() == [
        "1,mv2-xnnpack_fp32-t1,ok,0.81375",
        "2,mv2-xnnpack_fp32-t1,crashed,",
    ]


def test_the_entry_point_is_in_our_group() -> None:
    (block,) = _blocks("toml")
    ours = tomllib.loads((PAGE.parents[1] / "pyproject.toml").read_text())["project"]["entry-points"]
    assert set(tomllib.loads(block)["project"]["entry-points"]) <= set(ours)
