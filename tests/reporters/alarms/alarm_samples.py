"""Alarms as the continuous mode tells them, with figures that are the same every time."""

from __future__ import annotations

from collections.abc import Mapping

from harness.core.alarm import (
    AlarmEvent,
    AlarmReport,
    Candidate,
    ChangedOperator,
    Culprit,
    Discovery,
    Effect,
    MeasuredCommit,
    Search,
    Verification,
)
from harness.core.commit import Commit
from harness.core.comparison import Verdict
from harness.core.trend import ChangeKind

NASTY = (
    "<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://evil.example/p.png) `a` | b",
    "</details>\n\n# Not a heading\n| a | b |\n| --- | --- |\n\x1b[31m@here #1 www.evil.example ~~gone~~ **bold**",
    "\u202egnissim si gnihton &lt;b&gt; \\| $x$ \N{PILE OF POO} " + "very long " * 40,
)

_NOISE = (0.1, -0.4, 0.3, 0.0, -0.2, 0.5, -0.1, 0.2, -0.5, 0.4, -0.3)
"""In percent."""
_MONDAY = 1_767_571_200
_SUBJECTS = (
    "Add a test",
    "Tidy the partitioner",
    "Update a submodule",
    "Fix a typing error",
    "Mention quantised models",
)
_AUTHORS = ("Ada Lovelace", "Grace Hopper", "Alan Turing")


def commit(number: int, subject: str | None = None) -> Commit:
    """The so many-th commit of a made-up history."""
    return Commit(
        source="git:/src/executorch",
        id=f"{number * 2654435761 % 2**32:08x}" * 5,
        time=_MONDAY + 3600 * number,
        author=_AUTHORS[number % len(_AUTHORS)],
        subject=_SUBJECTS[number % len(_SUBJECTS)] if subject is None else subject,
    )


def points(steps: Mapping[int, float], count: int = 40, *, week: int = 28, slope: float = 0.0) -> list[MeasuredCommit]:
    """A series that changes by so much at these commits; each week has a control of its own."""
    levels = [slope * number + sum(size for at, size in steps.items() if number >= at) for number in range(count)]
    controls = {number: number - (number % week or week) for number in range(1, count)}
    return [_point(number, levels[number], control, levels[control]) for number, control in controls.items()]


def _point(number: int, level: float, control: int, control_level: float) -> MeasuredCommit:
    difference = (1 + level) / (1 + control_level) - 1 + 0.4 * _NOISE[number % len(_NOISE)] / 100
    half = 0.003 + 0.001 * (number % 3)
    low, high = difference - half, difference + half
    verdict = Verdict.REGRESSION if low > 0 else Verdict.IMPROVEMENT if high < 0 else Verdict.NO_CHANGE
    if verdict is Verdict.NO_CHANGE and number % 7 == 0:
        verdict = Verdict.UNDECIDED
    return MeasuredCommit(
        commit=commit(number).short,
        order=number,
        control=commit(control).short,
        effect=Effect(difference=difference, low=low, high=high),
        verdict=verdict,
    )


def verified(difference: float, verdict: Verdict = Verdict.REGRESSION) -> Verification:
    """Pairs of the builds around a change."""
    effect = Effect(difference=difference, low=difference - 0.005, high=difference + 0.005)
    return Verification(verdict=verdict, effect=effect, pairs=24, seconds=12.3)


def culprit(*commits: Commit, step: float = 0.031, probability: float = 0.97, confirmed: bool = True) -> Culprit:
    """A culprit with an interval of half a percent to each side."""
    effect = Effect(difference=step, low=step - 0.005, high=step + 0.005)
    return Culprit(commits=commits, step=effect, evidence=1240.0, probability=probability, confirmed=confirmed)


def found_step() -> AlarmReport:
    """A step between two measured commits that are four apart."""
    return AlarmReport(
        identity="5f2b8c0d1e9a4b37-0a1b2c3d",
        event=AlarmEvent.CONFIRMED,
        kind=ChangeKind.STEP,
        title="mv2/mv2-xnnpack_q8",
        device="39121FDJH000AB",
        device_name="Pixel 8",
        metric="NET latency",
        unit="us",
        change=Effect(difference=0.0305, low=0.0271, high=0.034),
        before=commit(22),
        candidates=tuple(Candidate(commit=commit(number)) for number in range(23, 27)),
        verification=verified(0.0312),
        series=tuple(point for point in points({25: 0.031}) if point.order not in {23, 24, 25}),
        command="harness compare -b specifications/models/mv2.json --only mv2/mv2-xnnpack_q8 -p android -d 39121FDJH",
        discovery=Discovery(time=1_767_700_000.0, harness="0.1.0", host="lab-3"),
        results=("/srv/results/Pixel 8",),
    )


def bisected_step() -> AlarmReport:
    """The same step with its culprit, and with operators."""
    begun = found_step()
    shares = (0.01, 0.012, 0.97, 0.008)
    commits = [commit(23), commit(24), commit(25, "Use a slower loop"), commit(26)]
    candidates = tuple(Candidate(commit=one, probability=share) for one, share in zip(commits, shares, strict=True))
    search = Search(
        reason=f"{commits[2].short} made it slower",
        culprits=(culprit(commits[2]),),
        rest=0.0004,
        pairs=120,
    )
    operators = (
        ChangedOperator(name="Softmax #1", effect=Effect(difference=-0.0995, low=-0.103), contribution=-0.0133),
        ChangedOperator(name="Convolution #1", effect=Effect(difference=0.2, low=0.19, high=0.21), contribution=0.042),
        ChangedOperator(name="Transpose #1", contribution=0.0033),
    )
    return begun.model_copy(
        update={
            "event": AlarmEvent.BISECTED,
            "candidates": candidates,
            "search": search,
            "operators": operators,
            "series": tuple(points({25: 0.031})),
            "results": ("/srv/results/Pixel 8", "https://perf.example/runs?alarm=5f2b"),
        }
    )


