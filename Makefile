# make demo   build lace, make an example root, preview and compact it
# make check  everything CI runs, with the seconds of each step
# Long campaigns have targets of their own; check runs a short form of each.

GO    ?= go
BUILD := tmp

.PHONY: all build setup demo check test race fmt vet staticcheck cross fuzz clean

all: build

build:
	$(GO) build -o bin/lace .

# setup installs what a fresh machine lacks.
setup:
	sh scripts/setup.sh

demo: setup build
	sh scripts/demo.sh

check: setup
	bash scripts/check.sh

test:
	$(GO) test ./...

race:
	$(GO) test -race ./...

fmt:
	gofmt -l -w cmd docs examples pkg scripts main.go

vet:
	$(GO) vet ./...

staticcheck:
	$(GO) tool staticcheck ./...

# cross builds and vets every system lace is made for.
cross:
	sh scripts/cross.sh

# fuzz runs every fuzz target for FUZZTIME each.
FUZZTIME ?= 2m
fuzz:
	FUZZTIME=$(FUZZTIME) sh scripts/fuzz.sh

clean:
	rm -rf bin dist $(BUILD)

# crash, fuzz-sweep and bench-sweep are the long forms of what check runs short:
# crash states of compaction and resume (STATES in all, over seven tests, each on
# one core), random policies against the oracle, and sweeps over a big root in
# memory.
STATES ?= 500000
CASES  ?= 100000
BIG    ?= 1048576
.PHONY: crash fuzz-sweep bench-sweep
crash:
	GOMAXPROCS=1 LACE_CRASH_STATES=$$(($(STATES) / 7)) $(GO) test -count 1 -timeout 0 -v \
		-run '^TestMatrix|^TestCompactionSurvives' ./pkg/compact/compacttest ./pkg/store/native ./pkg/store/node
	$(GO) test -count 1 -timeout 0 -run 'Surviv|Crash' ./pkg/store/...
	LACE_TEST_LONG=1 $(GO) test -timeout 0 -run 'Killed' ./cmd

# history-windows keeps the histories in windows of every size, each deriving
# anew what windows share as well: ten minutes.
.PHONY: history-windows
history-windows:
	LACE_TEST_LONG=1 $(GO) test -count=1 -timeout 0 -v -run TestHistoryWindows ./cmd

# history-profiles keeps, exports and compacts the large history on every
# profile: a minute.
.PHONY: history-profiles
history-profiles:
	LACE_TEST_LONG=1 $(GO) test -count=1 -timeout 0 -v -run TestHistoryOnEveryProfile ./cmd

fuzz-sweep:
	$(GO) test -timeout 0 ./pkg/sweep/sweeptest -sweep.cases $(CASES)

bench-sweep:
	$(GO) test -timeout 0 -run TestBigSweeps -v ./pkg/sweep -sweep.big $(BIG)

# accept is the long acceptance run on real input; it takes some minutes.
.PHONY: accept
accept:
	bash scripts/accept.sh

# The ladder: a rung is a kind of fault of the real system, tried against the
# built binary. crash-RUNG is the short form, LONG=1 the long one; crash-ci and
# crash-long are all of them, with the figures at the end. SEED=S repeats what
# was tried, -only and other flags of a failure go in ARGS. It needs Linux, root,
# loop devices, xfsprogs and btrfs-progs; what cannot run is skipped and counted,
# and fails under CI=true. crash-states is the long form of rung 0.
RUNGS := states kill inject power blocks disk full punch locks model hostile limits
.PHONY: crash-ci crash-long $(RUNGS:%=crash-%)
$(RUNGS:%=crash-%): crash-%:
	$(GO) run ./scripts/crash $* $(if $(LONG),-long) $(if $(SEED),-seed $(SEED)) $(ARGS)

crash-ci:
	$(GO) run ./scripts/crash all $(if $(SEED),-seed $(SEED)) $(ARGS)

crash-long:
	$(GO) run ./scripts/crash all -long $(if $(SEED),-seed $(SEED)) $(ARGS)

# crash-outside tries the built binary on the disks of tools that are not ours,
# from ../shared/reliability: a recorder of block writes and a failing disk.
.PHONY: crash-outside
crash-outside:
	bash scripts/outside.sh

# Releases: archives for every system, a Debian package of this one, and a check
# that two builds of one commit are the same bytes. docs writes what commands
# say of themselves.
.PHONY: docs dist deb dist-check
docs:
	sh scripts/release/generate.sh tmp/generated

dist:
	sh scripts/release/dist.sh

deb:
	sh scripts/release/deb.sh

dist-check:
	sh scripts/release/check.sh

# bench measures compaction, open, verify and sweep beside a tuned copy, and
# writes the tables of docs/performance.md; cold caches need root on Linux, and
# the data sets about 10 GB below tmp. bench-short compares ratios of small sets
# with recorded ones.
.PHONY: bench bench-short
bench:
	$(GO) run ./scripts/bench all --write docs/performance.md $(ARGS)

bench-short:
	$(GO) run ./scripts/bench short $(ARGS)

# peers-test tests the databases that bench compares with, a module of its own;
# building them for the first time takes some minutes and a C compiler.
.PHONY: peers-test
peers-test:
	$(GO) vet -C scripts/bench/peers ./...
	$(GO) test -C scripts/bench/peers ./...
