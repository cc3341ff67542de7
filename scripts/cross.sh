#!/bin/sh
# Builds and vets every system and processor that lace is made for.
set -eu

for os in linux darwin windows freebsd; do
	for arch in amd64 arm64; do
		echo "cross: $os/$arch"
		GOOS=$os GOARCH=$arch CGO_ENABLED=0 go build ./...
		GOOS=$os GOARCH=$arch CGO_ENABLED=0 go vet ./...
	done
done
