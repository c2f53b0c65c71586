"""A specification to its benchmarks: tests x matrix x shapes, in file order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from pydantic import JsonValue

from harness.core.benchmark import POWER, Benchmark, HostStep, Input, Model, ModelFile
from harness.core.command import App
from harness.core.metric import Direction
from harness.core.placeholders import find_placeholders
from harness.core.values import format_scalar
from harness.specification.check import Checked
from harness.specification.digest import digest_of
from harness.specification.document import join
from harness.specification.file_format import AppEntry, ModelSection, Test
from harness.specification.files import FileReader, anchored, check_filenames, check_made, dtype_of
from harness.specification.launch_options import Launching
from harness.specification.matrix import Combination, combinations, with_axes
from harness.specification.names import file_names, identifier_of, launches_of, values_of
from harness.specification.options import LoadOptions
from harness.specification.problems import Findings
from harness.specification.scope import BUILT_IN, Scope
from harness.specification.sections import Step

_ANDROID = "android"


@dataclass(frozen=True, slots=True)
class Subject:
    """One specification and what is around it.

    Attributes:
        checked: The specification.
        meta: Free values of list files and command line.
        options: What the caller decides.
        findings: Collects what is wrong.
    """

    checked: Checked
    meta: Mapping[str, JsonValue]
    options: LoadOptions
    findings: Findings


def expand(subject: Subject) -> Iterator[Benchmark]:
    """Every benchmark of a specification. They can be used only when nothing was found to be wrong."""
    number = 0
    reserved = BUILT_IN | subject.options.programs | {"ID"}
    for index, test in subject.checked.tests.items():
        pointer = join("/tests", index)
        shapes = _shape_count(test, pointer, subject.findings)
        for axes in combinations(test.matrix, pointer, reserved, subject.findings, _names_in_commands(test)):
            for shape in range(shapes):
                yield _Expansion(subject, with_axes(test, axes), pointer, axes, shape, number).benchmark()
                number += 1


def _names_in_commands(test: Test) -> frozenset[str]:
    texts = (test.command or "", test.arguments or "", *(test.commands or ()))
    return frozenset(name for template in texts for name in find_placeholders(template))


def _shape_count(test: Test, pointer: str, findings: Findings) -> int:
    """How many shapes the inputs list; when they disagree one, so that the rest of the test is checked."""
    for name, entry in test.inputs.items():
        if (entry.shape is None) == (entry.shapes is None):
            findings.add(join(pointer, "inputs", name), f"input `{name}` needs either `shape` or `shapes`")
    counts = {name: len(entry.shapes) for name, entry in test.inputs.items() if entry.shapes is not None}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"`{name}` {count}" for name, count in counts.items())
        message = f"the inputs list different numbers of shapes: {listed}"
        findings.add(join(pointer, "inputs"), message, "benchmark i takes the i-th shape of every input")
        return 1
    return next(iter(counts.values()), 1)


@dataclass(frozen=True)
class _Expansion:
    """One test with one matrix entry and one shape."""

    subject: Subject
    test: Test
    pointer: str
    axes: Combination
    shape: int
    number: int

    def benchmark(self) -> Benchmark:
        test, model, scope = self.test, self._section, self._scope
        launching = Launching(model, test, self.pointer, self.subject.options, scope)
        commands, identifier = self._commands(), self._identifier()
        metric = scope.settled(test.metric, join(self.pointer, "metric"))
        written = Benchmark(
            id=self.number,
            model=self._model(),
            identifier=identifier,
            metric=metric,
            framework=self._framework(typed=not commands),
            axes=dict(self.axes),
            inputs=self._inputs,
            threads=test.threads,
            warmup=test.warmup,
            iterations=test.iter,
            min_iterations=test.min_iter,
            time_limit_s=test.time_limit_s,
            launches=launches_of(model, test),
            timeout_s=launching.timeout_s(),
            cooldown_s=launching.cooldown_s(),
            files=self._files(),
            input_files=self._reader.files(test.input_files, "input_files", join(self.pointer, "input_files")),
            output_files=self._reader.outputs(test.output_files, join(self.pointer, "output_files")),
            commands=commands,
            arguments=self._arguments(len(commands)),
            env=launching.env(),
            cpus=launching.cpus(),
            sleep_before_run_s=launching.sleep_before_run_s(),
            model_before=self._step(model.preprocess, "preprocess", "/model"),
            model_after=self._step(model.postprocess, "postprocess", "/model"),
            before=self._step(test.preprocess, "preprocess", self.pointer),
            after=self._step(test.postprocess, "postprocess", self.pointer),
            app=None if model.app is None else _app(model.app),
            tags=tuple(dict.fromkeys((*model.tags, *test.tags))),
            platform=_ANDROID if model.app is not None else model.platform,
            statistics=launching.statistics(),
            direction={name: Direction(better) for name, better in test.direction.items()},
            converter=model.converter.name if model.converter else None,
            converter_args=model.converter.args if model.converter else {},
            log_output=launching.log_output(),
            operators=test.operators or self.subject.options.operators,
            energy=test.energy or metric == POWER,
            variables={**scope.values, "identifier": identifier},
            meta=dict(self.subject.meta),
            origin=self.subject.findings.document.place(self.pointer),
            digest="",
        )
        self._check_files(written)
        digest = digest_of(written, given=frozenset(self.subject.options.string_map))
        return _anchored(written.model_copy(update={"digest": digest}), self.subject)

    @property
    def _section(self) -> ModelSection:
        return self.subject.checked.model

    @cached_property
    def _scope(self) -> Scope:
        values = values_of(self._section, self.test, self.axes, self.shape, self.subject.meta)
        values |= {name: format_scalar(value) for name, value in self.subject.options.string_map.items()}
        values["ID"] = str(self.number)
        for name in self.subject.checked.lost:
            values.setdefault(name, name)
        later = BUILT_IN | self.subject.options.programs | frozenset(file_names(self._section, self.test))
        return Scope(values, later, self.subject.findings)

    @cached_property
    def _inputs(self) -> tuple[Input, ...]:
        def dtype(name: str, given: str) -> str:
            return dtype_of(given, join(self.pointer, "inputs", name, "type"), self.subject.findings)

        return tuple(
            Input(name=name, shape=entry.dimensions(self.shape), dtype=dtype(name, entry.type))
            for name, entry in self.test.inputs.items()
        )

    @cached_property
    def _reader(self) -> FileReader:
        return FileReader(self._scope, self._inputs)

    def _model(self) -> Model:
        section = self._section

        def settled(value: str | None, key: str) -> str | None:
            return self._scope.settled(value, join("/model", key)) if value is not None else None

        return Model(
            name=self._scope.settled(section.name, "/model/name"),
            format=self._scope.settled(section.format, "/model/format"),
            category=settled(section.category, "category"),
            kind=settled(section.kind, "kind"),
            description=section.description,
            group=settled(section.group, "group"),
        )

    def _identifier(self) -> str:
        if self.test.identifier is None and self.test.metric != "generic":
            hint = "name the test; {ID} stands for its number"
            self.subject.findings.add(self.pointer, "`identifier` is missing", hint)
        return self._scope.settled(identifier_of(self.test), join(self.pointer, "identifier"))

    def _framework(self, *, typed: bool) -> str:
        named, asked, findings = self._section.framework, self.subject.options.framework, self.subject.findings
        if named is not None and asked is not None and named != asked:
            message = f"the specification is for framework `{named}`, but `{asked}` was asked for"
            findings.add("/model/framework", message, f"run it with --framework {named}")
        framework = asked or named or ("" if typed else "generic")
        if not framework:
            message = "the test has no commands, and no framework is named that could compose them"
            findings.add(self.pointer, message, "name it in `model.framework` or with --framework")
        elif typed and framework == "generic":
            message = "the test has no commands, and framework `generic` cannot compose them"
            findings.add(self.pointer, message, "add `commands`, or name the framework of the model")
        return framework

    def _files(self) -> tuple[ModelFile, ...]:
        """The model's files and libraries, and the test's, which win where names are equal."""
        reader, section = self._reader, self._section
        files = {file.key: file for file in reader.files(section.files, "files", "/model/files")}
        files |= {file.key: file for file in reader.files(self.test.files, "files", join(self.pointer, "files"))}
        return (*files.values(), *reader.files(section.libraries, "libraries", "/model/libraries"))

    def _check_files(self, written: Benchmark) -> None:
        findings = self.subject.findings
        for files in (
            (*written.files, *written.input_files),
            written.model_before.files,
            written.model_after.files,
            written.before.files,
            written.after.files,
        ):
            check_filenames(files, findings)
        check_made((*written.files, *written.input_files), findings)
        theirs = {file.key: file for step in (written.model_before, written.model_after) for file in step.files}
        for file in (*written.before.files, *written.after.files):
            if file.key in theirs:
                message = f"{{{file.key}}} is a file of the model's step and of the test's"
                findings.problems.add(file.origin, message, "rename one of them")

    def _step(self, step: Step | None, key: str, pointer: str) -> HostStep:
        return HostStep() if step is None else self._reader.step(step, key, join(pointer, key))

    def _commands(self) -> tuple[str, ...]:
        test, scope = self.test, self._scope
        given = [key for key in ("commands", "command", "arguments") if getattr(test, key) is not None]
        for key in given[1:]:
            self.subject.findings.add(join(self.pointer, key), f"`{key}` beside `{given[0]}`", "keep one of them")
        if test.command is not None:
            return (scope.command(test.command, join(self.pointer, "command")),)
        if test.arguments is not None:
            return (scope.command(f"{{program}} {test.arguments}", join(self.pointer, "arguments")),)
        here = join(self.pointer, "commands")
        return tuple(scope.command(command, join(here, index)) for index, command in enumerate(test.commands or ()))

    def _arguments(self, commands: int) -> str:
        """The text behind each command that starts the program: the model's, the caller's, FAI-PEP's extra one."""
        extra = self._scope.values.get("pep_extra_args", "") if commands == 1 else ""
        pieces = (self._section.command_args, self.subject.options.command_args, extra)
        return self._scope.command(" ".join(piece for piece in pieces if piece), "/model/command_args")


def _app(entry: AppEntry) -> App:
    """The app; FAI-PEP's activities begin with the package."""
    activity = entry.activity.removeprefix(f"{entry.package}/")
    return App(package=entry.package, activity=activity, result=entry.result or "")


def _anchored(benchmark: Benchmark, subject: Subject) -> Benchmark:
    """The benchmark with absolute locations."""
    folder, root = subject.findings.document.file.parent, subject.options.root_model_dir

    def files(given: tuple[ModelFile, ...]) -> tuple[ModelFile, ...]:
        return tuple(anchored(file, folder, root, subject.findings) for file in given)

    def step(given: HostStep) -> HostStep:
        return given.model_copy(update={"files": files(given.files)})

    return benchmark.model_copy(
        update={
            "files": files(benchmark.files),
            "input_files": files(benchmark.input_files),
            "model_before": step(benchmark.model_before),
            "model_after": step(benchmark.model_after),
            "before": step(benchmark.before),
            "after": step(benchmark.after),
        }
    )
