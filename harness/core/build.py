"""A build: the runner of one commit or release."""

from pathlib import Path
from typing import Final

from harness.core.commit import label_id
from harness.core.values import Value

COMPILED_WITH: Final = "toolchain_sha256"
"""Flag of a build all of which was compiled here, from the sources of its commit: SHA-256 of the toolchain."""

CONTENT: Final = "programs_sha256"
"""Flag of a build: SHA-256 over its programs and everything that lies beside them."""

PREBUILT: Final = "prebuilt"
"""Source and recipe of programs given by path; their commit is what FAI-PEP's info names, else a digest of the file."""

NO_PROGRAM: Final = "none"
"""Source and commit of commands that start no program of the user's."""

NO_COMMITS: Final = frozenset({"app", NO_PROGRAM})
"""Sources of builds that are no commits: apps that a device has, and no program at all."""

RUNNER_KIND: Final = "runner"
"""Option of a build whose recipe can make runners of several kinds, which measure differently."""


class BuildInfo(Value):
    """The runner that was measured.

    Attributes:
        source: Where it comes from: `installed` (an installed package), `prebuilt` (a program given by path), ...
        commit: What identifies it within the source: a version, a hash, a file digest.
        commit_time: Unix seconds of the commit, where the source has one.
        recipe: How it was made.
        flags: Compiler, versions and options that had a part in it.
        digest: SHA-256 over everything that determines it.
        options: Options that it was compiled with, by name (`event_tracer`: `on`); those that are not known are absent.
        dependencies: Commits of the submodules that it was built from, by path.
        commit_name: Tag, branch or other name that the commit was asked for by; empty where that was its id. Of a
            program given by path its file name, with the folders that tell it from the other side's.
        commit_subject: First line of the commit's message; empty where there is none, and in results of a harness that
            did not store it, as the next two.
        commit_author: Name of its author.
        commit_url: Its page in the repository that others see; empty where none is known.
    """

    source: str
    commit: str
    commit_time: int | None = None
    recipe: str = ""
    flags: dict[str, str] = {}
    digest: str = ""
    options: dict[str, str] = {}
    dependencies: dict[str, str] = {}
    commit_name: str = ""
    commit_subject: str = ""
    commit_author: str = ""
    commit_url: str = ""

    @property
    def commit_label(self) -> str:
        """The commit for people, with the name that it was asked for by."""
        return label_id(self.commit, self.commit_name)


class Build(BuildInfo):
    """One runner, immutable.

    Attributes:
        programs: Programs by placeholder; `program` is the runner.
        variables: Placeholders that this build defines (FAI-PEP's `string_map` of one side).
    """

    programs: dict[str, Path] = {}
    variables: dict[str, str] = {}
