# shellcheck shell=sh
# What the recipes for CMake projects share. The runner is the executable named `runner`, or the only one; the others are
# kept beside it.

. "$(dirname "$0")/../../recipes.sh"

# build_project REPO_DIR BUILD_DIR DESTINATION CMAKE_WORD...
build_project() {
  repository=$1
  build=$2
  destination=$3
  shift 3
  command -v cmake > /dev/null || fail "no cmake: apt install cmake, or pip install cmake"
  [ -f "$repository/CMakeLists.txt" ] || fail "$repository has no CMakeLists.txt: write a recipe for this project," \
    "RECIPES/generic/$(basename "$(dirname "$0")")/build.sh, and name its folder by --frameworks-dir RECIPES;" \
    "it is started with two words, the folder of the sources and the program that it is to make"

  # Executables are collected in one folder, apart from what CMake compiles to try the compiler.
  set -- "$@" -S "$repository" -B "$build" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$build/harness-programs"
  if command -v ninja > /dev/null; then
    set -- "$@" -G Ninja
  fi
  # Another layout of the same objects: this project is configured and compiled already, and only links again.
  if [ -n "${HARNESS_LAYOUT_SEED:-}" ]; then
    launcher="${HARNESS_PYTHON:-python3};$(CDPATH='' cd "$(dirname "$0")/../.." && pwd)/permute_link.py;$HARNESS_LAYOUT_SEED"
    set -- "$@" "-DCMAKE_C_LINKER_LAUNCHER=$launcher" "-DCMAKE_CXX_LINKER_LAUNCHER=$launcher"
  fi
  cmake "$@"
  cmake --build "$build" --parallel "${HARNESS_JOBS:-1}"

  programs=$build/harness-programs
  runner=$programs/runner
  count=0
  for program in "$programs"/*; do
    if [ -f "$program" ] && [ -x "$program" ]; then
      count=$((count + 1))
      only=$program
    fi
  done
  [ "$count" -gt 0 ] || fail "the project makes no executable (looked for in CMAKE_RUNTIME_OUTPUT_DIRECTORY)"
  if [ "$count" -eq 1 ]; then
    runner=$only
  fi
  [ -f "$runner" ] || fail "the project makes $count executables and none is named runner: name the one that is meant so"

  # The others may be programs of specifications too.
  for program in "$programs"/*; do
    if [ -f "$program" ] && [ -x "$program" ] && [ "$program" != "$runner" ]; then
      cp "$program" "$(dirname "$destination")/"
    fi
  done
  cp "$runner" "$destination"
}
