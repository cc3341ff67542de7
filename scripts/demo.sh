#!/bin/sh
# Makes an example root, previews what a policy would remove, compacts the
# root in place, which a deadline interrupts, resumes it and proves it sound: the
# session of the README. Everything happens below tmp/demo.
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
code=0
run bin/lace compact "$root" --policy "$policy" --io-limit 512KiB/s --deadline 10s || code=$?
if [ "$code" != 75 ]; then
	echo "demo: exit $code, and 75 is that of a run that was stopped" >&2
	exit 1
fi
run bin/lace inspect "$root"
run bin/lace resume "$root"
run bin/lace verify "$root"
run bin/lace inspect "$root"
