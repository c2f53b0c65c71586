"""Values of the placeholders that are known only when a benchmark runs: paths on the device and on the host."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

from msgspec import Struct

from harness.core.device import Device
from harness.core.errors import BenchmarkFailed
from harness.core.measurement import Job
from harness.core.placeholders import PlaceholderProblem, substitute
from harness.core.protocols import Staged
from harness.core.scenario import SCENARIO
from harness.files.programs import RUNNER

_ROOT = Path(__file__).resolve().parents[2]
_BRACED = re.compile(r"\{[\w.]+\}")


class PlaceholderValues(Struct, frozen=True):
    """Values of placeholders on one side of a launch: the device, or the host around it.

    Attributes:
        texts: Values that a command line splits at spaces, as FAI-PEP does.
        paths: Values that stay one word whatever they contain; see `escape_paths`.
    """

    texts: Mapping[str, str]
    paths: Mapping[str, str]

    def words(self, template: str) -> tuple[str, ...]:
        """Substitute in a command line, and split it as a POSIX shell would, without using one.

        Raises:
            BenchmarkFailed: A placeholder has no value here, or a quotation is not closed.
        """
        with _map_errors(template):
            split = shlex.split(substitute(template, self.texts, later=self.paths))
            return tuple(substitute(word, self.paths) for word in split)

    def text(self, template: str) -> str:
        """Substitute in a text, as one piece.

        Raises:
            BenchmarkFailed: A placeholder has no value here.
        """
        with _map_errors(template):
            return substitute(template, {**self.texts, **self.paths})


def on_device(
    job: Job, device: Device, staged: Staged, scratch: Path, index: int, *, long_run_s: float | None = None
) -> PlaceholderValues:
    """Return the placeholders of commands that run on the device; FAI-PEP's `{TGTDIR}` ends with a slash.

    Args:
        job: What is measured.
        device: The device.
        staged: Its files there.
        scratch: Folder on the host of its own.
        index: Number of the launch.
        long_run_s: Seconds for which the launch iterates; None for a launch that ends by its iterations.
    """
    paths = {**_folders(job, scratch), "TGTDIR": staged.folder + "/", **staged.files, **staged.programs}
    outputs = {output.key: output.location for output in job.benchmark.output_files}
    arrival = job.benchmark.arrival
    scenario = dict(zip(SCENARIO, (arrival.text if arrival else "none", f"{long_run_s or 0:g}"), strict=True))
    return PlaceholderValues({**_texts(job, device, index), **scenario, **outputs}, escape_paths(paths))


def on_host(job: Job, device: Device, scratch: Path, index: int) -> PlaceholderValues:
    """Return the placeholders of commands on the host, before and after; the device's folder is not one of them."""
    benchmark = job.benchmark
    files = {key: str(file.path) for key, file in job.files.items()}
    programs = {key: str(path) for key, path in job.build.programs.items()}
    outputs = {output.key: str(output_path(scratch, output.filename)) for output in benchmark.output_files}
    made = {file.key: file.location or "" for file in (*benchmark.files, *benchmark.input_files) if file.is_generated}
    texts, paths = _texts(job, device, index), escape_paths({**_folders(job, scratch), **files, **programs, **outputs})
    return PlaceholderValues(texts, {**paths, **_places_of_made_files(made, texts, later={*paths, *made})})


def escape_paths(paths: Mapping[str, str]) -> dict[str, str]:
    """Return templates that stand for the paths: a folder may be called `{x}`, and that is no placeholder."""
    return {key: _BRACED.sub(r"{\g<0>}", path) for key, path in paths.items()}


def _places_of_made_files(made: Mapping[str, str], texts: Mapping[str, str], later: Set[str]) -> dict[str, str]:
    """Return where steps put the files they make; folders and files stay placeholders, so that a path is one word."""
    places: dict[str, str] = {}
    for key, location in made.items():
        with _map_errors(location):
            places[key] = substitute(location, texts, later)
    return places


def _texts(job: Job, device: Device, index: int) -> dict[str, str]:
    return {**job.benchmark.variables, **job.build.variables, "INDEX": str(index), "DEVICEHASH": device.identity}


def _folders(job: Job, scratch: Path) -> dict[str, str]:
    program = job.build.programs.get("program")
    first = next(iter(job.files.values()), None)
    return {
        "HOSTDIR": str(scratch),
        "TEMPDIR": str(scratch),
        "FAIPEPROOT": str(_ROOT),
        "BUILDDIR": str(program.parent) if program else "",
        "MODEL_DIR": str(first.path.parent) if first else "",
    }


@contextlib.contextmanager
def _map_errors(template: str) -> Iterator[None]:
    try:
        yield
    except PlaceholderProblem as problem:
        if problem.name == RUNNER:
            missing = f"`{template}` starts a program, and none is given"
            raise BenchmarkFailed(missing, hint="name it with --program PATH") from problem
        raise BenchmarkFailed(f"in `{template}`: {problem.message}", hint=problem.hint) from problem
    except ValueError as error:
        raise BenchmarkFailed(f"in `{template}`: {error}", hint="close every quotation mark") from error


def output_path(scratch: Path, filename: str) -> Path:
    """Return the place of an output file on the host."""
    return output_folder(scratch) / filename


def output_folder(scratch: Path) -> Path:
    """Return the folder of the output files of the last launch on the host."""
    return scratch / "output"
