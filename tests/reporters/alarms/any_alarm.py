"""Every alarm that can be written down, with texts and numbers from anywhere."""

from __future__ import annotations

from hypothesis import strategies as st

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
from harness.core.effect import Effect
from harness.core.metric import Direction, MetricInfo
from harness.core.series import SeriesPoint
from harness.core.verdict import Verdict

_TEXTS = st.text(st.sampled_from("ab1 .)|<>[]()*_`~\\#&;!-+=:/$@'\"\n\t\x1b\ud800\u202eé"), max_size=30) | st.text(
    max_size=12
)
_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
_USUAL = st.floats(-0.2, 0.2)
_POSITIVE = st.floats(0, allow_nan=False, allow_infinity=False)
_SHARES = st.floats(0, 1)
_ENDS = st.none() | _USUAL | _NUMBERS
_COUNTS = st.integers(0, 10**6)

_EFFECTS = st.builds(Effect, log_ratio=_USUAL | _NUMBERS, low_log_ratio=_ENDS, high_log_ratio=_ENDS)
_METRICS = st.builds(
    MetricInfo, name=st.just("NET latency") | _TEXTS, unit=_TEXTS, direction=st.sampled_from(Direction)
)
_IDS = st.sampled_from([letter * 40 for letter in "0123456789abcdef"]) | _TEXTS
_COMMITS = st.builds(
    Commit, source=_TEXTS, id=_IDS, time=st.none() | st.integers(), author=_TEXTS, subject=_TEXTS, merge=st.booleans()
)
_CULPRITS = st.builds(
    Culprit,
    commits=st.lists(_IDS, min_size=1, max_size=4).map(tuple),
    before=_IDS,
    effect=_EFFECTS,
    evidence=_POSITIVE,
    probability=_SHARES,
    confirmed=st.booleans(),
)
_POINTS = st.builds(
    SeriesPoint,
    benchmark=_TEXTS,
    title=_TEXTS,
    device=_TEXTS,
    metric=st.none() | _METRICS,
    commit=_IDS,
    order=st.integers(0, 300) | st.integers(),
    control=_IDS,
    control_order=st.none() | st.integers(),
    effect=st.none() | _EFFECTS,
    verdict=st.sampled_from(Verdict),
)

_CHANGES = st.builds(
    Change,
    identity=_TEXTS.map(lambda text: text.replace("\ud800", "") or "1"),
    benchmark=_TEXTS,
    title=_TEXTS,
    device=_TEXTS,
    metric=_METRICS,
    kind=st.sampled_from([ChangeKind.STEP, ChangeKind.DRIFT, ChangeKind.IMPROVEMENT]),
    before=_IDS,
    before_order=st.integers(),
    after=_IDS,
    after_order=st.integers(),
    last_without=_IDS,
    first_with=_IDS,
    effect=_EFFECTS,
    score=_NUMBERS,
    detected_with=_IDS,
)
_VERIFICATIONS = st.builds(
    Verification,
    confirmed=st.booleans(),
    verdict=st.sampled_from(Verdict),
    reason=_TEXTS,
    effect=st.none() | _EFFECTS,
    pairs=_COUNTS,
    seconds=_POSITIVE,
    operators=st.lists(
        st.builds(
            ChangedOperator, name=_TEXTS, effect=st.none() | _EFFECTS, contribution=st.none() | _USUAL | _NUMBERS
        ),
        max_size=12,
    ).map(tuple),
)
_SEARCHES = st.builds(
    SearchResult,
    ending=st.sampled_from(SearchEnding),
    reason=_TEXTS,
    culprits=st.lists(_CULPRITS, max_size=5).map(tuple),
    unexplained_log_ratio=st.none() | _USUAL | _NUMBERS,
    smallest_log_ratio=_USUAL,
    pairs=_COUNTS,
)
_ALARMS = st.builds(
    Alarm,
    change=_CHANGES,
    stage=st.sampled_from(AlarmStage),
    reason=_TEXTS,
    opened=_NUMBERS,
    updated=_NUMBERS,
    verification=st.none() | _VERIFICATIONS,
    search=st.none() | _SEARCHES,
    candidates=st.lists(
        st.builds(Candidate, commit=_COMMITS, builds=st.none() | st.booleans(), probability=st.none() | _SHARES),
        max_size=20,
    ).map(tuple),
)

reports = st.builds(
    AlarmReport,
    event=st.sampled_from(AlarmEvent),
    alarm=_ALARMS,
    device_name=_TEXTS,
    before=_COMMITS,
    series=st.lists(_POINTS, max_size=12).map(tuple),
    command=_TEXTS,
    discovery=st.builds(AlarmOrigin, time=_NUMBERS, harness=_TEXTS, host=_TEXTS),
    results=st.lists(_TEXTS | st.just("https://perf.example/x y"), max_size=3).map(tuple),
    results_url=_TEXTS,
    repository=st.just("") | st.just("https://github.com/ada/engine"),
    diff_url=_TEXTS | st.just("https://perf.example/x y<>\n"),
    group=_TEXTS,
)
