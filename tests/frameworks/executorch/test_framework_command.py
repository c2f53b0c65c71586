from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frameworks.executorch import create, openvino
from frameworks.executorch.framework import ExecuTorch
from frameworks.executorch.options import ExecuTorchOptions
from frameworks.executorch.runners import choice
from frameworks.python_runner.arguments import parse_arguments
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark, ModelFile, OutputFile, SpecificationPlace
from harness.core.build import Build
from harness.core.device import Device
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, BuildFailed
from harness.core.generation import PROMPT, GenerationRequest
from harness.core.protocols import Diagnosable, Exporter, PackageChecking, Progress, RunnerSources
from harness.core.scenario import Arrival, Pattern

NATIVE = Build(source="installed", commit="1.5.1", recipe="native")
FILES = {
    "program": "/d/runner",
    "files.model": "/d/add.pte",
    "files.labels": "/d/labels.txt",
    "input_files.left": "/d/left.bin",
    "input_files.right": "/d/right.bin",
}


def file(key: str) -> ModelFile:
    return ModelFile(
        key=key, filename=key.rpartition(".")[2], location="/x", origin=SpecificationPlace(file=Path("add.json"))
    )


@pytest.fixture(autouse=True)
def _no_openvino(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed OpenVINO adds a variable."""
    monkeypatch.delenv("OPENVINO_LIB_PATH", raising=False)
    monkeypatch.setattr(openvino, "find_library", lambda: None)


@pytest.fixture
def framework() -> ExecuTorch:
    return create(Settings())


@pytest.fixture
def words(framework: ExecuTorch, benchmark_of_add: Benchmark) -> Callable[..., tuple[str, ...]]:
    """The command line of a benchmark of one model file, changed as told."""

    def compose(**changes: object) -> tuple[str, ...]:
        changed = benchmark_of_add.model_copy(update={"files": (file("files.model"),), **changes})
        return framework.command(changed, NATIVE, FILES).argv

    return compose


def test_it_can_export_and_be_diagnosed(framework: ExecuTorch) -> None:
    assert isinstance(framework, Exporter)
    assert isinstance(framework, Diagnosable)
    assert isinstance(framework, PackageChecking)


def test_recipes_can_compile_the_sources_of_its_runner(framework: ExecuTorch) -> None:
    assert isinstance(framework, RunnerSources)
    sources = framework.runner_sources()
    assert sources is not None
    assert (sources / "CMakeLists.txt").is_file()


@pytest.mark.parametrize("runner", ["python", "llm"])
def test_a_choice_that_builds_of_commits_do_not_have_is_refused(runner: Literal["python", "llm"]) -> None:
    framework = create(Settings(plug_ins=(ExecuTorchOptions(runner=runner),)))
    with pytest.raises(BuildFailed, match=f"--runner {runner}: commits and other releases are built as native runners"):
        framework.runner_sources()


def test_a_plain_benchmark_states_its_defaults(words: Callable[..., tuple[str, ...]]) -> None:
    assert shlex.join(words()) == "/d/runner --model /d/add.pte --warmup 10 --iter 50 --min-iter 1"


def test_the_command_contains_every_setting_of_the_benchmark(words: Callable[..., tuple[str, ...]]) -> None:
    argv = words(
        threads=2,
        warmup=0,
        iterations=7,
        min_iterations=3,
        time_limit_s=1.5,
        input_files=(file("input_files.right"), file("input_files.left")),
        output_files=(OutputFile(key="output_files.sum", filename="sum.bin", location="/d/out-0.bin"),),
        variables={"method": "encode"},
    )
    assert shlex.join(argv) == (
        "/d/runner --model /d/add.pte --warmup 0 --iter 7 --min-iter 3 --time-limit 1.500 --threads 2 "
        "--inputs /d/right.bin,/d/left.bin --outputs /d/out --method encode"
    )


def test_a_generation_makes_few_iterations_of_a_made_up_prompt(words: Callable[..., tuple[str, ...]]) -> None:
    assert shlex.join(words(generation=GenerationRequest(prompt_tokens=7, new_tokens=5, depth=100))) == (
        "/d/runner --model /d/add.pte --warmup 1 --iter 5 --min-iter 1 --generate 5 --depth 100 --prompt-tokens 7"
    )


def test_a_prompt_that_is_a_text_and_a_text_for_perplexity_are_files(
    framework: ExecuTorch, benchmark_of_add: Benchmark
) -> None:
    request = GenerationRequest(prompt="a", perplexity="files.labels")
    files = (file("files.model"), file("files.labels"))
    benchmark = benchmark_of_add.model_copy(update={"files": files, "generation": request, "iterations": 2})
    assert shlex.join(framework.command(benchmark, NATIVE, {**FILES, PROMPT: "/d/prompt"}).argv) == (
        "/d/runner --model /d/add.pte --warmup 1 --iter 2 --min-iter 1 --generate 64 --depth 0 --prompt /d/prompt "
        "--perplexity /d/labels.txt"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"generation": GenerationRequest(prompt="a")}, "the prompt is a text, and nothing here makes tokens of it"),
    ],
)
def test_a_generation_that_the_runner_cannot_make_is_unsupported(
    words: Callable[..., tuple[str, ...]], changes: dict[str, object], message: str
) -> None:
    with pytest.raises(BenchmarkUnsupported, match=message):
        words(**{"generation": GenerationRequest(), **changes})


def test_upstreams_runner_cannot_generate(framework: ExecuTorch, benchmark_of_add: Benchmark) -> None:
    upstream = NATIVE.model_copy(update={"flags": {"runner": "executor_runner"}})
    benchmark = benchmark_of_add.model_copy(update={"files": (file("files.model"),), "generation": GenerationRequest()})
    with pytest.raises(BenchmarkUnsupported, match="upstream's executor_runner cannot generate tokens"):
        framework.command(benchmark, upstream, FILES)


def test_arguments_are_appended_with_quotes_and_placeholders_resolved(
    words: Callable[..., tuple[str, ...]],
) -> None:
    argv = words(arguments="--iter 3 --outputs '{folder}/my out'", variables={"folder": "/d/a b"})
    assert argv[-4:] == ("--iter", "3", "--outputs", "/d/a b/my out")


@pytest.mark.parametrize("arguments", ["--outputs 'out", "--outputs {nowhere}"])
def test_invalid_arguments_are_rejected(words: Callable[..., tuple[str, ...]], arguments: str) -> None:
    with pytest.raises(BenchmarkFailed, match="command_args"):
        words(arguments=arguments)


@pytest.mark.parametrize("left_s", [0.0, -3.0, 1e-9])
def test_a_remaining_time_of_zero_is_still_a_limit(words: Callable[..., tuple[str, ...]], left_s: float) -> None:
    argv = words(time_limit_s=left_s)
    assert float(argv[argv.index("--time-limit") + 1]) > 0


def test_the_command_has_limits_placement_and_environment(framework: ExecuTorch, benchmark_of_add: Benchmark) -> None:
    changes = {"threads": 2, "timeout_s": 7.0, "cpus": (1,), "env": {"A": "b"}, "files": (file("files.model"),)}
    command = framework.command(benchmark_of_add.model_copy(update=changes), NATIVE, FILES)
    assert (command.timeout_s, command.threads, command.cpus) == (7.0, 2, (1,))
    assert command.env == {"OMP_NUM_THREADS": "2", "A": "b"}


def test_openmp_is_not_set_without_threads_or_when_specified(
    framework: ExecuTorch, benchmark_of_add: Benchmark
) -> None:
    plain = benchmark_of_add.model_copy(update={"files": (file("files.model"),)})
    assert framework.command(plain, NATIVE, FILES).env == {}
    own = plain.model_copy(update={"threads": 1, "env": {"OMP_NUM_THREADS": "4"}})
    assert framework.command(own, NATIVE, FILES).env == {"OMP_NUM_THREADS": "4"}


def test_the_only_file_is_the_model(words: Callable[..., tuple[str, ...]]) -> None:
    assert "/d/labels.txt" in words(files=(file("files.labels"),))


def test_the_file_called_model_is_the_model(words: Callable[..., tuple[str, ...]]) -> None:
    assert words(files=(file("files.labels"), file("files.model")))[2] == "/d/add.pte"


@pytest.mark.parametrize("keys", [(), ("files.labels", "files.other")])
def test_an_ambiguous_model_file_is_rejected(words: Callable[..., tuple[str, ...]], keys: tuple[str, ...]) -> None:
    with pytest.raises(BenchmarkFailed, match="which file is the model") as caught:
        words(files=tuple(file(key) for key in keys))
    assert "name it `model`" in (caught.value.hint or "")


def test_an_output_that_the_runner_cannot_name_is_rejected(words: Callable[..., tuple[str, ...]]) -> None:
    output = OutputFile(key="output_files.sum", filename="sum.bin", location="/d/sum.bin")
    with pytest.raises(BenchmarkFailed, match=r"/d/sum\.bin") as caught:
        words(output_files=(output,))
    assert "-0.bin" in (caught.value.hint or "")


def test_a_build_without_a_runner_is_rejected(framework: ExecuTorch, benchmark_of_add: Benchmark) -> None:
    plain = benchmark_of_add.model_copy(update={"files": (file("files.model"),)})
    with pytest.raises(BenchmarkFailed, match="no runner"):
        framework.command(plain, NATIVE, {"files.model": "/d/add.pte"})


@given(
    warmup=st.integers(-1, 10**9),
    iterations=st.one_of(st.just(-1), st.integers(1, 10**9)),
    min_iterations=st.integers(0, 10**9),
    threads=st.one_of(st.none(), st.integers(1, 1024)),
    time_limit_s=st.one_of(st.none(), st.floats(-1e3, 1e9)),
)
def test_the_runners_accept_every_command(
    warmup: int, iterations: int, min_iterations: int, threads: int | None, time_limit_s: float | None
) -> None:
    origin = SpecificationPlace(file=Path("add.json"))
    benchmark = Benchmark.model_validate(
        {
            "id": 0,
            "model": {"name": "add", "format": "executorch"},
            "identifier": "add",
            "metric": "delay",
            "framework": "executorch",
            "origin": origin,
            "digest": "0" * 64,
            "files": (file("files.model"),),
            "warmup": warmup,
            "iterations": iterations,
            "min_iterations": min_iterations,
            "threads": threads,
            "time_limit_s": time_limit_s,
        }
    )
    argv = create(Settings()).command(benchmark, NATIVE, FILES).argv
    understood = parse_arguments(argv[1:])
    assert understood.threads == threads
    assert understood.iterations == (50 if iterations < 0 else iterations)
    assert (understood.time_limit_s > 0) == (time_limit_s is not None)


def test_upstreams_runner_is_started_with_its_own_flags_and_warms_up_by_executions(
    framework: ExecuTorch, benchmark_of_add: Benchmark
) -> None:
    upstream = NATIVE.model_copy(update={"flags": {"runner": "executor_runner"}})
    changed = benchmark_of_add.model_copy(update={"files": (file("files.model"),), "warmup": 3, "iterations": 20})
    assert framework.command(changed, upstream, FILES).argv == (
        *("/d/runner", "--model_path=/d/add.pte", "--num_executions=23", "--cpu_threads=1"),
    )


@pytest.mark.parametrize(
    "asked", [{"arrival": Arrival(pattern=Pattern.PERIODIC, interval_s=0.1)}, {"long_run_s": 600.0}], ids=str
)
def test_upstreams_runner_cannot_pace_executions(
    framework: ExecuTorch, benchmark_of_add: Benchmark, asked: dict[str, object]
) -> None:
    upstream = NATIVE.model_copy(update={"flags": {"runner": "executor_runner"}})
    changed = benchmark_of_add.model_copy(update={"files": (file("files.model"),), **asked})
    with pytest.raises(BenchmarkUnsupported, match="back to back"):
        framework.command(changed, upstream, FILES)


def test_a_flag_missing_from_the_runner_of_a_commit_is_reported_before_anything_runs(
    framework: ExecuTorch, benchmark_of_add: Benchmark
) -> None:
    flags = {"runner": "executor_runner", "runner_flags": "model_path num_executions cpu_threads"}
    members = {"files": (file("files.model"),), "variables": {"method": "decode"}}
    with pytest.raises(BenchmarkUnsupported, match="has no --method_name"):
        framework.command(
            benchmark_of_add.model_copy(update=members), NATIVE.model_copy(update={"flags": flags}), FILES
        )


def test_an_upstream_runner_with_unknown_flags_is_not_mistaken_for_ours(
    framework: ExecuTorch, benchmark_of_add: Benchmark
) -> None:
    unread = NATIVE.model_copy(update={"flags": {"runner": "executor_runner", "runner_flags": ""}})
    with pytest.raises(BenchmarkUnsupported, match="has no --model_path"):
        framework.command(benchmark_of_add.model_copy(update={"files": (file("files.model"),)}), unread, FILES)


@pytest.mark.parametrize(
    ("content", "first"),
    [(b"\0model_path\0num_executions\0cpu_threads\0", "--model_path=/d/add.pte"), (b"x", "--model")],
)
def test_a_given_program_is_recognised_by_its_flags(
    framework: ExecuTorch, benchmark_of_add: Benchmark, tmp_path: Path, content: bytes, first: str
) -> None:
    program = tmp_path / "runner"
    program.write_bytes(content)
    given = Build(source="prebuilt", commit="x", programs={"program": program})
    requested = benchmark_of_add.model_copy(update={"files": (file("files.model"),)})
    assert framework.command(requested, given, FILES).argv[1] == first


@pytest.mark.parametrize(
    ("platform", "os", "kind"), [("android", "Android 7", "Android 7 on mips"), ("ios", "", "ios on mips")]
)
def test_unknown_kinds_of_devices_have_no_runner(
    framework: ExecuTorch, progress: Progress, platform: str, os: str, kind: str
) -> None:
    with pytest.raises(BuildFailed, match=f"no released package has a runner for {kind}\n") as caught:
        framework.build(Device(platform=platform, identity="x", name="x", os=os, abi="mips"), progress)
    hint = caught.value.hint or ""
    assert "--program" in hint
    assert ("NDK" in hint) == (platform == "android")


def test_the_build_is_cached(progress: Progress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device(platform="host", identity="x", name="x")
    framework = create(Settings(plug_ins=(ExecuTorchOptions(runner="python"),), cache_dir=tmp_path))
    first = framework.build(device, progress)
    monkeypatch.setattr(choice, "installed_build", None)
    assert framework.build(device, progress) is first


# --- OpenVINO ----------------------------------------------------------------------------------------------------


def test_an_axis_sets_the_precision_of_openvino(words: Callable[..., tuple[str, ...]]) -> None:
    assert words(variables={"openvino_precision": "f32"})[-2:] == ("--openvino-precision", "f32")
    assert "--openvino-precision" not in words()


@pytest.mark.parametrize(
    ("source", "recipe", "variables"),
    [
        ("installed", "native", {"OPENVINO_LIB_PATH": "/site/libopenvino_c.so"}),
        ("installed", "python", {"OPENVINO_LIB_PATH": "/site/libopenvino_c.so"}),
        ("prebuilt", "", {}),  # may be for a phone
        ("git", "executorch/host", {}),
    ],
)
def test_runners_of_this_machine_are_led_to_the_installed_openvino(
    source: str, recipe: str, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openvino, "find_library", lambda: Path("/site/libopenvino_c.so"))
    assert openvino.environment(Build(source=source, commit="1", recipe=recipe)) == variables


def test_the_variable_of_openvino_reaches_the_runner_beside_the_benchmark_s_own(
    framework: ExecuTorch, benchmark_of_add: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openvino, "find_library", lambda: Path("/site/libopenvino_c.so"))
    benchmark = benchmark_of_add.model_copy(update={"files": (file("files.model"),), "env": {"LOCAL": "1"}})
    assert framework.command(benchmark, NATIVE, FILES).env == {
        "OPENVINO_LIB_PATH": "/site/libopenvino_c.so",
        "LOCAL": "1",
    }


def test_the_user_s_own_openvino_has_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino, "find_library", lambda: Path("/site/libopenvino_c.so"))
    monkeypatch.setenv("OPENVINO_LIB_PATH", "/own/libopenvino_c.so")
    assert openvino.environment(NATIVE) == {}


def test_openvino_is_found_in_an_installed_package_without_an_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    library = tmp_path / "openvino" / "libs" / "libopenvino_c.so.2541"
    library.parent.mkdir(parents=True)
    library.touch()
    (tmp_path / "openvino" / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert openvino.find_library() == library
