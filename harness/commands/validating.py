"""Command that checks specifications. Hooks run it often, so it loads no flags of other commands."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from harness import display
from harness.config import arguments, flags
from harness.config.built_in import locate_specification
from harness.core.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from harness.config.flags import InspectFlags as ValidateFlags
else:  # cyclopts reads it from the signature below: with a field for each option, and help for those that count
    ValidateFlags = flags.inspect_flags(
        arguments.installed_options(),
        *("framework", "program", "string_map", "root_model_dir", "model_cache", "cache_dir"),
    )

_NO_VALIDATE_FLAGS = ValidateFlags()


def validate(
    *files: flags.SpecificationArgument,
    each: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    inspect_flags: ValidateFlags = _NO_VALIDATE_FLAGS,
) -> int:
    """`harness validate`.

    Args:
        files: Specifications, or lists of them (files, or built-in names: `harness list`); of a folder all below it.
        each: Check each file on its own: benchmarks of different files may have the same name.
        json: Show the benchmarks and all problems as JSON.
        inspect_flags: Where things are.
    """
    if not files:
        raise UsageError("no specification to check", hint="harness validate FILE...")
    paths = tuple(map(locate_specification, files))
    settings = dataclasses.replace(arguments.resolve_settings(inspect_flags), benchmark_file=paths)
    from harness.flows.inspect import checks
    from harness.flows.measure.workload import load_benchmarks

    if json:
        from harness.display.documents import print_document
        from harness.flows.inspect import validation

        document = validation.describe_files(paths, settings)
        print_document(document, display.open_console())
        return ExitCode.USAGE if document.problems else ExitCode.OK
    if any(path.is_dir() for path in paths):
        from harness.flows.inspect import folders

        return folders.validate_folders(paths, settings, display.open_console())
    if each:
        checks.validate_each(settings, display.open_console())
    else:
        checks.validate(load_benchmarks(settings), settings, display.open_console())
    return ExitCode.OK
