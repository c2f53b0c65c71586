"""Files on their way to the hosts of a lab: from the client to one of them, and from there to the others."""

from __future__ import annotations

import asyncio
import pickle
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness.core.errors import EnvironmentProblem
from harness.lab.answers import ProcessEnded, Unanswered
from harness.lab.host_files import PART_BYTES, missing_files, read_part, store_part
from harness.lab.jobs import LabFile, Place

if TYPE_CHECKING:
    from distributed import Worker

_PART_S: Final = 20.0
"""How long a part may take between hosts. Those that do not reach each other get their files from the client."""


class FileSender:
    """Sends files to hosts: each once, and what a host of the lab has from there.

    Args:
        ask: Calls a function in a process (`LabClient.ask`).
        ask_all: Calls a function in every process (`LabClient.ask_all`).
    """

    def __init__(self, ask: Callable[..., Any], ask_all: Callable[..., Mapping[str, Any]]) -> None:
        self._ask = ask
        self._ask_all = ask_all
        self._holders: dict[str, str] = {}
        """Addresses of processes whose hosts have a file, by its digest."""
        self._are_peers_reached = True
        """Whether hosts get files from each other, as far as is known."""

    def send(self, files: Mapping[Path, LabFile], places: Collection[Place]) -> Sequence[str]:
        """Let each host have the files that it lacks, once: devices that share a cache share its files.

        Args:
            files: Files of this machine.
            places: Devices that need them.

        Returns:
            What went wrong, in sentences: a host that cannot keep a file leaves the jobs to others.

        Raises:
            EnvironmentProblem: A file cannot be read, or the scheduler went away.
        """
        problems = []
        lacking = self._find_lacking(files)
        for place in places:
            try:
                if lacking.get(place.address):
                    self.send_to(place.address, files)
            except ProcessEnded:
                continue  # hosts that join later ask for what they lack
            except Unanswered as error:
                problems.append(f"{place.device.name} does not get the files: {error.message}")
        return problems

    def _find_lacking(self, files: Mapping[Path, LabFile]) -> Mapping[str, Collection[str]]:
        """Return the digests of the files that each process's host lacks, by its address, and note who has which."""
        digests = tuple(file.sha256 for file in files.values())
        answers: Mapping[str, Collection[str]] = self._ask_all(missing_files, digests)
        for address, lacking in answers.items():
            self._holders |= dict.fromkeys(set(digests).difference(lacking), address)
        return answers

    def send_to(self, address: str, files: Mapping[Path, LabFile]) -> None:
        """Let the host of a process have the files that it lacks. Raises as `LabClient.ask`."""
        by_digest = {file.sha256: path for path, file in files.items()}
        for digest in self._ask(address, missing_files, tuple(by_digest)):
            path = by_digest[digest]
            if not self._fetch_from_peer(address, files[path]):
                self._send_file(address, path, files[path])
        self._holders |= dict.fromkeys(by_digest, address)

    def _fetch_from_peer(self, address: str, file: LabFile) -> bool:
        """Let a host get a file from another one that has it, and return whether it did."""
        peer = self._holders.get(file.sha256)
        if peer is None or not self._are_peers_reached:
            return False
        try:
            self._ask(address, fetch_from_peer, file.model_dump_json(), peer)
        except ProcessEnded:
            raise
        except Unanswered:  # a network may let hosts reach the scheduler alone
            self._are_peers_reached = False
        return self._are_peers_reached

    def _send_file(self, address: str, path: Path, file: LabFile) -> None:
        transfer = uuid.uuid4().hex
        for offset, part in _read_parts_here(path, file.size_bytes):
            self._ask(address, store_part, file.sha256, transfer, offset, part, file.size_bytes)


async def fetch_from_peer(text: str, peer: str, dask_worker: Worker) -> None:
    """Have a file that another host has, verified. Runs in a process of the host that lacks it, as it measures too.

    Args:
        text: The file (`LabFile`).
        peer: Address of a process of the host that has it.
        dask_worker: This process.

    Raises:
        EnvironmentProblem: It cannot be had from there, arrived as something else, or cannot be written.
    """
    file = LabFile.model_validate_json(text)
    transfer = uuid.uuid4().hex
    for offset in range(0, max(file.size_bytes, 1), PART_BYTES):
        part = await _read_part(file, offset, peer, dask_worker)
        await asyncio.to_thread(store_part, file.sha256, transfer, offset, part, file.size_bytes)


async def _read_part(file: LabFile, offset: int, peer: str, dask_worker: Worker) -> bytes:
    """Let a process of another host read a part, as a client would (`distributed.Client.run`).

    Raises:
        EnvironmentProblem: It does not answer, or has no such file.
    """
    asked = dask_worker.rpc(peer).run(
        function=pickle.dumps(read_part), args=pickle.dumps((file.sha256, offset)), kwargs=pickle.dumps({}), wait=True
    )
    try:
        answer = await asyncio.wait_for(asked, _PART_S)
    except (OSError, TimeoutError, ValueError) as error:
        raise EnvironmentProblem(f"{peer} does not answer: {error}") from error
    part = answer.get("result")
    if not isinstance(part, bytes) or not (part or file.size_bytes == 0):
        raise EnvironmentProblem(f"{peer} has no longer a file that it had")
    return part


def _read_parts_here(path: Path, size_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Yield the parts of a file of this machine, and where each begins; an empty file has one."""
    try:
        with path.open("rb") as file:
            for offset in range(0, max(size_bytes, 1), PART_BYTES):
                yield offset, file.read(PART_BYTES)
    except OSError as error:
        raise EnvironmentProblem(f"{path} cannot be read: {error.strerror or error}", hint="see its place") from error
