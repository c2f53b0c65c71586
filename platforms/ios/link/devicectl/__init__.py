"""Apple's devicectl and xcodebuild as a client of iPhones with iOS 17 or later, on a Mac with Xcode 15 or later.

program     running `xcrun devicectl` with a time limit, and the envelope of its JSON
failures    its errors, and what causes them, as errors of the harness
causes      causes of failures that it does not name
documents   its results, as values
files       files in the container of an app, and crash reports
processes   starting and ending apps
xctestrun   the file that says xcodebuild which tests to run
xctests     running them
metrics     what they measured, from the result bundle
client      all calls

devicectl is run once for each call. Its JSON is read from the file that `--json-output` names, the only output that it
promises to keep; extra members are ignored. Its arguments, results and errors are those that public projects recorded
from Xcode 15 to 27 (tests/platforms/ios/link/devicectl_recordings.py names them): nothing here has run on a Mac.
"""
