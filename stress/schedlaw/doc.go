// Package schedlaw checks any task scheduler against laws. Each accepted task runs once.
// No worker stays parked while a task is queued. Every wait ends, and the counters add
// up.
//
// A law is a promise that holds under every interleaving and that a test can check from
// outside. A law generates a shape from a seed. The shape is the number of workers and
// the form of the trees of tasks. The law schedules tasks of that shape and compares the
// tasks that ran with the tasks that were accepted. [Laws] returns the laws:
//
//	law       needs            promise
//	once      -                a task runs at most once
//	lost      -                every accepted task has run when Shutdown returns
//	limit     -                no more tasks run at once than there are workers
//	refused   -                Shutdown makes the scheduler refuse tasks of external callers, and a refused task does not run
//	awake     -                no worker stays parked while tasks of external callers are queued: as many of them as there are workers run at once
//	chain     -                no worker stays parked while tasks are queued by tasks that then block their workers
//	fair      -                every accepted task runs while other tasks schedule themselves for ever
//	stalled   -                every task that a task schedules runs, although that task then waits for it without Blocking
//	blocked   -                every accepted task runs, although the tasks before it wait for it without Blocking
//	computing -                tasks that compute never run at once in a larger number than there are workers, or one more if stalled workers are replaced
//	waits     Grouper          every Wait of an external caller returns when all tasks of its group have run, and not before
//	nested    Grouper          every Wait of a task returns when all tasks of its group have run, for any number and depth of waiting tasks
//	shared    Grouper          Wait returns when all tasks of a group have run to which all workers schedule from its first task on, and not before
//	blocking  Blocker          tasks in Blocking do not reduce the number of other tasks that run at once
//	resumes   Blocker          a task that is in Blocking during Shutdown may schedule tasks afterwards, and each accepted one has run when Shutdown returns
//	counters  Counter          Executed grows to the number of accepted tasks, and Parked never exceeds Workers
//	close     Closer           after Close every accepted task has run or was counted as not run, and no further task is accepted or started
//	closing   Closer, Grouper  Close ends every Wait
//
// # Check a scheduler
//
// Write an adapter for [Scheduler] and [Worker], and describe the scheduler with a
// [Kind]:
//
//	type scheduler struct{ s *other.Scheduler }
//
//	func (s scheduler) Schedule(task schedlaw.Task) bool {
//		return s.s.Submit(func(w *other.Worker) { task(worker{w}) }) == nil
//	}
//	func (s scheduler) Shutdown() { s.s.Stop() }
//
//	type worker struct{ w *other.Worker }
//
//	func (w worker) Schedule(task schedlaw.Task) bool {
//		return w.w.Submit(func(w *other.Worker) { task(worker{w}) }) == nil
//	}
//
//	func TestLaws(t *testing.T) {
//		schedlaw.Check(t, schedlaw.Kind{
//			Name: "other.Scheduler",
//			New:  func(workers int) schedlaw.Scheduler { return scheduler{other.New(workers)} },
//		}, schedlaw.Options{})
//	}
//
// Further abilities are interfaces that the scheduler or its workers may implement:
// [Grouper], [Counter], [Closer] and [Blocker]. A law that needs a missing ability logs
// that it was skipped. The laws stalled and blocked are for a [Kind] that replaces stalled
// workers, and the law limit for any other. The law computing is for both, but not for a Kind that
// also replaces a worker whose task computes.
//
// [Sched] is the adapter for package sched, and [ZeroSched] that for its zero Config.
//
// # When a law is violated
//
// The message names the law, the observation, the shape, and the seed. The seed in
// [Options] generates the same shape again, but not the same interleaving: a rare
// violation may need many runs with the seed, for example with "go test -count".
//
// A law that waits gives up at Options.Deadline and names what is stuck. The stuck
// goroutines and the scheduler stay.
//
// Tasks and their schedulers share plain memory where the scheduler has to order the
// accesses. Run the laws under the race detector as well: it reports a missing
// happens-before edge with both sides.
//
// # Limits
//
// Real threads execute few of all interleavings, so a scheduler that passes may still be
// wrong. Package interleave explores all interleavings of small programs and complements
// the laws. The laws measure no speed. The law fair states that no task waits for ever, and
// not how long it waits.
//
// Terms are defined in docs/GLOSSARY.md.
package schedlaw
