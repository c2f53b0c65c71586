#!/bin/sh
# Builds the runner app for iPhones. Only a Mac with Xcode 15 or later, CMake and Python can do that.
#
#   sh build.sh --team TEAM --bundle-id ID [--executorch 1.5.1] [--version N] [--backends LIST] [--output FILE]
#
# TEAM is the team that signs it (ten characters, from developer.apple.com/account); ID the bundle identifier, one for
# each build that is compared; --version its CFBundleVersion (1); LIST the backends, with commas between them
# (backend_xnnpack,backend_coreml,backend_mps). FILE becomes an .ipa (EdgeRunner.ipa).
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
team='' bundle_id='' executorch=1.5.1 version=1
backends=backend_xnnpack,backend_coreml,backend_mps output=EdgeRunner.ipa
build=${HARNESS_BUILD_DIR:-}
python=${HARNESS_PYTHON:-python3}

fail() {
  echo "error: $1" >&2
  exit 2
}

while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || fail "$1 needs a value"
  case $1 in
    --team) team=$2 ;;
    --bundle-id) bundle_id=$2 ;;
    --executorch) executorch=$2 ;;
    --version) version=$2 ;;
    --backends) backends=$2 ;;
    --output) output=$2 ;;
    *) fail "unknown argument $1" ;;
  esac
  shift 2
done

# They become parts of other files.
check() {
  case $2 in '' | *[!$3]*) fail "$1 '$2' is missing, or has characters that it cannot have" ;; esac
}
check --team "$team" A-Z0-9
check --bundle-id "$bundle_id" A-Za-z0-9.-
check --executorch "$executorch" A-Za-z0-9.
check --version "$version" 0-9.
check --backends "$backends" a-z0-9_,

[ "$(uname -s)" = Darwin ] || fail "apps for iPhones can be built on a Mac only"
for program in xcodebuild swift cmake zip "$python"; do
  command -v "$program" > /dev/null || fail "no $program: install Xcode from the App Store, and CMake"
done
[ -n "$build" ] || build=$(mktemp -d)

# 1. The frameworks, as ExecuTorch publishes them for Swift packages; Swift's package manager checks their digests.
mkdir -p "$build/package/Sources/Frameworks"
echo > "$build/package/Sources/Frameworks/empty.swift"
products=''
for name in executorch kernels_optimized kernels_quantized $(echo "$backends" | tr , ' '); do
  products="$products.product(name: \"$name\", package: \"executorch\"), "
done
cat > "$build/package/Package.swift" << END
// swift-tools-version:5.9
import PackageDescription

let package = Package(
  name: "Frameworks",
  platforms: [.iOS(.v17)],
  dependencies: [
    .package(url: "https://github.com/pytorch/executorch.git", branch: "swiftpm-$executorch")
  ],
  targets: [.target(name: "Frameworks", dependencies: [$products])]
)
END
swift package --package-path "$build/package" resolve
mkdir -p "$build/frameworks"
find "$build/package/.build/artifacts" -name '*.xcframework' -prune -exec cp -R {} "$build/frameworks/" \;

# 2. All headers, from the wheel of the same version: the frameworks have only some.
"$python" -m pip download --quiet --no-deps --only-binary :all: --dest "$build/wheel" "executorch==$executorch"
(cd "$build/wheel" && unzip -qo ./*.whl 'executorch/include/*')

# 3. The app.
cmake -G Xcode -S "$here" -B "$build/app" -DCMAKE_SYSTEM_NAME=iOS -DCMAKE_OSX_ARCHITECTURES=arm64 \
  -DFRAMEWORKS="$build/frameworks" -DHEADERS="$build/wheel/executorch/include" -DEXECUTORCH_VERSION="$executorch" \
  -DBACKENDS="$(echo "$backends" | tr , ';')" \
  -DTEAM="$team" -DBUNDLE_ID="$bundle_id" -DBUNDLE_VERSION="$version"
xcodebuild -project "$build/app/EdgeRunner.xcodeproj" -target EdgeRunner -configuration Release -sdk iphoneos \
  -allowProvisioningUpdates SYMROOT="$build/products"

# 4. The package.
rm -rf "$build/ipa"
mkdir -p "$build/ipa/Payload"
cp -R "$(find "$build/products" "$build/app" -type d -name EdgeRunner.app -prune | head -1)" "$build/ipa/Payload/"
(cd "$build/ipa" && zip -qry "$build/EdgeRunner.zip" Payload)
mv "$build/EdgeRunner.zip" "$output"
echo "$output"
