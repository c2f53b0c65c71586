"""Runs that persons ask for: what a lab offers, what is asked for, and what became of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from harness.core.errors import UsageError
from harness.core.values import Value

MOST_ATTEMPTS: Final = 5
"""How often a lab begins one request: those that went away with it are counted."""
MOST_PAIRS: Final = 200
"""Largest budget of a comparison that a person may ask for."""
_MOST: Final = 2000
_COMMIT: Final = re.compile(r"[#!][1-9][0-9]{0,8}|[A-Za-z0-9_][A-Za-z0-9._/-]{0,199}")
_NO_COMMIT: Final = re.compile(r"\.\.|//|/\.|[./]\Z|\.lock(?:/|\Z)|\Arefs/")
"""What git allows in no reference (git-check-ref-format(1)), and names that reach beyond branches and tags."""
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FULL_HASH: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def _check_commit(text: str) -> str:
    """Return the name of a commit: a hash, whole or abbreviated, a branch, a tag, or `#7` for a pull request.

    `!7` is a merge request. Such a name is no option, no range, no expression, no address and no hidden reference.

    Raises:
        ValueError: It is none.
    """
    if text and (_COMMIT.fullmatch(text) is None or _NO_COMMIT.search(text)):
        raise ValueError("no hash, branch, tag, or #number of a pull request")
    return text


def _check_full_hash(text: str) -> str:
    if text and _FULL_HASH.fullmatch(text) is None:
        raise ValueError("no whole hash")
    return text


def is_repository_name(text: str) -> bool:
    """Return whether a repository may be offered under a name."""
    return _REPOSITORY.fullmatch(text) is not None


def _check_repository(text: str) -> str:
    if text and not is_repository_name(text):
        raise ValueError("no name of a repository")
    return text


CommitWord = Annotated[str, AfterValidator(_check_commit)]
"""Name of a commit as a person may write it; empty for none."""
FullHash = Annotated[str, AfterValidator(_check_full_hash)]
"""Whole hash of a commit; empty where it is not known."""
RepositoryName = Annotated[str, AfterValidator(_check_repository)]
"""Name of an offered repository; empty for none."""
Name = Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""Text on one line."""
Words = Annotated[str, Field(max_length=300)]


