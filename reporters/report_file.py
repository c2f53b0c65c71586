"""File that a reporter writes as a whole, again and again."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from msgspec import Struct

from harness.core.errors import EnvironmentProblem, ReporterFailed
from harness.files.atomic import write_atomically
from harness.files.open_flags import NO_WAIT
from harness.files.replacing import reject_specification
from harness.files.writability import check_writable_folder


class ReportFile(Struct, frozen=True):
    """File that is replaced in one step, with folders made as needed; a pipe or device is written into.

    Attributes:
        reporter: Name of the reporter that writes it.
        path: Its name, as it was asked for.
    """

    reporter: str
    path: Path

    @property
    def is_stream(self) -> bool:
        """Whether it is a pipe or a device, as `/dev/stdout` is: what is written there once is not replaced later."""
        try:
            mode = self.path.stat().st_mode
        except OSError:
            return False
        return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)

    def check(self) -> None:
        """Check that it can be written; one that is there stays as it is.

        Raises:
            UsageError: A specification is there.
            EnvironmentProblem: It cannot be written.
        """
        try:
            if self.is_stream:
                return
            check_writable_folder(self._place().parent)
            reject_specification(self.path)
        except OSError as error:
            raise EnvironmentProblem(self._describe(error), hint=self._hint) from error

    def write(self, text: str) -> None:
        """Put a text into it.

        Raises:
            ReporterFailed: That is not possible.
        """
        try:
            if self.is_stream:
                self._write_stream(text)
            else:
                write_atomically(self._place(), text)
        except OSError as error:
            raise ReporterFailed(self._describe(error), hint=self._hint) from error

    def _write_stream(self, text: str) -> None:
        """Write into a pipe or device. A pipe that nobody reads is an error, and is not waited for."""
        descriptor = os.open(self.path, os.O_WRONLY | NO_WAIT)
        if sys.platform != "win32":  # which has no such flag
            os.set_blocking(descriptor, True)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text.encode())

    def _place(self) -> Path:
        """Return the file to replace: a link stays a link; a folder is not replaced.

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
