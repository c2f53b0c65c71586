"""What speaks against a verdict of no change: coarse clocks, lost launches, unequal paths; and what `--from` says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.project import Project, generic, one_test
from tests.cli.scripts import script, text

pytestmark = pytest.mark.slow

REPORTING = r"""
#include <stdio.h>
#define FORM "PyTorchObserver {\"type\": \"NET\", \"metric\": \"latency\", \"unit\": \"us\", \"value\": \"%d.5\"}\n"
int main(void) {
  for (int i = 0; i < 12; ++i) printf(FORM, 1000 + i % 5);
}
"""


@pytest.fixture
def spec(project: Project) -> Path:
    return project.write("spec.json", generic(one_test("work", "{program}", threads=1)))


def sides(control: Path, treatment: Path) -> tuple[str, ...]:
    return ("--control-program", str(control), "--treatment-program", str(treatment))


def test_whole_microseconds_cannot_exclude_a_change_of_one_percent(project: Project, spec: Path) -> None:
    control, treatment = (script(project, name, text(20.1, step=1.0)) for name in ("control", "treatment"))
    done = project.harness("compare", "-b", spec, *sides(control, treatment), "--pairs", "20")
    assert done.code == 5
    (result,) = done.read()
    assert result["comparison"]["verdict"] == "undecided"
    assert "coarse" in [note["code"] for note in result["comparison"]["notes"]]


def test_an_occasionally_crashing_treatment_is_not_reported_as_unchanged(project: Project, spec: Path) -> None:
    count = project.folder / "count"
    crash = f"open({str(count)!r}, 'a').write('x')\nif os.path.getsize({str(count)!r}) % 6 == 5: os.abort()"
    treatment = script(project, "treatment", text(before=crash))
    programs = sides(script(project, "control", text()), treatment)
    done = project.harness("compare", "-b", spec, *programs, "--pairs", "40", "--seed", "1")
    (result,) = done.read()
    assert done.code == 5, result["comparison"]["verdict"]
    (note,) = [note for note in result["notes"] if note["code"] == "treatment_lost_launches"]
    assert not note["trust"]
    assert "the treatment crashed in" in result["comparison"]["reason"]
    assert "not to be trusted" in done.stderr
    again = project.harness("compare", "--from", project.folder / "results")
    assert again.code == 5, again.stdout


def test_a_treatment_that_reports_fewer_samples_is_not_reported_as_unchanged(project: Project, spec: Path) -> None:
    few = text().replace("range(12)", "range(3)")
    programs = sides(script(project, "control", text()), script(project, "treatment", few))
    done = project.harness("compare", "-b", spec, *programs, "--pairs", "20")
    (result,) = done.read()
    assert result["comparison"]["verdict"] != "no change"
    (note,) = [note for note in result["notes"] if note["code"] == "unequal_samples"]
    assert "the control reported 12 samples, one of the treatment 3" in note["message"]
    assert not note["trust"]
    assert project.harness("compare", "--from", project.folder / "results").code == done.code == 5, done.stdout


def test_fewer_samples_of_a_further_metric_are_seen_too(project: Project, spec: Path) -> None:
    line = "dict(type='NET', metric='frame', unit='us', value=500 * (1 + chance.gauss(0, 0.002)))"
    control, treatment = (
        script(project, name, f"{text()}for _ in range({count}): print('PyTorchObserver', json.dumps({line}))\n")
        for name, count in (("control", 12), ("treatment", 3))
    )
    metrics = ("--metric", "NET latency", "--metric", "NET frame")
    done = project.harness("compare", "-b", spec, *sides(control, treatment), *metrics, "--pairs", "20")
    results = done.read()
    assert len(results) == 2, done.stderr
    for result in results:
        assert result["comparison"]["verdict"] == "undecided"
        (note,) = [note for note in result["notes"] if note["code"] == "unequal_samples"]
        assert "the control reported 12 samples of NET frame, one of the treatment 3" in note["message"]


def test_fewer_samples_before_an_interruption_still_count(project: Project, spec: Path) -> None:
    few = text().replace("range(12)", "range(3)")
    programs = sides(script(project, "control", text()), script(project, "treatment", few))
    arguments: tuple[str | Path, ...] = ("compare", "-b", spec, *programs, "--pairs", "20", "--platform-sig", "lab")
    broken = project.write("results/lab", "")  # in place of a folder: nothing can be stored, so that the pairs are kept
    assert project.harness(*arguments).code == 3
    broken.unlink()
    (result,) = project.harness(*arguments, "--resume").read()
    assert all(pair["control_launch"] is None for pair in result["comparison"]["pairs"])
    assert result["comparison"]["verdict"] == "undecided"
    assert "unequal_samples" in [note["code"] for note in result["notes"]]


def test_programs_with_paths_of_different_lengths_are_noted(project: Project, spec: Path) -> None:
    rooted = text(before="# $ORIGIN")
    control, treatment = script(project, "a/r", rooted), script(project, "a_much_longer_name/r", rooted)
    done = project.harness("compare", "-b", spec, *sides(control, treatment), "--pairs", "3")
    (result,) = done.read()
    assert "unequal_paths" in [note["code"] for note in result["notes"]]


def test_host_paths_have_equal_lengths_for_the_ninth_and_tenth_folder(project: Project) -> None:
    tests = [one_test(f"work{number}", "{program} {TGTDIR}", threads=1) for number in range(7)]
    spec = project.write("spec.json", generic(*tests))
    control, treatment = (script(project, name, text()) for name in ("control", "treatment"))
    done = project.harness("compare", "-b", spec, *sides(control, treatment), "--pairs", "2")
    results = done.read()
    assert len(results) == 7
    lengths = {
        len(word)
        for result in results
        for launch in (*result["launches"], *result["control_launches"])
        for word in launch["commands"][0][-1:]
    }
    assert len(lengths) == 1


def test_reported_seconds_cover_all_launches(project: Project, spec: Path) -> None:
    count = project.folder / "count"
    flaky = f"open({str(count)!r}, 'a').write('x')\nif os.path.getsize({str(count)!r}) % 10 == 3: sys.exit(9)"
    programs = sides(script(project, "control", text()), script(project, "treatment", text(before=flaky)))
    done = project.harness("compare", "-b", spec, *programs, "--pairs", "4", "--seed", "2")
    (result,) = done.read()
    spent = sum(launch["wall_s"] for launch in (*result["launches"], *result["control_launches"]))
    assert result["comparison"]["voided"] == 1
    assert result["comparison"]["seconds"] == pytest.approx(spent, rel=0.01)


def test_the_seconds_of_a_comparison_that_failed_before_its_first_pair_are_reported(
    project: Project, spec: Path
) -> None:
    programs = sides(script(project, "control", text()), script(project, "treatment", text(before="sys.exit(9)")))
    done = project.harness("compare", "-b", spec, *programs)
    (result,) = done.read()
    assert (done.code, result["outcome"]) == (4, "failed")
    spent = sum(launch["wall_s"] for launch in (*result["launches"], *result["control_launches"]))
    assert result["comparison"]["seconds"] == pytest.approx(spent, rel=0.01)


def test_reevaluated_regressions_are_adjusted_for_all_listed_comparisons(project: Project) -> None:
    tests = [one_test(f"work{number}", f"{{program}} {number}", threads=1) for number in range(8)]
    spec = project.write("spec.json", generic(*tests))
    slower = "level = 1.05 if sys.argv[1] == '0' else 1.0"
    treatment = text(before=slower).replace("value = 1000.0 *", "value = level * 1000.0 *")
    programs = sides(script(project, "control", text()), script(project, "treatment", treatment))
    done = project.harness("compare", "-b", spec, *programs, "--pairs", "12", "--seed", "5")
    assert done.code == 1, done.stdout
    assert project.harness("compare", "--from", project.folder / "results").code == 1
    strict = project.harness("compare", "--from", project.folder / "results", "--fdr", "0.0000001")
    assert strict.code == 5, strict.stdout
    assert "1 undecided" in strict.stdout


def test_a_self_check_without_measurements_is_not_stored(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("work", "{program}")))
    assert project.harness("compare", "--self_check", "-b", spec, "--program", "/bin/true").code == 4
    assert not list((project.cache / "self-checks").glob("*"))


def compiled(project: Project, name: str, *flags: str) -> Path:
    """Compile a program that reports twelve iterations of about a millisecond."""
    source = project.write(f"{name}.c", REPORTING + f"// {name}\n")
    path = project.folder / name
    subprocess.run(["cc", "-O1", *flags, str(source), "-o", str(path)], check=True)
    return path


def test_programs_that_were_compiled_with_other_options_are_not_compared_as_if_that_were_code(
    project: Project, spec: Path
) -> None:
    control, treatment = compiled(project, "control"), compiled(project, "treatment", "-fsanitize=undefined")
    compare: tuple[str | Path, ...] = ("compare", "-b", spec, *sides(control, treatment), "--pairs", "3")
    done = project.harness(*compare)
    (result,) = done.read()
    (note,) = [note for note in result["notes"] if note["code"] == "unequal_build_options"]
    assert "sanitizers none (control), undefined (treatment)" in note["message"]
    assert not note["trust"]
    assert "sanitizers none (control), undefined (treatment)" in done.stderr.partition("1 pair")[0]
    assert "--unequal-options sanitizers" in done.stdout
    assert result["build"]["options"]["sanitizers"] == "undefined"
    assert result["comparison"]["control"]["options"]["sanitizers"] == "none"

    on_purpose = project.harness(*compare, "--unequal-options", "sanitizers").read()[-1]
    (note,) = [note for note in on_purpose["notes"] if note["code"].endswith("_build_options")]
    assert (note["code"], note["trust"]) == ("intended_build_options", True)
