#!/bin/sh
# Builds our native runner against a released executorch package, so that releases can be compared.
#
#   sh build.sh REPO_DIR DESTINATION
#
# REPO_DIR is an unpacked wheel for the interpreter HARNESS_PYTHON, HARNESS_RUNNER_SOURCE the folder of the runner's
# sources. What the runner needs of the wheel is copied to `lib` beside it. Wheels since 1.5 need nothing else; those of
# 1.4 also need the libpython and the torch of HARNESS_PYTHON, which are used where they are.
set -eu
. "$(dirname "$0")/../../../recipes.sh"

repository=$1
destination=$2
python=${HARNESS_PYTHON:?the interpreter}
source=${HARNESS_RUNNER_SOURCE:?the folder of the runner}
build=${HARNESS_BUILD_DIR:-$(mktemp -d)}

command -v cmake > /dev/null || fail "no cmake: apt install cmake, or pip install cmake"
find_wheel_version "$repository"

set -- -S "$(dirname "$0")" -B "$build" -DCMAKE_BUILD_TYPE=Release \
  -DRUNNER_SOURCE="$source" -DWHEEL="$repository/executorch" -DVERSION="$version" -DPYTHON="$python"
if command -v ninja > /dev/null; then
  set -- "$@" -G Ninja
fi
cmake "$@"
cmake --build "$build" --parallel "${HARNESS_JOBS:-1}"

folder=$(dirname "$destination")
cp -R "$build/lib" "$folder/lib"
cp "$build/runner" "$destination"
# Every function that it needs is looked for now, so that a torch that does not fit is found out here.
LD_BIND_NOW=1 "$destination" --help > /dev/null ||
  fail "the runner of executorch $version does not start: does the torch of $python fit that version?"
torch=$("$python" -c 'from importlib.metadata import version; print(version("torch"))' 2> /dev/null || echo none)
printf '{"runner": "native", "executorch": "%s", "torch_beside": "%s"}\n' "$version" "$torch" > "$folder/meta.json"
