"""A program in place of `xcrun`, and answers of devicectl in the shape in which others recorded them.

The answers are made up; their members, codes and words are those of
- list, apps, processes, launch (Xcode 15, no jsonVersion): flutter/flutter, core_devices_test.dart of flutter_tools
  (BSD); members and options also appium/node-devicectl, lib/types.ts and lib/mixins (Apache);
- details, lockState and failures of Xcode 27 (jsonVersion 5), simulators in the list: tests of SweetPad's reader of
  devicectl; nested NSErrors of launches and installations (jsonVersion 4): public scripts around devicectl;
- `Failed to retrieve the file node`, `Developer Mode is disabled`: issues and scripts that quote it (agent-device
  #1527).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

UDID = "00008110-001A2B3C4D5E6F70"
BUNDLE = "org.example.Runner"
APP_URL = "file:///private/var/containers/Bundle/Application/11111111-2222-3333-4444-555555555555/My%20Runner.app/"
CORE_DEVICE = "com.apple.dt.CoreDeviceError"

_PROGRAM = """\
import json, pathlib, sys
here = pathlib.Path(__file__).parent
argv = sys.argv[1:]
with (here / "calls").open("a") as calls:
    calls.write(json.dumps(argv) + "\\n")
answers = json.loads((here / "answers.json").read_text())
options = {"--device": 1, "--timeout": 1, "--json-output": 1, "--domain-type": 1, "--domain-identifier": 1,
    "--subdirectory": 1, "--source": 1, "--destination": 1, "--include-all-apps": 0, "--bundle-id": 1, "--pid": 1,
    "--kill": 0, "--terminate-existing": 0, "--environment-variables": 1}
words, given, rest = [], {}, argv[1:] if argv[0] == "devicectl" else []
while rest:
    word = rest.pop(0)
    if word == "--":
        words, rest = words + rest, []
    elif word.startswith("-"):
        if word not in options:
            sys.exit(f"Error: Unknown option '{word}'")
        given[word] = rest.pop(0) if options[word] else ""
    else:
        words.append(word)
if argv[0] == "devicectl":
    assert float(given["--timeout"]) >= 5 and pathlib.Path(given["--json-output"]).is_absolute(), argv
    assert ("--device" in given) == (words[0] == "device"), argv
line = " ".join(words) if words else " ".join(argv)
names = [name for name in answers if line.startswith(name)]
if not names:
    sys.exit(f"the stand-in knows no answer: {line}")
name = max(names, key=len)
queue = answers[name]
answer = queue.pop(0) if len(queue) > 1 else queue[0]
(here / "answers.json").write_text(json.dumps(answers))
if answer["document"] is not None:
    pathlib.Path(given["--json-output"]).write_text(answer["document"])
if answer["arrives"] is not None:
    pathlib.Path(given["--destination"]).write_text(answer["arrives"])
if "-xctestrun" in argv:
    (here / "tests.xctestrun").write_bytes(pathlib.Path(argv[argv.index("-xctestrun") + 1]).read_bytes())
    pathlib.Path(argv[argv.index("-resultBundlePath") + 1]).mkdir()
sys.stdout.write(answer["stdout"])
sys.stderr.write(answer["stderr"])
sys.stdout.flush()
if answer["sleeps"]:
    import time; time.sleep(600)
sys.exit(answer["exit_code"])
"""


@dataclass(frozen=True)
class XcrunAnswer:
    """What a command leaves: the file of `--json-output`, that of `--destination`, its output, and how it ends."""

    document: str | None = None
    arrives: str | None = None
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    sleeps: bool = False


@dataclass(frozen=True)
class RecordedXcrun:
    """The program, and what it was called with."""

    path: Path

    @property
    def calls(self) -> list[list[str]]:
        file = self.path.parent / "calls"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def write_xcrun(folder: Path, answers: Mapping[str, XcrunAnswer | list[XcrunAnswer]]) -> RecordedXcrun:
    """Write a program that answers by the words of its command that are no options; the longest that fit decide.

    A list is answered one by one, the last for ever.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lists = {name: answer if isinstance(answer, list) else [answer] for name, answer in answers.items()}
    dumped = {name: [vars_of(answer) for answer in queue] for name, queue in lists.items()}
    (folder / "answers.json").write_text(json.dumps(dumped))
    path = folder / "xcrun"
    path.write_text(f"#!{sys.executable} -S\n{_PROGRAM}")
    path.chmod(0o755)
    return RecordedXcrun(path)


