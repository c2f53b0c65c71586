"""The HTML page of a run as a file: every result, its pictures, and links that work wherever the folder goes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
from markupsafe import escape

from harness.core import DICTIONARY_NAME
from harness.core.device import DeviceState
from harness.core.note import Note
from harness.core.reproduction import Reproduction
from harness.core.result import Launch, Outcome, RawLog, Report, Result
from harness.testing.results import failed_result, ok_result
from reporters.html.page import render
from reporters.local import LocalReporter
from reporters.pages import PageReporter, ReportedRun
from tests.presentation.comparison_samples import compared, every_kind, made_pairs

HOSTILE = 'a:b "><script>alert(1)</script> ../.. %41 #x \u202e\x1b[31m é'
NARROW = 390


class _Page(HTMLParser):
    """What a test asks about a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: Counter[str] = Counter()
        self.labels: list[str] = []
        self.scopes: list[str | None] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.links += [values["href"] or ""] if "href" in values else []
        self.ids.update([values["id"] or ""] if "id" in values else [])
        if tag == "svg":
            assert values["role"] == "img"
            self.labels += (values["aria-labelledby"] or "").split()
        if tag == "th":
            self.scopes.append(values.get("scope"))


class _Written(NamedTuple):
    folder: Path
    page: Path


def _with_states(result: Result, launches: int) -> Result:
    """Add launches between which the device gets warmer."""
    states = [
        DeviceState(
            time=result.started + number,
            load=0.5 * number,
            busy=0.1 * (number % 3),
            frequency_mhz=(1000.0, 2000.0, 0.0),
            temperature_c=40.0 + number,
        )
        for number in range(launches + 1)
    ]
    return result.model_copy(
        update={
            "launches": tuple(
                Launch(
                    index=number,
                    outcome=Outcome.OK,
                    started=result.started + number,
                    before=states[number],
                    after=states[number + 1],
                )
                for number in range(launches)
            )
        }
    )


def _write(folder: Path, *results: Result) -> _Written:
    tree, page = folder / "results", folder / "pages" / "run.html"
    local, html = LocalReporter(tree), PageReporter("html", page, tree, render)
    for result in results:
        logs = tuple(RawLog(name=str(number), text="log") for number in range(12))
        place = local.report(Report(result=result, logs=logs))
        html.report(Report(result=result, logs=logs, place=place))
    html.close()
    return _Written(folder, page)


def test_every_result_is_on_the_page_and_links_to_its_file_and_logs_wherever_they_go(tmp_path: Path) -> None:
    results = [
        _with_states(ok_result(identifier=HOSTILE), 3),
        ok_result(identifier="b"),
        failed_result(identifier="c"),
        *every_kind(),
    ]
    written = _write(tmp_path / "here", *results)
    moved = tmp_path / "elsewhere"
    shutil.move(written.folder, moved)
    file = moved / "pages" / "run.html"
    page = _Page(file.read_text(encoding="utf-8"))
    outside = [link for link in page.links if not link.startswith("#")]
    assert not [link for link in outside if urlsplit(link).scheme or link.startswith("/")]
    targets = [(file.parent / unquote(link)).resolve() for link in outside]
    assert all(target.is_file() for target in targets)
    assert {target for target in targets if target.name == "result.json"} == set(moved.rglob("result.json"))
    assert {target for target in targets if target.suffix == ".txt"} == set(moved.rglob("logs/*.txt"))
    anchors = {link.removeprefix("#") for link in page.links if link.startswith("#")}
    assert anchors == {f"b{number}" for number in range(len(results))}
    assert all(page.ids[anchor] == 1 for anchor in anchors)


def test_a_page_says_once_where_the_targets_of_its_links_are_and_nothing_of_it_without_links(tmp_path: Path) -> None:
    sentence = "Links to files and logs lead to the folder of results on the machine that measured."
    results = [ok_result(identifier="a"), ok_result(identifier="b"), compared("c", made_pairs(0.02, 12))]
    assert _write(tmp_path, *results).page.read_text().count(sentence) == 1
    assert sentence not in render(ReportedRun(results, tmp_path, finished=True))


def test_hostile_names_are_texts(tmp_path: Path) -> None:
    text = _write(tmp_path, ok_result(identifier=HOSTILE), compared(HOSTILE, made_pairs(0.02, 12))).page.read_text()
    assert text.count("<script") == 1, "that which sorts tables"
    assert str(escape('a:b "><script>alert(1)</script>')) in text
    assert "\u202e" not in text
    assert "\x1b" not in text


def test_every_picture_has_a_title_and_a_description_and_every_heading_a_scope(tmp_path: Path) -> None:
    results = [_with_states(ok_result(identifier=name), 3) for name in "ab"]
    page = _Page(_write(tmp_path, *results, *every_kind()).page.read_text())
    assert set(page.labels) <= set(page.ids)
    assert set(page.ids.values()) == {1}
    assert len(page.labels) >= 2 * (2 + 1 + 1)
    assert set(page.scopes) <= {"row", "col"}


