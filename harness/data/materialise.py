"""Example folders in the cache: made once for each request, split and content of the files that it reads.

<cache>/examples/<provider>/<key>/        example folder
<cache>/examples/<provider>/.<key>.lock   lock of the process that makes it
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness.core.benchmark import Input
from harness.core.errors import DataUnavailable
from harness.core.examples import DataRequest, Split
from harness.core.protocols import Progress, Task
from harness.data.provider import DataProvider
from harness.files.examples import verify_examples, write_examples
from harness.files.locks import FileLock
from harness.shell import poll_until

_LAYOUT: Final = 1
"""Part of every key; raised when the meaning of a key changes."""

_KEY_LENGTH: Final = 32


def materialise(
    provider: DataProvider,
    request: DataRequest,
    inputs: tuple[Input, ...],
    split: Split,
    *,
    cache: Path,
    progress: Progress,
) -> Path:
    """Return the example folder of a request, complete and verified; make it first where the cache does not have it.

    Args:
        provider: The provider that the request names.
        request: The request.
        inputs: The model's inputs, in the order of its arguments; empty where a specification names none.
        split: The part of the data set.
        cache: Folder of the model cache.
        progress: Told what happens.

    Raises:
        DataUnavailable: The examples cannot be made, or do not fit the inputs.
    """
    folder = _place(provider, request, inputs, split, cache=cache)
    if _is_whole(folder):
        return folder
    with _locked(folder.with_name(f".{folder.name}.lock"), request, progress):
        # Another process may have made it meanwhile.
        if not _is_whole(folder):
            if folder.exists():
                progress.say(f"the examples of `{request.provider}` in the cache are damaged; making them again")
            with progress.task(f"making examples of `{request.provider}`") as task, _os_errors(request):
                _make(provider, request, inputs, split, folder=folder, task=task)
    return folder


def find(
    provider: DataProvider, request: DataRequest, inputs: tuple[Input, ...], split: Split, *, cache: Path
) -> Path | None:
    """Return the example folder of a request, complete and verified; None where the cache does not have it.

    Raises:
        DataUnavailable: `materialise` would refuse the request as well.
    """
    folder = _place(provider, request, inputs, split, cache=cache)
    return folder if _is_whole(folder) else None


def _place(
    provider: DataProvider, request: DataRequest, inputs: tuple[Input, ...], split: Split, *, cache: Path
) -> Path:
    if request.count is not None and request.count < 1:
        raise DataUnavailable(f"data `{request.provider}`: {request.count} examples are none", hint="ask for 1 or more")
    return cache / "examples" / _segment(request.provider) / _key(provider, request, inputs, split)


def _is_whole(folder: Path) -> bool:
    try:
        verify_examples(folder)
    except DataUnavailable:
        return False
    return True


def _make(
    provider: DataProvider, request: DataRequest, inputs: tuple[Input, ...], split: Split, *, folder: Path, task: Task
) -> None:
    data = provider.open(request, inputs, split)
    with write_examples(
        folder,
        data.inputs,
        request=request,
        split=split,
        description=data.description,
        classes=data.classes,
    ) as writer:
        for number, example in enumerate(data.examples, start=1):
            writer.add(example.arrays, example.label)
            task.update(completed=number, total=data.count)
        if writer.count != data.count or not writer.count:
            raise DataUnavailable(
                f"data `{request.provider}`: {writer.count} examples were made, {data.count} were promised"
            )


def _key(provider: DataProvider, request: DataRequest, inputs: tuple[Input, ...], split: Split) -> str:
    with _os_errors(request):
        fingerprint = dict(provider.fingerprint(request, inputs, split))
    content = {
        "layout": _LAYOUT,
        "request": request.model_dump(mode="json"),
        "inputs": [item.model_dump(mode="json") for item in inputs],
        "split": split,
        "fingerprint": fingerprint,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_KEY_LENGTH]


@contextlib.contextmanager
def _locked(path: Path, request: DataRequest, progress: Progress) -> Iterator[None]:
    """Hold a lock file, so that one process, and one thread of it, makes a folder, and the others wait for it."""
    lock = FileLock(path)
    with _os_errors(request):
        if not lock.acquire():
            progress.say(f"waiting for another harness that makes the examples of `{request.provider}`")
            poll_until(lock.acquire)
    with lock:
        yield


@contextlib.contextmanager
def _os_errors(request: DataRequest) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        message = f"data `{request.provider}`: {place}{error.strerror or error}"
        raise DataUnavailable(message, hint="check the path, its permissions, and the space on the disk") from error


def _segment(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.+-]", "_", name)[:80].lstrip(".") or "_"
