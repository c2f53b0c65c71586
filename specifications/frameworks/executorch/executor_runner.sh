# shellcheck shell=sh
# What the recipes for sources share: a runner of a commit of ExecuTorch, v1.0 or later, with the same parts on every
# platform: XNNPACK, optimised and quantised kernels, and no event tracer, which would cost some per cent.
#
# The runner is ours (HARNESS_RUNNER_SOURCE), compiled in ExecuTorch's own build against the commit's libraries. Where
# its code does not fit the commit it is upstream's executor_runner, and meta.json says why.
#
# EXECUTORCH_CMAKE_ARGS can hold further words for CMake, such as -DEXECUTORCH_ENABLE_EVENT_TRACER=ON.

# Parts of ExecuTorch that are switched on with -DEXECUTORCH_BUILD_<part>=ON.
PARTS="EXTENSION_DATA_LOADER EXTENSION_EVALUE_UTIL EXTENSION_FLAT_TENSOR EXTENSION_MODULE EXTENSION_NAMED_DATA_MAP
  EXTENSION_RUNNER_UTIL EXTENSION_TENSOR KERNELS_OPTIMIZED KERNELS_QUANTIZED XNNPACK EXECUTOR_RUNNER"

# CMake targets that our runner links, since v1.0.0. The last two stand for what the options switch on.
LIBRARIES="executorch extension_data_loader extension_tensor extension_threadpool executorch_kernels
  executorch_backends"

# The oldest CMake that any supported commit accepts. Releases before 1.2 need 3.29; each commit tells its own.
LEAST_CMAKE=3.24

# Words of compilers and linkers about a machine that has no more room, memory or files; they are about no code.
MACHINE_PROBLEMS="no space left|disk quota|input/output error|read-only file system|cannot allocate|out of memory|\
memory exhausted|too many open files|killed|terminated with|internal compiler error|permission denied"

shared=$(CDPATH='' cd "$(dirname "$0")/.." && pwd)

. "$(dirname "$0")/../../recipes.sh"

# Version of a CMake, such as 3.31.6.
version_of_cmake() {
  "$1" --version 2> /dev/null | sed -n 's/^cmake version \([0-9.]*\).*/\1/p'
}

# is_at_least VERSION LEAST
is_at_least() {
  [ "$(printf '%s\n%s\n' "$2" "$1" | sort -t. -k1,1n -k2,2n -k3,3n | head -n 1)" = "$2" ]
}

