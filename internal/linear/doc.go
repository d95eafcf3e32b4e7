// Package linear checks that the queues are linearizable. A history of overlapping
// operations is linearizable if steps done one after another explain it, each step at a
// moment between the call and the return of its operation. A sequential specification,
// separate from the code, states the allowed steps; porcupine searches for their order.
// The package has no code outside tests.
//
// The histories come from three sources: the explorer, which runs every execution of a
// few programs; goroutines that run concurrently, as a sample; and programs that rapid
// generates together with their schedules. When a generated program fails, rapid shrinks
// it.
package linear
