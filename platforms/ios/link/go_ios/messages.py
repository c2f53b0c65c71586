"""Log of go-ios: lines of JSON on standard error, or a Go trace after a panic."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError


class LogRecord(BaseModel):
    """A line of the log.

    Attributes:
        level: `DEBUG`, `INFO`, `WARN` or `ERROR`.
        msg: Its message.
        err: The error behind it, where go-ios's commands log it.
        error: The error behind it, where go-ios's library logs it.
        pid: Process on the phone that it is about.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    level: str
    msg: str
    err: object = None
    error: object = None
    pid: int | None = None

    @property
    def text(self) -> str:
        """Its message with the error behind it."""
        cause = self.err if self.err is not None else self.error
        return self.msg if cause is None else f"{self.msg}: {cause}"


def read_log(stderr: str) -> tuple[LogRecord, ...]:
    """Return the lines of the log, oldest first; others, such as those of a trace, are left out."""
    records = []
    for line in stderr.splitlines():
        if line.startswith("{"):
            try:
                records.append(LogRecord.model_validate_json(line))
            except ValidationError:
                continue
    return tuple(records)


def read_panic(stderr: str) -> str:
    """Return the reason of a panic; empty if there was none."""
    return next((line for line in stderr.splitlines() if line.startswith(("panic: ", "fatal error: "))), "")


def read_failure(stderr: str) -> str:
    """Return why go-ios failed, in its words: a panic, or the last error of its log; empty if it says nothing.

    Commands end at their first error, and some log it and exit with status 0.
    """
    errors = [record.text for record in read_log(stderr) if record.level == "ERROR"]
    return read_panic(stderr) or (errors[-1] if errors else "")
