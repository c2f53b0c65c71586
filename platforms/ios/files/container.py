"""Container of one app on an iPhone while a session is open: contents by digest, and the links of benchmarks to them.

A content is pushed once, to `FOLDER/contents/SHA256`; the app links it to the path that a benchmark knows
(`platforms/ios/apps/protocol.py`). Nothing tells a computer how large a file on the phone is, so the app checks sizes,
and names contents that are not complete: the harness was killed, or the cable pulled, while they were pushed.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from msgspec import Struct

from harness.core.errors import BenchmarkUnsupported, OutOfSpace
from harness.files.digests import sha256_of_file
from platforms.ios.apps.protocol import FileLink
from platforms.ios.link.client import PhoneClient


class ContainerFile(Struct, frozen=True):
    """A file of a benchmark.

    Attributes:
        local: Its path on this machine.
        path: Its path in the container.
    """

    local: Path
    path: str


@dataclass(slots=True)
class Container:
    """Container of one app.

    Attributes:
        client: Reaches the phone.
        udid: UDID of the phone.
        bundle: The app.
        folder: Our folder in the container.
        session: The session's folder below it, which is removed at its end.
    """

    client: PhoneClient
    udid: str
    bundle: str
    folder: str
    session: str
    _present: set[str] | None = None
    _staged: dict[str, ContainerFile] = field(default_factory=dict)
    _links: dict[str, FileLink] = field(default_factory=dict)
    _pushed: tuple[FileLink, ...] = ()

    @property
    def links_path(self) -> str | None:
        """Path of the list of links in the container; None while there are none."""
        return f"{self.session}/links.json" if self._links else None

    def add(self, files: Collection[ContainerFile]) -> None:
        """Push the contents that the container does not have, and the list of links; files that are there stay.

        Raises:
            OutOfSpace: The phone has no room, even without contents that no benchmark of this session needs.
            DeviceLost: The phone became unreachable.
        """
        for file in files:
            if self._staged.get(file.path) == file:
                continue
            digest = sha256_of_file(file.local)
            content = f"{self.folder}/contents/{digest}"
            self._push_content(file.local, digest, content)
            size_bytes = file.local.stat().st_size
            self._links[file.path] = FileLink(path=file.path, content=content, size_bytes=size_bytes)
            self._staged[file.path] = file
        self._push_links()

    def forget(self, folder: str, names: Collection[str], contents_of: Collection[str]) -> None:
        """Remove a benchmark's folder, and contents that nothing else links.

        Args:
            folder: The folder.
            names: Paths of files in it whose content is not needed again.
            contents_of: Paths of all files of the folder.

        Raises:
            DeviceLost: The phone became unreachable.
        """
        doomed = {self._links[name].content for name in names if name in self._links}
        for path in contents_of:
            self._links.pop(path, None)
            self._staged.pop(path, None)
        still_linked = {link.content for link in self._links.values()}
        self.discard(folder)
        for content in sorted(doomed - still_linked):
            self._remove_content(content)
        self._push_links()

    def repair(self, contents: Collection[str]) -> bool:
        """Push contents again that the app found incomplete; return whether all of them are known here."""
        by_content = {link.content: self._staged[path] for path, link in self._links.items()}
        if not contents or not set(contents) <= set(by_content):
            return False
        for content in contents:
            self._remove_content(content)
            self._forget_content(content)
            self._push_content(by_content[content].local, PurePosixPath(content).name, content)
        return True

    def close(self) -> None:
        """Remove the session's folder; contents stay for the next session."""
        self.discard(self.session)

    def discard(self, path: str) -> bool:
        """Remove a file or folder that is not needed any more; return False where the client cannot remove any.

        Files that stay cost room alone: sessions and launches have names of their own.
        """
        try:
            self.client.remove(self.udid, self.bundle, path)
        except BenchmarkUnsupported:
            return False
        return True

    def _push_content(self, local: Path, digest: str, content: str) -> None:
        if self._present is None:
            self._present = self._look_around()
        if digest in self._present:
            return
        try:
            self.client.push(self.udid, self.bundle, local, content)
        except OutOfSpace:
            self._remove_content(content)
            if not self._make_room():
                raise
            self.client.push(self.udid, self.bundle, local, content)
        self._present.add(digest)

    def _look_around(self) -> set[str]:
        """Return the contents that are there, and remove the folders of runs that were killed: the phone is ours."""
        paths = [PurePosixPath(name).parts for name in self.client.list_files(self.udid, self.bundle, self.folder)]
        for name in sorted({parts[1] for parts in paths if parts[0] == "sessions" and len(parts) > 1}):
            if f"{self.folder}/sessions/{name}" != self.session:
                self.discard(f"{self.folder}/sessions/{name}")
        return {parts[-1] for parts in paths if parts[0] == "contents"}

    def _make_room(self) -> bool:
        """Remove the contents that nothing of this session links; return whether there were any."""
        linked = {link.content for link in self._links.values()}
        unused = [digest for digest in self._present or () if f"{self.folder}/contents/{digest}" not in linked]
        removed = [self._remove_content(f"{self.folder}/contents/{digest}") for digest in unused]
        return any(removed)

    def _remove_content(self, content: str) -> bool:
        """Remove a content; return False where it stays, because the client cannot remove files."""
        is_removed = self.discard(content)
        if is_removed:
            self._forget_content(content)
        return is_removed

    def _forget_content(self, content: str) -> None:
        if self._present is not None:
            self._present.discard(PurePosixPath(content).name)

    def _push_links(self) -> None:
        links = tuple(self._links.values())
        if links == self._pushed:
            return
        with tempfile.TemporaryDirectory(prefix="harness-") as folder:
            local = Path(folder, "links.json")
            local.write_text(json.dumps([link.model_dump() for link in links]), encoding="utf-8")
            self.client.push(self.udid, self.bundle, local, f"{self.session}/links.json")
        self._pushed = links
