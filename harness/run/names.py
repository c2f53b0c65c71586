"""Values of the placeholders that are known only when a benchmark runs: paths on the device and on the host."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import BenchmarkFailed
from harness.core.measurement import Job
from harness.core.placeholders import PlaceholderProblem, substitute
from harness.core.protocols import Session, Staged

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Names:
    """The placeholders of one side of a launch: the device, or the host around it.

    Attributes:
        texts: Values that a command line takes apart at spaces, as FAI-PEP does.
        paths: Values that stay one word whatever is in them.
    """

    texts: Mapping[str, str]
    paths: Mapping[str, str]

    def words(self, template: str) -> tuple[str, ...]:
        """A command line after substitution, split as a POSIX shell would and never given to one.

        Raises:
            BenchmarkFailed: A placeholder has no value here, or a quotation is not closed.
        """
        try:
            split = shlex.split(substitute(template, self.texts, later=self.paths))
            return tuple(substitute(word, self.paths) for word in split)
        except PlaceholderProblem as problem:
            needs = problem.name == "program"
            hint = "this benchmark needs a program: name it with --program PATH" if needs else problem.hint
            raise BenchmarkFailed(f"in `{template}`: {problem.message}", hint=hint) from problem
        except ValueError as error:
            raise BenchmarkFailed(f"in `{template}`: {error}", hint="close every quotation mark") from error


def on_device(job: Job, session: Session, staged: Staged, scratch: Path, index: int) -> Names:
    """The placeholders of commands that run on the device; FAI-PEP's `{TGTDIR}` ends with a slash."""
    paths = {**_folders(job, staged, scratch), **staged.files, **staged.programs}
    outputs = {output.key: output.location for output in job.benchmark.output_files}
    return Names({**_texts(job, session, index), **outputs}, paths)


def on_host(job: Job, session: Session, staged: Staged, scratch: Path, index: int) -> Names:
    """The placeholders of commands that run on the host before and after."""
    files = {key: str(file.path) for key, file in job.files.items()}
    programs = {key: str(path) for key, path in job.build.programs.items()}
    outputs = {output.key: str(fetched(scratch, output.filename)) for output in job.benchmark.output_files}
    return Names(_texts(job, session, index), {**_folders(job, staged, scratch), **files, **programs, **outputs})


def _texts(job: Job, session: Session, index: int) -> dict[str, str]:
    return {
        **job.benchmark.variables,
        **job.build.variables,
        "INDEX": str(index),
        "DEVICEHASH": session.device.identity,
    }


def _folders(job: Job, staged: Staged, scratch: Path) -> dict[str, str]:
    program = job.build.programs.get("program")
    first = next(iter(job.files.values()), None)
    return {
        "TGTDIR": staged.folder + "/",
        "HOSTDIR": str(scratch),
        "TEMPDIR": str(scratch),
        "FAIPEPROOT": str(_ROOT),
        "BUILDDIR": str(program.parent) if program else "",
        "MODEL_DIR": str(first.path.parent) if first else "",
    }


def fetched(scratch: Path, filename: str) -> Path:
    """Where an output file lies on the host."""
    return scratch / "output" / filename
