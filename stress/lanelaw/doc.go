// Package lanelaw checks any lanes against laws. Every call has one outcome, its own. A
// handler is entered once. An abort, a deadline and a shutdown end calls as specified.
//
// Lanes take calls and return their outcomes. Goroutines, the callers themselves, or
// other processes may run the handlers. A law is a promise that holds under every
// interleaving and that a test can check from outside. A law generates a shape from a
// seed. The shape is the number of lanes and callers and the length of their bursts. The
// law makes calls of that shape and compares the outcomes with what the handlers did.
// [Laws] lists the laws.
//
// # Check lanes
//
// Write an adapter for [Lanes], register the handlers of [Tasks], and describe the lanes
// with a [Kind]:
//
//	func TestLaws(t *testing.T) {
//		lanelaw.Check(t, lanelaw.Kind{
//			Name: "other lanes",
//			New: func(c pool.Config, gate lanelaw.Gate) lanelaw.Lanes {
//				l := other.NewLanes(c.Lanes, c.Backlog)
//				for name, task := range lanelaw.Tasks(gate) {
//					l.Register(name, adapt(task))
//				}
//				return lanes{l}
//			},
//			Concurrency: 1,
//			Ordered:     true,
//		}, lanelaw.Options{})
//	}
//
// A handler reports its progress to the [Gate], so that a law can count handlers and
// hold them. Lanes that run handlers in another process forward the calls of the Gate to
// the process that made it. The fields of the Kind state what the lanes promise. A law
// that needs a missing promise logs that it was skipped.
//
// [Pool] and [Inline] are adapters for the lanes of package pool.
//
// # When a law is violated
//
// The message names the law, the observation, the shape, and the seed. The seed in
// [Options] generates the same shape again, but not the same interleaving: a rare
// violation may need many runs with the seed, for example with "go test -count".
//
// A law that waits gives up at Options.Deadline and names what is stuck. The stuck
// goroutines and the lanes stay.
//
// # Limits
//
// Real threads execute few of all interleavings, so lanes that pass may still be wrong.
// Package interleave explores all interleavings of small programs and complements the
// laws. The laws measure no speed and state nothing about fairness.
//
// Terms are defined in docs/GLOSSARY.md.
package lanelaw
