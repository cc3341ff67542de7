// Command crash runs the built lace against faults of the real system: kills,
// failing calls, power cuts, failing and full disks, contended locks, limits
// and planted files.
//
//	go run ./scripts/crash RUNG [-n TRIALS] [-seed S] [-only TRIAL] [-long]
//	go run ./scripts/crash all [-seed S] [-long]
//
// A rung that cannot run here is skipped and counted; under CI=true that is a
// failure.
//
// Each rung is a list of trials that a seed determines, and every trial has the
// same oracle: after the fault an ordinary opening is refused with the hint to
// resume, or the root is wholly old or wholly new; one "lace resume" later
// record-log and arena are byte-identical to those of an uninterrupted run. A
// failed trial prints the command that repeats it. Before the trials count, a
// rung has to catch planted faults of the protocol, made by leaving calls of
// the binary out. The command must not know the packages of lace but the model
// of a disk: it sees what an operator sees.
package main
