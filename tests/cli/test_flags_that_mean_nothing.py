"""A flag is never accepted and then ignored."""

from __future__ import annotations

import pytest

from harness.cli import main
from harness.config.arguments import normalise_flags
from tests.cli.project import Project

MV2 = "specifications/models/mv2.json"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("compare", "--from", "results", "-b", "spec.json"), "--benchmark-file beside --from"),
        (("compare", "--from", "results", "--only", "a"), "--only beside --from"),
        (("compare", "--from", "results", "--reporter", "html"), "--reporter beside --from"),
        (("compare", "--from", "results", "--metric", "x"), "--metric beside --from"),
        (("compare", "--from", "results", "--self_check"), "--self-check beside --from"),
        (("compare", "--from", "results", "--resume"), "--resume beside --from"),
        (("report", "results", "--flush"), "--flush sends everything"),
        (("builds", "--keep_mib", "5"), "harness builds prune --keep-mib 5"),
        (("builds", "--unused_days", "5"), "harness builds prune --unused-days 5"),
        (("builds", "prune", "--keep_mib", "-5"), "0 or more"),
        (("builds", "--prune", "--unused_days", "nan"), "0 or more"),
        (("builds", "forget"), "forget"),
        (("compare", "-b", MV2, "--repo_dir", ".", "--treatment", ""), "--treatment is empty"),
        (("run", "-b", MV2, "--repo_dir", ".", "--base_commit", "", "--ab_testing"), "--control is empty"),
    ],
)
def test_unsupported_flags_are_rejected(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("words", [("builds",), ("builds", "list"), ("builds", "prune"), ("builds", "--prune")])
def test_builds_are_listed_and_pruned(project: Project, words: tuple[str, ...]) -> None:
    done = project.harness(*words)
    assert done.code == 0, done.stderr
    assert ("0 removed" if "prune" in words[-1] else "0 kept") in done.stdout


@pytest.mark.parametrize("flag", ["--commit", "--base_commit", "--control", "--treatment"])
def test_a_single_dash_means_standard_input(flag: str) -> None:
    assert normalise_flags(["compare", flag, "-", "--pairs", "3"]) == [
        *("compare", f"{flag.replace('_', '-')}=-", "--pairs", "3"),
    ]


def test_a_single_dash_after_a_command_is_unchanged() -> None:
    assert normalise_flags(["validate", "-"]) == ["validate", "-"]
