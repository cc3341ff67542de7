#!/bin/bash
# Everything CI runs, one step after the other, with the seconds of each.
# The first step that fails ends the run.
set -euo pipefail

steps=()

step() {
	local name=$1
	shift
	local start=$SECONDS
	echo "== $name"
	"$@"
	steps+=("$(printf '%5d s  %s' $((SECONDS - start)) "$name")")
}

formatted() {
	local files
	files=$(gofmt -l cmd docs examples pkg scripts main.go)
	if [ -n "$files" ]; then
		echo "gofmt would change: $files" >&2
		return 1
	fi
}

step format formatted
step vet go vet ./...
step staticcheck go tool staticcheck ./...
step 'build without cgo' env CGO_ENABLED=0 go build ./...
step 'roots of LMDB without cgo' env CGO_ENABLED=0 go test ./cmd -run 'TestScript/without-lmdb$'
step 'build and vet elsewhere' sh scripts/cross.sh
step 'tests with the race detector' go test -race -timeout 20m ./...
step 'known answers on real input' go test -count=1 -timeout 10m -run 'Known|Example|History' ./scripts/... ./cmd ./examples
step 'short fuzzing' env FUZZTIME="${FUZZTIME:-10000x}" sh scripts/fuzz.sh
step 'crash ladder' go run ./scripts/crash all -seed 1
step 'short benchmark' go run ./scripts/bench short
step 'README example' sh scripts/demo.sh

echo
echo "seconds of each step:"
printf '%s\n' "${steps[@]}"
