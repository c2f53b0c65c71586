"""Reader of a git repository, through GitPython. It writes nothing, and takes little time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from harness.builders.sources.commit_names import CommitName
from harness.builders.sources.mainline import trace_mainline
from harness.core.commit import Commit
from harness.core.errors import EnvironmentProblem, UsageError

if TYPE_CHECKING:
    import git
    from git.objects.commit import Commit as GitCommit


class RepositoryReader:
    """Reader of a repository, ours or the user's. Leaving the context ends the programs that GitPython keeps running.

    Args:
        place: Top of a working tree, or a bare repository.
        source: Name of the source, which its commits carry.

    Raises:
        UsageError: There is no git repository at that place.
        EnvironmentProblem: git is not installed.
    """

    def __init__(self, place: Path, source: str) -> None:
        self._source = source
        self._repo = _open(place)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._repo.close()

    @property
    def common(self) -> Path:
        """The git directory that all working trees of the repository share."""
        return Path(self._repo.common_dir)

    @property
    def private(self) -> Path:
        """The git directory of this working tree alone, where it is one of several (git-worktree(1))."""
        return Path(self._repo.git_dir)

    @property
    def is_shallow(self) -> bool:
        """True if history is cut off (`git clone --depth`)."""
        return (self.common / "shallow").exists()

    def missing(self) -> str | None:
        """Return a filter of what the clone lacks (`git clone --filter`); None where it is complete.

        It may leave out more than the user's: all files if some were left out.

        Raises:
            UsageError: It lacks folders too (`tree:0`), and git copies nothing from it.
        """
        if not self._settings(r"^(remote\..*\.promisor|extensions\.partialclone)$"):
            return None
        filters = [text for _, text in self._settings(r"^remote\..*\.partialclonefilter$")]
        if any("tree:" in text for text in filters):
            raise UsageError(
                f"{self._source} was cloned without folders (--filter=tree:...): git cannot copy its history",
                hint="clone it again with --filter=blob:none, which leaves out files only",
            )
        return "blob:none"

    def has_files_in(self, folder: Path) -> bool:
        """Return whether a folder of the working tree has files under version control."""
        with _map_errors(self._source):
            return bool(self._repo.git.ls_files("-z", "--", f":(top,literal){folder.as_posix()}"))

    def head(self) -> str | None:
        """Return the hash of the commit that is checked out; None before the first commit."""
        return self.find("HEAD")

    def url(self, remote: str) -> str | None:
        """Return the configured URL of a remote; None where there is no such remote."""
        return dict(self._settings(r"^remote\..*\.url$")).get(f"remote.{remote}.url")

    def transport_settings(self) -> Sequence[tuple[str, str]]:
        """Return what the clone alone configures about reaching servers: other URLs, proxies, headers, credentials."""
        pattern = r"^(url\..*\.insteadof|http\..*|credential\..*|protocol\..*\.allow|core\.(sshcommand|gitproxy))$"
        return self._settings(pattern, "--local", "--includes")

    def submodule_urls(self) -> Mapping[str, str]:
        """Return the URLs of the submodules that are initialised, by name; the user may have set others there."""
        settings = self._settings(r"^submodule\..*\.url$")
        return {key.removeprefix("submodule.").removesuffix(".url"): url for key, url in settings}

    def main_branch(self, remote: str) -> str | None:
        """Return the default branch of a remote as `<remote>/<branch>`; None where the repository does not know it."""
        with _map_errors(self._source):
            full: str = self._repo.git.symbolic_ref("--quiet", f"refs/remotes/{remote}/HEAD", with_exceptions=False)
        return full.removeprefix("refs/remotes/") if full.startswith("refs/remotes/") else None

    def find(self, reference: str, name: CommitName | None = None) -> str | None:
        """Return the hash of the commit that a full reference or a hash leads to.

        Args:
            reference: Full reference or hash.
            name: Name whose steps to ancestors to follow from there.
        """
        steps = "".join(name.steps) if name else ""
        with _map_errors(self._source):
            full_hash: str = self._repo.git.rev_parse(
                "--verify", "--quiet", "--end-of-options", f"{reference}{steps}^{{commit}}", with_exceptions=False
            )
        return full_hash or None

    def expand_abbreviation(self, prefix: str) -> Sequence[str]:
        """Return every commit whose hash begins with a prefix."""
        with _map_errors(self._source):
            hashes: str = self._repo.git.rev_parse(f"--disambiguate={prefix}", with_exceptions=False)
        # A tag object leads to a commit too, but nobody abbreviates one.
        return [full_hash for full_hash in hashes.split() if self.find(full_hash) == full_hash]

    def references(self) -> Sequence[str]:
        """Return the short names of branches and tags."""
        with _map_errors(self._source):
            names: str = self._repo.git.for_each_ref(
                "refs/heads", "refs/tags", "refs/remotes", format="%(refname:lstrip=2)"
            )
        return names.splitlines()

    def full_references(self, folder: str) -> Sequence[str]:
        """Return the full names of the references in a folder."""
        with _map_errors(self._source):
            names: str = self._repo.git.for_each_ref(folder, format="%(refname)")
        return names.splitlines()

    def branches(self, folder: str, *, containing: str | None = None) -> Sequence[str]:
        """Return the names of the references in a folder, without the folder.

        Args:
            folder: The folder.
            containing: Hash of a commit that their history contains.
        """
        options = [f"--contains={containing}"] if containing else []
        with _map_errors(self._source):
            names: str = self._repo.git.for_each_ref(*options, folder, format="%(refname)")
        return [name.removeprefix(f"{folder}/") for name in names.splitlines()]

    def fetch_rules(self, remote: str) -> Sequence[str]:
        """Return the configured refspecs of a remote."""
        return [rule for key, rule in self._settings(r"^remote\..*\.fetch$") if key == f"remote.{remote}.fetch"]

    def upstreams(self, remote: str) -> Mapping[str, str]:
        """Return for each local branch that follows a branch of a remote the name of that branch."""
        settings = dict(self._settings(r"^branch\..*\.(remote|merge)$"))
        followers = [key.removesuffix(".remote") for key, name in settings.items() if name == remote]
        return {
            key.removeprefix("branch."): settings[f"{key}.merge"].removeprefix("refs/heads/")
            for key in followers
            if f"{key}.merge" in settings
        }

    def commit(self, full_hash: str) -> Commit:
        """Read a commit."""
        with _map_errors(self._source):
            return self._value(self._repo.commit(full_hash))

    def message(self, full_hash: str) -> str:
        """Read the whole message of a commit."""
        with _map_errors(self._source):
            message = self._repo.commit(full_hash).message
        return message if isinstance(message, str) else message.decode(errors="replace")

    def between(self, older: str, newer: str) -> Sequence[Commit]:
        """Return the commits of the line from `older` to `newer`, which contains it (`trace_mainline`)."""
        with _map_errors(self._source):
            listed: str = self._repo.git.rev_list("--parents", "--ancestry-path", f"{older}..{newer}", "--")
            parents = {commit: ids for commit, *ids in map(str.split, listed.splitlines())}
            return tuple(self._value(self._repo.commit(commit)) for commit in trace_mainline(older, newer, parents))

    def parents(self, commit: str) -> Sequence[Commit]:
        """Return the parents of a commit, the first parent first."""
        with _map_errors(self._source):
            return tuple(map(self._value, self._repo.commit(commit).parents))

    def merge_base(self, first: str, second: str) -> str | None:
        """Return the hash of the newest common ancestor; None where there is none."""
        with _map_errors(self._source):
            bases = self._repo.merge_base(first, second)
        return bases[0].hexsha if bases else None

    def _value(self, commit: GitCommit) -> Commit:
        subject = commit.summary
        return Commit(
            source=self._source,
            id=commit.hexsha,
            time=commit.committed_date,
            author=commit.author.name or "",
            subject=subject if isinstance(subject, str) else subject.decode(errors="replace"),
            merge=len(commit.parents) > 1,
        )

    def _settings(self, pattern: str, *scope: str) -> Sequence[tuple[str, str]]:
        with _map_errors(self._source):
            listed: str = self._repo.git.config(*scope, "--null", "--get-regexp", pattern, with_exceptions=False)
        pairs = (setting.partition("\n") for setting in listed.split("\0") if setting)
        return [(key, value) for key, _, value in pairs]


def _open(place: Path) -> git.Repo:
    try:
        import git  # noqa: PLC0415 - 70 ms; and it refuses to be imported where there is no git program
    except ImportError as error:
        raise EnvironmentProblem("git is not installed", hint="install it (`apt-get install git`)") from error
    try:
        repository = git.Repo(place, expand_vars=False)
    except (git.InvalidGitRepositoryError, git.NoSuchPathError) as error:
        top = _enclosing(place)
        hint = "give the folder of a clone with --repo-dir" if top is None else f"it is inside {top}: --repo-dir {top}?"
        if (place / ".hg").is_dir():
            hint = "it is a Mercurial repository: --repo hg, or --source hg:FOLDER"
        raise UsageError(f"{place} is not a git repository", hint=hint) from error
    # Bare ones have to be named explicitly where `safe.bareRepository` says so (git-config(1)).
    repository.git.update_environment(GIT_DIR=str(repository.git_dir))
    return repository


def find_top(place: Path) -> Path:
    """Return the top folder of the clone that a folder belongs to; the folder itself where it belongs to none.

    A folder belongs to a clone that has files in it under version control: one that lies inside another project by
    chance does not.

    Raises:
        EnvironmentProblem: git is not installed.
    """
    if (place / ".git").exists() or (top := _enclosing(place)) is None:
        return place
    with RepositoryReader(top, f"git:{top}") as clone:
        return top if clone.has_files_in(place.relative_to(top)) else place


def _enclosing(place: Path) -> Path | None:
    """Return the nearest folder above that is the top of a working tree."""
    return next((folder for folder in place.parents if (folder / ".git").exists()), None)


@contextlib.contextmanager
def _map_errors(source: str) -> Iterator[None]:
    """Map the exceptions of GitPython and of git.

    Raises:
        EnvironmentProblem: With their message.
    """
    import git  # noqa: PLC0415 - see `_open`

    try:
        yield
    except (git.GitError, ValueError, OSError) as error:
        message = error.stderr if isinstance(error, git.GitCommandError) else str(error)
        raise EnvironmentProblem(f"{source} cannot be read: {message.strip()}", hint="run `git fsck` there") from error
