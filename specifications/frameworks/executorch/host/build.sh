#!/bin/sh
# Builds upstream's executor_runner for this machine from a checkout of ExecuTorch.
#
#   sh build.sh REPO_DIR DESTINATION
#
# REPO_DIR must be named `executorch`, which its CMake files insist on, and have its submodules. Nothing is downloaded.
set -eu
. "$(dirname "$0")/../executor_runner.sh"

repository=$1
destination=$2
python=${HARNESS_PYTHON:-python3}
build=${HARNESS_BUILD_DIR:-$(mktemp -d)}

check_checkout "$repository" "$python"
build_runner "$build" -S "$repository" -DPYTHON_EXECUTABLE="$python"
cp "$build/executor_runner" "$destination"
strip "$destination" 2> /dev/null || true # only its size
printf '{"runner": "executor_runner", "runner_flags": "%s", "build_type": "Release"}\n' \
  "$(flags_of_runner "$repository")" > "$(dirname "$destination")/meta.json"
