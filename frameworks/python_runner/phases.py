"""Memory in use in each phase of a launch: before loading, after the program, the method, the first execution."""

from __future__ import annotations

from frameworks.python_runner.machine import memory_bytes, proportional_bytes, reset_peak


class Phases:
    """Memory of each phase; without recording, nothing is read.

    Attributes:
        metrics: Bytes by metric.
        has_peaks: Whether the system lets a process reset its peak between phases.
    """

    def __init__(self, *, is_recording: bool) -> None:
        self.metrics: dict[str, int] = {}
        self.has_peaks = False
        self._is_recording = is_recording
        self._peak: int | None = None
        if is_recording:
            self._add("proportional_memory_before_load", proportional_bytes())
            self._peak = memory_bytes("VmHWM")
            self.has_peaks = reset_peak()

    def end(self, phase: str, until: str) -> None:
        """End a phase: read the memory in use, and its peak since the end of the phase before.

        Args:
            phase: Its name.
            until: Everything up to here, which for the method is the whole of loading.
        """
        if not self._is_recording:
            return
        if until != "load":  # which every launch tells
            self._add(f"memory_after_{until}", memory_bytes("VmRSS"))
        self._add(f"proportional_memory_after_{until}", proportional_bytes())
        peak = memory_bytes("VmHWM")  # last: what is read before never exceeds it
        if peak is not None and self.has_peaks:
            self._add(f"peak_memory_in_{phase}", peak)
            self._peak = max(self._peak or 0, peak)
            reset_peak()

    def whole_peak(self, last: int | None) -> int | None:
        """Return the peak of the whole launch, given that since the end of the last phase."""
        return last if last is None or self._peak is None else max(last, self._peak)

    def _add(self, metric: str, size_bytes: int | None) -> None:
        if size_bytes is not None:
            self.metrics[metric] = size_bytes
