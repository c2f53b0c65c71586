from __future__ import annotations

import json

from tests.iphones import GoIosCaller


def through_tunnel(ios: GoIosCaller) -> list[str]:
    """Return the words with which go-ios takes the tunnel for commands that else take lockdown."""
    assert ios.lab.tunnels is not None
    tunnel = ios.lab.tunnels.tunnels.find(ios.phone.model.udid).describe()
    words = [f"--address={tunnel['address']}", f"--rsd-port={tunnel['rsdPort']}"]
    return [*words, f"--userspace-port={tunnel['userspaceTunPort']}"] if tunnel["userspaceTun"] else words


def test_go_ios_lists_the_tunnels_of_all_phones(new_ios: GoIosCaller) -> None:
    tunnels = json.loads(new_ios.succeed("tunnel", "ls"))
    assert [tunnel["udid"] for tunnel in tunnels] == [phone.model.udid for phone in new_ios.lab.phones]


def test_go_ios_lists_the_services_behind_a_tunnel(new_ios: GoIosCaller) -> None:
    assert "com.apple.mobile.installation_proxy.shim.remote" in json.loads(new_ios.succeed("rsd", "ls"))


def test_go_ios_reads_properties_beside_the_tunnel(new_ios: GoIosCaller) -> None:
    assert json.loads(new_ios.succeed("info"))["ProductVersion"] == new_ios.phone.model.version
