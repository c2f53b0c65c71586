"""The page that asks for a run in a real Chromium: phones, hostile names, and loading itself again."""

from __future__ import annotations

import pytest

from harness.core.effect import Effect
from harness.core.metric import MetricInfo
from harness.core.outcome import Outcome
from harness.core.verdict import Verdict
from harness.dashboard.requests import Asker, decode_choice, encode_choice, render_lab, render_request, render_requests
from harness.store.history import CommitInfo, Contrast, ResultRow
from harness.store.run_requests import (
    LabOffer,
    OfferedDevice,
    OfferedSpecification,
    RequestPage,
    RequestState,
    RunRequest,
)
from tests.dashboard.conftest import Opener
from tests.dashboard.samples import HOSTILE, START, make_cell, make_site

LONG = "a_model_with_a_name_that_is_much_longer_than_a_phone_is_wide/and_a_benchmark_of_it-xnnpack_fp32-t1"

CONTRAST = Contrast(
    control=CommitInfo(id="b" * 40),
    metric=MetricInfo(name="NET latency", unit="us"),
    verdict=Verdict.REGRESSION,
    effect=Effect(log_ratio=0.05, low_log_ratio=0.04, high_log_ratio=0.06),
)


def make_request(number: int, state: RequestState, **values: object) -> RunRequest:
    usual = RunRequest(
        id=f"id-{number}",
        person="anna",
        asked=START,
        specification="mv2",
        benchmark=LONG,
        device_class="raspberry-pi-5",
        state=state,
        started=START,
        attempts=2,
    )
    return usual.model_copy(update=values)


def make_page(*, hostile: bool = False, is_open: bool = True) -> str:
    name = HOSTILE if hostile else "mv2"
    person = HOSTILE if hostile else "anna"
    states = [state for state in RequestState if is_open or not state.is_open]
    rows = [make_request(number, state, person=person) for number, state in enumerate(states)]
    rows.append(make_request(9, RequestState.DONE, results=("r1", "gone"), reason="1 of 2: " + HOSTILE, benchmark=name))
    commits = {
        "repository": "executorch",
        "commit": "a-branch-of-somebody/with-a-very-long-name-that-goes-on",
        "control": "#1234",
    }
    rows.append(
        make_request(10, RequestState.DONE, results=("r2",), commit_id="a" * 40, control_id="b" * 40, **commits)
    )
    row = ResultRow(uid="r1", cell=make_cell(name, name), time=START, outcome=Outcome.CRASHED, reason=HOSTILE)
    offer = LabOffer(
        specifications=(OfferedSpecification.model_construct(name=name, benchmarks=(name, LONG)),),
        device_classes=("raspberry-pi-5", "pixel-8"),
        repositories=("executorch",),
    )
    compared = ResultRow(uid="r2", cell=make_cell("mv2", "a"), time=START, outcome=Outcome.OK, contrast=CONTRAST)
    return render_requests(
        RequestPage(rows=tuple(rows), total=len(rows)),
        {"r1": row, "r2": compared},
        offer,
        make_site(),
        asker=Asker(person, "secret", may_choose_commits=True),
        key="key",
    )


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (360, "light"), (1280, "light")])
@pytest.mark.parametrize("hostile", [False, True])
def test_the_page_fits_its_window_and_complains_of_nothing(
    open_page: Opener, width: int, scheme: str, hostile: bool
) -> None:
    page, complaints = open_page(make_page(hostile=hostile), width, scheme)
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("form.ask select").count() == 3
    assert page.locator("form.ask input:visible").count() == 3
    assert page.locator("table.runs form button").count() == 2, "the open ones can be cancelled"


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1280])
def test_the_devices_of_a_lab_fit_their_window(open_page: Opener, width: int) -> None:
    devices = tuple(
        OfferedDevice.model_construct(
            name=name,
            identity=name,
            device_class="raspberry-pi-5",
            platform="android",
            host="bench-2",
            is_available=name != HOSTILE,
            words=words,
        )
        for name, words in (("green", f"{LONG}, 4.0 s left"), (HOSTILE, HOSTILE), ("blue", "idle"))
    )
    text = render_lab(LabOffer(specifications=(), devices=devices), 2, make_site())
    page, complaints = open_page(text, width)
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("tbody tr").count() == 3
    assert page.locator("tbody .badge").count() == 1
    assert page.locator("[data-reload]").count() == 1


def test_a_lab_that_shows_no_devices_says_what_would() -> None:
    text = render_lab(LabOffer(specifications=()), 0, make_site())
    assert "harness lab dispatch" in text
    assert 'data-reload="' not in text


@pytest.mark.slow
def test_a_request_fits_a_phone(open_page: Opener) -> None:
    request = make_request(1, RequestState.RUNNING, reason=HOSTILE)
    text = render_request(request, (), make_site(), asker=Asker("anna", "secret"))
    page, complaints = open_page(text, 360)
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator("[data-reload]").count() == 1


@pytest.mark.slow
@pytest.mark.parametrize(("is_open", "is_touched"), [(True, False), (True, True), (False, False)])
def test_a_page_with_open_runs_is_loaded_again_unless_somebody_chooses(
    open_page: Opener, is_open: bool, is_touched: bool
) -> None:
    text = make_page(is_open=is_open).replace('data-reload="10"', 'data-reload="0.5"')
    if is_touched:
        text = text.replace('<select name="what"', '<select autofocus name="what"')
    page, _ = open_page(text)
    if is_open and not is_touched:
        page.wait_for_event("load")
        page.wait_for_event("load")
    else:
        page.evaluate("document.documentElement.dataset.before = 1")
        page.wait_for_timeout(1500)
        assert page.evaluate("document.documentElement.dataset.before") == "1"


@pytest.mark.parametrize("specification", ["mv2", "nightly/mv2", "a%2Fb", "a b", "é"])
@pytest.mark.parametrize("benchmark", ["", "mv2/a", "%2F", "m/a b"])
def test_a_choice_of_the_form_is_read_as_it_was_written(specification: str, benchmark: str) -> None:
    assert decode_choice(encode_choice(specification, benchmark)) == (specification, benchmark)
