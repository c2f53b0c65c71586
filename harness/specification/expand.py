"""Expansion of a specification to its benchmarks: tests x matrix x shapes, in file order."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from msgspec import Struct
from pydantic import JsonValue

from harness.core.app import App
from harness.core.benchmark import KINDS, Benchmark, HostStep, Input, Model, ModelFile, SpecificationPlace
from harness.core.examples import DataRequest
from harness.core.generation import GenerationRequest
from harness.core.metric import Direction
from harness.core.placeholders import find_placeholders, suggest
from harness.core.power import PowerRequest
from harness.core.same_work import SameWorkRequest
from harness.core.scalars import Scalar, format_scalar
from harness.specification.check import ValidParts
from harness.specification.data import choose_data, make_paths_absolute, read_data
from harness.specification.document import Findings, join
from harness.specification.fai_pep import COMMANDS_FRAMEWORK
from harness.specification.file_format import AppEntry, ModelSection, SameWorkEntry, Test
from harness.specification.files import (
    FileReader,
    check_filenames,
    check_generated,
    make_locations_absolute,
    normalise_dtype,
)
from harness.specification.generation import request_generation
from harness.specification.load_options import LaunchOptions, LoadOptions
from harness.specification.matrix import Combination, apply_axes, count_shapes, expand_matrix
from harness.specification.power import is_about_energy, request_power
from harness.specification.probes import request_probes
from harness.specification.scenario import request_arrival, request_sustained
from harness.specification.scope import (
    BUILT_IN,
    PlaceholderScope,
    file_names,
    identifier_template,
    known_values,
    launch_count,
)
from harness.specification.sections import Step

_TESTS = re.compile(r"[\w+-][\w.+ -]{0,199}\.xctest")
_DESCRIPTIVE = frozenset(
    ("ID", "category", "kind", "description", "group", "log_output", "timeout", "cooldown", "same_work")
)
"""Variables that describe a benchmark without changing what is measured."""

_ALSO_FIELDS = frozenset(("operators", "energy", "max_repeat", "repeat_precision"))
"""Variables that are fields of the benchmark too, so that the field alone counts."""


class SpecificationContext(Struct, frozen=True):
    """Specification with everything that its expansion depends on.

    Attributes:
        parts: The valid parts of the specification.
        meta: Additional values of list files and command line.
        options: Options of the caller.
        findings: Collects problems.
    """

    parts: ValidParts
    meta: Mapping[str, JsonValue]
    options: LoadOptions
    findings: Findings


def expand(context: SpecificationContext) -> Iterator[Benchmark]:
    """Yield every benchmark of a specification. They are usable only when no problem was found."""
    number = 0
    reserved = BUILT_IN | context.options.programs | {"ID"}
    for index, test in context.parts.tests.items():
        pointer = join("/tests", index)
        shapes = count_shapes(test, pointer, context.findings)
        for axes in expand_matrix(test.matrix, pointer, reserved, context.findings, _names_in_commands(test)):
            for shape in range(shapes):
                yield _Expansion(context, apply_axes(test, axes), pointer, axes, shape, number).benchmark()
                number += 1


def _names_in_commands(test: Test) -> frozenset[str]:
    texts = (test.command or "", test.arguments or "", *(test.commands or ()))
    return frozenset(name for template in texts for name in find_placeholders(template))


class _Expansion(Struct, frozen=True, dict=True):
    """Expansion of one test with one matrix entry and one shape."""

    context: SpecificationContext
    test: Test
    pointer: str
    axes: Combination
    shape: int
    number: int

    def benchmark(self) -> Benchmark:
        test, model, scope, files = self.test, self._section, self._scope, self._file_reader
        launch = LaunchOptions(model, test, self.pointer, self.context.options, scope)
        commands, identifier = self._commands(), self._identifier()
        metric = scope.resolve(test.main_metric, join(self.pointer, "metric"))
        benchmark = Benchmark(
            id=self.number,
            model=self._model(),
            identifier=identifier,
            metric=metric,
            kinds=self._kinds(),
            framework=self._framework(is_composed=not commands),
            axes=dict(self.axes),
            inputs=self._inputs,
            threads=test.threads,
            warmup=test.warmup,
            iterations=test.iter,
            min_iterations=test.min_iter,
            time_limit_s=test.time_limit_s,
            launches=launch_count(model, test),
            max_launches=launch.max_launches(),
            precision=launch.precision(),
            timeout_s=launch.timeout_s(),
            cooldown_s=launch.cooldown_s(),
            files=self._files(),
            input_files=files.read_files(test.input_files, "input_files", join(self.pointer, "input_files")),
            output_files=files.read_outputs(test.output_files, join(self.pointer, "output_files")),
            output_tolerance=test.output_tolerance,
            commands=commands,
            arguments=self._arguments(len(commands)),
            env=launch.env(),
            cpus=launch.cpus(),
            sleep_before_run_s=launch.sleep_before_run_s(),
            model_before=self._step(model.preprocess, "preprocess", "/model"),
            model_after=self._step(model.postprocess, "postprocess", "/model"),
            before=self._step(test.preprocess, "preprocess", self.pointer),
            after=self._step(test.postprocess, "postprocess", self.pointer),
            app=None if model.app is None else self._app(model.app),
            tags=tuple(dict.fromkeys((*model.tags, *test.tags))),
            platform=model.platform,
            statistics=launch.statistics(),
            direction={name: Direction(better) for name, better in test.direction.items()},
            converter=model.converter.name if model.converter else None,
            converter_args=model.converter.args if model.converter else {},
            log_output=launch.log_output(),
            operators=test.operators or self.context.options.operators,
            backend_options=self._backend_options(),
            data=self._data(),
            scores=test.scores,
            same_work=self._same_work(),
            energy=test.energy or is_about_energy(test, metric),
            power=request_power(test, metric),
            generation=self._generation(),
            arrival=request_arrival(test.arrival, scope, join(self.pointer, "arrival")),
            sustained=request_sustained(test.sustained, scope, join(self.pointer, "sustained")),
            probes=request_probes(test, self.context.options.probes),
            variables={**scope.values, "identifier": identifier},
            meta=dict(self.context.meta),
            origin=self._place(self.pointer),
            framework_origin=None if model.framework is None else self._place("/model/framework"),
            digest="",
        )
        self._check_files(benchmark)
        digest = _compute_digest(benchmark, overrides=frozenset(self.context.options.string_map))
        identified = benchmark.model_copy(update={"digest": digest})
        root, findings = self.context.options.root_model_dir, self.context.findings
        return make_paths_absolute(make_locations_absolute(identified, root, findings), root, findings)

    def _data(self) -> DataRequest | None:
        chosen = choose_data(self.test.data, self._section.data, self.pointer)
        return None if chosen is None else read_data(chosen[0], self._scope, chosen[1])

    def _same_work(self) -> SameWorkRequest | None:
        """Return the request of the test, else that of the model."""
        given = self.test.same_work if self.test.same_work is not None else self._section.same_work
        if isinstance(given, SameWorkEntry):
            return SameWorkRequest(reference=given.reference, tolerance=given.tolerance)
        return SameWorkRequest() if given else None

    def _generation(self) -> GenerationRequest | None:
        entry, pointer = self.test.generation, join(self.pointer, "generation")
        names = frozenset(file_names(self._section, self.test))
        return None if entry is None else request_generation(entry, self._scope, names, pointer)

    def _backend_options(self) -> dict[str, Scalar]:
        """Return the options of the model with those of the test, which win; texts may have placeholders."""
        parts = (("/model", self._section.backend_options), (self.pointer, self.test.backend_options))
        return {
            name: self._scope.resolve(value, join(pointer, "backend_options", name))
            if isinstance(value, str)
            else value
            for pointer, options in parts
            for name, value in options.items()
        }

    def _place(self, pointer: str) -> SpecificationPlace:
        return self.context.findings.document.place(pointer)

    @property
    def _section(self) -> ModelSection:
        return self.context.parts.model

    @cached_property
    def _scope(self) -> PlaceholderScope:
        values = known_values(self._section, self.test, self.axes, self.shape, self.context.meta)
        values |= {name: format_scalar(value) for name, value in self.context.options.string_map.items()}
        values["ID"] = str(self.number)
        for name in self.context.parts.undefined:
            values.setdefault(name, name)
        later = BUILT_IN | self.context.options.programs | frozenset(file_names(self._section, self.test))
        return PlaceholderScope(values, later, self.context.findings)

    @cached_property
    def _inputs(self) -> tuple[Input, ...]:
        def dtype(name: str, given: str) -> str:
            return normalise_dtype(given, join(self.pointer, "inputs", name, "type"), self.context.findings)

        return tuple(
            Input(name=name, shape=entry.dimensions(self.shape), dtype=dtype(name, entry.type))
            for name, entry in self.test.inputs.items()
        )

    @cached_property
    def _file_reader(self) -> FileReader:
        return FileReader(self._scope, self._inputs)

    def _model(self) -> Model:
        section = self._section

        def resolve(value: str | None, key: str) -> str | None:
            return self._scope.resolve(value, join("/model", key)) if value is not None else None

        return Model(
            name=self._scope.resolve(section.name, "/model/name"),
            format=self._scope.resolve(section.format, "/model/format"),
            category=resolve(section.category, "category"),
            kind=resolve(section.kind, "kind"),
            description=section.description,
            group=resolve(section.group, "group"),
        )

    def _kinds(self) -> tuple[str, ...]:
        """Return the kinds of a list of metrics, each of which has to be known, and be named once."""
        given = self.test.kinds
        for index, kind in enumerate(given):
            pointer = join(self.pointer, "metric", str(index))
            if kind not in KINDS:
                hint = suggest(kind, KINDS) or f"kinds are {', '.join(KINDS)}"
                self.context.findings.add(pointer, f"there is no kind of metric {kind!r}", hint)
            elif kind in given[:index]:
                self.context.findings.add(pointer, f"{kind!r} is named twice", "name each kind once")
        return given

    def _identifier(self) -> str:
        if self.test.identifier is None and self.test.main_metric != "generic":
            hint = "name the test; {ID} stands for its number"
            self.context.findings.add(self.pointer, "`identifier` is missing", hint)
        return self._scope.resolve(identifier_template(self.test), join(self.pointer, "identifier"))

    def _framework(self, *, is_composed: bool) -> str:
        """Return the framework; `is_composed` if it must compose the command, because the test has none.

        Commands can be run without the framework that a specification names, where the user asks for that.
        """
        requested, findings = self.context.options.framework, self.context.findings
        given = self._section.framework
        named = None if given is None else self._scope.resolve(given, "/model/framework")
        may_differ = requested == COMMANDS_FRAMEWORK and not is_composed
        if named is not None and requested is not None and named != requested and not may_differ:
            message = f"the specification is for framework `{named}`, but `{requested}` was requested"
            findings.add("/model/framework", message, f"run it with --framework {named}")
        framework = requested or named or ("" if is_composed else COMMANDS_FRAMEWORK)
        if not framework:
            message = "the test has no commands, and no framework is given that could compose them"
            findings.add(self.pointer, message, "name it in `model.framework` or with --framework")
        elif is_composed and framework == COMMANDS_FRAMEWORK:
            message = f"the test has no commands, and framework `{framework}` cannot compose them"
            findings.add(self.pointer, message, "add `commands`, or name the framework of the model")
        return framework

    def _files(self) -> tuple[ModelFile, ...]:
        """Read the files and libraries of the model, and the files of the test, which win where names are equal."""
        reader, section = self._file_reader, self._section
        files = {file.key: file for file in reader.read_files(section.files, "files", "/model/files")}
        files |= {file.key: file for file in reader.read_files(self.test.files, "files", join(self.pointer, "files"))}
        return (*files.values(), *reader.read_files(section.libraries, "libraries", "/model/libraries"))

    def _check_files(self, benchmark: Benchmark) -> None:
        findings = self.context.findings
        for files in (
            (*benchmark.files, *benchmark.input_files),
            benchmark.model_before.files,
            benchmark.model_after.files,
            benchmark.before.files,
            benchmark.after.files,
        ):
            check_filenames(files, findings)
        check_generated((*benchmark.files, *benchmark.input_files), findings)
        model_keys = {file.key for step in (benchmark.model_before, benchmark.model_after) for file in step.files}
        for file in (*benchmark.before.files, *benchmark.after.files):
            if file.key in model_keys:
                message = f"{{{file.key}}} is a file of both the model's step and the test's"
                findings.problems.add(file.origin, message, "rename one of them")

    def _step(self, step: Step | None, key: str, pointer: str) -> HostStep:
        return HostStep() if step is None else self._file_reader.read_step(step, key, join(pointer, key))

    def _commands(self) -> tuple[str, ...]:
        test, scope = self.test, self._scope
        given = [key for key in ("commands", "command", "arguments") if getattr(test, key) is not None]
        for key in given[1:]:
            message = f"`{given[0]}` and `{key}` are both given"
            self.context.findings.add(join(self.pointer, key), message, "keep one of them")
        if test.command is not None:
            return (scope.check_command(test.command, join(self.pointer, "command")),)
        if test.arguments is not None:
            return (scope.check_command(f"{{program}} {test.arguments}", join(self.pointer, "arguments")),)
        commands = test.commands or ()
        here = join(self.pointer, "commands")
        return tuple(scope.check_command(command, join(here, index)) for index, command in enumerate(commands))

    def _arguments(self, commands: int) -> str:
        """Join the text behind each command that starts the program: the model's, the caller's, FAI-PEP's extra one."""
        extra = self._scope.values.get("pep_extra_args", "") if commands == 1 else ""
        pieces = (self._section.command_args, self.context.options.command_args, extra)
        return self._scope.check_command(" ".join(piece for piece in pieces if piece), "/model/command_args")

    def _app(self, entry: AppEntry) -> App:
        findings, here = self.context.findings, "/model/app"
        if entry.tests is not None:
            for key in ("activity", "result"):
                if getattr(entry, key) is not None:
                    hint = "tests run in the app, and what they write counts: keep `tests`, or leave it out"
                    findings.add(join(here, key), f"`tests` and `{key}` are both given", hint)
            if not _TESTS.fullmatch(entry.tests):
                hint = "Xcode makes NAME.xctest in the `PlugIns` folder of the app"
                findings.add(join(here, "tests"), f"{entry.tests!r} is not the name of a bundle of tests", hint)
        elif entry.activity is None and entry.result is None:
            hint = "Android starts an app by its `activity`; an app for iPhones has `tests`, or a `result`"
            findings.add(here, "`activity` is missing", hint)
        # FAI-PEP's activities begin with the package.
        activity = (entry.activity or "").removeprefix(f"{entry.package}/")
        return App(package=entry.package, activity=activity, result=entry.result or "", tests=entry.tests or "")


