"""Identity and description of iPhones and iPads."""

from __future__ import annotations

import re
from typing import Final

from harness.core.device import Device
from platforms.ios.link.client import PhoneProperties

_KINDS: Final = {
    "iPhone12,1": "iPhone 11",
    "iPhone12,3": "iPhone 11 Pro",
    "iPhone12,5": "iPhone 11 Pro Max",
    "iPhone12,8": "iPhone SE (2nd generation)",
    "iPhone13,1": "iPhone 12 mini",
    "iPhone13,2": "iPhone 12",
    "iPhone13,3": "iPhone 12 Pro",
    "iPhone13,4": "iPhone 12 Pro Max",
    "iPhone14,2": "iPhone 13 Pro",
    "iPhone14,3": "iPhone 13 Pro Max",
    "iPhone14,4": "iPhone 13 mini",
    "iPhone14,5": "iPhone 13",
    "iPhone14,6": "iPhone SE (3rd generation)",
    "iPhone14,7": "iPhone 14",
    "iPhone14,8": "iPhone 14 Plus",
    "iPhone15,2": "iPhone 14 Pro",
    "iPhone15,3": "iPhone 14 Pro Max",
    "iPhone15,4": "iPhone 15",
    "iPhone15,5": "iPhone 15 Plus",
    "iPhone16,1": "iPhone 15 Pro",
    "iPhone16,2": "iPhone 15 Pro Max",
    "iPhone17,1": "iPhone 16 Pro",
    "iPhone17,2": "iPhone 16 Pro Max",
    "iPhone17,3": "iPhone 16",
    "iPhone17,4": "iPhone 16 Plus",
    "iPhone17,5": "iPhone 16e",
    "iPhone18,1": "iPhone 17 Pro",
    "iPhone18,2": "iPhone 17 Pro Max",
    "iPhone18,3": "iPhone 17",
    "iPhone18,4": "iPhone Air",
}
"""Names of products for people. A product that is missing is called by its identifier."""
_CORES: Final = 6
"""CPUs of every iPhone since the iPhone 8, and of iPads with their processors. The system does not tell a computer."""
_OTHER_CORES: Final = (
    (re.compile("iPhone[89],.*|iPad5,[12]|iPad6,.*|iPad7,([56]|1[12])"), 2),
    (re.compile("iPad5,[34]|iPad7,[1-4]"), 3),
    (re.compile("iPad15,[78]"), 5),
    (re.compile("iPad8,.*|iPad13,([4-9]|1[0167])|iPad14,([3-689]|1[01])|iPad15,[3-6]"), 8),
    (re.compile("iPad16,[3-6]|iPad17,[1-4]"), 10),
)
"""CPUs of other products: A8 to A10, which uses one of its two kinds at a time; A8X and A10X; the A16 of the 11th iPad;
A12X to M3; M4 and M5, of which models with less than 1 TB have nine."""


def describe_phone(properties: PhoneProperties, client: str) -> Device:
    """Return the description of a phone.

    Args:
        properties: What it says of itself.
        client: The client that reaches it, for its attributes.
    """
    attributes = {
        "product": properties.product,
        "model": properties.model,
        "build": properties.build,
        "client": client,
    }
    return Device(
        platform="ios",
        identity=properties.udid,
        name=properties.udid,
        kind=_KINDS.get(properties.product, properties.product),
        os=f"{properties.system} {properties.version}",
        abi=properties.abi,
        cores=next((cores for product, cores in _OTHER_CORES if product.fullmatch(properties.product)), _CORES),
        attributes={name: value for name, value in attributes.items() if value},
    )
