"""Address of the remote reporter and its token, and that no secret shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.config.remote_target import RemoteTarget, find_token
from harness.config.settings import Settings
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.protocols import Reporter
from reporters.remote import create


@pytest.mark.parametrize(
    ("text", "url", "category"),
    [
        ("host/path|perf", "https://host/path", "perf"),
        ("host", "https://host/api/v1/results", None),
        ("host|", "https://host/api/v1/results", None),
        ("host:8080/a|b|c", "https://host:8080/a", "b|c"),
        ("http://lab:8080|mv2", "http://lab:8080/api/v1/results", "mv2"),
        ("http://lab:8080?key=a", "http://lab:8080/api/v1/results?key=a", None),
        ("http://lab:8080/|mv2", "http://lab:8080/", "mv2"),
        (" http://host/path | two words ", "http://host/path", "two words"),
        ("https://user:pw@host:1/p?a=b#c|x", "https://host:1/p?a=b", "x"),
    ],
)
def test_url_and_category(text: str, url: str, category: str | None) -> None:
    target = RemoteTarget.parse(text)
    assert (target.url, target.category) == (url, category)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "|perf",
        "ftp://host",
        "https://",
        "host:port",
        "host:0",
        "http://[::1",
        "https://a..b",
        "user:hidden@:x?k=hidden",
    ],
)
def test_what_names_no_server_is_the_users_mistake(text: str) -> None:
    with pytest.raises(UsageError, match="does not name a server") as failure:
        RemoteTarget.parse(text)
    assert "hidden" not in str(failure.value)
    assert "URL" in str(failure.value) or "https://host/path" in str(failure.value)


def test_credentials_of_the_url_show_nowhere() -> None:
    target = RemoteTarget.parse("https://user:hid%40den@host/p?key=value|x")
    assert target.login is not None
    assert target.login.get_secret_value() == "user:hid@den"
    assert target.shown == "https://host/p?..."
    assert "hid" not in repr(target)


def test_a_spool_belongs_to_url_and_category_and_survives_a_new_password() -> None:
    target = RemoteTarget.parse("https://user:one@host/p|x")
    assert target.digest == RemoteTarget.parse("https://user:two@host/p|x").digest
    assert target.digest != RemoteTarget.parse("https://host/p|y").digest
    assert target.digest != RemoteTarget.parse("https://host/q|x").digest


def test_the_spool_of_a_url_without_a_path_is_the_one_that_earlier_versions_filled() -> None:
    assert RemoteTarget.parse("https://host|x").digest == RemoteTarget(url="https://host", category="x").digest


def _token_file(folder: Path, text: str, mode: int = 0o600) -> Path:
    file = folder / "remote_token"
    file.write_text(text)
    file.chmod(mode)
    return file


def _token(environment: dict[str, str], folder: Path) -> str | None:
    token = find_token(environment, folder)
    return token.get_secret_value() if token is not None else None


def test_without_a_token_there_is_none(tmp_path: Path) -> None:
    assert _token({}, tmp_path) is None
    assert _token({"HARNESS_REMOTE_TOKEN": "", "HARNESS_REMOTE_TOKEN_FILE": ""}, tmp_path) is None


def test_the_variable_goes_before_the_named_file_and_that_before_the_configuration(tmp_path: Path) -> None:
    _token_file(tmp_path, "from-configuration\n")
    (tmp_path / "other").mkdir()
    named = _token_file(tmp_path / "other", "  from-named-file\n")
    environment = {"HARNESS_REMOTE_TOKEN_FILE": str(named)}
    assert _token({}, tmp_path) == "from-configuration"
    assert _token(environment, tmp_path) == "from-named-file"
    assert _token({**environment, "HARNESS_REMOTE_TOKEN": "from-variable"}, tmp_path) == "from-variable"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o620, 0o604])
def test_a_token_that_others_can_reach_is_refused_with_the_remedy(tmp_path: Path, mode: int) -> None:
    file = _token_file(tmp_path, "hidden", mode)
    with pytest.raises(EnvironmentProblem, match=f"mode {mode:04o}") as failure:
        find_token({}, tmp_path)
    assert failure.value.hint == f"chmod 600 {file}"
    assert "hidden" not in str(failure.value)


def test_a_private_file_may_be_read_only(tmp_path: Path) -> None:
    _token_file(tmp_path, "token", 0o400)
    assert _token({}, tmp_path) == "token"


def test_a_named_file_that_is_missing_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="No such file"):
        find_token({"HARNESS_REMOTE_TOKEN_FILE": str(tmp_path / "none")}, tmp_path)


@pytest.mark.parametrize("text", [" ", "hidden hidden", "hidden\nInjected: header", "hïdden"])
def test_what_cannot_be_a_token_is_refused_unseen(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="holds no token") as failure:
        find_token({"HARNESS_REMOTE_TOKEN": text}, tmp_path)
    assert "dden" not in str(failure.value)


def test_it_is_not_created_unless_asked_for() -> None:
    assert create(Settings()) is None


def test_making_it_touches_neither_disk_nor_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_REMOTE_TOKEN", "hidden")
    reporter: Reporter | None = create(Settings(remote_reporter="nowhere.invalid|x", cache_dir=tmp_path / "cache"))
    assert reporter is not None
    reporter.close()
    assert not (tmp_path / "cache").exists()
