#!/bin/bash
# Tries the built binary on disks of tools that are not part of this repository:
# a recorder of block writes (blockrec) and a disk that fails on command
# (faultdisk), from a folder of Go programs. Rungs 4 and 5 of the crash ladder do
# the same by themselves; this is a second opinion.
#
#   scripts/outside.sh [TOOLS]      TOOLS is ../shared/reliability by default
#
# STATES crash states on each of ext4, xfs and btrfs, FAULTS failing disks on
# each of ext4 and xfs. Needs root, loop devices and /dev/fuse. The first
# failure ends it.
set -euo pipefail

# Mounts of its own: a namespace that somebody else begins meanwhile would copy
# them and keep them mounted, and xfs then refuses the next disk of that UUID.
if [ -z "${LACE_OUTSIDE:-}" ]; then
	LACE_OUTSIDE=1 exec unshare -m -- bash "$0" "$@"
fi

tools=${1:-../shared/reliability}
states=${STATES:-500}
faults=${FAULTS:-40}
seed=${SEED:-$RANDOM}
RANDOM=$seed

say() { printf 'outside: %s\n' "$*"; }

# whole prints what a root holds: its log, and the arena up to the end that the
# log names.
whole() {
	local end
	end=$(tail -c 16 "$1/record-log" | od -An -tu8 | awk '{print $1 + $2}')
	{ cat "$1/record-log"; head -c "$end" "$1/records"; } | sha256sum | cut -d' ' -f1
}

left() { find "$1" -name 'compaction-*' -o -name '*.lace-tmp'; }

# judge is the oracle: an ordinary opening is refused with the hint to resume,
# or the root is wholly old or wholly new; one resume later it is finished.
judge() {
	local root=$1 is
	if [ -n "$(left "$root")" ]; then
		local code=0
		"$LACE" sweep "$root" -p "$POLICY" --dry-run -q >"$WORK/said" 2>&1 || code=$?
		[ $code = 12 ] && grep -q "lace resume $root" "$WORK/said" || { echo "opened, exit $code: $(cat "$WORK/said")"; return 1; }
	else
		is=$(whole "$root")
		[ "$is" = "$OLD" ] || [ "$is" = "$NEW" ] || { echo "neither old nor new"; return 1; }
	fi
	"$LACE" resume "$root" -q || { echo "resume: exit $?"; return 1; }
	[ -z "$(left "$root")" ] || { echo "a resume left $(left "$root")"; return 1; }
	if [ "$(whole "$root")" = "$OLD" ]; then
		compact "$root" || { echo "compact after the resume: exit $?"; return 1; }
	fi
	[ "$(whole "$root")" = "$NEW" ] || { echo "the root is not that of an uninterrupted run"; return 1; }
}

compact() { "$LACE" compact "$1" -p "$POLICY" --max-removed 100% -q; }

# workload and check are what the recorder runs.
workload() {
	cp -r --sparse=always "$WORK/old" "$MNT/root"
	sync -f "$MNT"
	echo planted >"$CTL"
	compact "$MNT/root"
	echo done >"$CTL"
}

check() {
	[ "$MARK" = none ] && return 0
	if [ "$MARK" = done ]; then
		[ "$(whole "$MNT/root")" = "$NEW" ] && [ -z "$(left "$MNT/root")" ] || { echo "it said it was done"; return 1; }
	fi
	judge "$MNT/root"
}

# failing has one write or flush of a disk fail at some moment of a compaction,
# then resumes in the same boot where the file system allows it, and looks again
# after a remount.
failing() {
	local fs=$1 size=$2 dir=$WORK/disk mnt=$WORK/mnt fault=$3 moment=$4 dev code=0 status=0 server
	mkdir -p "$dir" "$mnt"
	"$WORK/faultdisk" -mib "$size" "$dir" &
	server=$!
	until [ -e "$dir/ctl" ]; do sleep 0.02; done
	dev=$(losetup -f --show "$dir/disk")
	# A request longer than FUSE takes at once is written in parts. When a later
	# part fails, a loop device takes the short write for a whole one, and nobody
	# hears of the failure.
	echo 128 >"/sys/block/${dev#/dev/}/queue/max_sectors_kb"
	"mkfs.$fs" -q "$dev"
	mount "$dev" "$mnt"
	cp -r --sparse=always "$WORK/old" "$mnt/root"
	sync -f "$mnt"
	(sleep "$moment" && echo "$fault" >"$dir/ctl") &
	local armed=$!
	compact "$mnt/root" >"$WORK/first" 2>&1 || code=$?
	wait $armed
	echo '!heal' >"$dir/ctl"
	if [ $code != 0 ] && [ $code != 1 ] && [ $code != 16 ]; then
		echo "exit $code: $(cat "$WORK/first")"
		status=1
	fi
	# A journal that aborted has made the file system read-only: remount first.
	if [ $status = 0 ] && touch "$mnt/writable" 2>/dev/null; then
		judge "$mnt/root" || status=1
		sameboot=$((sameboot + 1))
	fi
	umount "$mnt"
	if [ $status = 0 ]; then
		mount "$dev" "$mnt"
		judge "$mnt/root" || status=1
		umount "$mnt"
	fi
	losetup -d "$dev"
	kill "$server"
	wait "$server" || true
	[ $code = 0 ] || refused=$((refused + 1))
	return $status
}

case "${2:-}" in
workload | check)
	"$2"
	exit
	;;
esac

if [ ! -d "$tools/blockrec" ]; then
	if [ "${CI:-}" = true ]; then
		say "FAILED: there is no $tools/blockrec"
		exit 1
	fi
	say "SKIPPED: there is no $tools/blockrec"
	exit 0
fi
export WORK LACE POLICY OLD NEW
WORK=$(mktemp -d /dev/shm/lace-outside.XXXXXX)
trap 'umount -q "$WORK/mnt" || true; rm -rf "$WORK"' EXIT
here=$PWD
(cd "$tools" && go build -o "$WORK/" ./blockrec ./faultdisk)
go build -o "$WORK/lace" .
go build -o "$WORK/mkroot" ./scripts/mkroot
LACE=$WORK/lace POLICY=$WORK/policy.lace
printf "SelectStoredRecord(R) :- Field(R,'Half',_,'a').\n" >"$POLICY"
"$WORK/mkroot" --records 3000 --min-size 100 --max-size 8000 --seed "$seed" --capacity 32MiB "$WORK/old"
OLD=$(whole "$WORK/old")
cp -r --sparse=always "$WORK/old" "$WORK/new"
compact "$WORK/new"
NEW=$(whole "$WORK/new")
say "seed $seed"
for disk in 'ext4 64' 'xfs 300' 'btrfs 128'; do
	read -r fs size <<<"$disk"
	"$WORK/blockrec" -fs "$fs" -mib "$size" -n "$states" -seed "$seed" \
		-workload "$here/scripts/outside.sh '$tools' workload" -check "$here/scripts/outside.sh '$tools' check"
done
for disk in 'ext4 64' 'xfs 300'; do
	read -r fs size <<<"$disk"
	refused=0 sameboot=0
	for ((i = 0; i < faults; i++)); do
		fault=('!eio-flush 1' '!eio-writes 1' '!eio-writes 8')
		moment=$(printf '0.%03d' $((RANDOM % 150)))
		failing "$fs" "$size" "${fault[i % 3]}" "$moment" || {
			say "FAILED: $fs, seed $seed, disk $i, ${fault[i % 3]} after $moment s"
			exit 1
		}
	done
	say "$fs: $faults failing disks, 0 failures; $refused compactions ended with the error, $sameboot were resumed in the same boot"
done
