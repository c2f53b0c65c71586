"""Files that are really there: what the model cache hands to the rest."""

from __future__ import annotations

from pathlib import Path

from harness.core.benchmark import Export
from harness.core.values import Value


class Delegation(Value):
    """What lowering did to one program.

    Attributes:
        subgraphs: Number of delegated sub-graphs.
        delegated: Delegated operators by kind.
        non_delegated: Operators left to the portable kernels, by kind.
    """

    subgraphs: int
    delegated: dict[str, int]
    non_delegated: dict[str, int]

    @property
    def delegated_count(self) -> int:
        """Delegated operators in all."""
        return sum(self.delegated.values())

    @property
    def non_delegated_count(self) -> int:
        """Operators in all that no delegate took."""
        return sum(self.non_delegated.values())


class ExportReport(Value):
    """The sidecar of an exported program: how it was made, so that it can be trusted and made again.

    Attributes:
        export: The request.
        versions: Versions of everything that had a part in it.
        md5: MD5 of the program.
        size_bytes: Size of the program.
        weights_md5: MD5 of the model's parameters and buffers, so that another program from equal weights is seen.
        parameters: Number of parameters.
        delegation: What was lowered; None where the exporter cannot tell.
        seconds: Wall-clock seconds by phase.
        peak_memory_bytes: Peak resident memory of the export process.
    """

    export: Export
    versions: dict[str, str]
    md5: str
    size_bytes: int
    weights_md5: str | None = None
    parameters: int | None = None
    delegation: Delegation | None = None
    seconds: dict[str, float] = {}
    peak_memory_bytes: int | None = None


class CachedFile(Value):
    """A whole, verified file on this host.

    Attributes:
        key: Its placeholder, for example `files.model`.
        filename: The name it has on the device.
        path: Where it is.
        md5: Its MD5, computed, not promised.
        size_bytes: Its size.
        source: The URL, path or export it came from.
        report: How it was exported, if it was.
        fresh: Whether this run downloaded or exported it.
    """

    key: str
    filename: str
    path: Path
    md5: str
    size_bytes: int
    source: str
    report: ExportReport | None = None
    fresh: bool = False
