"""Plug-ins that are missing are an error, never silence."""

from __future__ import annotations

import pytest

from harness import plugins
from harness.config.settings import Settings
from harness.core.errors import EnvironmentProblem


@pytest.mark.parametrize("kind", plugins.KINDS)
def test_the_harness_brings_plug_ins_of_every_kind(kind: str) -> None:
    assert plugins.installed_names(kind)


def test_alarms_that_would_reach_nobody_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "installed_names", lambda kind: ())
    with pytest.raises(EnvironmentProblem, match="no reporter of alarms is installed") as raised:
        plugins.alarm_reporters(Settings())
    assert raised.value.hint == plugins.REINSTALL


def test_results_that_would_be_lost_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "find_entry_points", lambda group: ())
    with pytest.raises(EnvironmentProblem, match="no reporter is installed") as raised:
        plugins.reporters(Settings())
    assert raised.value.hint == plugins.REINSTALL
