"""Layout of the tree of results, which several processes fill at once with folders that are whole or absent."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import quote

from harness.core.device import Device
from harness.core.result import Result
from harness.files.atomic import sync
from harness.files.drafts import open_scratch_folder
from harness.store.canonical_json import RESULT_FILE

DRAFTS: Final = ".drafts"
"""Folder of a tree for what is not whole yet."""

LOGS: Final = "logs"
"""Folder beside a result for the output of its launches."""

ARTIFACTS: Final = "artifacts"
"""Folder beside a result for files of probes."""

LEVELS: Final = 10
"""Folders of `result_folder`, and the number below them."""

_WINDOWS_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
_LONGEST: Final = 120
"""Characters of a segment. File systems allow 255, but ten segments must also fit a path (1024 on macOS)."""

_DIGEST: Final = 32
"""Hexadecimal digits (128 bits) that distinguish names whose shortened forms are equal."""

_TAKEN: Final = {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}
"""Errors of renaming a folder onto something that exists (rename(2))."""

_YEAR_10000: Final = 253_402_300_800
"""Unix seconds; no commit time from here on has a calendar date."""


def result_folder(result: Result) -> Path:
    """Return the folder of all results of one benchmark on one device of one build, relative to the tree.

    It is `<device>/<framework>/<model>/<metric>/<identifier>/<YYYY>/<MM>/<DD>/<commit>`. The date is the commit's
    (UTC), or that of the measurement where the build has no commit time.
    """
    info, build = result.benchmark, result.build
    commit = build.commit if build is not None else ""
    seconds = build.commit_time if build is not None and build.commit_time is not None else result.started
    # A commit may claim any time at all; it must not cost the result.
    date = datetime.fromtimestamp(min(max(seconds, 0), _YEAR_10000 - 1), UTC)
    subject = (_device_name(result.device), info.framework, info.model, info.metric, info.identifier)
    names = (*subject, *f"{date:%Y/%m/%d}".split("/"), commit or "no-commit")
    return Path(*map(encode_segment, names))


def encode_segment(name: str) -> str:
    """Encode a name as one segment of a path; different names have different segments.

    Letters, digits and `_.-~+=,@` stay; all else is percent-encoded (RFC 3986) as UTF-8, and so is a leading dot, which
    would hide the file or mean a folder. So that a tree can be copied to Windows, this also holds for a dot at the end
    and for the first letter of a name that means a device there, such as `nul.json`.

    `%empty` and the `%-` before the digest of a shortened name are no such codes.
    """
    safe = quote(name, safe="+=,@", errors="surrogatepass") or "%empty"
    if safe.startswith("."):
        safe = "%2E" + safe[1:]
    if safe.endswith("."):
        safe = safe[:-1] + "%2E"
    if _WINDOWS_DEVICE.fullmatch(safe):
        safe = f"%{ord(safe[0]):X}{safe[1:]}"
    if len(safe) <= _LONGEST:
        return safe
    digest = sha256(safe.encode()).hexdigest()[:_DIGEST]
    return f"{safe[: _LONGEST - _DIGEST - 2]}%-{digest}"


def find_results(
    folder: Path, levels: int | None = None, *, on_error: Callable[[OSError], None] | None = None
) -> list[Path]:
    """Return every file of a result in a folder and below, in a stable order, without those that are not whole yet.

    Args:
        folder: Where to look.
        levels: Only results so many folders below it, links to folders among them; None finds them at any depth.
        on_error: Called for each folder that cannot be read.
    """
    files: list[Path] = []
    for parent, folders, names in os.walk(folder, onerror=on_error, followlinks=levels is not None):
        level = 0 if levels is None else len(Path(parent).relative_to(folder).parts)
        is_result = RESULT_FILE in names and levels in {None, level}
        if is_result:
            files.append(Path(parent, RESULT_FILE))
        descends = not is_result and (levels is None or level < levels)
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if descends else []
    return files


def publish_folder(root: Path, parent: Path, files: Mapping[str, str | bytes]) -> Path:
    """Put files into a new numbered folder below `parent`: all of them or none, and never two callers into one.

    Args:
        root: The tree. Folders that are not whole yet are in its folder `.drafts`; those of processes that were killed
            are removed.
        parent: Folder in the tree; made if missing.
        files: Text or bytes by relative path; at least one.

    Returns:
        The folder, `<parent>/0`, `<parent>/1`, ...

    Raises:
        OSError: As the file system says.
    """
    parent.mkdir(parents=True, exist_ok=True)
    same_disk = root.stat().st_dev == parent.stat().st_dev  # folders are renamed only on one file system
    with open_scratch_folder((root if same_disk else parent) / DRAFTS) as scratch:
        draft = scratch / "result"
        draft.mkdir()
        for name, content in files.items():
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            written = content.encode(errors="backslashreplace") if isinstance(content, str) else content
            (draft / name).write_bytes(written)
            sync(draft / name)
        return _rename_to_next_number(draft, parent)


def _rename_to_next_number(draft: Path, parent: Path) -> Path:
    """Rename a finished folder to the next free number in another; renaming decides between processes."""
    used = (int(path.name) for path in parent.iterdir() if path.name.isdecimal())
    number = 1 + max(used, default=-1)
    while True:
        try:
            return draft.rename(parent / str(number))
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
        number += 1


def _device_name(device: Device | None) -> str:
    """Name the folder of a device; never empty, and never FAI-PEP's `null`, in which all devices met."""
    if device is None:
        return "no-device"
    names = (device.name, device.kind, device.platform, device.identity)
    return next((name for name in names if name.strip() not in ("", "null")), "no-device")
