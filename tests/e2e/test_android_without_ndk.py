"""ExecuTorch on phones without an NDK: the runner is cross-compiled against a released wheel."""

from __future__ import annotations

import array
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from frameworks.executorch.runners.toolchain import find_c_library, find_cross_compiler
from harness import shell
from harness.core.command import Command
from harness.core.errors import BuildFailed
from harness.testing.phones import start_phones, unavailable_reason
from tests.builders.arm64_program import CMAKELISTS, source_of
from tests.cli.project import Project, generic, one_test
from tests.e2e.desk import OWN, Desk, codes, forget_locks, sh
from tests.shared_folders import share_language_models, share_tiny_programs

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("arm64")]
"""One process runs them all: each would export the language model and compile the runners for itself."""

MODELS = Path(__file__).parents[2] / "specifications" / "models"


@pytest.fixture(scope="module")
def arm64_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One phone that executes arm64 programs, and an empty project."""
    folder = tmp_path_factory.mktemp("arm64")
    reason = unavailable_reason()
    try:
        find_c_library(find_cross_compiler(folder, "aarch64"))
    except BuildFailed as problem:
        reason = str(problem)
    if reason is not None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    with start_phones(1, abi="arm64-v8a") as lab:
        try:
            yield Desk(lab, Project(folder, folder / "cache"))
        finally:
            forget_locks(lab)


def test_a_model_runs_on_a_phone_without_an_ndk(arm64_desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    project, (phone,) = arm64_desk.project, arm64_desk.phones
    model = {"filename": "linear.pte", "location": str(share_tiny_programs(tmp_path_factory) / "linear.pte")}
    test = {"identifier": "linear", "metric": "delay", "threads": 2, "iter": 20, "operators": True}
    fields = {"name": "linear", "format": "executorch", "framework": "executorch", "repeat": 2}
    spec = project.write("spec.json", {"model": {**fields, "files": {"model": model}}, "tests": [test]})
    done = arm64_desk.harness("-b", spec, timeout_s=400)
    assert done.code == 0, done.stderr + done.stdout
    (result,) = (result for result in done.read() if result["benchmark"]["identifier"] == "linear")
    metrics = {metric["name"]: metric for metric in result["metrics"]}
    assert len(metrics["NET latency"]["samples"]) == 40
    assert {"NET cpu_time", "RUN load_time", "RUN first_iteration", "RUN peak_memory"} <= set(metrics)
    assert any("Fully Connected" in name for name in metrics), list(metrics)
    build = result["build"]
    assert (build["source"], build["recipe"], build["flags"]["abi"]) == ("installed", "cross", "arm64-v8a")
    assert build["flags"]["libc"].startswith("glibc 2.")
    assert "libc" in codes(result)
    (note,) = (note for note in result["notes"] if note["code"] == "libc")
    assert build["flags"]["libc"].split(" (")[0] in note["message"], "the runner tells which one ran"

    pushed = sh(arm64_desk.lab, phone, f"find {OWN}/programs -type f -exec stat -c '%n %i' {{}} +")
    assert "ld-linux-aarch64.so.1" in pushed
    again = arm64_desk.harness("-b", spec, timeout_s=400)
    assert again.code == 0, again.stderr
    assert "compiling" not in again.stderr
    assert "fetching" not in again.stderr
    assert sh(arm64_desk.lab, phone, f"find {OWN}/programs -type f -exec stat -c '%n %i' {{}} +") == pushed


@pytest.fixture(scope="module")
def decoders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small language models, and of what eager torch generates with them."""
    return share_language_models(tmp_path_factory)


@pytest.mark.exhaustive
def test_a_phone_generates_the_tokens_of_eager_torch(arm64_desk: Desk, decoders: Path) -> None:
    project, folder = arm64_desk.project, decoders
    model = {"filename": "dynamic.pte", "location": str(folder / "dynamic.pte")}
    tokens = {"filename": "tokens-0.bin", "location": "{TGTDIR}/tokens-0.bin", "dtype": "int64"}
    test = {
        "identifier": "generated-d{depth}",
        "metric": "generation",
        "threads": 1,
        "iter": 2,
        "matrix": {"depth": [0, 17]},
        "generation": {"prompt_tokens": 9, "new_tokens": 12, "depth": "{depth}"},
        "output_files": {"tokens": tokens},
        "postprocess": {"command": f"cp {{output_files.tokens}} {folder}/depth{{depth}}.bin"},
    }
    fields = {"name": "decoder", "format": "executorch", "framework": "executorch", "files": {"model": model}}
    spec = project.write("generation.json", {"model": fields, "tests": [test]})
    done = arm64_desk.harness("-b", spec, timeout_s=400)
    assert done.code == 0, done.stderr + done.stdout
    results = [result for result in done.read() if result["benchmark"]["identifier"].startswith("generated")]
    assert len(results) == 2
    for result in results:
        metrics = {metric["name"]: metric for metric in result["metrics"]}
        assert len(metrics["LLM decode_rate"]["samples"]) == 2
        assert {"LLM time_to_first_token", "RUN memory_after_prefill", "RUN load_time"} <= set(metrics)
    expected = json.loads((folder / "expected.json").read_text())
    for depth, key in ((0, "made_up"), (17, "deep")):
        assert list(array.array("q", (folder / f"depth{depth}.bin").read_bytes())) == expected[key]


