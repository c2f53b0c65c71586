"""Records of files that other tools wrote, as formats read them: before they become results (`harness import`)."""

from typing import Annotated

from pydantic import Field

from harness.core.metric import Direction, Observation
from harness.core.note import Note
from harness.core.outcome import Outcome
from harness.core.scalars import Scalar
from harness.core.values import Value


class ForeignDevice(Value):
    """Device, as far as a file names it.

    Attributes:
        name: Name for people; empty where the file has none.
        kind: Product.
        os: Operating system and version.
        attributes: Everything else that the file says of it.
    """

    name: str = ""
    kind: str = ""
    os: str = ""
    attributes: dict[str, str] = {}


class ForeignBuild(Value):
    """Program that measured, as far as a file names it.

    Attributes:
        source: Where it comes from: a repository, or the name of the program.
        commit: Commit or version.
        name: Branch or other name of it.
    """

    source: str
    commit: str
    name: str = ""


class ForeignRecord(Value):
    """Measurement of one benchmark on one device, as a file of another tool has it.

    Attributes:
        place: Place in the file, for people: `line 3`.
        entries: Number of entries of the file that it is made of.
        model: Model name.
        identifier: Name of the benchmark within the model.
        framework: Name of the runtime.
        backend: Name of the backend; empty if unknown.
        axes: What else tells it from other benchmarks of the model.
        threads: Threads, where the file says.
        device: Where it ran.
        build: What measured; None where the file does not say.
        time: Unix seconds of the measurement; None where the file does not say.
        time_note: What the file leaves open about the time; empty if nothing.
        observations: The figures, the main one first, with samples in measured order where the file has them.
        directions: Directions that the format states, by name of the metric.
        warmup: Number of samples at the beginning that the file calls warm-up.
        published: Figure that the file publishes as its own summary of the main metric, in its unit.
        published_as: What that is, in words: `mean`, `median without the warm-up`.
        rounding: Largest difference that rounding explains, in the same unit.
        count: Number of values behind the figure of the main metric; None where the file does not say.
        outcome: How it ended.
        reason: Why, when not ok.
        notes: Further remarks.
        meta: Values that have no place elsewhere.
    """

    place: str
    entries: Annotated[int, Field(ge=1)] = 1
    model: str
    identifier: str
    framework: str
    backend: str = ""
    axes: dict[str, Scalar] = {}
    threads: int | None = None
    device: ForeignDevice = ForeignDevice()
    build: ForeignBuild | None = None
    time: float | None = None
    time_note: str = ""
    observations: tuple[Observation, ...] = ()
    directions: dict[str, Direction] = {}
    warmup: int = 0
    published: float | None = None
    published_as: str = ""
    rounding: float = 0.0
    count: Annotated[int, Field(ge=1)] | None = None
    outcome: Outcome = Outcome.OK
    reason: str | None = None
    notes: tuple[Note, ...] = ()
    meta: dict[str, str] = {}


class ForeignProblem(Value):
    """Entry of a file that could not be understood.

    Attributes:
        place: Its place in the file: `line 3`.
        reason: Why.
    """

    place: str
    reason: str


class ForeignContent(Value):
    """Content of a file: every entry is part of one of the records, or one of the problems.

    Attributes:
        records: Measurements, in the order of the file.
        problems: Entries that could not be understood.
    """

    records: tuple[ForeignRecord, ...] = ()
    problems: tuple[ForeignProblem, ...] = ()

    @property
    def entries(self) -> int:
        """Number of entries of the file."""
        return sum(record.entries for record in self.records) + len(self.problems)
