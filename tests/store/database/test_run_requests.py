"""The queue of runs on demand: fair, bounded, and the same after whatever went away."""

from __future__ import annotations

import pytest

from harness.core.errors import UsageError
from harness.store.database.engine import Database, open_database
from harness.store.database.run_requests import (
    OFFER_S,
    NoSuchRequest,
    RequestConflict,
    TooManyRequests,
    add_request,
    announce_offer,
    cancel_request,
    claim_request,
    find_request,
    finish_request,
    list_offers,
    list_requests,
    release_request,
    renew_lease,
)
from harness.store.database.writing import NewResult, store_results
from harness.store.history import Page
from harness.store.run_requests import (
    MOST_ATTEMPTS,
    LabOffer,
    OfferedSpecification,
    RequestState,
    RunRequest,
    WantedRun,
    merge_offers,
)
from harness.testing.results import ok_result

NOW = 1_800_000_000.0
LEASE_S = 60.0
OFFER = LabOffer(
    specifications=(OfferedSpecification(name="mv2", benchmarks=("mv2/a", "mv2/b")),),
    device_classes=("pixel", "pi"),
    repositories=("code",),
)
LAB = "lab-1"


@pytest.fixture
def offered(database: Database) -> Database:
    announce_offer(database, LAB, OFFER, NOW)
    return database


def wanted_run(benchmark: str = "", **values: str) -> WantedRun:
    usual = {"specification": "mv2", "benchmark": benchmark, "device_class": "pixel"}
    return WantedRun.model_validate({**usual, **values})


def ask(database: Database, person: str, key: str, *, now: float = NOW, device_class: str = "pixel") -> RunRequest:
    request, is_new = add_request(database, person, key, wanted_run(device_class=device_class), most=100, now=now)
    assert is_new
    return request


def claim(database: Database, name: str, *, now: float = NOW, classes: tuple[str, ...] = ("pixel",)) -> RunRequest:
    request = claim_request(database, LAB, name, classes, lease_s=LEASE_S, now=now)
    assert request is not None
    return request


def test_a_request_is_queued_claimed_and_finished_with_its_results(offered: Database) -> None:
    asked = ask(offered, "anna", "1")
    assert (asked.state, asked.person, asked.asked) == (RequestState.QUEUED, "anna", NOW)
    claimed = claim(offered, "c1", now=NOW + 1)
    assert (claimed.id, claimed.state, claimed.started) == (asked.id, RequestState.RUNNING, NOW + 1)
    store_results(offered, [NewResult(ok_result(uid="r1"))], now=NOW)
    done = finish_request(offered, asked.id, "c1", RequestState.DONE, ["r1"], reason="", now=NOW + 2)
    assert (done.state, done.results, done.finished) == (RequestState.DONE, ("r1",), NOW + 2)
    assert finish_request(offered, asked.id, "c1", RequestState.DONE, ["r1"], reason="", now=NOW + 3) == done
    assert list_requests(offered, Page(), NOW).rows == (done,)
    assert list_requests(offered, Page(), NOW, only_open=True).total == 0


def test_no_request_is_done_before_its_results_are_stored(offered: Database) -> None:
    asked = ask(offered, "anna", "1")
    claim(offered, "c1")
    with pytest.raises(RequestConflict, match="1 of its results are not in the store"):
        finish_request(offered, asked.id, "c1", RequestState.DONE, ["r1"], reason="", now=NOW)
    assert find_request(offered, asked.id, NOW).state is RequestState.RUNNING