@pytest.mark.exhaustive
def test_the_shipped_language_model_says_the_same_on_a_phone_and_here(arm64_desk: Desk) -> None:
    """The first and short generation of a launch is enough: an emulated phone takes nearly a second for each token."""
    project, shipped = arm64_desk.project, MODELS / "tiny_llama.json"
    fields = json.loads(shipped.read_text())
    fields["model"]["files"]["tokenizer"]["location"] = str(MODELS.parent / "tokenizers" / "tiny_llama.json")
    tests = (test for test in fields["tests"] if "xnnpack_fp32" in test["matrix"]["backend"])
    matrix = {"backend": ["xnnpack_fp32"], "attention": ["plain"], "depth": [0], "threads": [1]}
    fewer = {"matrix": matrix, "warmup": 0, "iter": 1, "operators": True}
    generation = {"prompt_tokens": 4, "new_tokens": 4}
    fields["tests"] = [{**test, **fewer, "generation": generation} for test in tests]
    spec = project.write("tiny_llama.json", fields)
    tokens = {}
    for name, harness in (("phone", arm64_desk.harness), ("here", project.harness)):
        done = harness("run", "-b", spec, timeout_s=900)
        assert done.code == 0, done.stderr + done.stdout
        result = done.read()[-1]
        metrics = {metric["name"]: metric for metric in result["metrics"]}
        assert metrics["LLM decode_rate"]["samples"]
        assert any(metric.startswith("decode: Fully Connected") for metric in metrics)
        assert result["build"]["recipe"] == ("cross" if name == "phone" else "native")
        tokens[name] = metrics["LLM tokens"]["info"]
    assert tokens["phone"] == tokens["here"]
    assert len(tokens["here"].split()) == 4


@pytest.mark.exhaustive
def test_releases_generate_the_same_tokens_on_a_phone(arm64_desk: Desk, decoders: Path) -> None:
    model = {"filename": "dynamic.pte", "location": str(decoders / "dynamic.pte")}
    generation = {"prompt_tokens": 8, "new_tokens": 8}
    test = {"identifier": "said", "metric": "generation", "threads": 1, "iter": 2, "generation": generation}
    fields = {"name": "decoder", "format": "executorch", "framework": "executorch", "files": {"model": model}}
    spec = arm64_desk.project.write("releases.json", {"model": fields, "tests": [test]})
    sides = ("--source", "releases:executorch", "--control", "1.5.0", "--treatment", "1.5.1", "--pairs", "1")
    done = arm64_desk.harness("compare", "-b", spec, *sides, timeout_s=900)
    ours = (result for result in done.read() if result["benchmark"]["identifier"] == "said")
    results = [result for result in ours if result["comparison"]]
    assert {result["comparison"]["metric"] for result in results} == {"LLM decode_rate", "LLM time_to_first_token"}
    for result in results:
        assert result["outcome"] == "ok", (result["reason"], done.stderr)
        assert result["comparison"]["outputs"]["verdict"] == "identical"
        assert len(result["comparison"]["pairs"]) == 1


def test_commits_of_a_program_are_cross_compiled_for_the_phone(arm64_desk: Desk, tmp_path: Path) -> None:
    repository = tmp_path / "program"
    repository.mkdir()
    environment = {"GIT_CONFIG_GLOBAL": "/dev/null", "HOME": str(tmp_path)}

    def git(*words: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        done = shell.run(Command(("git", "-C", str(repository), *identity, *words), env=environment))
        assert done.ok, done.stderr
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    (repository / "CMakeLists.txt").write_text(CMAKELISTS)
    commits = []
    for us in (100, 200):
        (repository / "thing.c").write_text(source_of(us))
        git("add", "-A")
        git("commit", "-q", "-m", f"{us} us")
        commits.append(git("rev-parse", "HEAD"))
    spec = arm64_desk.project.write("generic/spec.json", generic(one_test("a", "{program}")))
    sides = ("--repo-dir", repository, "--control", commits[0], "--treatment", commits[1], "--pairs", "1")
    done = arm64_desk.harness("compare", "-b", spec, *sides, timeout_s=300)
    (result,) = (result for result in done.read() if result["comparison"] and result["benchmark"]["identifier"] == "a")
    assert result["outcome"] == "ok", (result["reason"], done.stderr)
    (pair,) = result["comparison"]["pairs"]
    assert (pair["control"][0], pair["treatment"][0]) == (100, 200)
    assert (result["build"]["flags"]["libc"], result["build"]["flags"]["abi"]) == ("glibc", "arm64-v8a")
