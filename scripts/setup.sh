#!/bin/sh
# Installs what the build and the tests need and the machine lacks: git, make
# and a C compiler (for the race detector), as Debian packages. Go itself must
# be there; go.mod says which version. The tools of the crash ladder, and Node.js
# for the comparison with the JavaScript of scripts/node, are installed where that
# is possible; elsewhere what needs them is skipped.
set -eu

if ! command -v go >/dev/null 2>&1; then
	echo "setup: Go is not installed or not on PATH; see https://go.dev/doc/install" >&2
	exit 1
fi
missing=
command -v git >/dev/null 2>&1 || missing="$missing git"
command -v gcc >/dev/null 2>&1 || missing="$missing gcc libc6-dev"
if [ -n "$missing" ]; then
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
		echo "setup: please install:$missing" >&2
		exit 1
	fi
	apt-get update -q
	# shellcheck disable=SC2086 # a list of package names
	apt-get install -q -y --no-install-recommends $missing
fi
extra=
command -v mkfs.ext4 >/dev/null 2>&1 || extra="$extra e2fsprogs"
command -v mkfs.xfs >/dev/null 2>&1 || extra="$extra xfsprogs"
command -v mkfs.btrfs >/dev/null 2>&1 || extra="$extra btrfs-progs"
command -v node >/dev/null 2>&1 || extra="$extra nodejs"
if [ -n "$extra" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
	apt-get update -q
	# shellcheck disable=SC2086 # a list of package names
	apt-get install -q -y --no-install-recommends $extra || [ "${CI:-}" != true ]
fi
go mod download
