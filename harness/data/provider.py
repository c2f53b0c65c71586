"""Providers of examples: plug-ins of the group `edge_harness.data`, each a factory `create(settings)` of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from harness.core.benchmark import Input
from harness.core.examples import DataRequest, Split, TensorInfo

if TYPE_CHECKING:
    from harness.files.tensors import Array


class Example(Struct, frozen=True):
    """One set of model inputs.

    Attributes:
        arrays: One array for each input, of its type and shape.
        label: Its class; None where it is not known.
    """

    arrays: tuple[Array, ...]
    label: int | None = None


class DataSet(Struct, frozen=True):
    """Examples of one split.

    Attributes:
        inputs: The inputs of each example.
        count: Number of examples.
        description: Origin and preprocessing, for people.
        examples: The examples, made one after the other as they are taken; once.
        classes: Names of the classes; None where they are not known.
    """

    inputs: tuple[TensorInfo, ...]
    count: int
    description: str
    examples: Iterator[Example]
    classes: tuple[str, ...] | None = None


class DataProvider(Protocol):
    """A kind of data set. Equal requests give equal examples, on any machine.

    The options of a request that are called `path` or `labels`, or end in `_path`, are paths: relative to the
    specification as it is written, and absolute when a provider gets them. Options are the provider's own otherwise; it
    refuses those that it does not know.
    """

    def fingerprint(self, request: DataRequest, inputs: tuple[Input, ...], split: Split) -> Mapping[str, str]:
        """Return everything beside request and inputs that determines the examples: versions, digests of files.

        Args:
            request: The request.
            inputs: The model's inputs, in the order of its arguments; empty where a specification names none.
            split: The part of the data set.

        Raises:
            DataUnavailable: A file or package is missing, or an option is wrong.
        """

    def open(self, request: DataRequest, inputs: tuple[Input, ...], split: Split) -> DataSet:
        """Return the examples.

        Raises:
            DataUnavailable: They cannot be made, or do not fit the inputs; also while they are taken.
        """
