"""Alarms as the continuous mode tells them, with figures that are the same every time."""

from __future__ import annotations

from collections.abc import Mapping

from harness.core.alarm import (
    Alarm,
    AlarmEvent,
    AlarmOrigin,
    AlarmReport,
    AlarmStage,
    ChangedOperator,
    Verification,
)
from harness.core.change import Change, ChangeKind
from harness.core.commit import Commit
from harness.core.culprit import Candidate, Culprit, SearchEnding, SearchResult
from harness.core.effect import Effect, effect_of, log_ratio_of
from harness.core.metric import Direction, MetricInfo
from harness.core.series import SeriesPoint
from harness.core.verdict import Verdict

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


LATENCY_IN_US = MetricInfo(name="NET latency", unit="us")


def measured(
    commit_: str, order: int, control: str, effect: Effect | None, *, verdict: Verdict = Verdict.UNDECIDED
) -> SeriesPoint:
    """A point of the series of the samples."""
    return SeriesPoint(
        benchmark="0a1b2c3d4e5f",
        title="mv2/mv2-xnnpack_q8",
        device="39121FDJH000AB",
        metric=LATENCY_IN_US,
        commit=commit_,
        order=order,
        control=control,
        control_order=None,
        verdict=verdict,
        effect=effect,
    )


def points(steps: Mapping[int, float], count: int = 40, *, week: int = 28, slope: float = 0.0) -> list[SeriesPoint]:
    """A series that changes by so much at these commits; each week has a control of its own."""
    levels = [slope * number + sum(size for at, size in steps.items() if number >= at) for number in range(count)]
    controls = {number: number - (number % week or week) for number in range(1, count)}
    return [_point(number, levels[number], control, levels[control]) for number, control in controls.items()]


def _point(number: int, level: float, control: int, control_level: float) -> SeriesPoint:
    difference = (1 + level) / (1 + control_level) - 1 + 0.4 * _NOISE[number % len(_NOISE)] / 100
    half = 0.003 + 0.001 * (number % 3)
    low, high = difference - half, difference + half
    verdict = Verdict.REGRESSION if low > 0 else Verdict.IMPROVEMENT if high < 0 else Verdict.NO_CHANGE
    if verdict is Verdict.NO_CHANGE and number % 7 == 0:
        verdict = Verdict.UNDECIDED
    effect = effect_of(difference, low, high)
    return measured(commit(number).id, number, commit(control).id, effect, verdict=verdict)


def verified(difference: float, verdict: Verdict = Verdict.REGRESSION) -> Verification:
    """Pairs of the builds around a change."""
    effect = effect_of(difference, difference - 0.005, difference + 0.005)
    return Verification(confirmed=True, verdict=verdict, reason="", effect=effect, pairs=24, seconds=12.3)


def culprit(
    *commits: Commit,
    step: float = 0.031,
    probability: float = 0.97,
    confirmed: bool = True,
    before: Commit = commit(24),  # noqa: B008 - a value
) -> Culprit:
    """A culprit with an interval of half a percent to each side."""
    return Culprit(
        commits=tuple(commit_.id for commit_ in commits),
        before=before.id,
        effect=effect_of(step, step - 0.005, step + 0.005),
        evidence=1240.0,
        probability=probability,
        confirmed=confirmed,
    )


def searched(
    reason: str, culprits: tuple[Culprit, ...] = (), *, rest: float | None = None, pairs: int = 0
) -> SearchResult:
    """The result of a search, of which culprits explain all but a rest."""
    return SearchResult(
        ending=SearchEnding.FOUND if culprits else SearchEnding.UNDECIDED,
        culprits=culprits,
        unexplained_log_ratio=None if rest is None else log_ratio_of(rest),
        smallest_log_ratio=0.005,
        pairs=pairs,
        reason=reason,
    )


