#!/bin/sh
# Builds upstream's executor_runner for Android from a checkout of ExecuTorch (v1.0 or later), with the same parts as
# the recipe for the host.
#
#   sh build.sh REPO_DIR DESTINATION
#
# The NDK is the folder named by ANDROID_NDK or ANDROID_NDK_HOME. HARNESS_ABI (arm64-v8a) and ANDROID_PLATFORM
# (android-26) can be given too. C++'s library is linked in, so that the runner is one file.
# EXECUTORCH_CMAKE_ARGS can hold further words for CMake.
set -eu

repository=$1
destination=$2
python=${HARNESS_PYTHON:-python3}
build=${HARNESS_BUILD_DIR:-$(mktemp -d)}
ndk=${ANDROID_NDK:-${ANDROID_NDK_HOME:-}}
abi=${HARNESS_ABI:-arm64-v8a}

fail() {
  echo "error: $1" >&2
  exit 1
}

[ -n "$ndk" ] ||
  fail "no Android NDK: install r27 or later (sdkmanager 'ndk;27.2.12479018') and set ANDROID_NDK to its folder"
[ -f "$ndk/build/cmake/android.toolchain.cmake" ] ||
  fail "$ndk is no Android NDK: it has no build/cmake/android.toolchain.cmake; correct ANDROID_NDK"
command -v cmake > /dev/null || fail "no cmake: apt install cmake, or pip install cmake"
[ -f "$repository/backends/xnnpack/third-party/XNNPACK/CMakeLists.txt" ] ||
  fail "$repository lacks its submodules: git submodule update --init --recursive"
"$python" -c 'from importlib.util import find_spec as f; import sys; sys.exit(not (f("torch") and f("yaml")))' ||
  fail "$python needs torch and pyyaml, with which ExecuTorch generates code: pip install torch pyyaml"

# Without logging, Release builds print no times. Phones with pages of 16 KiB load no program that is laid out for 4.
set -- \
  -S "$repository" -B "$build" \
  -DCMAKE_TOOLCHAIN_FILE="$ndk/build/cmake/android.toolchain.cmake" \
  -DANDROID_ABI="$abi" \
  -DANDROID_PLATFORM="${ANDROID_PLATFORM:-android-26}" \
  -DANDROID_STL=c++_static \
  -DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON \
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
for strip in "$ndk"/toolchains/llvm/prebuilt/*/bin/llvm-strip; do
  [ ! -x "$strip" ] || "$strip" "$destination" # smaller, so faster to bring to a phone
done
printf '{"runner": "executor_runner", "runner_flags": "%s", "build_type": "Release", "abi": "%s", "android_platform": "%s"}\n' \
  "$flags" "$abi" "${ANDROID_PLATFORM:-android-26}" > "$(dirname "$destination")/meta.json"
