#!/bin/bash
# The long acceptance run: the restic history with its known answers, a
# compaction of it, the same with 20 kills, and a root of 2^20 records with the
# peak of anonymous memory and of extra disk. Needs about 5 GB below tmp and
# ../shared/data. Prints what it measured; the first failure ends it.
set -euo pipefail

history=../shared/data/restic-history.tsv.gz
work=tmp/accept
seed=${SEED:-$RANDOM}
RANDOM=$seed
both=(--policy examples/newest-three.lace --policy examples/tagged-with-history.lace)

say() { printf 'accept: %s\n' "$*"; }
fail() {
	say "FAILED: $*"
	exit 1
}
field() { sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" "$2" | sed -n "${3:-1}p"; }
blocks() { echo $(($(stat -c %b "$1") * 512)); }
# wholeness: the log, and the arena up to the end that the log names.
wholeness() {
	local end
	end=$(tail -c 16 "$1/record-log" | od -An -tu8 | awk '{print $1 + $2}')
	{ cat "$1/record-log"; head -c "$end" "$1/records"; } | sha256sum | cut -d' ' -f1
}

if [ ! -f "$history" ]; then
	if [ "${CI:-}" = true ]; then fail "there is no $history"; fi
	say "SKIPPED: there is no $history"
	exit 0
fi
say "seed $seed"
rm -rf "$work"
mkdir -p "$work"
go build -o "$work/lace" .
go build -o "$work/mkroot" ./scripts/mkroot
lace=$work/lace

say "the restic history"
"$work/mkroot" --history "$history" --app restic "$work/restic"
while read -r records data policies; do
	args=()
	for p in $policies; do args+=(--policy "examples/$p.lace"); done
	"$lace" sweep "$work/restic" "${args[@]}" --dry-run --json -q >"$work/sweep.json"
	got="$(field records "$work/sweep.json") $(field data_bytes "$work/sweep.json")"
	[ "$got" = "$records $data" ] || fail "$policies retains $got, want $records $data"
	say "$policies: $got"
done <<'EOF'
49886 843036399 everything
33093 419507999 newest-three
286 3899120 tagged-with-history
1391 8588097 current
33378 423407112 newest-three tagged-with-history
EOF

say "compaction without interruption"
cp --sparse=always -r "$work/restic" "$work/whole"
before=$(blocks "$work/whole/records")
"$lace" compact "$work/whole" "${both[@]}" --json -q >"$work/compact.json"
freed=$((before - $(blocks "$work/whole/records")))
released=$(field released_bytes "$work/compact.json")
say "released $released, freed $freed"
[ $((released > freed ? released - freed : freed - released)) -le 1048576 ] || fail "freed and released differ"
"$lace" verify --level seals "$work/whole" -q || fail "verify"
want=$(wholeness "$work/whole")
"$lace" compact "$work/whole" "${both[@]}" -q --json >"$work/again.json"
[ "$(field outcome "$work/again.json")" = nothing-to-do ] || fail "the second compaction did something"
[ "$(wholeness "$work/whole")" = "$want" ] || fail "the second compaction changed something"

say "compaction with kills"
kills=0
while [ "$kills" -lt 20 ]; do
	rm -rf "$work/killed"
	cp --sparse=always -r "$work/restic" "$work/killed"
	while :; do
		"$lace" compact "$work/killed" "${both[@]}" -q --journal-size 33620814 >/dev/null 2>"$work/err" &
		pid=$!
		sleep "0.$(printf '%03d' $((RANDOM % 900 + 10)))"
		if kill -9 "$pid" 2>/dev/null; then kills=$((kills + 1)); fi
		status=0
		wait "$pid" 2>/dev/null || status=$?
		if [ "$status" = 0 ]; then break; fi
		[ "$status" = 137 ] || fail "exit $status: $(cat "$work/err")"
	done
	# A run that resumes does not look at the policies: the last one does.
	"$lace" compact "$work/killed" "${both[@]}" -q >/dev/null
	[ "$(wholeness "$work/killed")" = "$want" ] || fail "not byte-identical after kill $kills (SEED=$seed)"
done
say "byte-identical after each of $kills kills"
rm -rf "$work/killed" "$work/whole" "$work/restic"

say "2^20 records of about 1 KiB, half kept"
"$work/mkroot" --records 1048576 --min-size 600 --max-size 1000 --seed 7 --links 20% "$work/big"
printf "SelectStoredRecord(R) :- Field(R,'Half',_,'a').\n" >"$work/half.lace"
log=$(stat -c %s "$work/big/record-log")
"$lace" compact "$work/big" --policy "$work/half.lace" -q --json >"$work/big.json" &
pid=$!
anon=0
extra=0
while kill -0 "$pid" 2>/dev/null; do
	a=$(awk '/^RssAnon/ {print $2}' "/proc/$pid/status" 2>/dev/null || true)
	if [ -n "$a" ] && [ "$a" -gt "$anon" ]; then anon=$a; fi
	d=$(find "$work/big" -type f ! -name records -printf '%b\n' 2>/dev/null | awk '{s += $1} END {print s * 512}' || true)
	if [ "${d:-0}" -gt "$extra" ]; then extra=$d; fi
	sleep 0.02
done
wait "$pid" || fail "the compaction of the big root"
retained=$(field records "$work/big.json")
extra=$((extra - log))
limit=$((136 * retained + 64 * 1048576 + 1048576))
say "retained $retained; peak of anonymous memory $anon KiB; extra disk $extra of at most $limit bytes"
[ "$anon" -lt $((400 * 1024)) ] || fail "more than 400 MiB of anonymous memory"
[ "$extra" -le "$limit" ] || fail "more extra disk than allowed"
rm -rf "$work"
say passed
