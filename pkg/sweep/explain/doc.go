// Package explain says why a module selects a record, as a derivation down to
// the facts, or, for each rule, which literal failed and with what binding. It
// must not know backends, files or how policies are written.
//
// A record is explained from the relations of a window of that record alone,
// which an eval.Inquiry keeps: every answer comes from the evaluator that made
// the decision, under the same limits. Nothing is guessed:
//
//   - a derivation is one instance of a rule, whose premises were derived before
//     its conclusion, so that recursion ends;
//   - a failure names the first literal, in the order of the body but behind
//     what it needs bound, that no binding of the literals before it satisfies.
//
// An explanation has at most MaxRules applications of rules, MaxDepth deep, and
// says where it was cut.
package explain
