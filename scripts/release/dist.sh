#!/bin/sh
# Builds the release archives into DIR (default: dist): one for each system and
# processor, with the manual pages, the shell completions, the examples and the
# documentation, and SHA256SUMS over all of them.
#
# The same commit and the same Go give the same bytes: paths are trimmed, cgo is
# off, and every file in an archive has the time of the commit. Without cgo a
# build does not serve the LMDB profile; scripts/release/deb.sh builds with it.
#
#   scripts/release/dist.sh [DIR [OS/ARCH...]]
set -eu
cd "$(dirname "$0")/../.."

dir=${1:-dist}
[ $# -gt 0 ] && shift
targets=${*:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64 freebsd/amd64 freebsd/arm64}
version=$(sh scripts/release/version.sh)
time=$(git log -1 --format=%ct)

rm -rf "$dir"
mkdir -p "$dir/common/man" "$dir/common/completions"
sh scripts/release/generate.sh "$dir/common"
cp -R README.md LICENSE CHANGELOG.md examples docs "$dir/common/"
find "$dir/common" -name '*_test.go' -delete
rm -rf "$dir/common/examples/scene" "$dir/common/examples/testdata"

for target in $targets; do
	os=${target%/*} arch=${target#*/}
	name=lace-$version-$os-$arch
	binary=lace
	[ "$os" = windows ] && binary=lace.exe
	cp -R "$dir/common" "$dir/$name"
	CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath -buildvcs=true -ldflags='-s -w -buildid=' -o "$dir/$name/$binary" .
	find "$dir/$name" -exec touch -h -d "@$time" {} +
	if [ "$os" = windows ]; then
		(cd "$dir" && find "$name" -type f | LC_ALL=C sort | TZ=UTC zip -q -X "$name.zip" -@)
	else
		tar -C "$dir" --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner --format=ustar -cf - "$name" | gzip -9 -n >"$dir/$name.tar.gz"
	fi
	rm -rf "${dir:?}/$name"
	echo "dist: $name"
done
rm -rf "$dir/common"
(cd "$dir" && sha256sum lace-* >SHA256SUMS)
