"""A flag is never accepted and then ignored."""

from __future__ import annotations

import pytest

from harness.cli import main
from harness.config.arguments import normalise_flags
from tests.cli.project import Project, generic, one_test
from tests.cli.scripts import RECIPE, git_of_scripts

MV2 = "specifications/models/mv2.json"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("compare", "--from", "results", "-b", "spec.json"), "--benchmark-file beside --from"),
        (("compare", "--from", "results", "--only", "a"), "--only beside --from"),
        (("compare", "--from", "results", "--timeout", "9"), "--timeout beside --from"),
        (("compare", "--from", "results", "--metric", "x"), "--metric beside --from"),
        (("compare", "--from", "results", "--self_check"), "--self-check beside --from"),
        (("compare", "--from", "results", "--resume"), "--resume beside --from"),
        (("compare", "-b", MV2, "--self-check", "--layouts", "0"), "--layouts 0: must be 1 to 9"),
        (("watch", "-b", MV2, "--repo-dir", ".", "--layouts", "3"), "a watcher links each commit once"),
        (
            ("bisect", "-b", MV2, "--repo-dir", ".", "--good", "a", "--bad", "b", "--layouts", "3"),
            "a search links each commit once",
        ),
        (("report", "results", "--flush"), "--flush sends everything"),
        (("builds", "--keep_mib", "5"), "harness builds prune --keep-mib 5"),
        (("builds", "--unused_days", "5"), "harness builds prune --unused-days 5"),
        (("builds", "prune"), "--keep-mib 0 removes all"),
        (("builds", "prune", "--keep_mib", "-5"), "0 or more"),
        (("builds", "--prune", "--unused_days", "nan"), "0 or more"),
        (("builds", "forget"), "forget"),
        (("run", "-b", MV2, "--submodules", "all"), "--submodules: no commit is built here"),
        (("compare", "-b", MV2, "--self-check", "--submodules", "lib"), "--submodules: no commit is built here"),
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


FLAGS_OF_PHONES = ("--reboot", "--set_freq=max", "--wipe_cache", "--airplane", "--screen=off")


@pytest.mark.parametrize("flags", [*((flag,) for flag in FLAGS_OF_PHONES), FLAGS_OF_PHONES])
def test_what_a_platform_cannot_do_to_its_devices_is_rejected(
    flags: tuple[str, ...], project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = project.write("spec.json", generic(one_test("a", "true")))
    with pytest.raises(SystemExit) as ended:
        main(["-b", str(spec), "--dry_run", *flags])
    assert ended.value.code == 2
    named = {flag.partition("=")[0].replace("_", "-") for flag in flags}
    error = capsys.readouterr().err
    names, _, rest = error.removeprefix("harness: ").partition(": platform `host` cannot do that")
    assert set(names.split(", ")) == named
    assert ("On phones" if flags == ("--reboot",) else "On Android phones") in rest


@pytest.mark.parametrize(
    "words",
    [
        ("--screen", "keep"),
        ("--wipe_cache", "False"),
        ("--debug", "--debug", "--screen_reporter", "true"),
        ("-p", "nowhere", "-p", "host"),
        ("--timeout", "0", "--timeout=4"),
    ],
)
def test_values_that_change_nothing_and_repeated_flags_are_accepted(words: tuple[str, ...], project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", "true")))
    with pytest.raises(SystemExit) as ended:
        main(["-b", str(spec), "--dry_run", *words])
    assert ended.value.code == 0


def test_saved_defaults_about_phones_count_for_phones_only(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = project.write("spec.json", generic(one_test("a", "true")))
    monkeypatch.setenv("HARNESS_SET_FREQ", "max")
    with pytest.raises(SystemExit) as ended:
        main(["-b", str(spec), "--dry_run"])
    assert ended.value.code == 0


@pytest.mark.parametrize("value", ["true", "False"])
def test_a_truth_value_belongs_to_the_switch_before_it(value: str) -> None:
    assert normalise_flags(["run", "--wipe_cache", value, "--user", value]) == [
        *("run", f"--wipe-cache={value.lower()}", "--user", value),
    ]


@pytest.mark.parametrize("more", [(), ("--dry_run",)])
def test_a_recipe_where_nothing_is_built_is_rejected(
    more: tuple[str, ...], project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = project.write("spec.json", generic(one_test("a", "true")))
    with pytest.raises(SystemExit) as ended:
        main(["-b", str(spec), "-p", "host/incremental", "--local_reporter", str(project.folder / "results"), *more])
    assert ended.value.code == 2
    assert "leave out `/incremental`" in capsys.readouterr().err


@pytest.mark.slow
def test_the_name_of_a_platform_may_name_a_recipe(project: Project) -> None:
    clone = git_of_scripts(project)
    project.write("recipes/generic/host/build.sh", "exit 1")
    project.write("recipes/generic/host/incremental/build.sh", RECIPE)
    spec = project.write("spec.json", generic(one_test("a", "{program}")))
    where = ("--repo_dir", clone.folder, "--frameworks_dir", clone.recipes, "--commit", clone.commits["base"])
    done = project.harness("-b", spec, "-p", "host/incremental", *where)
    assert done.code == 0, done.stderr
    (result,) = done.read()
    assert (result["device"]["platform"], result["build"]["recipe"]) == ("host", "generic/host/incremental")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "words_of_answer"),
    [
        (("builds",), "0 kept"),
        (("builds", "list"), "0 kept"),
        (("builds", "prune", "--keep-mib", "0"), "0 removed"),
        (("builds", "--prune", "--unused-days", "30"), "0 removed"),
    ],
)
def test_builds_are_listed_and_pruned(project: Project, words: tuple[str, ...], words_of_answer: str) -> None:
    done = project.harness(*words)
    assert done.code == 0, done.stderr
    assert words_of_answer in done.stdout


@pytest.mark.parametrize("flag", ["--commit", "--base_commit", "--control", "--treatment"])
def test_a_single_dash_means_standard_input(flag: str) -> None:
    assert normalise_flags(["compare", flag, "-", "--pairs", "3"]) == [
        *("compare", f"{flag.replace('_', '-')}=-", "--pairs", "3"),
    ]


def test_a_single_dash_after_a_command_is_unchanged() -> None:
    assert normalise_flags(["validate", "-"]) == ["validate", "-"]
