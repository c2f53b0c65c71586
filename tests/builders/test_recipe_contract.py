"""Inputs and outputs of recipes, with real scripts."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from harness.builders.build_log import last_lines
from harness.builders.builds import build_commit
from harness.builders.cache import BuildCache
from harness.builders.recipes import find_recipe
from harness.core.build import Build
from harness.core.commit import Commit
from harness.core.errors import BuildFailed, EnvironmentProblem
from harness.testing.progress import RecordedProgress
from tests.builders.recipe_parts import TOOLS, Folder, write_program, write_recipe
from tests.processes import wait_until


@pytest.fixture
def source(tmp_path: Path) -> Folder:
    (tmp_path / "a checkout").mkdir()
    (tmp_path / "a checkout/main.txt").write_text("the runner")
    return Folder(tmp_path / "a checkout")


class Bench:
    """Builder that runs a recipe of given lines."""

    def __init__(self, folder: Path, source: Folder) -> None:
        self.recipes = folder / "my recipes"
        self.cache = BuildCache(folder / "my cache")
        self.source = source
        self.progress = RecordedProgress()

    def build(self, lines: str, *, time_limit_s: float = 60.0) -> Build:
        write_recipe(self.recipes, "thing/host", lines)
        return build_commit(
            self.source,
            Commit(source="folder", id="c1", time=7),
            find_recipe("thing", "host", [self.recipes], runner_source=self.recipes),
            platform="host",
            cache=self.cache,
            progress=self.progress,
            toolchain=TOOLS,
            jobs=3,
            time_limit_s=time_limit_s,
        )

    @property
    def logs(self) -> list[Path]:
        return list((self.cache.folder / "logs").iterdir())


@pytest.fixture
def bench(tmp_path: Path, source: Folder) -> Bench:
    return Bench(tmp_path, source)


def test_a_recipe_builds_a_runner_from_a_folder(bench: Bench) -> None:
    build = bench.build('cp "$1/main.txt" "$2"')
    assert build.programs["program"].read_text() == "the runner"
    assert (build.source, build.commit, build.commit_time, build.recipe) == ("folder", "c1", 7, "thing/host")
    assert build.flags["c++"] == "/usr/bin/c++ (c++ 12)"
    assert build.programs["program"].stat().st_mode & 0o100, "it can be executed"


def test_the_source_folder_is_named_after_the_framework_and_removed_afterwards(bench: Bench) -> None:
    bench.build('cp "$1/main.txt" "$2"')
    (folder,) = bench.source.materialised
    assert folder.name == "thing"
    assert not folder.exists()
    assert not list((bench.cache.folder / "workshops").glob("*/"))


def test_a_recipe_gets_its_variables_and_no_secret(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_REMOTE_TOKEN", "s3cret")
    text = bench.build('test -z "$(ls "$HARNESS_BUILD_DIR")"; env > "$2" # HARNESS_RUNNER_SOURCE').programs["program"]
    environment = dict(line.split("=", 1) for line in text.read_text().splitlines() if "=" in line)
    assert environment["HARNESS_JOBS"] == "3"
    assert Path(environment["HARNESS_PYTHON"]).exists()
    assert environment["HARNESS_RUNNER_SOURCE"] == str(bench.recipes)
    assert environment["TMPDIR"].startswith(str(bench.cache.folder))
    assert "s3cret" not in text.read_text()


def test_libraries_beside_the_runner_are_kept_without_an_execute_bit(bench: Bench) -> None:
    build = bench.build(
        'cp /bin/sh "$2" && cd "$(dirname "$2")" && touch libc++_shared.so libz.so.1.2 notes.txt && chmod 644 lib*'
    )
    assert set(build.programs) == {"program", "libc++_shared.so", "libz.so.1.2"}


def test_helper_programs_are_known_by_their_names(bench: Bench) -> None:
    build = bench.build(
        """
        d=$(dirname "$2"); echo 1 > "$2"; mkdir "$d/lib"; echo x > "$d/lib/libx.so"; chmod +x "$d/lib/libx.so"
        for name in convert_image tool.sh 'two words' '-rf' 'a