def confirmed_drift() -> AlarmReport:
    """Many small steps, which no search was made for."""
    return found_step().model_copy(
        update={
            "kind": ChangeKind.DRIFT,
            "change": Effect(difference=0.052, low=0.04, high=0.064),
            "before": commit(5),
            "candidates": tuple(Candidate(commit=commit(number)) for number in range(6, 40)),
            "verification": verified(0.0521),
            "series": tuple(points({}, week=100, slope=0.0013)),
        }
    )


def improvement() -> AlarmReport:
    """For the better, with one commit in question, of a metric that is no latency of the whole."""
    return found_step().model_copy(
        update={
            "kind": ChangeKind.IMPROVEMENT,
            "metric": "LLM tokens_per_second",
            "unit": "1/s",
            "higher_is_better": True,
            "change": Effect(difference=0.081, low=0.07, high=0.09),
            "before": commit(14),
            "candidates": (Candidate(commit=commit(15, "Fuse two kernels")),),
            "verification": verified(0.083, Verdict.IMPROVEMENT),
            "series": tuple(
                point.model_copy(update={"verdict": Verdict.IMPROVEMENT}) if point.order >= 15 else point
                for point in points({15: 0.083}, week=100)
            ),
        }
    )


def closed() -> AlarmReport:
    """A step that was made good."""
    return bisected_step().model_copy(
        update={
            "event": AlarmEvent.CLOSED,
            "why": f"it is over since {commit(34).short}",
            "series": tuple(points({25: 0.031, 34: -0.031})),
        }
    )


def two_culprits() -> AlarmReport:
    """A step with two causes, one of them not proven."""
    commits = [commit(number) for number in range(8, 28)]
    shares = {10: 0.55, 11: 0.06, 20: 0.37}
    first, second = commit(10, "Use a slower loop"), commit(20, "Copy twice")
    named = {10: first, 20: second}
    candidates = tuple(
        Candidate(commit=named.get(number, one), probability=shares.get(number, 0.02 / 17))
        for number, one in zip(range(8, 28), commits, strict=True)
    )
    search = Search(
        reason="two commits made it slower, the second of them is not proven",
        culprits=(
            culprit(first, step=0.021),
            culprit(second, step=0.012, probability=0.84, confirmed=False),
        ),
        rest=0.004,
        pairs=260,
    )
    return found_step().model_copy(
        update={
            "event": AlarmEvent.BISECTED,
            "before": commit(7),
            "change": Effect(difference=0.037, low=0.031, high=0.043),
            "verification": verified(0.0371),
            "candidates": candidates,
            "search": search,
            "series": tuple(points({10: 0.021, 20: 0.012}, week=100)),
        }
    )


def unbuildable_range() -> AlarmReport:
    """The change is in one of several commits of which only the last builds."""
    commits = [commit(number) for number in range(23, 27)]
    candidates = tuple(
        Candidate(commit=one, builds=number == 3, probability=0.245) for number, one in enumerate(commits)
    )
    search = Search(
        reason=f"{commits[3].short} made it slower, or one of the 3 before it, which do not build",
        culprits=(culprit(*commits, probability=0.98),),
        rest=0.0,
        pairs=80,
    )
    return found_step().model_copy(update={"event": AlarmEvent.BISECTED, "candidates": candidates, "search": search})


def nasty_subjects() -> AlarmReport:
    """What anybody may write into a commit, a file name or a device's name."""
    commits = [commit(23 + number, subject) for number, subject in enumerate(NASTY)]
    commits = [one.model_copy(update={"author": text}) for one, text in zip(commits, reversed(NASTY), strict=True)]
    shares = (0.3, 0.3, 0.4)
    candidates = tuple(Candidate(commit=one, probability=share) for one, share in zip(commits, shares, strict=True))
    search = Search(reason=NASTY[1], culprits=(culprit(commits[0]),), rest=0.02, pairs=1)
    return found_step().model_copy(
        update={
            "event": AlarmEvent.BISECTED,
            "title": "a|b <img src=x>",
            "device_name": "[phone](javascript:alert(1))",
            "device": "</style><b>",
            "candidates": candidates,
            "search": search,
            "operators": (ChangedOperator(name=NASTY[0], effect=Effect(difference=0.1), contribution=0.1),),
            "command": "harness compare --only '```' '<script>' \n rm\x1b[2J",
            "results": ("javascript:alert(1)", "/srv/a) b>c", 'http://x/<y>\n"z"'),
            "series": (
                MeasuredCommit(
                    commit='"><script>x</script>', order=1, control="&</svg>", effect=Effect(difference=0.01)
                ),
                MeasuredCommit(commit="b\x00", order=2, control="]]>", effect=Effect(difference=0.02, low=0.0)),
            ),
        }
    )
