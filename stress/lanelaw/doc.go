// Package lanelaw checks any lanes against laws. Every call has one outcome, its own. A
// handler is entered once. An abort, a deadline and a shutdown end calls as specified.
//
// Lanes take calls and return their outcomes. Goroutines, the callers themselves, or
// other processes may run the handlers. A law is a promise that holds under every
// interleaving and that a test can check from outside. A law generates a shape from a
// seed. The shape is the number of lanes and callers and the length of their bursts. A
// burst is a number of calls that one goroutine makes before it waits for them. The law
// makes calls of that shape and compares the outcomes with what the handlers did.
// [Laws] returns the laws:
//
//	law         needs             promise
//	own         -                 every call ends with the result of its own handler
//	once        -                 a handler is entered once, and an outcome does not change
//	counts      -                 Backlog plus InFlight is Accepted minus Ended in each snapshot, and zero when no call is left
//	order       Kind.Ordered      the calls of one caller start in the order in which it made them
//	limit       Kind.Concurrency  a lane runs Concurrency handlers at once, and no more
//	idle        Kind.Shared       while one handler more may run, every call ends, whatever the other handlers wait for
//	leases      Kind.Leases       a leased lane runs no calls but those of its lease, and each wait for a lease ends with one or with its cause
//	reserves    Kind.Leases       a lane that a goroutine waits for is leased before it starts other calls
//	discards    Kind.Leases       a Discard ends the lease of a lane, its calls and its id, and the lane continues
//	failures    -                 an error, a panic or a Goexit of a handler is the outcome of its own call only
//	unknown     -                 a call of an unknown task fails with an error that names the task
//	payloads    -                 the caller receives the value that the handler returned, of every type and size; only a payload over MaxPayload is refused
//	nested      -                 a call that a handler makes ends, at any depth and on any lane, or is refused
//	ping        -                 an open lane answers a ping without a handler
//	pause       -                 a call that is accepted during a pause starts after it, and running handlers continue
//	abort       -                 an abort ends a call at once: a waiting call never starts, a running handler is notified, an ended call keeps its outcome
//	aborts      -                 when an abort, a deadline and a result race, one of them is the outcome, and no other call is aborted
//	abortslots  Kind.AbortSlots   there are AbortCapacity abort slots, and every slot is released
//	deadline    -                 a deadline counts from the time of the call: a call that waits for longer never starts
//	backlog     Kind.Bounded      a busy lane accepts as many calls as its backlog, repeatedly, and a refused call does not run
//	policies    Kind.Bounded      when a lane is full, the overflow policy decides which calls wait, run, or end
//	shutdown    -                 Shutdown finishes the accepted calls and refuses later ones
//	close       -                 Close ends the accepted calls at once and refuses later ones
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
