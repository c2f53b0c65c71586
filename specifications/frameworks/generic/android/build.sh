#!/bin/sh
# Builds a CMake project for Android, as the recipe for the host does for this machine.
#
#   sh build.sh REPO_DIR DESTINATION
#
# With an NDK (ANDROID_NDK or ANDROID_NDK_HOME) its programs are linked against Android's C library; ANDROID_PLATFORM
# (android-26) can be given too. Without one they are linked statically: with glibc by GCC for Linux on the same
# processor, else with musl by zig (pip install ziglang). HARNESS_ABI (arm64-v8a) is the architecture.
set -eu
. "$(dirname "$0")/../cmake_project.sh"

build=${HARNESS_BUILD_DIR:-$(mktemp -d)}
find_android_target
linux="-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$machine -DCMAKE_EXE_LINKER_FLAGS=-static"

if [ -n "$ndk" ]; then
  set -- "$@" -DCMAKE_TOOLCHAIN_FILE="$ndk/build/cmake/android.toolchain.cmake" -DANDROID_ABI="$abi" \
    -DANDROID_PLATFORM="${ANDROID_PLATFORM:-android-26}" -DANDROID_STL=c++_static \
    -DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON
  libc=bionic
elif [ "$machine" = none ]; then
  fail "no Android NDK, which $abi needs: install r27 or later and set ANDROID_NDK to its folder"
elif command -v "$cross-g++" > /dev/null; then
  # shellcheck disable=SC2086 # words
  set -- "$@" $linux -DCMAKE_C_COMPILER="$cross-gcc" -DCMAKE_CXX_COMPILER="$cross-g++"
  libc=glibc
elif "$python" -c 'from importlib.util import find_spec as f; import sys; sys.exit(not f("ziglang"))'; then
  mkdir -p "$build/zig"
  for tool in cc c++ ar ranlib; do
    target=
    case $tool in c*) target="-target $machine-linux-musl" ;; esac
    printf '#!/bin/sh\nexec "%s" -m ziglang %s %s "$@"\n' "$python" "$tool" "$target" > "$build/zig/$tool"
    chmod +x "$build/zig/$tool"
  done
  # shellcheck disable=SC2086 # words
  set -- "$@" $linux -DCMAKE_C_COMPILER="$build/zig/cc" -DCMAKE_CXX_COMPILER="$build/zig/c++" \
    -DCMAKE_AR="$build/zig/ar" -DCMAKE_RANLIB="$build/zig/ranlib"
  libc=musl
else
  fail "no compiler for $abi: set ANDROID_NDK to the folder of an NDK, or apt install g++-$(echo "$cross" | tr _ -), or pip install ziglang"
fi

destination=$2
repository=$1
shift 2
build_project "$repository" "$build" "$destination" "$@"
printf '{"abi": "%s", "libc": "%s"}\n' "$abi" "$libc" > "$(dirname "$destination")/meta.json"
