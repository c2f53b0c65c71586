#!/bin/sh
# Builds upstream's executor_runner from a checkout of ExecuTorch (v1.0 or later): XNNPACK, optimised and quantised
# kernels, and no event tracer, which would cost some per cent.
#
#   sh build.sh REPO_DIR DESTINATION
#
# REPO_DIR must be named `executorch`, which its CMake files insist on, and have its submodules. Nothing is downloaded.
# EXECUTORCH_CMAKE_ARGS can hold further words for CMake, such as -DEXECUTORCH_ENABLE_EVENT_TRACER=ON.
set -eu

repository=$1
destination=$2
python=${HARNESS_PYTHON:-python3}
build=${HARNESS_BUILD_DIR:-$(mktemp -d)}

fail() {
  echo "error: $1" >&2
  exit 1
}

command -v cmake > /dev/null || fail "no cmake: apt install cmake, or pip install cmake"
[ -f "$repository/examples/portable/executor_runner/executor_runner.cpp" ] ||
  fail "$repository has no examples/portable/executor_runner: is it a checkout of ExecuTorch?"
[ -f "$repository/backends/xnnpack/third-party/XNNPACK/CMakeLists.txt" ] ||
  fail "$repository lacks its submodules: git submodule update --init --recursive"
"$python" -c 'from importlib.util import find_spec as f; import sys; sys.exit(not (f("torch") and f("yaml")))' ||
  fail "$python needs torch and pyyaml, with which ExecuTorch generates code: pip install torch pyyaml"

# Without logging, Release builds print no times.
set -- \
  -S "$repository" -B "$build" \
  -DCMAKE_BUILD_TYPE=Release \
  -DPYTHON_EXECUTABLE="$python" \
  -DEXECUTORCH_ENABLE_LOGGING=ON \
  -DEXECUTORCH_BUILD_EXECUTOR_RUNNER=ON \
  -DEXECUTORCH_BUILD_EXTENSION_DATA_LOADER=ON \
  -DEXECUTORCH_BUILD_EXTENSION_EVALUE_UTIL=ON \
  -DEXECUTORCH_BUILD_EXTENSION_FLAT_TENSOR=ON \
  -DEXECUTORCH_BUILD_EXTENSION_MODULE=ON \
  -DEXECUTORCH_BUILD_EXTENSION_NAMED_DATA_MAP=ON \
  -DEXECUTORCH_BUILD_EXTENSION_RUNNER_UTIL=ON \
  -DEXECUTORCH_BUILD_EXTENSION_TENSOR=ON \
  -DEXECUTORCH_BUILD_KERNELS_OPTIMIZED=ON \
  -DEXECUTORCH_BUILD_KERNELS_QUANTIZED=ON \
  -DEXECUTORCH_BUILD_XNNPACK=ON \
  -DEXECUTORCH_BUILD_DEVTOOLS=OFF \
  -DEXECUTORCH_ENABLE_EVENT_TRACER=OFF
if command -v ninja > /dev/null; then
  set -- "$@" -G Ninja
fi

# shellcheck disable=SC2086 # words
cmake "$@" ${EXECUTORCH_CMAKE_ARGS:-}
cmake --build "$build" --target executor_runner --parallel "${HARNESS_JOBS:-1}"
cp "$build/executor_runner" "$destination"
# A flag that a commit's runner does not have ends it, so tell which it has.
flags=$(tr '\n' ' ' < "$repository/examples/portable/executor_runner/executor_runner.cpp" |
  grep -o 'DEFINE_[a-z0-9]*( *[a-z0-9_]*' | sed 's/.*( *//' | tr '\n' ' ')
strip "$destination" 2> /dev/null || true # only its size
printf '{"runner": "executor_runner", "runner_flags": "%s", "build_type": "Release"}\n' "$flags" \
  > "$(dirname "$destination")/meta.json"
