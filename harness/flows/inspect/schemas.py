"""`harness schema`: the JSON Schemas that are shipped."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from harness.core.errors import EnvironmentProblem, ExitCode
from harness.display.tables import print_output
from harness.files.installation import SPECIFICATIONS


def show(name: str, console: Console) -> ExitCode:
    """Print a schema.

    Raises:
        EnvironmentProblem: Its file is not there.
    """
    file = SPECIFICATIONS / "schema" / f"{name}.schema.json"
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise EnvironmentProblem(
            f"{file} cannot be read: {error.strerror or error}", hint="reinstall the package edge-harness"
        ) from error
    print_output(Text(text.rstrip("\n")), console)
    return ExitCode.OK
