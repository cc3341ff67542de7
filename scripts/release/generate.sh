#!/bin/sh
# Writes the manual pages into DIR/man and the shell completions into
# DIR/completions, as the commands of this tree describe themselves.
set -eu
cd "$(dirname "$0")/../.."

dir=$(mkdir -p "$1" && cd "$1" && pwd)
mkdir -p "$dir/man" "$dir/completions"
go test -count=1 -run '^TestManualPages$' ./cmd -man-dir "$dir/man" >/dev/null
go build -o "$dir/lace-host" .
for shell in bash zsh fish powershell; do
	"$dir/lace-host" completion "$shell" >"$dir/completions/lace.$shell"
done
rm "$dir/lace-host"
