from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.testing.phones.android import adb_packets, debian
from harness.testing.phones.android.adb_packets import Packet
from harness.testing.phones.link_faults import Link

_NUMBERS = st.integers(0, 2**32 - 1)
_PACKETS = st.builds(
    Packet,
    st.sampled_from([adb_packets.CNXN, adb_packets.AUTH, adb_packets.OPEN, adb_packets.WRTE]),
    _NUMBERS,
    _NUMBERS,
    st.binary(),
)


@given(st.lists(_PACKETS, max_size=5))
def test_packets_come_out_as_they_went_in(sent: list[Packet]) -> None:
    async def read_all() -> list[Packet]:
        stream = asyncio.StreamReader()
        stream.feed_data(b"".join(packet.encoded() for packet in sent))
        stream.feed_eof()
        return [(await adb_packets.read(stream)).packet for _ in sent]

    assert asyncio.run(read_all()) == sent


def test_the_checksum_and_the_magic_are_those_of_the_protocol() -> None:
    wire = Packet(adb_packets.OPEN, 1, 2, b"ab").encoded()
    assert wire == b"OPEN\1\0\0\0\2\0\0\0\2\0\0\0\xc3\0\0\0\xb0\xaf\xba\xb1ab"


def test_features_are_hidden_and_the_rest_of_the_banner_stays() -> None:
    banner = b"device::ro.product.name=x;features=shell_v2,abb,cmd,abb_exec;"
    assert adb_packets.without_features(banner, frozenset({"abb", "abb_exec"})) == (
        b"device::ro.product.name=x;features=shell_v2,cmd;"
    )


def test_a_link_that_breaks_lets_exactly_so_many_bytes_through() -> None:
    link = Link(cut_after_bytes=10)
    assert [link.allowed(6), link.allowed(6), link.allowed(6)] == [6, 4, 0]


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
def test_the_machines_sources_are_turned_to_another_release(text: str, wanted: str) -> None:
    assert debian.entries([text], frozenset({"bookworm", "stable"}), "trixie") == wanted
