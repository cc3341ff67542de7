#!/bin/sh
# Makes an example root, previews what a policy would remove, compacts the
# root in place and proves it sound. Everything happens below tmp/demo.
set -eu

root=tmp/demo/root
policy=examples/showcase.lace

go build -o bin/lace .
rm -rf tmp/demo
mkdir -p tmp/demo
run() {
	echo
	echo "\$ $*"
	"$@"
}

run go run ./scripts/mkroot --records 20000 --min-size 200 --max-size 4000 --seed 1 --links 20% "$root"
run bin/lace sweep "$root" --policy "$policy" --dry-run
run bin/lace compact "$root" --policy "$policy"
run bin/lace verify "$root"
run bin/lace inspect "$root"
