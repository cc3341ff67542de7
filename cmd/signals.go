package cmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// stopOnSignal returns a context that the first SIGINT, SIGTERM or SIGHUP
// cancels. After it the signals have their default action again, so that a
// second one ends the process at once; the root is resumable at any moment.
//
// SIGPIPE is ignored: that whoever read stdout went away must not end a
// compaction half-way.
func stopOnSignal(parent context.Context) (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(parent)
	stops := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	first := make(chan os.Signal, 1)
	signal.Notify(first, stops...)
	go func() {
		select {
		case <-first:
			signal.Reset(stops...)
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(first)
		cancel()
	}
}

// showOnSignal calls show whenever a signal asks for progress, until the
// returned function is called. Without it such a signal would end the process.
func showOnSignal(show func()) func() {
	signals := progressSignals()
	if len(signals) == 0 {
		return func() {}
	}
	asked, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(asked, signals...)
	go func() {
		for {
			select {
			case <-asked:
				show()
			case <-done:
				return
			}
		}
	}()
	return func() {
		// A late signal must not turn the exit code into death by a signal.
		signal.Ignore(signals...)
		close(done)
	}
}
