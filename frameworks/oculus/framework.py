"""FAI-PEP's framework `oculus`: the plug-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from frameworks.given_programs import (
    GivenPrograms,
    refuse_requests,
    require_program,
    split_arguments,
)
from frameworks.observations.converters import Parsed, parse_files, parse_step
from frameworks.oculus.report import parse_report
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkFailed

REPORT: Final = "report.json"
"""File name of the output file with the figures."""


class Oculus(GivenPrograms):
    """Framework plug-in: implements `Framework`, `StepParser` and `OptionReader` of `harness.core.protocols`.

    FAI-PEP copied the program to `/system/bin` of a rooted device; here it lies where programs of all frameworks do.

    Args:
        programs: Programs given by path, by placeholder.
    """

    name = "oculus"

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:  # noqa: ARG002 - the seam's
        """Compose the command line as FAI-PEP did: `PROGRAM --json REPORT --input FILES --output FILES`.

        Raises:
            BenchmarkFailed: There is no program, or no output file takes the report.
            BenchmarkUnsupported: The benchmark asks for what the program cannot do.
        """
        refuse_requests(benchmark, "this program")
        outputs = {file.filename: files.get(file.key, file.location) for file in benchmark.output_files}
        report = outputs.pop(REPORT, None)
        if report is None:
            raise BenchmarkFailed(
                f"{benchmark.title}: no output file takes the figures",
                hint=f'name one {REPORT}: "report": {{"filename": "{REPORT}", "location": "{{TGTDIR}}/{REPORT}"}}',
            )
        inputs = [files[file.key] for file in benchmark.input_files]
        argv = [require_program(benchmark, files, "program"), "--json", report]
        argv += ["--input", *inputs] if inputs else []
        argv += ["--output", *outputs.values()] if outputs else []
        return Command(
            argv=(*argv, *split_arguments(benchmark, files)),
            env=benchmark.env,
            timeout_s=benchmark.timeout_s,
            threads=benchmark.threads,
            cpus=benchmark.cpus,
        )

    def parse(self, completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:
        """Parse the report, observer lines, and files with a converter."""
        observations, notes = parse_step(completed, benchmark)
        for file in benchmark.output_files:
            path = next((each.files[file.key] for each in completed if file.key in each.files), None)
            if file.filename == REPORT and file.converter is None and path is not None:
                reported, problems = parse_report(path)
                observations, notes = (*observations, *reported), (*notes, *problems)
        filed, problems = parse_files(completed, benchmark)
        return (*observations, *filed), (*notes, *problems)