def test_a_measurement_has_a_box_for_each_launch_and_its_outliers(tmp_path: Path) -> None:
    samples = [*[1.0, 1.01, 0.99] * 20, 900.0]
    text = _write(tmp_path, ok_result(samples=samples, launches=5)).page.read_text()
    assert text.count('class="box"') == 5
    (beyond,) = re.findall(r'class="beyond" d="([^"]*)"', text)
    assert beyond.count("M") == 1
    assert "1 beyond the picture" in text


def test_rivals_have_bars_and_far_rivals_a_logarithmic_scale(tmp_path: Path) -> None:
    near = [ok_result(identifier=name, samples=[value] * 4) for name, value in (("a", 1.0), ("b", 3.0))]
    text = _write(tmp_path / "near", *near).page.read_text()
    assert text.count('class="bar"') == 2
    assert "logarithmic" not in text
    assert "a: 1.00 ms" in text
    far = [*near, ok_result(identifier="c", samples=[160.0] * 4)]
    text = _write(tmp_path / "far", *far).page.read_text()
    assert text.count('class="center"') == 3
    assert "The scale is logarithmic." in text


def test_the_state_of_the_device_is_drawn_as_far_as_it_is_known(tmp_path: Path) -> None:
    text = _write(tmp_path / "known", _with_states(ok_result(), 3)).page.read_text()
    assert "temperature, hottest sensor: 40 to 43 °C." in text
    assert "frequency of the CPUs: mean and range: 1,000 to 2,000 MHz." in text
    assert "charge of the battery" not in text
    unknown = ok_result().model_copy(update={"launches": ()})
    assert "State of the device" not in _write(tmp_path / "unknown", unknown).page.read_text()


def test_the_command_that_measures_again_is_folded_and_keeps_its_spaces(tmp_path: Path) -> None:
    reproduction = Reproduction(
        command=("harness", "run", "-b", "my  <spec>.json"), benchmark="mv2/a", benchmark_digest="0" * 64
    )
    known = ok_result().model_copy(update={"reproduction": reproduction})
    changed = compared("x", made_pairs(0.02, 12)).model_copy(update={"reproduction": reproduction})
    text = _write(tmp_path, known, changed).page.read_text()
    assert text.count(f"<pre>{escape(reproduction.line)}</pre>") == 3, "of each, and once below the comparisons"
    assert "my  &lt;spec&gt;.json" in text


def test_a_result_of_a_dictionary_says_why_no_command_measures_it_again(tmp_path: Path) -> None:
    result = ok_result()
    benchmark = result.benchmark.model_copy(update={"specification": f"{DICTIONARY_NAME}>"})
    page = _write(tmp_path, result.model_copy(update={"benchmark": benchmark})).page.read_text()
    assert "no command measures this again: its specification was a dictionary of a script" in page
    assert "no command measures" not in _write(tmp_path / "file", result).page.read_text()


def test_notes_are_whole_and_folded(tmp_path: Path) -> None:
    note = Note(code="busy", message="others used 60 % of the CPU", hint="stop them", trust=False)
    text = _write(tmp_path, ok_result(notes=[note])).page.read_text()
    fold = text[text.index("<details>") : text.index("</details>")]
    assert "1 note" in fold
    assert "others used 60 % of the CPU" in fold
    assert "hint: stop them" in fold


def test_a_page_of_many_results_is_not_written_for_each(tmp_path: Path) -> None:
    counts: list[int] = []

    def count_results(run: ReportedRun) -> str:
        counts.append(len(run.results))
        return ""

    page = PageReporter("html", tmp_path / "x", tmp_path, count_results)
    for _ in range(300):
        page.report(Report(result=failed_result()))
        assert page.unreported <= 300 // 20
    page.close()
    assert counts[-1] == 300
    assert counts[:20] == list(range(1, 21))
    assert len(counts) < 120


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None and not os.environ.get("CI"), reason="chromium is not installed")
def test_a_narrow_screen_needs_no_horizontal_scrolling(tmp_path: Path) -> None:
    results = [_with_states(ok_result(identifier=f"a-rather-long-name-of-a-benchmark-{name}"), 3) for name in "ab"]
    page = _write(tmp_path, *results, *every_kind()).page
    frame = tmp_path / "frame.html"
    frame.write_text(
        f'<iframe id="f" src="{page.as_uri()}" style="width:{NARROW}px;height:900px;border:0"></iframe><p id="w"></p>'
        "<script>onload = () => { const page = document.getElementById('f').contentDocument.documentElement;"
        "document.getElementById('w').textContent = `${page.scrollWidth} of ${page.clientWidth},"
        " ${page.querySelectorAll('button.sort').length > 5}`; }</script>"
    )
    command = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--allow-file-access-from-files",
    ]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=5000", "--dump-dom", frame.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True).stdout
    assert f'<p id="w">{NARROW} of {NARROW}, true</p>' in shown