def _compute_digest(benchmark: Benchmark, overrides: frozenset[str]) -> str:
    """Return a SHA-256 over everything that defines a benchmark.

    Excluded is what may differ between two runs of the same benchmark: its number, its place in a file, descriptions,
    directions of metrics, additional values, and time limits of the harness.

    Args:
        benchmark: The benchmark, with locations as they are written (absolute ones differ between hosts).
        overrides: Variables from the command line; they count only when a template uses them.
    """
    excluded = {
        *("id", "origin", "framework_origin", "digest", "meta", "log_output", "statistics", "direction", "variables"),
        *("timeout_s", "cooldown_s", "platform", "tags", "max_launches", "precision", "output_tolerance", "scores"),
        "same_work",  # which proves what is measured, and changes nothing of it
        *("phases", "cold", "long_run_s", "probes"),  # of passes
        # Series from before there were such keys continue.
        *(
            name
            for name in (
                *("operators", "energy", "app", "kinds", "data", "backend_options"),
                *("generation", "arrival", "sustained"),
            )
            if not getattr(benchmark, name)
        ),
        *(("power",) if benchmark.power in {None, PowerRequest()} else ()),
    }
    content: JsonValue = benchmark.model_dump(
        mode="json",
        exclude={**dict.fromkeys(excluded, True), "model": {"category", "kind", "description", "group"}},
    )
    canonical = json.dumps(_without_origins(content), sort_keys=True, separators=(",", ":"))
    used = _used_variables(canonical, benchmark.variables)
    variables = {
        name: value
        for name, value in benchmark.variables.items()
        if name not in _DESCRIPTIVE | _ALSO_FIELDS and (name in used or name not in overrides)
    }
    canonical += json.dumps(variables, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _without_origins(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _without_origins(item) for key, item in value.items() if key != "origin"}
    if isinstance(value, list):
        return [_without_origins(item) for item in value]
    return value


def _used_variables(text: str, variables: dict[str, str]) -> set[str]:
    """Return the variables that a text uses, directly or through other values."""
    used: set[str] = set()
    pending = list(find_placeholders(text))
    while pending:
        name = pending.pop()
        if name in variables and name not in used:
            used.add(name)
            pending.extend(find_placeholders(variables[name]))
    return used
