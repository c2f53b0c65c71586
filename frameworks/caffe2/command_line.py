"""Command line of `caffe2_benchmark` for a test without commands, as FAI-PEP composed it."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from frameworks.given_programs import refuse_requests, require_program, split_arguments
from harness.core.benchmark import Benchmark
from harness.core.command import Command
from harness.core.errors import BenchmarkFailed

_INPUT_FILE = "input_files."
_OUTPUT_FILE = "output_files."


def compose(benchmark: Benchmark, files: Mapping[str, str]) -> Command:
    """Compose the command line.

    Args:
        benchmark: What to measure: `files` named `predict` and perhaps `init`, and `inputs` or `input_files`.
        files: Path on the device by key.

    Raises:
        BenchmarkFailed: The specification lacks one of them, or there is no program.
        BenchmarkUnsupported: The benchmark asks for what the program cannot do.
    """
    refuse_requests(benchmark, "caffe2_benchmark")
    if "files.predict" not in files:
        raise BenchmarkFailed(
            f"{benchmark.title}: a test without commands needs the network",
            hint="name it `predict` in the model's `files`, and its weights `init`; or give `commands`",
        )
    argv = [require_program(benchmark, files, "caffe2_benchmark"), "--net", files["files.predict"]]
    argv += ["--init_net", files["files.init"]] if "files.init" in files else []
    argv += ["--warmup", str(benchmark.warmup)] if benchmark.warmup >= 0 else []
    argv += ["--iter", str(benchmark.iterations)] if benchmark.iterations >= 0 else []
    argv += [*_inputs(benchmark, files), *_outputs(benchmark, files), *split_arguments(benchmark, files)]
    return Command(
        argv=tuple(argv),
        env=benchmark.env,
        timeout_s=benchmark.timeout_s,
        threads=benchmark.threads,
        cpus=benchmark.cpus,
    )


def _inputs(benchmark: Benchmark, files: Mapping[str, str]) -> list[str]:
    """Return the words for files with inputs, or else for shapes; the type is that of the first input."""
    dtype = benchmark.inputs[0].dtype if benchmark.inputs else "float"
    if benchmark.input_files:
        names = [file.key.removeprefix(_INPUT_FILE) for file in benchmark.input_files]
        words = ["--input_file", ",".join(files[file.key] for file in benchmark.input_files)]
    elif benchmark.inputs:
        names = [tensor.name for tensor in benchmark.inputs]
        words = ["--input_dims", ";".join(",".join(map(str, tensor.shape)) for tensor in benchmark.inputs)]
    else:
        raise BenchmarkFailed(
            f"{benchmark.title}: a test without commands needs inputs",
            hint='give `inputs`, such as {"data": {"shapes": [[1, 3, 224, 224]], "type": "float"}}, or `commands`',
        )
    return [*words, "--input", ",".join(names), "--input_type", dtype]


def _outputs(benchmark: Benchmark, files: Mapping[str, str]) -> list[str]:
    """Return the words for output files: the program writes FOLDER/BLOB.txt for each."""
    if not benchmark.output_files:
        return []
    paths = {file.key.removeprefix(_OUTPUT_FILE): files.get(file.key, file.location) for file in benchmark.output_files}
    folder = posixpath.dirname(next(iter(paths.values())))
    for blob, path in paths.items():
        if path != posixpath.join(folder, f"{blob}.txt"):
            raise BenchmarkFailed(
                f"{benchmark.title}: caffe2_benchmark cannot write output `{blob}` to {path}",
                hint=f"it writes all outputs to one folder: let its location be {posixpath.join(folder, blob)}.txt",
            )
    return ["--output", ",".join(paths), "--text_output", "true", "--output_folder", folder]
