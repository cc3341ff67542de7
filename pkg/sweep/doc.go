// Package sweep decides which records of a root its retention policies keep:
// modules and a store boundary in, a kept set and a report out. It must not
// know backends, files or what is done with the kept set.
//
// RetentionSweep is a machine that does no IO. It hands out one store
// operation at a time, and its driver
//
//  1. takes the operation that Next returns; false ends the sweep,
//  2. may stop instead, before any operation: Stop, and nothing was changed,
//  3. executes it against the store of the root, which nothing else changes,
//  4. stops on an error, which is the sweep's outcome,
//  5. gives the result to Resume, and goes on with 1,
//  6. reads the outcome from Result; no record of the sweep is alive then.
//
// In code, which is what Run does:
//
//	for {
//		op, ok := s.Next()
//		if !ok {
//			return s.Result()
//		}
//		res, err := backend.Execute(op)
//		if err != nil {
//			s.Stop()
//			return nil, err
//		}
//		s.Resume(res)
//	}
//
// The sweep decides the ids of one window (lo, hi] at a time, for one module
// after the other, so that memory does not grow with the root.
package sweep
