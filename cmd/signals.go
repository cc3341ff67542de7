package cmd

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// stopOnSignal returns a context that the first SIGINT, SIGTERM or SIGHUP
// cancels. After it the signals have their default action again, so that a
// second one ends the process at once; the root is resumable at any moment.
// One that whoever started the process has let it ignore stays ignored: nohup
// does that with SIGHUP, and a shell with SIGINT for what it runs in the
// background.
//
// SIGPIPE is ignored: that whoever read stdout went away must not end a
// compaction half-way.
func stopOnSignal(parent context.Context) (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(parent)
	stops := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	first := make(chan os.Signal, 1)
	if len(stops) > 0 { // Notify takes none for all
		signal.Notify(first, stops...)
	}
	go func() {
		select {
		case <-first:
			signal.Reset(stops...) // there is one at least, which came
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
