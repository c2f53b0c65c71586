"""Files of the model cache, and how exported ones were made."""

from pathlib import Path

from harness.core.benchmark import Export
from harness.core.examples import TensorInfo
from harness.core.scalars import Scalar
from harness.core.values import Value


class Delegation(Value):
    """Result of lowering one program to a delegate.

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
        """Total number of delegated operators."""
        return sum(self.delegated.values())

    @property
    def non_delegated_count(self) -> int:
        """Total number of operators that no delegate took."""
        return sum(self.non_delegated.values())


class ExportReport(Value):
    """Sidecar of an exported program: everything needed to judge it and to reproduce it.

    Attributes:
        export: The request.
        versions: Versions of all packages involved.
        md5: MD5 of the program.
        size_bytes: Size of the program.
        sections: Bytes of each part of the program's file, where the exporter tells them.
        weights_md5: MD5 of the model's parameters and buffers, to recognise programs made from equal weights.
        parameters: Number of parameters.
        delegation: Delegated operators; None where the exporter does not report them.
        inputs: Tensors that the program takes; empty where the exporter does not report them. A recipe may change the
            type of the model's inputs.
        outputs: Tensors that it returns, likewise.
        constants: Values that it tells who loads it, such as the length of its context, by the names of the methods
            that return them.
        seconds: Wall-clock seconds by phase.
        peak_memory_bytes: Peak resident memory of the export process.
    """

    export: Export
    versions: dict[str, str]
    md5: str
    size_bytes: int
    sections: dict[str, int] = {}
    weights_md5: str | None = None
    parameters: int | None = None
    delegation: Delegation | None = None
    inputs: tuple[TensorInfo, ...] = ()
    outputs: tuple[TensorInfo, ...] = ()
    constants: dict[str, Scalar | tuple[int, ...]] = {}
    seconds: dict[str, float] = {}
    peak_memory_bytes: int | None = None


def find_unequal_versions(first: ExportReport | None, second: ExportReport | None) -> dict[str, tuple[str, str]]:
    """Return the packages whose versions differ between two exports, with both; empty where one is not known."""
    if first is None or second is None:
        return {}
    shared = sorted(first.versions.keys() & second.versions.keys())
    versions = {package: (first.versions[package], second.versions[package]) for package in shared}
    return {package: pair for package, pair in versions.items() if pair[0] != pair[1]}


class CachedFile(Value):
    """Complete, verified file on this host.

    Attributes:
        key: Its placeholder, for example `files.model`.
        filename: Its name on the device.
        path: Its path on this host.
        md5: Its MD5, computed from the content.
        size_bytes: Its size.
        source: The URL, path or export it came from.
        report: The export report, if it was exported.
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