def changed(report: AlarmReport, **fields: object) -> AlarmReport:
    """The report with other fields, whether they are its own, its alarm's, its change's or its verification's."""
    verification = report.alarm.verification
    if "operators" in fields and verification is not None:
        fields["verification"] = verification.model_copy(update={"operators": fields.pop("operators")})
    of_report = {name: fields.pop(name) for name in [*fields] if name in AlarmReport.model_fields}
    of_alarm = {name: fields.pop(name) for name in [*fields] if name in Alarm.model_fields}
    assert fields.keys() <= Change.model_fields.keys()
    change = report.alarm.change.model_copy(update=fields)
    alarm = report.alarm.model_copy(update={"change": change, **of_alarm})
    return report.model_copy(update={"alarm": alarm, **of_report})


def found_step() -> AlarmReport:
    """A step between two measured commits that are four apart."""
    change = Change(
        identity="5f2b8c0d1e9a4b37-0a1b2c3d",
        benchmark="0a1b2c3d4e5f",
        title="mv2/mv2-xnnpack_q8",
        device="39121FDJH000AB",
        metric=LATENCY_IN_US,
        kind=ChangeKind.STEP,
        before=commit(22).id,
        before_order=22,
        after=commit(26).id,
        after_order=26,
        last_without=commit(22).id,
        first_with=commit(26).id,
        effect=effect_of(0.0305, 0.0271, 0.034),
        score=7.5,
        detected_with=commit(27).id,
    )
    alarm = Alarm(
        change=change,
        stage=AlarmStage.CONFIRMED,
        opened=1_767_700_000.0,
        updated=1_767_700_000.0,
        verification=verified(0.0312),
        candidates=tuple(Candidate(commit=commit(number)) for number in range(23, 27)),
    )
    return AlarmReport(
        event=AlarmEvent.CONFIRMED,
        alarm=alarm,
        device_name="Pixel 8",
        before=commit(22),
        series=tuple(point for point in points({25: 0.031}) if point.order not in {23, 24, 25}),
        command="harness compare -b specifications/models/mv2.json --only mv2/mv2-xnnpack_q8 -p android -d 39121FDJH",
        discovery=AlarmOrigin(time=1_767_700_000.0, harness="0.1.0", host="lab-3"),
        results=("39121FDJH000AB/executorch/mv2/net/xnnpack_q8/2026/01/06/11a25bfa/0",),
    )


def bisected_step() -> AlarmReport:
    """The same step with its culprit, and with operators."""
    begun = found_step()
    shares = (0.01, 0.012, 0.97, 0.008)
    commits = [commit(23), commit(24), commit(25, "Use a slower loop"), commit(26)]
    candidates = tuple(
        Candidate(commit=commit_, probability=share) for commit_, share in zip(commits, shares, strict=True)
    )
    search = searched(
        reason=f"{commits[2].short} made it slower",
        culprits=(culprit(commits[2]),),
        rest=0.0004,
        pairs=120,
    )
    operators = (
        ChangedOperator(name="Softmax #1", effect=effect_of(-0.0995, -0.103), contribution=-0.0133),
        ChangedOperator(name="Convolution #1", effect=effect_of(0.2, 0.19, 0.21), contribution=0.042),
        ChangedOperator(name="Transpose #1", contribution=0.0033),
    )
    return changed(
        begun,
        event=AlarmEvent.BISECTED,
        candidates=candidates,
        search=search,
        operators=operators,
        series=tuple(points({25: 0.031})),
        results=("Pixel 8/executorch/mv2/0", "https://perf.example/runs?alarm=5f2b"),
        repository="https://github.com/pytorch/executorch",
        diff_url=f"https://github.com/pytorch/executorch/compare/{commit(24).id}...{commit(25).id}",
        group=begun.alarm.identity,
    )


def confirmed_drift() -> AlarmReport:
    """Many small steps, which no search was made for."""
    return changed(
        found_step(),
        kind=ChangeKind.DRIFT,
        effect=effect_of(0.052, 0.04, 0.064),
        before=commit(5),
        candidates=tuple(Candidate(commit=commit(number)) for number in range(6, 40)),
        verification=verified(0.0521),
        series=tuple(points({}, week=100, slope=0.0013)),
    )


