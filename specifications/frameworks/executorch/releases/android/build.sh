#!/bin/sh
# Builds our native runner for Android against a released executorch package, without an NDK: against the wheel for
# Linux on the same processor, with glibc beside it (see docs/android.md).
#
#   sh build.sh REPO_DIR DESTINATION
#
# REPO_DIR is an unpacked wheel for the processor of HARNESS_ABI, HARNESS_RUNNER_SOURCE the folder of the runner's
# sources. DESTINATION becomes a static launcher; what it starts lies beside it.
set -eu
. "$(dirname "$0")/check.sh"

repository=$1
destination=$2
source=${HARNESS_RUNNER_SOURCE:?the folder of the runner}
build=${HARNESS_BUILD_DIR:-$(mktemp -d)}
find_wheel_version "$repository"
[ -f "$repository/executorch/lib/libexecutorch.so" ] ||
  fail "executorch $version cannot be measured on phones without an NDK: its wheel has no C++ SDK (1.5 and later have)"

set -- -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release -DBUNDLE=ON \
  -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$machine" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$repository/executorch" -DEXECUTORCH_VERSION="$version"
if command -v ninja > /dev/null; then
  set -- "$@" -G Ninja
fi
cmake "$@"
cmake --build "$build" --parallel "${HARNESS_JOBS:-1}"

folder=$(dirname "$destination")
for file in "$build"/bundle/*; do
  cp "$file" "$folder/"
done
[ "$folder/program" = "$destination" ] || mv "$folder/program" "$destination"
libc=$(LC_ALL=C sed -n 's/.*GNU C Library (\([^)]*\)).* version \([0-9.]*[0-9]\).*/glibc \2 (\1)/p' "$folder/libc.so.6")
printf '{"runner": "native", "executorch": "%s", "libc": "%s"}\n' "$version" "$libc" > "$folder/meta.json"