b' .hidden; do echo 2 > "$d/$name"; chmod +x "$d/$name"; done
        echo text > "$d/notes"
        """
    )
    assert set(build.programs) == {"program", "convert_image", "tool.sh"}
    folder = build.programs["program"].parent
    assert (folder / "lib/libx.so").exists()
    assert (folder / "two words").exists(), "what is no placeholder may still be needed by a program"


def test_entries_of_meta_json_become_flags(bench: Bench) -> None:
    build = bench.build("""echo r > "$2"; echo '{"flag": "-O3", "lto": true}' > "$(dirname "$2")/meta.json" """)
    assert (build.flags["flag"], build.flags["lto"]) == ("-O3", "true")


def test_a_meta_json_that_is_not_an_object_is_refused(bench: Bench) -> None:
    with pytest.raises(BuildFailed, match=r"meta\.json that is not a JSON object"):
        bench.build("""echo r > "$2"; echo '[' > "$(dirname "$2")/meta.json" """)


def test_a_failing_recipe_is_quoted_and_its_log_is_kept(bench: Bench) -> None:
    with pytest.raises(BuildFailed) as caught:
        bench.build('for i in $(seq 30); do echo "line $i"; done; echo "no such luck" >&2; exit 7')
    (log,) = bench.logs
    assert "thing c1 cannot be built: recipe thing/host ended with exit status 7: no such luck" in caught.value.message
    assert "line 30" in caught.value.message
    assert "line 12\n" in caught.value.message
    assert "line 11\n" not in caught.value.message, "twenty lines are enough"
    assert (caught.value.hint or "").startswith(f"the whole log is {log}; the recipe is ")
    assert log.read_text().splitlines() == [*(f"line {i}" for i in range(1, 31)), "no such luck"]


def test_the_first_compiler_error_is_quoted_as_the_cause(bench: Bench) -> None:
    script = "echo 'a.cpp:3: error: no semicolon'; seq 30; echo 'b.cpp: error: too'; echo 'ninja: stopped.'; exit 1"
    with pytest.raises(BuildFailed) as caught:
        bench.build(script)
    first, *quoted = caught.value.message.splitlines()
    assert first.endswith("recipe thing/host ended with exit status 1: a.cpp:3: error: no semicolon")
    assert quoted[-1].strip() == "ninja: stopped."


def test_a_full_disk_is_not_blamed_on_the_commit(bench: Bench) -> None:
    with pytest.raises(EnvironmentProblem, match=r"cannot be built: .*No space left") as caught:
        bench.build('echo "fatal error: error writing to runner.o: No space left on device" >&2; exit 1')
    assert not isinstance(caught.value, BuildFailed)


def test_a_recipe_is_ended_at_its_time_limit(bench: Bench) -> None:
    with pytest.raises(BuildFailed, match=r"did not end within 0\.3 s and was killed"):
        bench.build("echo begun; sleep 60", time_limit_s=0.3)


def test_the_log_can_be_read_while_the_recipe_runs(bench: Bench, tmp_path: Path) -> None:
    release_file = tmp_path / "go on"
    lines = f'echo begun; while ! [ -e "{release_file}" ]; do sleep 0.05; done; echo r > "$2"'
    thread = threading.Thread(target=bench.build, args=(lines,))
    thread.start()
    try:
        wait_until(lambda: any("begun" in log.read_text() for log in (bench.cache.folder / "logs").glob("*")))
    finally:
        release_file.touch()
        thread.join()


def test_a_recipe_without_runner_fails(bench: Bench) -> None:
    with pytest.raises(BuildFailed, match="succeeded but wrote no runner"):
        bench.build("exit 0")
    assert bench.cache.entries() == []


def test_a_link_into_a_removed_folder_is_refused(bench: Bench) -> None:
    with pytest.raises(BuildFailed, match="made program a link to"):
        bench.build('ln -s "$1/main.txt" "$2"')


def test_files_written_outside_the_result_folder_are_not_kept(bench: Bench) -> None:
    build = bench.build(
        """
        echo r > "$2"; d=$(dirname "$2")
        echo junk > "$d/../build.json"; echo junk > "$d/../../entry.json"; echo junk > "$1/junk"; mktemp > /dev/null
        """
    )
    folder = build.programs["program"].parent.parent
    assert sorted(path.name for path in folder.iterdir()) == ["build.json", "programs"]
    assert [entry.record.build.commit for entry in bench.cache.entries()] == ["c1"]
    assert {path.name for path in bench.cache.folder.iterdir()} == {"builds", "locks", "logs", "workshops"}
    assert all(path.suffix == ".lock" for path in (bench.cache.folder / "workshops").iterdir())


def test_write_protected_build_folders_are_removed(bench: Bench) -> None:
    bench.build('mkdir "$1/deep"; touch "$1/deep/file"; chmod 0500 "$1/deep"; echo r > "$2"')
    assert not list((bench.cache.folder / "workshops").glob("*/"))


def test_commits_are_built_in_the_same_folder_for_reproducible_binaries(bench: Bench) -> None:
    first = bench.build('echo "$1 $2 $HARNESS_BUILD_DIR" > "$2"').programs["program"].read_text()
    second = bench.build('echo "$1 $2 $HARNESS_BUILD_DIR" > "$2" # another recipe').programs["program"].read_text()
    assert first == second


def test_the_end_of_a_long_log_is_read_without_the_rest(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("x" * 200_000 + "\n\nlast but one\n\nlast\n")
    assert last_lines(log, 2) == ["last but one", "last"]
    assert last_lines(tmp_path / "none", 2) == []


def test_cmake_gets_the_compiler_cache_as_launcher(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("CMAKE_C_COMPILER_LAUNCHER", "mine")
    monkeypatch.delenv("CMAKE_CXX_COMPILER_LAUNCHER", raising=False)
    write_program(tools / "ccache", "#!/bin/sh\n")
    lines = 'echo "$CCACHE_BASEDIR $CCACHE_NOHASHDIR $CMAKE_C_COMPILER_LAUNCHER $CMAKE_CXX_COMPILER_LAUNCHER" > "$2"'
    output = bench.build(lines).programs["program"].read_text()
    assert output == f"{bench.cache.folder / 'workshops/0'} 1 mine {tools / 'ccache'}\n"


def test_tools_beside_the_interpreter_are_found_last(bench: Bench) -> None:
    folders = bench.build('echo "$PATH" > "$2"').programs["program"].read_text().strip().split(":")
    assert folders[-1] == str(Path(sys.executable).parent)


def test_a_failed_check_ends_the_build_before_files_are_fetched(bench: Bench) -> None:
    script = write_recipe(bench.recipes, "thing/host", "").parent
    (script / "check.sh").write_text("echo looking; echo 'error: no frobnicator: apt install it' >&2; exit 1\n")
    with pytest.raises(EnvironmentProblem, match="thing c1 cannot be built here: no frobnicator") as caught:
        bench.build('cp "$1/main.txt" "$2"')
    assert not isinstance(caught.value, BuildFailed), "it says nothing about the commit"
    assert bench.source.materialised == []
    (script / "check.sh").write_text("exit 0\n")
    assert bench.build('cp "$1/main.txt" "$2"').programs["program"].read_text() == "the runner"


@pytest.mark.parametrize(
    "words",
    [
        "c++: fatal error: Killed signal terminated program cc1plus",
        "collect2: fatal error: ld terminated with signal 9 [Killed]",
        "clang++: error: unable to execute command: Killed",
    ],
)
def test_full_memory_is_not_blamed_on_the_commit(bench: Bench, words: str) -> None:
    with pytest.raises(EnvironmentProblem, match="Killed") as caught:
        bench.build(f"echo '{words}'; seq 30; exit 1")
    assert not isinstance(caught.value, BuildFailed)
    assert "memory" in (caught.value.hint or "")


def test_a_recipe_that_the_kernel_kills_is_not_blamed_on_the_commit(bench: Bench) -> None:
    with pytest.raises(EnvironmentProblem, match="ended by SIGKILL") as caught:
        bench.build("kill -9 $$")
    assert not isinstance(caught.value, BuildFailed)
    assert "memory" in (caught.value.hint or "")


def test_the_log_of_a_build_is_named_when_it_begins(bench: Bench) -> None:
    bench.build('cp "$1/main.txt" "$2"')
    (log,) = bench.logs
    assert bench.progress.lines == [f"building thing c1; its log is {log}"]