class RequestState(StrEnum):
    """State of a request."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_open(self) -> bool:
        """True while it may still be measured."""
        return self in {RequestState.QUEUED, RequestState.RUNNING}


class OfferedSpecification(Value):
    """Specification that a lab measures for whoever asks.

    Attributes:
        name: Its name.
        benchmarks: Titles of its benchmarks.
    """

    name: Name
    benchmarks: Annotated[tuple[Name, ...], Field(min_length=1, max_length=_MOST)]


class OfferedDevice(Value):
    """Device of a lab, as its dispatcher saw it last.

    Attributes:
        name: Its name.
        identity: Its identity.
        device_class: Its class.
        platform: Its platform.
        host: Name of its host.
        is_available: Whether jobs reach it.
        words: What it is doing, or why no job reaches it.
    """

    name: Name
    identity: Name
    device_class: Name
    platform: Name
    host: Name
    is_available: bool
    words: Words = ""


class LabOffer(Value):
    """What a lab measures for whoever asks: the allow list of its dispatcher.

    Attributes:
        specifications: Its specifications.
        device_classes: Classes of its devices that are there now.
        repositories: Names of repositories, of whose commits it measures any.
        devices: Its devices, for people; nothing is asked for by their names.
    """

    specifications: Annotated[tuple[OfferedSpecification, ...], Field(max_length=_MOST)]
    device_classes: Annotated[tuple[Name, ...], Field(max_length=_MOST)] = ()
    repositories: Annotated[tuple[RepositoryName, ...], Field(max_length=_MOST)] = ()
    devices: Annotated[tuple[OfferedDevice, ...], Field(max_length=_MOST)] = ()

    def explain_refusal(self, specification: str, benchmark: str, device_class: str, repository: str = "") -> str:
        """Return why this is not on offer; empty where it is. Compares names, and opens nothing."""
        offered = next((each for each in self.specifications if each.name == specification), None)
        if offered is None:
            return "no lab offers this specification"
        if benchmark and benchmark not in offered.benchmarks:
            return "the specification has no such benchmark"
        if repository and repository not in self.repositories:
            return "no lab offers this repository"
        return "" if device_class in self.device_classes else "no lab has a device of this class now"


class WantedRun(Value):
    """What a person may ask for: names, which are compared with those that labs offer.

    Attributes:
        specification: Name of a specification.
        benchmark: Title of one of its benchmarks; empty for all.
        device_class: Class of devices, any of which may measure it.
        repository: Name of the repository of the commits; empty for the runner that is installed.
        commit: Commit of it to measure: a hash, branch or tag, `#7` for a pull request, `!7` for a merge request.
        control: Commit to compare that with, in pairs; empty to measure it alone.
        pairs: Most pairs of each comparison; 0 for the usual number.
    """

    specification: Name
    benchmark: Words = ""
    device_class: Name
    repository: RepositoryName = ""
    commit: CommitWord = ""
    control: CommitWord = ""
    pairs: Annotated[int, Field(ge=0, le=MOST_PAIRS)] = 0

    @model_validator(mode="after")
    def _check_belonging(self) -> Self:
        if bool(self.repository) is not bool(self.commit):
            raise ValueError("a repository and a commit of it belong together")
        if (self.control or self.pairs) and not self.commit:
            raise ValueError("a control or pairs without a commit to compare")
        if self.pairs and not self.control:
            raise ValueError("pairs without a control")
        return self

    @property
    def offered_names(self) -> tuple[str, str, str, str]:
        """Names that a lab has to offer."""
        return self.specification, self.benchmark, self.device_class, self.repository


class RunRequest(Value):
    """Request of a person to measure something.

    Attributes:
        id: Unique.
        person: Name of the token of whoever asked.
        asked: When, Unix seconds.
        specification: Name of an offered specification.
        benchmark: Title of the only benchmark to measure; empty for all.
        device_class: Class of the devices, any of which may measure it.
        repository: Name of the repository of the commits; empty for the runner that is installed.
        commit: Commit to measure, as the person named it.
        control: Commit to compare it with, likewise; empty where it is measured alone.
        pairs: Most pairs of each comparison; 0 for the usual number.
        commit_id: Hash of the commit: what the name meant when a lab began the request first; empty before.
        control_id: Hash of the control, likewise.
        state: Its state.
        attempts: How often a lab began it.
        started: When a lab began it last; null before.
        finished: When it ended; null before.
        results: Uids of its results, which are in the store.
        reason: Why it failed or waits again, or what failed of it; empty where all went well.
    """

    id: str
    person: str
    asked: float
    specification: str
    benchmark: str = ""
    device_class: str
    repository: str = ""
    commit: str = ""
    control: str = ""
    pairs: int = 0
    commit_id: str = ""
    control_id: str = ""
    state: RequestState
    attempts: int = 0
    started: float | None = None
    finished: float | None = None
    results: tuple[str, ...] = ()
    reason: str = ""

    @property
    def wanted(self) -> WantedRun:
        """What is asked for, checked once more by whoever is going to measure it.

        Raises:
            UsageError: It is nothing that may be asked for.
        """
        try:
            return WantedRun.model_validate(self.model_dump(include=set(WantedRun.model_fields)))
        except ValidationError as error:
            raise UsageError("this is nothing that may be asked for") from error


class RequestPage(Value):
    """Part of all requests, newest first.

    Attributes:
        rows: The requests of this part.
        total: Number of all.
    """

    rows: tuple[RunRequest, ...]
    total: int


def merge_offers(offers: Sequence[LabOffer]) -> LabOffer:
    """Return what any of several labs offers, by name. A lab need not have all devices of the others."""
    specifications: dict[str, dict[str, None]] = {}
    for specification in (each for offer in offers for each in offer.specifications):
        specifications.setdefault(specification.name, {}).update(dict.fromkeys(specification.benchmarks))
    # Several dispatchers of one lab see the same devices.
    devices = {(device.host, device.identity): device for offer in offers for device in offer.devices}
    return LabOffer(
        specifications=tuple(
            OfferedSpecification(name=name, benchmarks=tuple(titles)[:_MOST])
            for name, titles in sorted(specifications.items())[:_MOST]
        ),
        device_classes=tuple(sorted({name for offer in offers for name in offer.device_classes}))[:_MOST],
        repositories=tuple(sorted({name for offer in offers for name in offer.repositories}))[:_MOST],
        devices=tuple(sorted(devices.values(), key=lambda device: (device.device_class, device.name)))[:_MOST],
    )
