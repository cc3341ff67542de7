#!/bin/sh
# Builds a Debian package of this machine's processor into DIR (default: dist),
# with every profile: this build uses cgo where there is a C compiler. It needs
# dpkg-deb and no root.
set -eu
cd "$(dirname "$0")/../.."

dir=${1:-dist}
version=$(sh scripts/release/version.sh)
arch=$(dpkg --print-architecture)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
case $version in
[0-9]*.*) ;;
*) version=0~git$(git log -1 --format=%cd --date=format:%Y%m%d).$version ;; # no tag yet
esac
# A hyphen would separate a Debian revision.
version=$(echo "$version" | tr - +)

tree=$dir/deb
rm -rf "$tree"
mkdir -p "$tree/DEBIAN" "$tree/usr/bin" "$tree/usr/share/man/man1" "$tree/usr/share/doc/lace" \
	"$tree/usr/share/bash-completion/completions" "$tree/usr/share/zsh/vendor-completions" \
	"$tree/usr/share/fish/vendor_completions.d" "$tree/usr/lib/systemd/system"
go build -trimpath -buildvcs=true -ldflags='-s -w -buildid=' -o "$tree/usr/bin/lace" .
sh scripts/release/generate.sh "$dir/deb-generated"
for page in "$dir"/deb-generated/man/*.1; do
	gzip -9 -n -c "$page" >"$tree/usr/share/man/man1/$(basename "$page").gz"
done
cp "$dir/deb-generated/completions/lace.bash" "$tree/usr/share/bash-completion/completions/lace"
cp "$dir/deb-generated/completions/lace.zsh" "$tree/usr/share/zsh/vendor-completions/_lace"
cp "$dir/deb-generated/completions/lace.fish" "$tree/usr/share/fish/vendor_completions.d/lace.fish"
rm -rf "$dir/deb-generated"
cp scripts/release/lace-compact@.service scripts/release/lace-compact@.timer "$tree/usr/lib/systemd/system/"
cp LICENSE "$tree/usr/share/doc/lace/copyright"
gzip -9 -n -c CHANGELOG.md >"$tree/usr/share/doc/lace/changelog.gz"
mkdir "$tree/usr/share/doc/lace/examples"
cp examples/*.lace "$tree/usr/share/doc/lace/examples/"
cat >"$tree/DEBIAN/control" <<CONTROL
Package: lace
Version: $version
Architecture: $arch
Maintainer: The lace maintainers <maintainers@lace-store.invalid>
Section: admin
Priority: optional
Depends: libc6
Description: compacts Lace roots in place
 A Lace root is an append-only store of content-addressed records. lace removes,
 offline and in place, the records that no retention policy selects, gives their
 bytes back to the file system, and finishes after a kill or a power cut at any
 moment.
CONTROL
find "$tree" -type d -exec chmod 0755 {} +
find "$tree" -type f -exec chmod 0644 {} +
chmod 0755 "$tree/usr/bin/lace"
dpkg-deb --build --root-owner-group "$tree" "$dir/lace_${version}_$arch.deb" >/dev/null
rm -rf "$tree"
echo "deb: $dir/lace_${version}_$arch.deb"
