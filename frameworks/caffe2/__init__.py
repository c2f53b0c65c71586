"""Caffe2 as a framework, for programs that somebody still has: Caffe2 was removed from PyTorch in 2024.

Tests have commands, or FAI-PEP's oldest form without any, for which the command line of `caffe2_benchmark` is composed.
"""

from __future__ import annotations

from frameworks.caffe2.framework import Caffe2
from harness.config.settings import Settings


def create(settings: Settings) -> Caffe2:
    """Make the framework, as the entry point of the plug-in."""
    return Caffe2(settings.program)
