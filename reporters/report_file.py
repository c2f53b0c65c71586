"""File that a reporter writes as a whole, again and again."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from harness.core.errors import EnvironmentProblem, ReporterFailed
from harness.files.atomic import write_atomically
from harness.files.writability import check_writable_folder


class ReportFile(Struct, frozen=True):
    """File that is replaced in one step, with folders made as needed.

    Attributes:
        reporter: Name of the reporter that writes it.
        path: Its name, as it was asked for.
    """

    reporter: str
    path: Path

    def check(self) -> None:
        """Check that it can be written; one that is there stays as it is.

        Raises:
            EnvironmentProblem: It cannot.
        """
        try:
            check_writable_folder(self._place().parent)
        except OSError as error:
            raise EnvironmentProblem(self._describe(error), hint=self._hint) from error

    def write(self, text: str) -> None:
        """Put a text into it.

        Raises:
            ReporterFailed: That is not possible.
        """
        try:
            write_atomically(self._place(), text)
        except OSError as error:
            raise ReporterFailed(self._describe(error), hint=self._hint) from error

    def _place(self) -> Path:
        """Return the file to replace: a link stays a link; a device or folder is not replaced.

        Raises:
            OSError: It is no file that can be replaced.
        """
        place = self.path.resolve()
        if place.exists() and not place.is_file():
            raise FileExistsError(0, "not a regular file", str(self.path))
        return place

    def _describe(self, error: OSError) -> str:
        return f"cannot write {self.path}: {error.strerror or error}"

    @property
    def _hint(self) -> str:
        return f"free disk space or fix permissions there, or name another file: --reporter {self.reporter}=FILE"
