"""Origin of figures that another tool measured."""

from typing import Annotated

from pydantic import Field

from harness.core.values import Value


class Origin(Value):
    """Where the figures of a result come from that the harness did not measure itself.

    Nothing is known about such a measurement but what its file says: no coin, no device state, often no samples.

    Attributes:
        format: Name of the format that it was read from, as `harness import --format` takes it: `minibench`, ...
        file: Name of the file, without its folders.
        digest: SHA-256 of the file.
        place: Place of the record in the file, for people: `line 3`, `tests[4]`.
        published: Figure that the file publishes as its own summary, in the unit of the main metric; None without one.
        count: Number of values behind the figure of the main metric; None where the file does not say.
    """

    format: str
    file: str
    digest: str
    place: str = ""
    published: float | None = None
    count: Annotated[int, Field(ge=1)] | None = None

    @property
    def words(self) -> str:
        """What every table and page says beside such a figure."""
        return f"measured elsewhere, n = {self.count or 'unknown'}, device state unknown"
