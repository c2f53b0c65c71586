"""Files of a client in a lab: sent to one host in parts, and from there to the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.lab import host_files
from harness.lab.client import LabClient, connect
from harness.lab.jobs import LabFile, describe_file
from tests.lab.labs import Lab, builder, open_lab
from tests.processes import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("lab")]
pytest.importorskip("distributed")

SIZE = 2 * host_files.PART_BYTES + 5


class CountingClient(LabClient):
    """Client that writes down which functions it called in processes."""

    def __init__(self, client: LabClient) -> None:
        super().__init__(client._client, client._address)
        self.called: list[str] = []

    def ask(self, address: str, function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - as above it
        self.called.append(function.__name__)
        return super().ask(address, function, *arguments)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab with a host that measures and two that build, each with a cache of its own."""
    with (
        open_lab(tmp_path_factory.mktemp("lab")) as opened,
        opened.host("green"),
        builder(opened, "red"),
        builder(opened, "blue"),
    ):
        yield opened


@pytest.fixture
def client(lab: Lab) -> Iterator[CountingClient]:
    with connect(lab.address) as connected:
        wait_until(lambda: len(_addresses(connected)) == 3, 30)
        yield CountingClient(connected)


def test_a_file_goes_to_one_host_in_parts_and_from_there_to_the_others(
    lab: Lab, client: CountingClient, tmp_path: Path
) -> None:
    files = _file(tmp_path, b"first")
    assert client.send_files(files, client.places()) == []
    assert client.called.count("store_part") == 3
    for address in _addresses(client):
        client.send_files_to(address, files)
    assert client.called.count("store_part") == 3, "the client sent it once"
    assert client.called.count("fetch_from_peer") == 2
    assert _kept(lab, files) == {"green", "red", "blue"}


def test_what_a_host_had_before_comes_from_there(lab: Lab, client: CountingClient, tmp_path: Path) -> None:
    files = _file(tmp_path, b"second")
    building = set(_addresses(client)) - {place.address for place in client.places()}
    client.send_files_to(building.pop(), files)
    with connect(lab.address) as connected:
        another = CountingClient(connected)
        assert another.send_files(files, another.places()) == []
    assert another.called == ["missing_files", "fetch_from_peer"]
    assert "green" in _kept(lab, files)


@pytest.mark.parametrize("harm", ["damaged", "removed"])
def test_what_a_peer_no_longer_has_whole_comes_from_the_client(
    lab: Lab, client: CountingClient, tmp_path: Path, harm: str
) -> None:
    files = _file(tmp_path, harm.encode())
    first, second, *_ = _addresses(client)
    client.send_files_to(first, files)
    (file,) = files.values()
    (kept,) = lab.folder.glob(f"*/lab/files/{file.sha256}/content")
    kept.write_bytes(bytes(SIZE)) if harm == "damaged" else kept.unlink()
    client.send_files_to(second, files)
    assert client.called.count("store_part") == 6
    assert file.sha256 in {path.parent.name for path in lab.folder.glob("*/lab/files/*/content")}


@pytest.mark.exhaustive
def test_hosts_that_do_not_reach_each_other_get_all_from_the_client(client: CountingClient, tmp_path: Path) -> None:
    files = _file(tmp_path, b"fourth")
    first, second, third, *_ = _addresses(client)
    client.send_files_to(first, files)
    (file,) = files.values()
    client._files._holders[file.sha256] = "tcp://127.0.0.1:1"
    client.send_files_to(second, files)
    client.send_files_to(third, files)
    assert client.called.count("store_part") == 9
    assert client.called.count("fetch_from_peer") == 1, "it is not tried for every host"


def _file(folder: Path, beginning: bytes) -> Mapping[Path, LabFile]:
    path = folder / "model.bin"
    path.write_bytes(beginning.ljust(SIZE, b"."))
    return {path: describe_file(path, path.name)}


def _addresses(client: LabClient) -> list[str]:
    return sorted(client._client.run(lambda: True))


def _kept(lab: Lab, files: Mapping[Path, LabFile]) -> set[str]:
    (file,) = files.values()
    return {path.parents[3].name for path in lab.folder.glob(f"*/lab/files/{file.sha256}/content")}
