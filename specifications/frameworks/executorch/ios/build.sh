#!/bin/sh
# Builds upstream's benchmark app for iOS from a checkout of ExecuTorch. Only a Mac with Xcode 15 or later can do that.
#
#   sh build.sh REPO_DIR DESTINATION
#
# DESTINATION becomes an .ipa. It is signed for the team named by HARNESS_IOS_TEAM (ten characters, from
# developer.apple.com/account), without which no device would install it.
set -eu

repository=$1
destination=$2
build=${HARNESS_BUILD_DIR:-$(mktemp -d)}
python=${HARNESS_PYTHON:-python3}

fail() {
  echo "error: $1" >&2
  exit 1
}

[ "$(uname -s)" = Darwin ] || fail "runners for iOS can be built on a Mac only; build there, and give --program here"
command -v xcodebuild > /dev/null || fail "no xcodebuild: install Xcode 15 or later from the App Store"
[ -n "${HARNESS_IOS_TEAM:-}" ] || fail "set HARNESS_IOS_TEAM to the team that shall sign the app"
app=$repository/extension/benchmark/apple/Benchmark
[ -d "$app/Benchmark.xcodeproj" ] || fail "$repository has no extension/benchmark/apple/Benchmark: v1.0 or later has"

(cd "$repository" && PYTHON_EXECUTABLE=$python sh -c './scripts/build_apple_frameworks.sh --Release')
rm -rf "$app/Frameworks"
mkdir -p "$app/Frameworks"
cp -R "$repository"/cmake-out/*.xcframework "$app/Frameworks/"

xcodebuild build-for-testing \
  -project "$app/Benchmark.xcodeproj" -scheme Benchmark -configuration Release \
  -destination generic/platform=iOS -derivedDataPath "$build" \
  -jobs "${HARNESS_JOBS:-1}" -allowProvisioningUpdates DEVELOPMENT_TEAM="$HARNESS_IOS_TEAM"

mkdir -p "$build/ipa/Payload"
cp -R "$build"/Build/Products/Release-iphoneos/Benchmark.app "$build/ipa/Payload/"
(cd "$build/ipa" && zip -qry "$build/Benchmark.zip" Payload)
cp "$build/Benchmark.zip" "$destination"
