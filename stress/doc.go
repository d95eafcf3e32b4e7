// Package stress holds laws that queues, schedulers and lanes have to keep, ours and
// anybody's, and scenarios that check ours for as long as one likes.
//
// # Laws
//
// A law is a promise that can be checked from outside, whatever the threads do:
// a task runs once, nothing is lost, no worker stays parked while work is queued,
// every wait ends, every call has one outcome. [QueueLaws], [SchedulerLaws] and
// [LaneLaws] list them. A law draws a shape from a seed, such as how many
// goroutines push in what bursts, uses the implementation so, and compares what
// went in with what came out.
//
// A test of another library describes its queue by a [QueueKind], its scheduler by
// a [SchedulerKind], or its lanes by a [LaneKind], and runs all laws:
//
//	type queue struct{ q *other.Queue[uint64] }
//
//	func (q queue) Producer(int) stress.Producer { return q }
//	func (q queue) Consumer(int) stress.Consumer { return q }
//	func (q queue) Push(v uint64) bool           { return q.q.TryPush(v) }
//	func (q queue) Pop() (uint64, bool)          { return q.q.TryPop() }
//
//	func TestLaws(t *testing.T) {
//		stress.CheckQueue(t, stress.QueueKind{
//			Name:     "other.Queue",
//			New:      func(stress.QueueShape) stress.Queue { return queue{other.New[uint64](64)} },
//			FIFO:     true,
//			Capacity: 64,
//		}, stress.Options{})
//	}
//
// What not every implementation has is optional, in two ways. Numbers and promises
// are fields of the kind: a limit of one producer, an order, a capacity. Abilities
// are small interfaces that the queue, the scheduler or its workers may have:
// [QueueCloser], [Grouper], [Blocker], [Counter], [Closer]. A law that needs what
// is not there logs that it was skipped.
//
// Lanes are anything that takes calls: goroutines, callers, or other processes, which
// need only have [LaneTasks], and tell a [LaneGate] where their handlers are.
//
// # When a law is broken
//
// The message names the law, what was seen, the shape, and the seed that draws
// the same shape again, in [Options]. How threads interleave is not drawn: a rare
// failure may need the seed many times, which `go test -count` does.
//
// A law that waits gives up at the deadline of its Options, and says what is
// stuck. The goroutines that are stuck stay, and so does the scheduler.
//
// Values and results lie in plain memory where the implementation has to order
// accesses to it. Run the laws under the race detector, too: an edge that is
// missing is then a race report that shows both sides.
//
// # What laws cannot show
//
// Real threads try few of all interleavings, so that a law which holds today may
// break tomorrow. Package interleave tries all, of small programs; the two go
// together. The laws measure nothing, and say nothing about fairness.
//
// # Scenarios
//
// [Run] plays scenarios over the packages of this module: these laws, and what
// needs to know them from inside, such as a spawner that fails. The command
// "lanewright stress" is Run with flags.
package stress
