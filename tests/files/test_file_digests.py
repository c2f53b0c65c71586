from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from harness.files.digests import md5_of_file, sha256_of_file, sha256_of_folder, sha256_of_texts


@given(st.dictionaries(st.text(), st.text()), st.dictionaries(st.text(), st.text()))
def test_equal_digests_mean_equal_texts(first: dict[str, str], second: dict[str, str]) -> None:
    assert (sha256_of_texts(first) == sha256_of_texts(second)) == (first == second)


def test_a_locale_without_unicode_does_not_change_digests() -> None:
    texts = {"é": "😀", "b": "\udce9"}
    program = f"from harness.files.digests import sha256_of_texts; print(sha256_of_texts({texts!a}))"
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    shown = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == sha256_of_texts(texts)


def test_digests_of_a_file_are_those_of_its_content(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    assert md5_of_file(file) == hashlib.md5(b"content").hexdigest()
    assert sha256_of_file(file) == hashlib.sha256(b"content").hexdigest()


def test_the_digest_of_a_folder_covers_names_and_contents_below(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "copy", "renamed", "changed")]
    for folder in folders:
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / ("b" if folder.name == "renamed" else "a")).write_text(
            "2" if folder.name == "changed" else "1"
        )
    first, copy, renamed, changed = (sha256_of_folder(folder) for folder in folders)
    assert first == copy
    assert len({first, renamed, changed}) == 3


def test_compiled_python_files_do_not_change_the_digest_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("pass")
    before = sha256_of_folder(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "module.pyc").write_bytes(b"compiled")
    assert sha256_of_folder(tmp_path) == before
