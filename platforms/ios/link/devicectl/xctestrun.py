"""The file that says xcodebuild which tests to run: an .xctestrun for apps that are installed already.

Its members are those of `man xcodebuild.xctestrun`, format version 1; tests that apps host need the library that
injects them, as Xcode writes it itself.
"""

from __future__ import annotations

import plistlib
import re
from pathlib import Path
from typing import Final

from harness.core.errors import BenchmarkUnsupported, EnvironmentProblem
from platforms.ios.link.client import XCTestStart
from platforms.ios.link.words import check_bundle, shorten

_TEST_BUNDLE: Final = re.compile(r"([\w. +-]{1,200})\.xctest")
_INJECTED: Final = "__TESTHOST__/Frameworks/libXCTestBundleInject.dylib"


def write_xctestrun(file: Path, start: XCTestStart) -> None:
    """Write the file for one bundle of tests.

    Raises:
        EnvironmentProblem: A name that cannot be one.
        BenchmarkUnsupported: A variable that a property list cannot hold.
    """
    match = _TEST_BUNDLE.fullmatch(start.tests)
    if match is None:
        raise EnvironmentProblem(f"{shorten(repr(start.tests))} is no name of a test bundle", hint="as in Tests.xctest")
    is_hosted = start.runner == start.bundle
    target: dict[str, object] = {
        "ProductModuleName": match[1],
        "UseDestinationArtifacts": True,
        "TestHostBundleIdentifier": check_bundle(start.runner),
        "TestBundleDestinationRelativePath": f"__TESTHOST__/PlugIns/{start.tests}",
        "EnvironmentVariables": dict(start.env),
        "TestingEnvironmentVariables": {"DYLD_INSERT_LIBRARIES": _INJECTED, "XCInjectBundleInto": "unused"}
        if is_hosted
        else {},
        "SystemAttachmentLifetime": "deleteOnSuccess",
    }
    if is_hosted:
        target["IsAppHostedTestBundle"] = True
    else:
        target["IsUITestBundle"] = True
        target["IsXCTRunnerHostedTestBundle"] = True
        target["UITargetAppBundleIdentifier"] = check_bundle(start.bundle)
    document = {match[1]: target, "__xctestrun_metadata__": {"FormatVersion": 1}}
    try:
        file.write_bytes(plistlib.dumps(document))
    except (ValueError, UnicodeEncodeError) as error:
        raise BenchmarkUnsupported(f"a variable of the tests cannot be passed to them: {error}") from error
