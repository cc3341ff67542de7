#!/bin/sh
# Builds the archives twice, in two places, and compares every byte; then runs
# the binary of this machine out of its archive, and installs nothing.
set -eu
cd "$(dirname "$0")/../.."

targets=${*:-linux/amd64 windows/amd64}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086 # a list of targets
sh scripts/release/dist.sh "$work/one" $targets
# shellcheck disable=SC2086
sh scripts/release/dist.sh "$work/two" $targets
cmp "$work/one/SHA256SUMS" "$work/two/SHA256SUMS"
(cd "$work/two" && sha256sum -c --quiet SHA256SUMS)

archive=$(find "$work/one" -name "lace-*-$(go env GOOS)-$(go env GOARCH).tar.gz")
mkdir "$work/unpacked"
tar -C "$work/unpacked" --strip-components=1 -xzf "$archive"
"$work/unpacked/lace" --version
for file in man/lace-compact.1 completions/lace.bash completions/lace.zsh completions/lace.fish docs/policies.md examples/showcase.lace LICENSE CHANGELOG.md; do
	test -s "$work/unpacked/$file"
done
if command -v dpkg-deb >/dev/null 2>&1; then
	sh scripts/release/deb.sh "$work/deb"
	dpkg-deb --extract "$work"/deb/*.deb "$work/installed"
	"$work/installed/usr/bin/lace" --version
	test -s "$work/installed/usr/share/man/man1/lace-compact.1.gz"
else
	echo 'release: SKIPPED the Debian package: no dpkg-deb here'
fi
echo 'release: two builds, the same bytes'
