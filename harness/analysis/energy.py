"""Whether energy net of the idle baseline can be told from none."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core.launch_interval import compute_interval
from harness.core.metric import COMPARED_ENERGIES, DYNAMIC_ENERGY, Metric
from harness.core.note import Note


def assess_energy(metrics: Sequence[Metric]) -> tuple[Note, ...]:
    """Return a note where the energy of the whole result cannot be told from that of the idle device.

    The interval is that of the median over launches, each with its own baseline, and can contain 0.

    Args:
        metrics: The metrics of a result, with one sample of energy for each launch.
    """
    names = [name for name in COMPARED_ENERGIES if name.endswith(DYNAMIC_ENERGY)]
    energies = {metric.name: metric for metric in metrics if metric.name in names and metric.median is not None}
    energy = next((energies[name] for name in names if name in energies), None)
    if energy is None or energy.median is None:
        return ()
    interval = compute_interval(energy.samples, energy.median, is_difference=True)
    if interval is None:
        message = f"{energy.name} of a single launch has no interval: it may be that of the idle device"
        return (Note(code="energy_of_one_launch", message=message, hint="ask for more launches (`repeat`)"),)
    if interval.low > 0:
        return ()
    measured = (
        f"{energy.median:.3g} mJ, 95 % interval {interval.low:.3g} to {interval.high:.3g} mJ over {interval.launches} "
        "launches"
    )
    if interval.high < 0:
        message = (
            f"{energy.name} is below 0 ({measured}): the idle baseline took more power than the program, so that "
            "something else drew power while the device should have idled, or it was still busy"
        )
        hint = "let nothing else run on the device, its screen and radios off, and take a longer `baseline`"
    else:
        message = f"{energy.name} cannot be told from that of the idle device: {measured}"
        hint = "ask for more launches (`repeat`), or for longer ones (`window`, `baseline` in the `power` block)"
    return (Note(code="energy_not_above_idle", message=message, hint=hint, trust=False),)
