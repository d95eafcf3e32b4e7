// Package interleave runs small concurrent programs in every order in which
// their threads can be interleaved, and reports the first order that goes
// wrong, in a form that can be run again.
//
// # A first model
//
// A model is a function that builds a program: some state, a few threads that
// work on it, and what must hold at the end.
//
//	func TestModelCounter(t *testing.T) {
//		interleave.Check(t, "counter", interleave.Options{Preemptions: 2}, func(m *interleave.M) {
//			var n interleave.Int32
//			for range 2 {
//				m.Go("add", func() { n.Store(n.Load() + 1) })
//			}
//			m.Final(func() {
//				if n.Load() != 2 {
//					m.Fatalf("counted %d", n.Load())
//				}
//			})
//		})
//	}
//
// [Check] calls the function once for each execution and prints how many there
// were:
//
//	model counter executions=2 pruned=0 preemptions=2 complete=false
//
// and, as this counter loses an update, the steps that lose it:
//
//	model counter: interleave: counted 1
//	execution 2, schedule 0,1x2,0
//	    1     add(0)  Int32#0.Load() = 0  counter_test.go:10
//	    2     add(1)  Int32#0.Load() = 0  counter_test.go:10
//	    3     add(1)  Int32#0.Store(1)  counter_test.go:10
//	    4     add(0)  Int32#0.Store(1)  counter_test.go:10
//
//	run it again with
//		go test -run '^TestModelCounter$' ./counter -interleave.replay=counter:0,1x2,0
//
// With n.Add(1) instead, the line ends in complete=true: there is no order that
// goes wrong. [Explore] does the same without a test around it.
//
// # The code under test
//
// The explorer sees the operations of the types in this package: [Bool],
// [Int32], [Int64], [Uint32], [Uint64], [Uintptr] and [Pointer] are those of
// sync/atomic, [Sema] is a semaphore to block on, and [Cell] is plain memory.
// Code that is to be checked as it is shipped reaches them by way of aliases in
// a package of its own,
//
//	//go:build !interleave                 //go:build interleave
//
//	type Uint32 = atomic.Uint32            type Uint32 = interleave.Uint32
//
// and is tested with -tags interleave. Without the tag nothing is left of the
// explorer in the program. With it the types still are plain atomics wherever
// no exploration runs, with the same size and alignment, so that all other
// tests of the code pass as before.
//
// A thread of a model must not block on anything else. While it waits for a
// mutex or a channel, the thread that would end the wait does not run, and the
// test hangs; the explorer says so on the standard error after twenty seconds.
// Nor may it start goroutines ([Go] makes threads), or depend on time, random
// numbers, addresses, or the order of maps: the explorer repeats executions and
// fails with [Unsteady] when they differ. Everything that an execution changes
// is made anew in the body.
//
// A loop that waits for another thread calls [Yield] in each round. The
// explorer then runs the others, all of them sooner or later: a program that
// still does not end within [Options.MaxSteps] steps is a livelock.
//
// # What is explored
//
// A step is one operation on an atomic or a semaphore. Between two steps of a
// thread the explorer may run any number of steps of others. It runs one thread
// at a time, and what a thread does between its steps happens at once. [Choose]
// adds other things that can go either way: a call that fails, a value from
// outside.
//
// That is the whole truth about a Go program, as far as its plain memory is
// free of data races. The Go memory model says that atomics behave as if their
// operations were done one after another in some order, and that a program
// without data races behaves as if all of its memory did (DRF-SC). So it is
// enough to go through the orders of the steps and to show for each that plain
// accesses do not race. For those in a [Cell] the explorer does so itself, with
// vector clocks: two accesses, one of them a write, must be ordered by the
// making of threads, by an atomic read that sees an atomic write, or by a token
// that is posted and taken. A race is found even in an execution in which the
// values happen to be right. For other plain memory there is the race detector,
// see below. No weaker behaviour of processors is left out: on all of them the
// compiler makes atomics as strong as the memory model says.
//
// An execution ends when no thread can take a step. It is a [Failure] when a
// thread other than a daemon has not ended by then (a [Deadlock]: a lost
// wake-up is one), when it does not end ([Livelock]), at a [Race], at a panic
// ([Panic]), and when the program calls [M.Fatalf] ([Failed]).
//
// With [Options.Crash] one thread may also stop for ever before any of its
// steps, as if its process had been killed or its processor taken away. If the
// others always end, the algorithm is lock-free as far as that thread goes. With
// [Options.Timeouts] a timed wait may time out at any step.
//
// # What cannot be found
//
//   - What does not happen in the program: a model with two threads and three
//     tasks says nothing about four, although few bugs need more than two or
//     three threads.
//   - What needs more preemptions than the bound, unless it is [All].
//   - What goes around the types of this package: sync.Mutex, channels,
//     system calls, goroutines.
//   - Slowness and unfairness: only what never ends is a failure.
//   - Mistakes of the compiler, and of code that hides pointers from the
//     garbage collector.
//
// # Which strategy
//
// [DFS] with a bound of two or three preemptions is the one to begin with. A
// preemption is a switch away from a thread that could go on; switches where a
// thread ends, waits or yields are free. Most bugs need no more than two, and
// the number of executions grows only with a power of the steps. When it is
// complete, there is no bug within the bound.
//
// DFS with [All] is a proof for the program, and takes time exponential in its
// length. SleepSets make it feasible for programs of twenty or thirty steps:
// orders that differ only in neighbouring steps on different objects are run
// once. They leave out executions, never outcomes. A program that yields, or a
// bound, cannot be combined with them.
//
// [PCT] and [Random] are for programs that are too large for that. PCT finds
// bugs that need few ordered steps, in long programs too; Random finds bugs that
// many orders have, and no order is out of its reach. They prove nothing. Take
// both, and let them run for long now and then, with -interleave.budget.
//
// A search that goes deep stays for long in one corner of a large program: a
// bug that PCT finds at once may be behind a million executions of DFS without a
// bound. Use several strategies on one model, and plant a bug to see that they
// can find it.
//
// # Other tests
//
// A build that puts model types in the place of atomics has them in all its tests. With
// -interleave.delay=200 about one in 200 of their operations outside of models is
// delayed: tests that take for granted what only a machine at rest shows fail
// then, and so does code. It cannot be replayed.
//
// # Replay
//
// A schedule says which thread takes each step and what [Choose] returns:
//
//	3     thread 3 takes a step
//	3x12  thread 3 takes 12 steps
//	3k    thread 3 crashes
//	v2    Choose returns 2
//
// separated by commas; threads are numbered from 0 as they were made. A step
// that follows a Yield of the same thread has no entry of its own. The schedule
// - is empty; after the end of a schedule the thread with the lowest number goes
// on. [Options.Replay] runs one, and so does the flag -interleave.replay of a
// test that calls Check, which logs the steps also when nothing goes wrong. The
// same options give the same executions on all machines, with one backend as
// with the other.
//
// # The race detector
//
// With the backend [Coroutines], threads are switched in a way that the race
// detector takes for synchronization, and it sees no race between them. With
// [Baton] the hand-over is hidden from it, and it sees the program alone: with
// go test -race -tags interleave (where Check takes this backend by itself) it
// reports races on all plain memory that the executions touch, and Check adds
// the schedule. That includes the memory of the model itself: what threads write
// for Final to look at is best kept apart for each of them. Since it reports each race once, a replay is silent in the same
// process.
//
// # Costs
//
// On one core of a current server a step takes 100 to 200 ns and an execution 2
// µs besides: 250,000 to 450,000 executions of 15 steps in a second. Memory does
// not grow with the number of executions. Threads that have not ended at the end
// of an execution, such as daemons, are made to leave by [runtime.Goexit], which
// runs their deferred functions and takes about a microsecond. Under the race
// detector all of it takes about five times as long. An execution may have 64
// threads.
//
// Only one exploration runs in a process at a time. Goroutines that are not part
// of it may use the model types meanwhile (on amd64, arm64 and 386 without the
// tag purego; elsewhere they must not).
//
// # Sources
//
// The search and its preemption bound are those of CHESS (Musuvathi and Qadeer,
// PLDI 2007), the treatment of Yield that of their paper of PLDI 2008. Sleep
// sets are due to Godefroid (1996), PCT to Burckhardt and others (ASPLOS 2010).
// The form of the models follows loom and Shuttle for Rust.
package interleave
