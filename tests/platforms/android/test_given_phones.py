from __future__ import annotations

from pathlib import Path

import pytest

from tests.platforms.android.given_phones import VARIABLE, given_phones


def test_each_folder_is_a_phone_with_the_programs_in_it(tmp_path: Path) -> None:
    for name in ("android-11/toybox", "android-11/mksh", "android-14/setsid"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    eleven, fourteen = tmp_path / "android-11", tmp_path / "android-14"

    assert given_phones({VARIABLE: str(tmp_path)}) == [
        pytest.param({"sh": eleven / "mksh", "toybox": eleven / "toybox"}, id="android-11"),
        pytest.param({"setsid": fourteen / "setsid"}, id="android-14"),
    ]


def test_without_the_variable_there_are_none() -> None:
    assert given_phones({}) == ()
    assert given_phones({VARIABLE: ""}) == ()


def test_a_folder_without_phones_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(pytest.UsageError, match="no folders in"):
        given_phones({VARIABLE: str(tmp_path)})
    with pytest.raises(pytest.UsageError, match="no folders in"):
        given_phones({VARIABLE: str(tmp_path / "absent")})


def test_a_phone_without_programs_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "android-11").mkdir()
    with pytest.raises(pytest.UsageError, match="no programs in"):
        given_phones({VARIABLE: str(tmp_path)})