# find_cmake LEAST: sets `cmake` to the first on PATH that is new enough.
find_cmake() {
  cmake=
  newest=
  rest=$PATH:
  while [ -n "$rest" ]; do
    folder=${rest%%:*}
    rest=${rest#*:}
    [ -x "${folder:-.}/cmake" ] || continue
    version=$(version_of_cmake "${folder:-.}/cmake")
    if [ -n "$version" ] && is_at_least "$version" "$1"; then
      cmake=${folder:-.}/cmake
      return
    fi
    newest=${newest:-$version}
  done
  [ -n "$newest" ] || fail "no cmake: apt install cmake, or pip install cmake"
  fail "cmake $newest is too old, $1 or later is needed: pip install 'cmake>=$1,<4' beside the harness"
}

# check_tools PYTHON: whether everything is there that is needed for any commit.
check_tools() {
  find_cmake "$LEAST_CMAKE"
  command -v "${CXX:-c++}" > /dev/null || fail "no C++ compiler ${CXX:-c++}: apt install g++"
  "$1" -c 'from importlib.util import find_spec as f; import sys; sys.exit(not (f("torch") and f("yaml")))' ||
    fail "$1 needs torch and pyyaml, with which ExecuTorch generates code: pip install torch pyyaml"
}

# check_checkout REPO_DIR: whether the commit can be built, and sets `cmake` to one that it accepts.
check_checkout() {
  [ -f "$1/examples/portable/executor_runner/executor_runner.cpp" ] ||
    fail "$1 has no examples/portable/executor_runner: is it a checkout of ExecuTorch?"
  [ "$(basename "$1")" = executorch ] || fail "$1 must be named executorch: ExecuTorch's CMake files insist on it"
  missing=
  for submodule in $(sed 's/#.*//' "$shared/submodules.txt"); do
    [ -n "$(ls -A "$1/$submodule" 2> /dev/null)" ] || missing="$missing $submodule"
  done
  [ -z "$missing" ] || fail "$1 lacks submodules: git submodule update --init --depth 1$missing"
  least=$(sed -n 's/^cmake_minimum_required(VERSION \([0-9.]*\).*/\1/p' "$1/CMakeLists.txt" | head -n 1)
  find_cmake "${least:-$LEAST_CMAKE}"
}

# build_runner REPO_DIR BUILD_DIR DESTINATION CMAKE_WORD...: leaves the runner at DESTINATION, and sets `described` to
# entries of meta.json.
build_runner() {
  repository=$1
  build_dir=$2
  destination=$3
  shift 3
  for part in $PARTS; do
    set -- "$@" "-DEXECUTORCH_BUILD_$part=ON"
  done
  # Without logging, Release builds print no times.
  set -- "$@" \
    -S "$repository" \
    -B "$build_dir" \
    -DCMAKE_BUILD_TYPE=Release \
    -DEXECUTORCH_ENABLE_LOGGING=ON \
    -DEXECUTORCH_BUILD_DEVTOOLS=OFF \
    -DEXECUTORCH_ENABLE_EVENT_TRACER=OFF
  version=$(head -n 1 "$repository/version.txt" 2> /dev/null || echo unknown)
  if [ -n "${HARNESS_RUNNER_SOURCE:-}" ]; then
    # shellcheck disable=SC2086 # words
    set -- "$@" \
      "-DCMAKE_PROJECT_executorch_INCLUDE=$shared/native_runner.cmake" \
      "-DHARNESS_RUNNER_SOURCE=$HARNESS_RUNNER_SOURCE" \
      "-DHARNESS_LIBRARIES=$(echo $LIBRARIES | tr ' ' ';')" \
      "-DHARNESS_EXECUTORCH_VERSION=$version"
  fi
  if command -v ninja > /dev/null; then
    set -- "$@" -G Ninja
  fi
  # shellcheck disable=SC2086 # words
  "$cmake" "$@" ${EXECUTORCH_CMAKE_ARGS:-}
  common="\"executorch\": \"$version\", \"build_type\": \"Release\", \"cmake\": \"$cmake ($(version_of_cmake "$cmake"))\""
  reason="the harness has no sources of its runner"
  if [ -n "${HARNESS_RUNNER_SOURCE:-}" ]; then
    if build_native_runner; then
      cp "$build_dir/harness_runner" "$destination"
      described="\"runner\": \"native\", \"options\": {\"runner\": \"native\"}, $common"
      return
    fi
    echo "fallback: $reason; building upstream's executor_runner"
  fi
  "$cmake" --build "$build_dir" --target executor_runner --parallel "${HARNESS_JOBS:-1}"
  cp "$build_dir/executor_runner" "$destination"
  common="\"options\": {\"runner\": \"executor_runner\"}, \"runner_reason\": \"$reason\", $common"
  described="\"runner\": \"executor_runner\", \"runner_flags\": \"$(flags_of_runner "$repository")\", $common"
}

# build_native_runner: builds our runner in `build_dir`. Returns false, with a `reason`, where its code does not fit the
# commit; every other failure, of the commit's own code or of this machine, ends the recipe.
build_native_runner() {
  if [ -s "$build_dir/harness_runner.missing" ]; then
    reason="this commit has no CMake target $(head -n 1 "$build_dir/harness_runner.missing")"
    return 1
  fi
  log=$build_dir/harness_runner.log
  rm -f "$build_dir/harness_runner.built"
  { "$cmake" --build "$build_dir" --target harness_runner --parallel "${HARNESS_JOBS:-1}" 2>&1 &&
    : > "$build_dir/harness_runner.built"; } | tee "$log"
  [ ! -f "$build_dir/harness_runner.built" ] || return 0
  is_refused_by_compiler "$log" || exit 1
  reason="our native runner does not build against this commit"
  return 1
}

# is_refused_by_compiler LOG: whether our runner was compiled or linked, and its code was the problem. Ninja names the
# target that failed with FAILED, make with ***.
is_refused_by_compiler() {
  grep -q -E '^FAILED: .*harness_runner|\*\*\* \[CMakeFiles/harness_runner\.dir/build\.make:' "$1" || return 1
  grep -q -E ':[0-9]+: (fatal )?error: |undefined reference to|[Uu]ndefined symbol' "$1" || return 1
  ! grep -q -i -E "$MACHINE_PROBLEMS" "$1"
}

# write_meta DESTINATION ENTRIES: describes the runner beside it.
write_meta() {
  printf '{%s}\n' "$2" > "$(dirname "$1")/meta.json"
}

# flags_of_runner REPO_DIR: names of the flags that the commit's runner has. One that it does not have would end it.
flags_of_runner() {
  tr '\n' ' ' < "$1/examples/portable/executor_runner/executor_runner.cpp" |
    grep -o 'DEFINE_[a-z0-9]*( *[a-z0-9_]*' | sed 's/.*( *//' | tr '\n' ' '
}
