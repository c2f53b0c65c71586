"""A flag is never accepted and then ignored."""

from __future__ import annotations

import pytest

from harness.cli import main
from tests.cli.project import Project


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("compare", "--from", "results", "-b", "spec.json"), "--benchmark_file beside --from"),
        (("compare", "--from", "results", "--only", "a"), "--only beside --from"),
        (("compare", "--from", "results", "--metric", "x"), "--metric beside --from"),
        (("compare", "--from", "results", "--self_check"), "--self_check beside --from"),
        (("compare", "--from", "results", "--resume"), "--resume beside --from"),
        (("report", "results", "--flush"), "--flush sends everything"),
        (("builds", "--keep_mib", "5"), "harness builds prune --keep_mib 5"),
        (("builds", "--unused_days", "5"), "harness builds prune --unused_days 5"),
        (("builds", "prune", "--keep_mib", "-5"), "0 or more"),
        (("builds", "--prune", "--unused_days", "nan"), "0 or more"),
        (("builds", "forget"), "forget"),
    ],
)
def test_what_means_nothing_is_refused(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("words", [("builds",), ("builds", "list"), ("builds", "prune"), ("builds", "--prune")])
def test_builds_are_listed_and_pruned(project: Project, words: tuple[str, ...]) -> None:
    done = project.harness(*words)
    assert done.code == 0, done.stderr
    assert ("0 removed" if "prune" in words[-1] else "0 kept") in done.stdout
