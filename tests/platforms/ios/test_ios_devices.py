from __future__ import annotations

import pytest

from platforms.ios.devices import describe_phone
from platforms.ios.link.client import PhoneProperties


@pytest.mark.parametrize(
    ("product", "kind", "cores"),
    [
        ("iPhone9,3", "iPhone9,3", 2),
        ("iPhone10,6", "iPhone10,6", 6),
        ("iPhone18,1", "iPhone 17 Pro", 6),
        ("iPad7,3", "iPad7,3", 3),
        ("iPad8,11", "iPad8,11", 8),
        ("iPad11,6", "iPad11,6", 6),
        ("iPad13,1", "iPad13,1", 6),
        ("iPad13,16", "iPad13,16", 8),
        ("iPad14,1", "iPad14,1", 6),
        ("iPad14,10", "iPad14,10", 8),
        ("iPad15,7", "iPad15,7", 5),
        ("iPad16,3", "iPad16,3", 10),
    ],
)
def test_a_device_is_described_by_its_product(product: str, kind: str, cores: int) -> None:
    device = describe_phone(PhoneProperties("UDID", "", product, "17.5"), "go-ios")
    assert (device.kind, device.cores) == (kind, cores)
