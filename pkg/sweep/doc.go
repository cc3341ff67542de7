// Package sweep decides which records of a root its retention policies keep:
// modules and a store boundary in, a kept set and a report out. It must not
// know backends, files or what is done with the kept set.
//
// RetentionSweep is a machine that does no IO. It hands out parts, each a
// machine of its own that hands out one store operation at a time. Parts that
// are out together may be driven side by side, and what comes out does not
// depend on whether they are. A driver
//
//  1. takes a part from the sweep with Part; none while no other part is out
//     ends the sweep,
//  2. takes the operation that Next of the part returns; false ends the part,
//  3. may stop instead, before any operation: Stop, and nothing was changed,
//  4. executes it against the store of the root, which nothing else changes
//     and which gets one operation at a time,
//  5. stops the sweep on an error, which is its outcome,
//  6. gives the result to Resume of the part, and goes on with 2,
//  7. gives a part that ended, or that it will not drive any more, to End,
//  8. reads the outcome from Result once no part is out; no record of the
//     sweep is alive then.
//
// In code, one part after the other; Run does it with several:
//
//	for p := s.Part(); p != nil; p = s.Part() {
//		for op, ok := p.Next(); ok; op, ok = p.Next() {
//			res, err := backend.Execute(op)
//			if err != nil {
//				s.Stop()
//				s.End(p)
//				return nil, err
//			}
//			p.Resume(res)
//		}
//		s.End(p)
//	}
//	return s.Result()
//
// The sweep decides the ids of one window (lo, hi] at a time, for one module
// after the other, so that memory does not grow with the root. A part is one
// window of one module, or what all windows of a module share.
package sweep
