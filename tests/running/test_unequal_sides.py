"""Notes on builds that differ in more than their code."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from harness.core.benchmark import Export
from harness.core.build import COMPILED_WITH, BuildInfo
from harness.core.cached_files import ExportReport
from harness.core.result import FileInfo
from harness.running.unequal_sides import file_notes, option_notes

PLAIN = {"event_tracer": "off", "compiler": "GCC 12.2.0", "lto": "off"}
TRACED = {**PLAIN, "event_tracer": "on"}


def build(options: Mapping[str, str], source: str = "releases:executorch", **more: object) -> BuildInfo:
    return BuildInfo.model_validate({"source": source, "commit": "1", "options": options, **more})


def of_repository(options: Mapping[str, str], *, toolchain: str = "t", recipe: str = "r", **more: object) -> BuildInfo:
    flags = {"recipe_sha256": recipe, COMPILED_WITH: toolchain}
    return build(options, "git:/src/executorch", flags=flags, **more)


def test_equal_options_are_not_worth_a_note() -> None:
    assert option_notes(build(PLAIN), build(PLAIN)) == ()


def test_unequal_options_are_named_with_both_values_and_lower_the_trust() -> None:
    (note,) = option_notes(build(PLAIN), build(TRACED))
    assert note.code == "unequal_build_options"
    assert not note.trust
    assert "event tracer off (control), on (treatment)" in note.message
    assert "compiler" not in note.message
    assert note.hint is not None
    assert "--unequal-options event_tracer" in note.hint


def test_the_framework_says_how_both_sides_can_be_had_alike() -> None:
    asked: list[Collection[str]] = []

    def explain(names: Collection[str]) -> str:
        asked.append(tuple(names))
        return "compare 1.4.0 with 1.4.1"

    (note,) = option_notes(build(PLAIN), build(TRACED), explain=explain)
    assert asked == [("event_tracer",)]
    assert note.hint is not None
    assert note.hint.startswith("compare 1.4.0 with 1.4.1")


def test_an_option_that_one_side_does_not_tell_is_not_compared() -> None:
    assert option_notes(build({"lto": "off"}), build(TRACED)) == ()
    assert option_notes(build({}), build(TRACED)) == ()


def test_intended_differences_keep_the_trust_and_are_told_as_such() -> None:
    (note,) = option_notes(build(PLAIN), build(TRACED), intended=["event_tracer"])
    assert (note.code, note.trust) == ("intended_build_options", True)
    assert "as intended: event tracer off (control), on (treatment)" in note.message


def test_what_else_differs_beside_an_intended_difference_lowers_the_trust() -> None:
    other = {**TRACED, "compiler": "Clang 17.0.6"}
    notes = {note.code: note for note in option_notes(build(PLAIN), build(other), intended=["event_tracer"])}
    assert notes.keys() == {"intended_build_options", "unequal_build_options"}
    assert "compiler GCC 12.2.0 (control), Clang 17.0.6 (treatment)" in notes["unequal_build_options"].message
    assert "tracer" not in notes["unequal_build_options"].message


def test_all_stands_for_every_option() -> None:
    notes = option_notes(build(PLAIN), build({**TRACED, "lto": "on"}), intended=["all"])
    assert [note.code for note in notes] == ["intended_build_options"]


def test_options_that_a_commit_changes_are_what_the_comparison_is_about() -> None:
    (note,) = option_notes(of_repository(PLAIN), of_repository({**PLAIN, "lto": "on"}))
    assert (note.code, note.trust) == ("build_options_of_commits", True)
    assert "lto off (control), on (treatment)" in note.message


def test_another_kind_of_runner_is_not_the_work_of_a_commit() -> None:
    control, treatment = (of_repository({**PLAIN, "runner": runner}) for runner in ("native", "executor_runner"))
    (note,) = option_notes(control, treatment)
    assert (note.code, note.trust) == ("unequal_build_options", False)
    assert "runner native (control), executor_runner (treatment)" in note.message


def test_another_toolchain_or_recipe_is_not_the_work_of_a_commit() -> None:
    control = of_repository(PLAIN)
    for treatment in (of_repository(TRACED, toolchain="other"), of_repository(TRACED, recipe="other")):
        (note,) = option_notes(control, treatment)
        assert not note.trust


def test_another_commit_of_a_submodule_is_information() -> None:
    paths = ("backends/xnnpack/third-party/XNNPACK", "third-party/json")
    control = of_repository(PLAIN, dependencies={paths[0]: "1" * 40, paths[1]: "3" * 40})
    treatment = of_repository(PLAIN, dependencies={paths[0]: "2" * 40, paths[1]: "3" * 40})
    (note,) = option_notes(control, treatment)
    assert (note.code, note.trust) == ("unequal_submodules", True)
    assert f"XNNPACK {'1' * 12} (control), {'2' * 12} (treatment)" in note.message
    assert "json" not in note.message


def file(md5: str, executorch: str | None = None) -> FileInfo:
    export = None
    if executorch is not None:
        versions = {"executorch": executorch, "torch": "2.13.0"}
        request = Export(definition="mv2", recipe="xnnpack_q8")
        export = ExportReport(export=request, versions=versions, md5=md5, size_bytes=1)
    return FileInfo(filename="mv2.pte", md5=md5, size_bytes=1, source="export", export=export)


def test_files_of_equal_bytes_are_not_worth_a_note_whoever_exported_them() -> None:
    assert file_notes({"model": file("a", "1.4.1")}, {"model": file("a", "1.5.1")}) == ()


def test_files_of_other_bytes_are_named_with_the_versions_that_differ() -> None:
    (note,) = file_notes({"model": file("a", "1.4.1")}, {"model": file("b", "1.5.1")})
    assert note.code == "unequal_files"
    assert "mv2.pte is not the same bytes; they were exported by executorch 1.4.1 (control), 1.5.1" in note.message
    assert "torch" not in note.message.replace("executorch", "")
    (note,) = file_notes({"model": file("a")}, {"model": file("b")})
    assert note.message.endswith("mv2.pte is not the same bytes")