def vars_of(answer: XcrunAnswer) -> dict[str, object]:
    return {name: getattr(answer, name) for name in XcrunAnswer.__dataclass_fields__}


def succeeded(result: object, *, version: int | None = 3, arrives: str | None = None) -> XcrunAnswer:
    """A command that succeeded, with members that nobody reads."""
    info = {"arguments": ["devicectl"], "environment": {"TERM": "x"}, "outcome": "success", "version": "443.19"}
    numbered = info if version is None else {**info, "jsonVersion": version}
    return XcrunAnswer(json.dumps({"info": numbered, "result": result}), arrives=arrives)


def native_error(domain: str, code: int, text: str = "", beneath: object = None, **info: object) -> dict[str, object]:
    """A serialised NSError."""
    user_info: dict[str, object] = {**info}
    if text:
        user_info["NSLocalizedDescription"] = {"string": text}
    if beneath is not None:
        user_info["NSUnderlyingError"] = {"error": beneath}
    return {"code": code, "domain": domain, "userInfo": user_info}


def failed(error: object, *, outcome: str = "failed") -> XcrunAnswer:
    """A command that failed."""
    document = {"info": {"outcome": outcome, "jsonVersion": 4, "version": "477.29"}, "error": error}
    return XcrunAnswer(json.dumps(document), stderr="ERROR: words for people\n", exit_code=1)


def device(**changes: object) -> dict[str, object]:
    """A phone with iOS 18, as Xcode 16 describes it."""
    return {
        "capabilities": [],
        "connectionProperties": {
            "authenticationType": "manualPairing",
            "pairingState": "paired",
            "transportType": "wired",
            "tunnelState": "connected",
        },
        "deviceProperties": {
            "bootState": "booted",
            "ddiServicesAvailable": True,
            "developerModeStatus": "enabled",
            "name": "Ann's iPhone",
            "osBuildUpdate": "22F76",
            "osVersionNumber": "18.5",
        },
        "hardwareProperties": {
            "cpuType": {"name": "arm64e", "subType": 2, "type": 16777228},
            "deviceType": "iPhone",
            "hardwareModel": "D37AP",
            "platform": "iOS",
            "productType": "iPhone15,4",
            "reality": "physical",
            "udid": UDID,
        },
        "identifier": "8F8D1C7E-1111-2222-3333-444455556666",
        **changes,
    }


LOCKED = native_error(
    CORE_DEVICE,
    10002,
    "The application failed to launch.",
    native_error(
        "FBSOpenApplicationServiceErrorDomain",
        1,
        "The request to open failed.",
        native_error(
            "FBSOpenApplicationErrorDomain",
            7,
            f"Unable to launch {BUNDLE} because the device was not, or could not be, unlocked.",
            BSErrorCodeDescription={"string": "Locked"},
        ),
    ),
)
NO_IMAGE = native_error(CORE_DEVICE, 12040, "The developer disk image could not be mounted on this device.")
NO_FILE = native_error(CORE_DEVICE, 7000, "Failed to retrieve the file node for Documents/a.txt")
NOT_INSTALLED = native_error(
    CORE_DEVICE,
    10002,
    "The application failed to launch.",
    native_error("NSOSStatusErrorDomain", -10814, "The operation couldn't be completed."),
    NSLocalizedFailureReason={"string": f"The requested application {BUNDLE} is not installed."},
)
GONE = native_error(CORE_DEVICE, 1000, f"The specified device was not found. (Name: {UDID})")
