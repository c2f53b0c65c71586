"""Layouts of a program: links of the same objects in other orders, and how much they differ in speed."""

import math

from harness.core.comparison import Comparison
from harness.core.effect import relative_change
from harness.core.note import Note
from harness.core.percent import in_percent
from harness.core.values import Value

BELOW_LAYOUT_FLOOR = "below_layout_floor"
"""Code of the note that a difference is no larger than that of two layouts of one source."""


class LayoutDifference(Value):
    """Difference of one further layout to the ordinary one.

    Attributes:
        layout: Number of the layout.
        log_ratio: ln(layout / ordinary layout).
        low_log_ratio: Lower end of its interval; None where nothing is excluded.
        high_log_ratio: Upper end.
        is_shown: Whether the pairs prove a difference.
        pairs: Pairs that it is based on.
    """

    layout: int
    log_ratio: float
    low_log_ratio: float | None = None
    high_log_ratio: float | None = None
    is_shown: bool = False
    pairs: int = 0


class LayoutFloor(Value):
    """Layout floor of one benchmark of a build on one device: what another order of linking makes of its speed.

    Attributes:
        schema_version: Version of this format.
        build: Digest of the build.
        commit: Its commit, for people.
        device: Identity of the device.
        benchmark: Digest of the benchmark.
        title: The benchmark.
        metric: The metric that was compared.
        time: Unix seconds.
        differences: The further layouts, each against the ordinary one.
    """

    schema_version: int = 1
    build: str
    commit: str
    device: str
    benchmark: str
    title: str
    metric: str
    time: float
    differences: tuple[LayoutDifference, ...]

    @property
    def floor(self) -> float:
        """Largest difference between two layouts, as a share, of those that are proven; 0 where none is.

        A layout that was not told from the ordinary one counts as equal to it.
        """
        shown = [0.0, *(difference.log_ratio for difference in self.differences if difference.is_shown)]
        return relative_change(max(shown) - min(shown))

    @property
    def resolution(self) -> float | None:
        """Difference to the ordinary layout that could have been hidden by noise, as a share; None where any could."""
        ends = [
            end
            for difference in self.differences
            if not difference.is_shown
            for end in (difference.low_log_ratio, difference.high_log_ratio)
        ]
        known = [abs(end) for end in ends if end is not None]
        return None if len(known) < len(ends) else relative_change(max(known, default=0.0))


def layout_notes(comparison: Comparison, floor: LayoutFloor | None) -> tuple[Note, ...]:
    """Return the note that a proven change is no larger than the layout floor; the verdict is not touched."""
    effect = comparison.effect
    if floor is None or effect is None or not comparison.verdict.is_change or floor.metric != comparison.metric:
        return ()
    if abs(effect.log_ratio) > math.log1p(floor.floor):
        return ()
    links = len(floor.differences) + 1
    return (
        Note(
            code=BELOW_LAYOUT_FLOOR,
            message=f"the difference of {in_percent(abs(effect.relative_change), 1)} is real for these two binaries, "
            f"but {links} links of the control, whose source is one, differ by up to {in_percent(floor.floor, 1)} "
            "among themselves: it may be the layout of memory, and not the code",
            hint="look at what the commit does; no number of pairs tells the two apart",
        ),
    )
