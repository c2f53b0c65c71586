from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.testing.phones.android import debian, packets
from harness.testing.phones.android.packets import Packet
from harness.testing.phones.android.proxy import LinkFaults

_NUMBERS = st.integers(0, 2**32 - 1)
_PACKETS = st.builds(
    Packet,
    st.sampled_from([packets.CNXN, packets.AUTH, packets.OPEN, packets.WRTE]),
    _NUMBERS,
    _NUMBERS,
    st.binary(),
)


@given(st.lists(_PACKETS, max_size=5))
def test_packets_round_trip(sent: list[Packet]) -> None:
    async def read_all() -> list[Packet]:
        stream = asyncio.StreamReader()
        stream.feed_data(b"".join(packet.encode() for packet in sent))
        stream.feed_eof()
        return [(await packets.read_packet(stream)).packet for _ in sent]

    assert asyncio.run(read_all()) == sent


def test_the_checksum_and_the_magic_are_those_of_the_protocol() -> None:
    wire = Packet(packets.OPEN, 1, 2, b"ab").encode()
    assert wire == b"OPEN\1\0\0\0\2\0\0\0\2\0\0\0\xc3\0\0\0\xb0\xaf\xba\xb1ab"


def test_features_are_removed_and_the_remaining_banner_is_kept() -> None:
    banner = b"device::ro.product.name=x;features=shell_v2,abb,cmd,abb_exec;"
    assert packets.remove_features(banner, frozenset({"abb", "abb_exec"})) == (
        b"device::ro.product.name=x;features=shell_v2,cmd;"
    )


def test_a_cut_connection_passes_the_exact_number_of_bytes() -> None:
    faults = LinkFaults(cut_after_bytes=10)
    assert [faults.pass_bytes(6), faults.pass_bytes(6), faults.pass_bytes(6)] == [6, 4, 0]


_STANZAS = """\
# a comment
Types: deb
URIs: http://mirror/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /keys

Types: deb
URIs: http://elsewhere/tools
Suites: bookworm
Components: stable
"""

_LINES = """\
deb [arch=amd64 signed-by=/keys] http://mirror/debian bookworm-security main
deb-src http://mirror/debian bookworm main
# deb http://mirror/debian bookworm main
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            _STANZAS,
            "Types: deb\nURIs: http://mirror/debian\nSuites: trixie trixie-updates\nComponents: main\nSigned-By: /keys",
        ),
        (
            _LINES,
            "Types: deb\nURIs: http://mirror/debian\nSuites: trixie-security\nComponents: main\nSigned-By: /keys",
        ),
        ("deb http://mirror/other nodistro main\n", ""),
    ],
)
def test_the_machine_s_package_sources_are_translated_to_another_release(text: str, wanted: str) -> None:
    assert debian.translate_sources([text], frozenset({"bookworm", "stable"}), "trixie") == wanted
