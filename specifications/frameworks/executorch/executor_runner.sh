# shellcheck shell=sh
# What the recipes for sources share: upstream's executor_runner (ExecuTorch v1.0 or later) with the same parts on every
# platform. XNNPACK, optimised and quantised kernels, and no event tracer, which would cost some per cent.
#
# EXECUTORCH_CMAKE_ARGS can hold further words for CMake, such as -DEXECUTORCH_ENABLE_EVENT_TRACER=ON.

fail() {
  echo "error: $1" >&2
  exit 1
}

# check_checkout REPO_DIR PYTHON: whether everything is there that is needed on every platform.
check_checkout() {
  command -v cmake > /dev/null || fail "no cmake: apt install cmake, or pip install cmake"
  [ -f "$1/examples/portable/executor_runner/executor_runner.cpp" ] ||
    fail "$1 has no examples/portable/executor_runner: is it a checkout of ExecuTorch?"
  [ -f "$1/backends/xnnpack/third-party/XNNPACK/CMakeLists.txt" ] ||
    fail "$1 lacks its submodules: git submodule update --init --recursive"
  "$2" -c 'from importlib.util import find_spec as f; import sys; sys.exit(not (f("torch") and f("yaml")))' ||
    fail "$2 needs torch and pyyaml, with which ExecuTorch generates code: pip install torch pyyaml"
}

# build_runner BUILD_DIR CMAKE_WORD...: leaves BUILD_DIR/executor_runner.
build_runner() {
  build_dir=$1
  shift
  # Without logging, Release builds print no times.
  set -- "$@" \
    -B "$build_dir" \
    -DCMAKE_BUILD_TYPE=Release \
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
  cmake --build "$build_dir" --target executor_runner --parallel "${HARNESS_JOBS:-1}"
}

# flags_of_runner REPO_DIR: names of the flags that the commit's runner has. One that it does not have would end it.
flags_of_runner() {
  tr '\n' ' ' < "$1/examples/portable/executor_runner/executor_runner.cpp" |
    grep -o 'DEFINE_[a-z0-9]*( *[a-z0-9_]*' | sed 's/.*( *//' | tr '\n' ' '
}
