"""Every alarm that can be written down, with texts and numbers from anywhere."""

from __future__ import annotations

from hypothesis import strategies as st

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

_TEXTS = st.text(st.sampled_from("ab1 .)|<>[]()*_`~\\#&;!-+=:/$@'\"\n\t\x1b\ud800\u202eé"), max_size=30) | st.text(
    max_size=12
)
_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
_USUAL = st.floats(-0.2, 0.2)
_POSITIVE = st.floats(0, allow_nan=False, allow_infinity=False)
_SHARES = st.floats(0, 1)
_ENDS = st.none() | _USUAL | _NUMBERS
_COUNTS = st.integers(0, 10**6)

_EFFECTS = st.builds(
    Effect, difference=_USUAL | st.floats(-1, allow_nan=False, allow_infinity=False), low=_ENDS, high=_ENDS
)
_IDS = st.sampled_from([letter * 40 for letter in "0123456789abcdef"]) | _TEXTS
_COMMITS = st.builds(
    Commit, source=_TEXTS, id=_IDS, time=st.none() | st.integers(), author=_TEXTS, subject=_TEXTS, merge=st.booleans()
)
_CULPRITS = st.builds(
    Culprit,
    commits=st.lists(_COMMITS, min_size=1, max_size=4).map(tuple),
    step=_EFFECTS,
    evidence=_POSITIVE,
    probability=_SHARES,
    confirmed=st.booleans(),
)
_POINTS = st.builds(
    MeasuredCommit,
    commit=_IDS.map(lambda name: name[:12]),
    order=st.integers(0, 300) | st.integers(),
    control=_IDS.map(lambda name: name[:12]),
    effect=st.none() | _EFFECTS,
    verdict=st.sampled_from(Verdict),
)

reports = st.builds(
    AlarmReport,
    identity=_TEXTS.map(lambda text: text.replace("\ud800", "") or "1"),
    event=st.sampled_from(AlarmEvent),
    kind=st.sampled_from([ChangeKind.STEP, ChangeKind.DRIFT, ChangeKind.IMPROVEMENT]),
    title=_TEXTS,
    device=_TEXTS,
    device_name=_TEXTS,
    metric=st.just("NET latency") | _TEXTS,
    unit=_TEXTS,
    higher_is_better=st.booleans(),
    change=_EFFECTS,
    before=_COMMITS,
    candidates=st.lists(
        st.builds(Candidate, commit=_COMMITS, builds=st.none() | st.booleans(), probability=st.none() | _SHARES),
        max_size=20,
    ).map(tuple),
    verification=st.none()
    | st.builds(
        Verification,
        verdict=st.sampled_from(Verdict),
        effect=st.none() | _EFFECTS,
        pairs=_COUNTS,
        seconds=_POSITIVE,
    ),
    search=st.none()
    | st.builds(
        Search,
        reason=_TEXTS,
        culprits=st.lists(_CULPRITS, max_size=5).map(tuple),
        rest=st.none() | _USUAL | _NUMBERS,
        pairs=_COUNTS,
    ),
    why=_TEXTS,
    series=st.lists(_POINTS, max_size=12).map(tuple),
    operators=st.lists(
        st.builds(
            ChangedOperator, name=_TEXTS, effect=st.none() | _EFFECTS, contribution=st.none() | _USUAL | _NUMBERS
        ),
        max_size=12,
    ).map(tuple),
    command=_TEXTS,
    discovery=st.builds(Discovery, time=_NUMBERS, harness=_TEXTS, host=_TEXTS),
    results=st.lists(_TEXTS | st.just("https://perf.example/x y"), max_size=3).map(tuple),
)
