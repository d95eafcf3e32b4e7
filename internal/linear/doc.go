// Package linear checks that the queues are linearizable: that every small history
// of operations which overlap can be explained by steps done one after another,
// each at a moment between the call and the return of its operation. The steps
// that are allowed are written down here as a sequential specification, apart from
// the code, and porcupine looks for the order. It has no code outside tests.
//
// The histories come from the explorer, which goes through every execution of a
// few programs; from goroutines that run at the same time, as a sample; and from
// programs and schedules that rapid draws together and makes smaller when one
// fails.
package linear
