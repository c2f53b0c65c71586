"""`harness import`: figures that other tools measured become results, marked as such."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, cast

from cyclopts import Parameter

from harness import display, shell
from harness.commands import from_flags
from harness.config import arguments, flags, parsing
from harness.config.flags import Words
from harness.core.errors import UsageError

if TYPE_CHECKING:
    from harness.config.flags import InspectFlags as ImportFlags
else:  # cyclopts reads them from the signature below
    ImportFlags = flags.inspect_flags(arguments.installed_options(), "local_reporter", "remote_reporter", "database")

_NO_IMPORT_FLAGS = ImportFlags()


def import_(
    *files: Annotated[str, Parameter(show_default=False, allow_leading_hyphen=True)],
    format: Annotated[str | None, Parameter(metavar="NAME")] = None,  # noqa: A002 - the name of the flag
    model: Annotated[str, Parameter(metavar="NAME", show_default=False)] = "",
    device: Annotated[str, Parameter(metavar="NAME", show_default=False)] = "",
    backend: Annotated[str, Parameter(metavar="NAME", show_default=False)] = "",
    reporter: Annotated[Words, Parameter(metavar="NAME...", negative="")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    inspect_flags: ImportFlags = _NO_IMPORT_FLAGS,
) -> int:
    """`harness import`.

    Args:
        files: Files of other tools, also as .gz or .zip; `-` is standard input.
        format: Their format (default: recognised by the content): `harness list formats` names all.
        model: Name of the model, instead of that in the files.
        device: Name of the device, instead of that in the files.
        backend: Name of the backend, instead of that in the files.
        reporter: Give the results to these reporters, too: `NAME` or `NAME=ARGUMENT`, as a run does.
        json: Show the results as JSON, without single samples.
        inspect_flags: Where things are.
    """
    if not files:
        raise UsageError("no file to import", hint="harness import FILE...; `-` is standard input")
    unknown = [file for file in files if file.startswith("-") and file != "-"]
    if unknown:
        raise UsageError(f"unknown flag {unknown[0]}", hint="`harness import --help` lists all; ./-FILE names a file")
    settings = arguments.resolve_settings(inspect_flags)
    if reporter:
        settings = dataclasses.replace(settings, reporters=cast("dict[str, str]", parsing.parse_reporters(reporter)))
    if json:
        settings = from_flags.without_table(settings)
    from harness.flows.foreign.importing import ImportRequest, import_files
    from harness.flows.foreign.results import GivenNames

    names = GivenNames(model=model, device=device, backend=backend)
    with (
        shell.handle_signals(),
        from_flags.open_document(json=json) as listeners,
        display.open_display(quiet=settings.quiet) as shown,
    ):
        return import_files(ImportRequest(files, format, names), settings, shown, listeners)
