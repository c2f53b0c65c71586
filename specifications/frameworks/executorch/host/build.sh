#!/bin/sh
# Builds a runner for this machine from a checkout of ExecuTorch.
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

check_tools "$python"
check_checkout "$repository"
build_runner "$repository" "$build" "$destination" -DPYTHON_EXECUTABLE="$python"
strip "$destination" 2> /dev/null || true # only its size
write_meta "$destination" "$described"
