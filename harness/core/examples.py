"""Examples: inputs of a model for which outputs are compared, and the folders that hold them.

An example folder has `manifest.json` (`ExampleManifest`), and `input-0.bin`, `input-1.bin`, ...: a file for each input
of the model, with that input of every example, one after the other, as raw little-endian contiguous numbers. An output
folder is alike: `manifest.json` (`OutputManifest`), and `output-0.bin`, ... `harness.files.examples` reads and writes
both.
"""

from enum import StrEnum
from math import prod
from types import MappingProxyType
from typing import Final

from pydantic import JsonValue

from harness.core.values import Value

MANIFEST: Final = "manifest.json"
"""Description of an example folder or an output folder, written last."""

ITEM_BYTES: Final = MappingProxyType(
    {
        **dict.fromkeys(("bool", "int8", "uint8"), 1),
        **dict.fromkeys(("int16", "uint16", "float16", "bfloat16"), 2),
        **dict.fromkeys(("int32", "uint32", "float32"), 4),
        **dict.fromkeys(("int64", "uint64", "float64"), 8),
    }
)
"""Bytes of one element by element type; the names are NumPy's, and `bfloat16`, which NumPy has not."""

DTYPES: Final = MappingProxyType(
    {
        "float": "float32",
        "half": "float16",
        "double": "float64",
        "int": "int32",
        **{name: name for name in ("int8", "uint8", "int16", "int64", "bool")},
    }
)
"""Element type by its name in specifications (`harness.core.benchmark.Input.dtype`)."""


class Split(StrEnum):
    """Part of a data set: examples to evaluate with, and others that quantisation may learn from."""

    EVALUATION = "evaluation"
    CALIBRATION = "calibration"


class Stage(StrEnum):
    """Form of a model on its way to a device, in the order of the way.

    Attributes:
        EAGER: The module in floating point, as its author wrote it.
        EXPORTED: The program of `torch.export`, on the host.
        QUANTISED: The program with simulated quantisation (fake quantisation), on the host.
        HOST: The lowered program in the framework's runtime on the host.
        DEVICE: The lowered program in the framework's runtime on another device.
    """

    EAGER = "eager"
    EXPORTED = "exported"
    QUANTISED = "quantised"
    HOST = "host"
    DEVICE = "device"


class Scores(StrEnum):
    """Meaning of an output of a model.

    Attributes:
        AUTOMATIC: What its shape and its numbers suggest (docs/accuracy.md).
        LOGITS: Scores of classes along the last dimension, of which softmax makes probabilities.
        PROBABILITIES: Probabilities of classes along the last dimension.
        NONE: No scores of classes.
    """

    AUTOMATIC = "automatic"
    LOGITS = "logits"
    PROBABILITIES = "probabilities"
    NONE = "none"


class DataRequest(Value):
    """Request for examples: everything that determines them.

    Attributes:
        provider: Name of an installed provider, for example `random`, `files`, `images` or `digits`.
        options: The provider's options.
        count: Number of examples; None takes all that the provider has, or its default.
        seed: Seed of what is random in it.
    """

    provider: str
    options: dict[str, JsonValue] = {}
    count: int | None = None
    seed: int = 0


class TensorInfo(Value):
    """Description of one input or output of a single example.

    Attributes:
        name: Its name; outputs without one are named by number.
        dtype: Element type, a key of `ITEM_BYTES`.
        shape: Dimensions, those of a batch included.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def size_bytes(self) -> int:
        """Bytes of it in one example."""
        return prod(self.shape) * ITEM_BYTES[self.dtype]


class ExampleManifest(Value):
    """Description of an example folder.

    Attributes:
        schema_version: Version of this format.
        request: The request that it fulfils.
        split: The part of the data set.
        description: Origin and preprocessing, for people.
        inputs: The model's inputs, in the order of its arguments.
        count: Number of examples.
        labels: Class of each example; None where they have none.
        classes: Names of the classes; None where unknown.
        digest: SHA-256 of the inputs and labels: equal digests are the same examples.
    """

    schema_version: int = 1
    request: DataRequest
    split: Split = Split.EVALUATION
    description: str
    inputs: tuple[TensorInfo, ...]
    count: int
    labels: tuple[int, ...] | None = None
    classes: tuple[str, ...] | None = None
    digest: str


class OutputManifest(Value):
    """Description of an output folder.

    Attributes:
        schema_version: Version of this format.
        stage: The form of the model that computed the outputs.
        outputs: The model's outputs.
        count: Number of examples.
        examples: Digest of the examples.
        versions: Versions of what computed them.
        weights_md5: MD5 of the model's parameters and buffers, as in `ExportReport`; None where it is not known.
    """

    schema_version: int = 1
    stage: Stage
    outputs: tuple[TensorInfo, ...]
    count: int
    examples: str
    versions: dict[str, str] = {}
    weights_md5: str | None = None