def test_the_same_key_is_the_same_request(offered: Database) -> None:
    first = ask(offered, "anna", "1")
    assert add_request(offered, "anna", "1", wanted_run(), most=100, now=NOW + 9) == (first, False)
    with pytest.raises(RequestConflict, match="belongs to another request"):
        add_request(offered, "anna", "1", wanted_run("mv2/a"), most=100, now=NOW)
    assert ask(offered, "bert", "1").id != first.id


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"specification": "../../x"}, "no lab offers this specification"),
        ({"specification": "mv2.json"}, "no lab offers this specification"),
        ({"benchmark": "mv2/*"}, "has no such benchmark"),
        ({"benchmark": "; rm -rf /"}, "has no such benchmark"),
        ({"device_class": "iphone"}, "no lab has a device of this class"),
        ({"device_class": "../pixel"}, "no lab has a device of this class"),
        ({"repository": "other", "commit": "main"}, "no lab offers this repository"),
    ],
)
def test_what_nobody_offers_is_refused(offered: Database, wanted: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        add_request(offered, "anna", "1", wanted_run(**wanted), most=100, now=NOW)
    assert list_requests(offered, Page(), NOW).total == 0


def test_commits_are_kept_as_they_were_named_and_as_they_were_first_understood(offered: Database) -> None:
    wanted = wanted_run(repository="code", commit="#7", control="main")
    asked, _ = add_request(offered, "anna", "1", wanted, most=100, now=NOW)
    assert asked.wanted == wanted
    claim(offered, "c1")
    assert renew_lease(offered, asked.id, "c1", lease_s=LEASE_S, now=NOW).commit_id == ""
    told = renew_lease(offered, asked.id, "c1", lease_s=LEASE_S, now=NOW, commits=("a" * 40, "b" * 40))
    assert (told.commit_id, told.control_id) == ("a" * 40, "b" * 40)
    release_request(offered, asked.id, "c1", "", NOW)
    assert claim(offered, "c2", now=NOW + 5).commit_id == "a" * 40
    again = renew_lease(offered, asked.id, "c2", lease_s=LEASE_S, now=NOW, commits=("c" * 40, "d" * 40))
    assert (again.commit_id, again.control_id, again.commit) == ("a" * 40, "b" * 40, "#7")


def test_a_lab_without_the_repository_does_not_get_the_request(offered: Database) -> None:
    announce_offer(offered, "lab-2", OFFER.model_copy(update={"repositories": ()}), NOW)
    add_request(offered, "anna", "1", wanted_run(repository="code", commit="main"), most=100, now=NOW)
    assert claim_request(offered, "lab-2", "c1", ("pixel",), lease_s=LEASE_S, now=NOW) is None
    assert claim(offered, "c2").repository == "code"


def test_an_offer_ends_that_is_not_repeated(offered: Database) -> None:
    announce_offer(offered, "lab-2", OFFER, NOW + OFFER_S / 2)
    assert len(list_offers(offered, NOW + 1)) == 2
    assert len(list_offers(offered, NOW + OFFER_S)) == 1
    with pytest.raises(UsageError, match="no lab takes requests now"):
        add_request(offered, "anna", "1", wanted_run(), most=100, now=NOW + 2 * OFFER_S)


def test_offers_of_several_labs_are_shown_as_one() -> None:
    other = LabOffer(
        specifications=(
            OfferedSpecification(name="add", benchmarks=("add/x",)),
            OfferedSpecification(name="mv2", benchmarks=("mv2/b", "mv2/c")),
        ),
        device_classes=("iphone", "pi"),
    )
    merged = merge_offers([OFFER, other])
    assert merged.device_classes == ("iphone", "pi", "pixel")
    assert {each.name: each.benchmarks for each in merged.specifications} == {
        "add": ("add/x",),
        "mv2": ("mv2/a", "mv2/b", "mv2/c"),
    }
    assert merge_offers([]) == LabOffer(specifications=())


def test_a_person_has_at_most_so_many_open_requests(offered: Database) -> None:
    first = ask(offered, "anna", "1")
    ask(offered, "anna", "2")
    with pytest.raises(TooManyRequests, match="2 open requests"):
        add_request(offered, "anna", "3", wanted_run(), most=2, now=NOW)
    assert add_request(offered, "anna", "1", wanted_run(), most=2, now=NOW) == (first, False)
    add_request(offered, "bert", "1", wanted_run(), most=2, now=NOW)
    cancel_request(offered, first.id, "anna", NOW)
    add_request(offered, "anna", "3", wanted_run(), most=2, now=NOW)


def test_whoever_has_the_fewest_running_is_next(offered: Database) -> None:
    for number in range(4):
        ask(offered, "anna", str(number), now=NOW + number)
    ask(offered, "bert", "0", now=NOW + 10)
    ask(offered, "bert", "1", now=NOW + 11)
    order = [claim(offered, f"c{number}", now=NOW + 20 + number) for number in range(6)]
    assert [request.person for request in order] == ["anna", "bert", "anna", "bert", "anna", "anna"]
    assert [request.asked for request in order[:4]] == [NOW, NOW + 10, NOW + 1, NOW + 11]
    assert claim_request(offered, LAB, "c9", ["pixel"], lease_s=LEASE_S, now=NOW + 30) is None


def test_persons_take_turns_where_one_device_measures_one_request_at_a_time(offered: Database) -> None:
    for number in range(3):
        ask(offered, "anna", str(number), now=NOW + number)
    ask(offered, "bert", "0", now=NOW + 10)
    persons = []
    for number in range(4):
        request = claim(offered, f"c{number}", now=NOW + 20 + number)
        finish_request(offered, request.id, f"c{number}", RequestState.FAILED, [], reason="x", now=NOW + 20 + number)
        persons.append(request.person)
    assert persons == ["anna", "bert", "anna", "anna"]


def test_a_lab_gets_only_what_it_offers_and_has_free_devices_for(offered: Database) -> None:
    ask(offered, "anna", "1", device_class="pi")
    ask(offered, "anna", "2")
    assert claim_request(offered, "lab-2", "c0", ["pi", "pixel"], lease_s=LEASE_S, now=NOW) is None
    assert claim_request(offered, LAB, "c0", [], lease_s=LEASE_S, now=NOW) is None
    assert claim(offered, "c1", classes=("pi",)).device_class == "pi"
    announce_offer(offered, LAB, LabOffer(specifications=(), device_classes=("pixel",)), NOW)
    assert claim_request(offered, LAB, "c2", ["pixel"], lease_s=LEASE_S, now=NOW) is None


def test_a_claim_whose_answer_was_lost_gets_the_same_request(offered: Database) -> None:
    ask(offered, "anna", "1")
    ask(offered, "anna", "2")
    assert claim(offered, "c1").id == claim(offered, "c1", now=NOW + 1).id
    assert (
        list_requests(offered, Page(), NOW).rows[0].attempts + list_requests(offered, Page(), NOW).rows[1].attempts == 1
    )


def test_a_lease_that_ends_puts_the_request_back_a_bounded_number_of_times(offered: Database) -> None:
    asked = ask(offered, "anna", "1")
    now = NOW
    for number in range(MOST_ATTEMPTS):
        announce_offer(offered, LAB, OFFER, now)
        assert claim(offered, f"c{number}", now=now).attempts == number + 1
        now += LEASE_S
        shown = find_request(offered, asked.id, now)
        assert (shown.state, shown.reason) == (RequestState.QUEUED, "the lab that measured it went away")
        with pytest.raises(RequestConflict, match="no longer yours"):
            renew_lease(offered, asked.id, "another", lease_s=LEASE_S, now=now)
    assert claim_request(offered, LAB, "last", ["pixel"], lease_s=LEASE_S, now=now) is None
    failed = find_request(offered, asked.id, now)
    assert failed.state is RequestState.FAILED
    assert failed.reason == f"the lab that measured it went away; it was begun {MOST_ATTEMPTS} times"


def test_a_lease_that_is_renewed_goes_on(offered: Database) -> None:
    asked = ask(offered, "anna", "1")
    claim(offered, "c1")
    renew_lease(offered, asked.id, "c1", lease_s=LEASE_S, now=NOW + 50)
    assert claim_request(offered, LAB, "c2", ["pixel"], lease_s=LEASE_S, now=NOW + 100) is None
    assert claim(offered, "c2", now=NOW + 111).id == asked.id
    with pytest.raises(RequestConflict, match="it is measured by another lab"):
        renew_lease(offered, asked.id, "c1", lease_s=LEASE_S, now=NOW + 112)
    with pytest.raises(RequestConflict, match="it is measured by another lab"):
        finish_request(offered, asked.id, "c1", RequestState.DONE, [], reason="", now=NOW + 112)
    with pytest.raises(RequestConflict, match="it is measured by another lab"):
        release_request(offered, asked.id, "c1", "", NOW + 112)


def test_a_lab_that_gives_a_request_back_says_why(offered: Database) -> None:
    asked = ask(offered, "anna", "1")
    claim(offered, "c1")
    released = release_request(offered, asked.id, "c1", "the lab does not answer\0", NOW)
    assert (released.state, released.reason) == (
        RequestState.QUEUED,
        "the lab does not answer\N{REPLACEMENT CHARACTER}",
    )
    assert claim(offered, "c2", now=NOW + 5).id == asked.id


def test_a_request_that_was_given_back_rests_longer_each_time(offered: Database) -> None:
    """A repository that is away for a minute takes one attempt or two, not all."""
    asked, other, now = ask(offered, "anna", "1"), ask(offered, "anna", "2", now=NOW + 1), NOW

    def claimed_at(moment: float) -> str:
        """Claim what is first at a moment, and put it back uncounted."""
        request = claim(offered, "x", now=moment)
        release_request(offered, request.id, "x", "the lab is away", moment, is_counted=False)
        return request.id

    rests = (5, 20, 80, 300)
    assert len(rests) == MOST_ATTEMPTS - 1
    for number, rest in enumerate((*rests, 0)):
        assert claim(offered, f"c{number}", now=now).id == asked.id
        released = release_request(offered, asked.id, f"c{number}", "no such host", now)
        if rest:
            assert claimed_at(now + rest - 1) == other.id, "it rests"
            now += rest
            assert claimed_at(now) == asked.id
    assert released.state is RequestState.FAILED
    assert released.reason == f"no such host; it was begun {MOST_ATTEMPTS} times"


def test_an_attempt_in_which_the_lab_was_away_is_not_counted(offered: Database) -> None:
    asked = ask(offered, "anna", "1")
    for number in range(2 * MOST_ATTEMPTS):
        assert claim(offered, f"c{number}").attempts == 1
        released = release_request(offered, asked.id, f"c{number}", "the lab has no device", NOW, is_counted=False)
        assert (released.state, released.attempts) == (RequestState.QUEUED, 0)


def test_persons_cancel_their_own_requests_alone(offered: Database) -> None:
    first, second = ask(offered, "anna", "1"), ask(offered, "anna", "2", now=NOW + 1)
    with pytest.raises(RequestConflict, match="somebody else"):
        cancel_request(offered, first.id, "bert", NOW)
    claim(offered, "c1")
    assert cancel_request(offered, first.id, "anna", NOW).state is RequestState.CANCELLED
    assert cancel_request(offered, first.id, "anna", NOW + 1).finished == NOW
    with pytest.raises(RequestConflict, match="it is cancelled"):
        renew_lease(offered, first.id, "c1", lease_s=LEASE_S, now=NOW)
    assert cancel_request(offered, second.id, None, NOW).state is RequestState.CANCELLED
    with pytest.raises(NoSuchRequest):
        cancel_request(offered, "nothing", None, NOW)
    third = ask(offered, "anna", "3")
    claim(offered, "c3")
    finish_request(offered, third.id, "c3", RequestState.FAILED, [], reason="x", now=NOW)
    with pytest.raises(RequestConflict, match="has ended: it is failed"):
        cancel_request(offered, third.id, "anna", NOW)


def test_the_queue_outlives_whoever_opened_the_store(
    database_url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("artifacts")
    with open_database(database_url, artifacts=folder) as database:
        announce_offer(database, LAB, OFFER, NOW)
        ask(database, "anna", "1")
        ask(database, "bert", "1", now=NOW + 1)
        claim(database, "c1")
        before = list_requests(database, Page(), NOW)
    with open_database(database_url, artifacts=folder) as database:
        assert list_requests(database, Page(), NOW) == before
        assert claim(database, "c2").person == "bert"
