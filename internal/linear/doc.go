// Package linear checks that the queues are linearizable. It has no code outside tests.
//
// A history of overlapping operations is linearizable if steps done one after another
// explain it. Each step has to be at a moment between the call and the return of its
// operation. A sequential specification states the allowed steps. It is separate from
// the code of the queues. The checker porcupine searches for an order of the steps.
//
// The histories come from three sources. The explorer runs every execution of a few
// programs. Goroutines that run concurrently give a sample. Rapid generates programs
// together with their schedules, and shrinks both when one fails. Terms are defined in
// docs/GLOSSARY.md.
package linear
