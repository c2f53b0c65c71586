"""Contract of formats of other tools: a plug-in calls `check_format` with files of its format."""

from __future__ import annotations

from collections.abc import Mapping

from harness.core.foreign import ForeignContent
from harness.core.metric import main_metric
from harness.core.protocols import ForeignFormat
from harness.core.result import Result
from harness.flows.foreign.results import GivenNames, build_result
from harness.flows.foreign.sources import ForeignFile
from harness.testing.contract import expect

_DAMAGE = ("", "[", "{", '{"a": ' * 2000, "\0", "\ufffd", "nan", "1e999", "</script>")


def check_format(form: ForeignFormat, files: Mapping[str, str]) -> tuple[Result, ...]:
    """Check that a format keeps its promises for whole files, parts of them, and what is no file of it.

    Args:
        form: The format.
        files: Text of files of it, by name; each has a measurement.

    Returns:
        The results of all files, to look at.

    Raises:
        ContractBroken: A promise is broken; the message says which.
    """
    expect(bool(form.name and form.marks), "a format has a name, and says what its files contain")
    expect(not form.recognises("", "-"), "an empty file is of no format")
    results: list[Result] = []
    for name, text in files.items():
        expect(form.recognises(text, name), f"{form.name} recognises {name}")
        content = form.read(text, name)
        expect(bool(content.records), f"{name} has a measurement")
        expect(content == form.read(text, name), f"{name} is read the same way twice")
        results += _build(form, name, text, content)
        for place in range(0, len(text), max(len(text) // 50, 1)):
            for damage in _DAMAGE:
                damaged = text[:place] + damage
                _build(form, name, damaged, form.read(damaged, name))
    for text in _DAMAGE:
        form.read(text, "-")
    return tuple(results)


def _build(form: ForeignFormat, name: str, text: str, content: ForeignContent) -> list[Result]:
    """Return the results of a file, each of which says why it has no figures."""
    file = ForeignFile(name, "0" * 64, text, 0.0)
    results = [
        build_result(record, number, file, form.name, GivenNames()) for number, record in enumerate(content.records)
    ]
    for result in results:
        has_figure = main_metric(result.metrics) is not None
        expect(has_figure or not result.ok, f"{result.origin and result.origin.place} is ok, and has no figure")
        expect(result.ok or bool(result.reason), f"{result.origin and result.origin.place} failed without a reason")
    expect(len({result.uid for result in results}) == len(results), "each record has an identifier of its own")
    return results
