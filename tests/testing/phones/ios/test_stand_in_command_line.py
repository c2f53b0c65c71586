"""What can be done to stand-in iPhones from a command line."""

from __future__ import annotations

import pytest

from harness.testing.phones.ios.__main__ import ACTIONS, obey
from harness.testing.phones.ios.lab import IPhoneLab


def test_every_action_can_be_done_and_undone(iphones: IPhoneLab) -> None:
    arguments = {"heat": "serious", "battery": "12", "fill": "1000"}
    for name in ACTIONS:
        if name != "restart":
            assert obey(iphones, f"{name} 1 {arguments.get(name, '')}\n").startswith("done")
    conditions = iphones.phones[1].conditions
    assert (conditions.thermal_state, conditions.plugged_in, conditions.locked) == ("nominal", True, False)


@pytest.mark.parametrize("line", ["", "\n", "unplug", "unplug 7", "fly 0", "heat 0 molten", "battery 0 full", "fill 0"])
def test_a_line_that_means_nothing_is_said_to(iphones: IPhoneLab, line: str) -> None:
    assert "not done" in obey(iphones, line)
    assert iphones.phones[0].conditions.plugged_in