def improvement() -> AlarmReport:
    """For the better, with one commit in question, of a metric that is no latency of the whole."""
    return changed(
        found_step(),
        kind=ChangeKind.IMPROVEMENT,
        metric=MetricInfo(name="LLM tokens_per_second", unit="1/s", direction=Direction.HIGHER),
        effect=effect_of(0.081, 0.07, 0.09),
        before=commit(14),
        candidates=(Candidate(commit=commit(15, "Fuse two kernels")),),
        verification=verified(0.083, Verdict.IMPROVEMENT),
        series=tuple(
            point.model_copy(update={"verdict": Verdict.IMPROVEMENT}) if point.order >= 15 else point
            for point in points({15: 0.083}, week=100)
        ),
    )


def closed() -> AlarmReport:
    """A step that was made good."""
    return changed(
        bisected_step(),
        event=AlarmEvent.CLOSED,
        reason=f"taken back by {commit(34).short}",
        series=tuple(points({25: 0.031, 34: -0.031})),
    )


def two_culprits() -> AlarmReport:
    """A step with two causes, one of them not proven."""
    commits = [commit(number) for number in range(8, 28)]
    shares = {10: 0.55, 11: 0.06, 20: 0.37}
    first, second = commit(10, "Use a slower loop"), commit(20, "Copy twice")
    named = {10: first, 20: second}
    candidates = tuple(
        Candidate(commit=named.get(number, commit_), probability=shares.get(number, 0.02 / 17))
        for number, commit_ in zip(range(8, 28), commits, strict=True)
    )
    search = searched(
        reason="two commits made it slower, the second of them is not proven",
        culprits=(
            culprit(first, step=0.021),
            culprit(second, step=0.012, probability=0.84, confirmed=False),
        ),
        rest=0.004,
        pairs=260,
    )
    return changed(
        found_step(),
        event=AlarmEvent.BISECTED,
        before=commit(7),
        effect=effect_of(0.037, 0.031, 0.043),
        verification=verified(0.0371),
        candidates=candidates,
        search=search,
        series=tuple(points({10: 0.021, 20: 0.012}, week=100)),
    )


def unbuildable_range() -> AlarmReport:
    """The change is in one of several commits of which only the last builds."""
    commits = [commit(number) for number in range(23, 27)]
    candidates = tuple(
        Candidate(commit=commit_, builds=number == 3, probability=0.245) for number, commit_ in enumerate(commits)
    )
    search = searched(
        reason=f"{commits[3].short} made it slower, or one of the 3 before it, which do not build",
        culprits=(culprit(*commits, probability=0.98, before=commit(22)),),
        rest=0.0,
        pairs=80,
    )
    return changed(found_step(), event=AlarmEvent.BISECTED, candidates=candidates, search=search)


def nasty_subjects() -> AlarmReport:
    """What anybody may write into a commit, a file name or a device's name."""
    commits = [commit(23 + number, subject) for number, subject in enumerate(NASTY)]
    commits = [
        commit_.model_copy(update={"author": text}) for commit_, text in zip(commits, reversed(NASTY), strict=True)
    ]
    shares = (0.3, 0.3, 0.4)
    candidates = tuple(
        Candidate(commit=commit_, probability=share) for commit_, share in zip(commits, shares, strict=True)
    )
    search = searched(reason=NASTY[1], culprits=(culprit(commits[0]),), rest=0.02, pairs=1)
    return changed(
        found_step(),
        event=AlarmEvent.BISECTED,
        title="a|b <img src=x>",
        device_name="[phone](javascript:alert(1))",
        device="</style><b>",
        candidates=candidates,
        search=search,
        operators=(ChangedOperator(name=NASTY[0], effect=effect_of(0.1), contribution=0.1),),
        command="harness compare --only '```' '<script>' \n rm\x1b[2J",
        results=("javascript:alert(1)", "/srv/a) b>c", 'http://x/<y>\n"z"'),
        series=(
            measured('"><script>x</script>', 1, "&</svg>", effect_of(0.01)),
            measured("b\x00", 2, "]]>", effect_of(0.02, 0.0)),
        ),
    )
