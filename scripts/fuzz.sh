#!/bin/sh
# Runs every fuzz target of the module for FUZZTIME each (default 5s).
set -eu

time=${FUZZTIME:-5s}
for pkg in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
		echo "fuzz: $pkg $target for $time"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$pkg"
	done
done
