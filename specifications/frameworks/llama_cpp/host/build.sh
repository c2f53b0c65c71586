#!/bin/sh
# Builds llama-bench for this machine from a checkout of llama.cpp.
#
#   sh build.sh REPO_DIR DESTINATION
#
# The options are the project's own but for these: libraries are linked into the program, so that two builds do not share
# them, and nothing is downloaded. Submodules are back ends for GPUs that are not built here.
set -eu
. "$(dirname "$0")/../../recipes.sh"

repository=$1
destination=$2
build=${HARNESS_BUILD_DIR:-$(mktemp -d)}

command -v cmake > /dev/null || fail "no cmake: apt install cmake, or pip install cmake"
[ -d "$repository/tools/llama-bench" ] || [ -d "$repository/examples/llama-bench" ] ||
  fail "$repository has no llama-bench: it came with b1046, in August 2023"

set -- -S "$repository" -B "$build" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
  -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_SERVER=OFF
if command -v ninja > /dev/null; then
  set -- "$@" -G Ninja
fi
# Another layout of the same objects: the project is configured and compiled already, and only links again.
if [ -n "${HARNESS_LAYOUT_SEED:-}" ]; then
  launcher="${HARNESS_PYTHON:-python3};$(CDPATH='' cd "$(dirname "$0")/../.." && pwd)/permute_link.py;$HARNESS_LAYOUT_SEED"
  set -- "$@" "-DCMAKE_C_LINKER_LAUNCHER=$launcher" "-DCMAKE_CXX_LINKER_LAUNCHER=$launcher"
fi
cmake "$@"
cmake --build "$build" --parallel "${HARNESS_JOBS:-1}" --target llama-bench

cp "$build/bin/llama-bench" "$destination"
