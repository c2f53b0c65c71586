from __future__ import annotations

import gc
import hashlib
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from harness.cli import app
from harness.store.database.engine import open_database
from platforms import machine_lock
from tests.adb_server import empty_adb_server
from tests.postgresql import PostgreSqlServer, require_programs, share_postgresql

# A job in the background is started with these ignored, and so would be the programs that tests end by a signal.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


# Tests and what they import are millions of objects that live to the end: Python would look through them all the time.
gc.set_threshold(300_000)
_LONGEST_ID = 120


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name long texts by their beginning: every process would send all of them to the one that hands out the tests."""
    if isinstance(val, str | bytes) and len(val) > _LONGEST_ID:
        content = val.encode(errors="surrogateescape") if isinstance(val, str) else val
        digest = hashlib.sha256(content).hexdigest()[:8]
        return f"{val[:40]!r}...{len(val)}-{digest}"
    return None


def pytest_collection_finish() -> None:
    """Let collections of garbage look through what tests make, and no longer through the tests."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist takes down the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one process run the tests that share a fixture of their module; each process would make one of its own."""
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("xdist_group") is None:
            fixtures = item._fixtureinfo.name2fixturedefs.values()  # pytest tells it nowhere else
            if any(definitions[-1].scope == "module" for definitions in fixtures):
                item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


# Shared machines pause for longer than any deadline; a test's speed is not what is tested. Each run has other examples.
settings.register_profile("calm", deadline=None, max_examples=20)
settings.load_profile("calm")


@pytest.fixture(scope="session", autouse=True)
def _no_phones_but_ours() -> Iterator[None]:
    """Phones on this desk take no part in tests, and no adb server is started for them."""
    with empty_adb_server() as port:
        os.environ["ANDROID_ADB_SERVER_PORT"] = str(port)
        os.environ.pop("ADB_SERVER_SOCKET", None)  # which would prevail
        yield
        del os.environ["ANDROID_ADB_SERVER_PORT"]


@pytest.fixture(scope="session", autouse=True)
def _locks_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Another measurement on this machine is not waited for, nor that of another process of this run of tests.

    Tests have to pass on a busy machine anyhow. Those that measure for long run in one process (`tests.e2e.groups`).
    """
    locks = tmp_path_factory.getbasetemp() / "locks"
    locks.mkdir(exist_ok=True)
    os.environ[machine_lock.FOLDER] = str(locks)
    yield
    del os.environ[machine_lock.FOLDER]


@pytest.fixture(scope="session", autouse=True)
def _compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What many tests compile in folders of their own is compiled once in a run, where ccache is installed."""
    ccache = shutil.which("ccache")
    if ccache is None:
        yield
        return
    folder = folder_of_run(tmp_path_factory)
    # paths below the folder count as relative ones, so that a build in another folder of the same depth is the same
    variables = {"CCACHE_DIR": f"{folder / 'ccache'}", "CCACHE_BASEDIR": f"{folder}", "CCACHE_NOHASHDIR": "1"}
    with pytest.MonkeyPatch.context() as changed:
        for name, value in {**variables, "CMAKE_CXX_COMPILER_LAUNCHER": ccache}.items():
            changed.setenv(name, value)
        yield


def folder_of_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the temporary folder that all processes of this run of tests share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def flags_of_compare() -> set[str]:
    """The flags of `harness compare`, as its help shows them."""
    return {name for argument in app["compare"].assemble_argument_collection() for name in argument.names}


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgreSqlServer]:
    """A private PostgreSQL, the same in all processes of this run of tests; skipped where none is installed."""
    require_programs()
    with share_postgresql(folder_of_run(tmp_path_factory)) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database that is not there yet (SQLite), or empty (PostgreSQL)."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'results.db'}"
    server: PostgreSqlServer = request.getfixturevalue("postgresql")
    return server.create_database()


@pytest.fixture(scope="session")
def _sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("template") / "results.db"
    open_database(file).close()
    return file


@pytest.fixture(scope="session")
def _postgresql_template(postgresql: PostgreSqlServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    url = postgresql.create_database()
    open_database(url, artifacts=tmp_path_factory.mktemp("artifacts")).close()
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def migrated_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database with its tables and nothing in them: a copy, because migrations take a second."""
    if request.param == "sqlite":
        template: Path = request.getfixturevalue("_sqlite_template")
        return f"sqlite:///{shutil.copy(template, tmp_path / 'results.db')}"
    server: PostgreSqlServer = request.getfixturevalue("postgresql")
    return server.create_database(request.getfixturevalue("_postgresql_template"))
