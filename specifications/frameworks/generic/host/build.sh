#!/bin/sh
# Builds a CMake project. The runner is the executable named `runner`, or the only one; the others are kept beside it.
#
#   sh build.sh REPO_DIR DESTINATION
set -eu
. "$(dirname "$0")/../cmake_project.sh"

build_project "$1" "${HARNESS_BUILD_DIR:-$(mktemp -d)}" "$2"
