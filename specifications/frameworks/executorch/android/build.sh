#!/bin/sh
# Builds a runner for Android from a checkout of ExecuTorch, with the same parts as for the host.
#
#   sh build.sh REPO_DIR DESTINATION
#
# With an NDK (ANDROID_NDK or ANDROID_NDK_HOME) the runner is linked against Android's C library; ANDROID_PLATFORM
# (android-26) can be given too. Without one it is linked statically with glibc by GCC for Linux on the same processor.
# HARNESS_ABI (arm64-v8a) is the architecture. Either way the runner is one file.
set -eu
. "$(dirname "$0")/tools.sh"

repository=$1
destination=$2
build=${HARNESS_BUILD_DIR:-$(mktemp -d)}
oldest=${ANDROID_PLATFORM:-android-26}

check_android_tools
check_checkout "$repository"
is_at_least "$(version_of_cmake "$cmake")" "$LEAST_CMAKE" || find_cmake "$LEAST_CMAKE"

if [ -n "$ndk" ]; then
  # Phones with pages of 16 KiB load no program that is laid out for 4.
  set -- -DCMAKE_TOOLCHAIN_FILE="$ndk/build/cmake/android.toolchain.cmake" \
    -DANDROID_ABI="$abi" \
    -DANDROID_PLATFORM="$oldest" \
    -DANDROID_STL=c++_static \
    -DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON
  libc="\"libc\": \"bionic\", \"android_platform\": \"$oldest\""
else
  set -- -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$machine" \
    -DCMAKE_C_COMPILER="$cross-gcc" -DCMAKE_CXX_COMPILER="$cross-g++" \
    -DCMAKE_EXE_LINKER_FLAGS="-static -Wl,-z,max-page-size=16384" \
    -DHARNESS_FOREIGN_LIBC=ON
  libc="\"libc\": \"glibc\""
fi
build_runner "$repository" "$build" "$destination" -DPYTHON_EXECUTABLE="$python" "$@"
for strip in "${ndk:-none}"/toolchains/llvm/prebuilt/*/bin/llvm-strip "$cross-strip"; do
  if command -v "$strip" > /dev/null; then
    "$strip" "$destination" # smaller, so faster to bring to a phone
    break
  fi
done
write_meta "$destination" "$described, \"abi\": \"$abi\", $libc"
