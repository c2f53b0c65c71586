"""Specifications that persons may ask a lab for: those of the command line of its dispatcher."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from pydantic import ValidationError

from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.errors import UsageError
from harness.flows.measure.workload import load_benchmarks
from harness.lab.measuring import refuse_options_of_machines
from harness.lab.on_demand.repositories import AllowedRepository
from harness.store.run_requests import OfferedSpecification, RunRequest, WantedRun

_SUFFIXES: Final = frozenset({".json", ".yaml", ".yml"})


class AllowedSpecification(Struct, frozen=True):
    """Specification that persons may ask for, as it was loaded.

    Attributes:
        offered: Its name and the titles of its benchmarks, as persons see them.
        settings: Settings with which it was loaded.
        benchmarks: Its benchmarks, in their order.
    """

    offered: OfferedSpecification
    settings: Settings
    benchmarks: tuple[Benchmark, ...]


class AllowList(Struct, frozen=True):
    """Everything that persons may ask for.

    Attributes:
        specifications: Specifications by their names.
        repositories: Repositories of whose commits any may be asked for, by their names.
        recipes: Folders of recipes that build these commits, beside those of the harness.
    """

    specifications: Mapping[str, AllowedSpecification]
    repositories: Mapping[str, AllowedRepository] = field(default_factory=dict)
    recipes: tuple[Path, ...] = ()

    def look_up_repository(self, wanted: WantedRun) -> AllowedRepository:
        """Return the repository that a request names.

        Raises:
            UsageError: It is not on the list.
        """
        if (repository := self.repositories.get(wanted.repository)) is None:
            raise UsageError("this lab has no such repository", hint="look at --repositories")
        return repository

    def look_up(self, request: RunRequest) -> tuple[Settings, Sequence[Benchmark]]:
        """Return the settings and benchmarks that a request names.

        Raises:
            UsageError: It names something that is not on the list.
        """
        given = self.specifications.get(request.specification)
        known = () if given is None else given.benchmarks
        benchmarks = [each for each in known if request.benchmark in {"", each.title}]
        if given is None or not benchmarks:
            raise UsageError("this lab has no such specification or benchmark", hint="look at --specifications")
        return given.settings, benchmarks


def load_allow_list(words: Sequence[str], resolve: Callable[[str], Settings]) -> AllowList:
    """Load specifications.

    Args:
        words: Files, folders of files, and names of built-in ones. A file is called by its name without the ending, one
            of a folder by its path in it.
        resolve: Returns the settings of one specification.

    Raises:
        UsageError: Two have the same name, a folder has none, or something is wrong with one.
    """
    specifications: dict[str, AllowedSpecification] = {}
    for name, word in _name_files(words):
        if name in specifications:
            raise UsageError(f"--specifications: two are called {name}", hint="rename one of the files")
        settings = resolve(word)
        refuse_options_of_machines(settings)
        benchmarks = load_benchmarks(settings)
        titles = tuple(dict.fromkeys(benchmark.title for benchmark in benchmarks))
        try:
            offered = OfferedSpecification(name=name, benchmarks=titles)
        except ValidationError as error:
            raise UsageError(
                f"--specifications {word}: its name or titles cannot be offered",
                hint="each is at most 300 characters on one line, and there are at most 2000 benchmarks",
            ) from error
        specifications[name] = AllowedSpecification(offered, settings, benchmarks)
    return AllowList(specifications)


def _name_files(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the name of each specification, and the word that stands for it on a command line."""
    for word in words:
        folder = Path(word)
        if not folder.is_dir():
            is_file = folder.suffix in _SUFFIXES
            yield (folder.stem if is_file else word, word)
            continue
        files = sorted(file for file in folder.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
        if not files:
            raise UsageError(f"--specifications {word}: no specification is in this folder", hint="*.json, *.yaml")
        for file in files:
            yield file.relative_to(folder).with_suffix("").as_posix(), str(file)
