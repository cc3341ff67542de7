#!/bin/sh
# Runs every fuzz target of the module for FUZZTIME each: a time, or a number of
# executions such as 10000x (the default), which no deadline cuts short.
set -eu

time=${FUZZTIME:-10000x}
for pkg in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
		echo "fuzz: $pkg $target for $time"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$pkg"
	done
done
