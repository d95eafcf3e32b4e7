// Package interleave explores the interleavings of small concurrent programs. One
// execution is one run of the program, in one interleaving. The package reports the
// first execution that fails, in a form that can be run again.
//
// # A first model
//
// A model is a function that builds a program. It creates the state and a few
// threads that use it, and it states the law that must hold at the end.
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
// [Check] calls the function once for each execution and prints the number of
// executions:
//
//	model counter executions=2 pruned=0 preemptions=2 complete=false
//
// This counter loses an update, so Check also prints the steps that lose it:
//
//	model counter: interleave: counted 1
//	execution 2, 1 preemption, schedule 0,1x2,0
//	    step  position            add(0)              add(1)
//	       1  counter_test.go:10  Int32#0.Load() = 0
//	>>     2  counter_test.go:10  |                   Int32#0.Load() = 0
//	       3  counter_test.go:10  |                   Int32#0.Store(1)
//	 >     4  counter_test.go:10  Int32#0.Store(1)
//
//	run it again with
//		go test -run '^TestModelCounter$' ./counter -interleave.replay=counter:0,1x2,0
//
// Both threads load 0 before one of them stores 1. The section "Reading a
// failure" explains each part.
//
// With n.Add(1) instead, the line ends in complete=true: no execution with at
// most two preemptions fails. [Explore] does the same without a test.
//
// # The code under test
//
// The explorer sees the operations of the types in this package. [Bool],
// [Int32], [Int64], [Uint32], [Uint64], [Uintptr] and [Pointer] model the
// types of sync/atomic. [Mutex] models sync.Mutex, and [Pool] models sync.Pool.
// [Sema] is a semaphore to block on: call [Sema.Init] before its first use.
// [Cell] is plain memory.
// Production code uses these types through aliases in a package of its own:
//
//	//go:build !interleave                 //go:build interleave
//
//	type Uint32 = atomic.Uint32            type Uint32 = interleave.Uint32
//
// In the build without the tag, the package declares its own Sema and Cell
// with the same methods. Sema is there the lock or channel that the code
// blocks on, and Cell is a struct with one plain field.
//
// The models of the production code run with -tags interleave. Without the tag
// the program contains nothing of the explorer. With the tag the types behave
// as plain atomics wherever no exploration runs, with the same size and
// alignment, so that all other tests of the code pass as before.
//
// A model obeys these rules:
//
//   - A thread blocks on a Sema or a Mutex only. While it waits for a lock of
//     package sync or for a channel, the thread that would end the wait does
//     not run. After twenty seconds without a step the exploration fails as a
//     [Misuse] with the stack of the thread. Its goroutines stay in the process,
//     and end if the wait ends. A thread that computes for so long fails as well.
//   - A thread starts no goroutine. [Go] makes threads. When another goroutine
//     uses a model object of an execution, that execution fails as a [Misuse].
//     Goroutines that use other model objects disturb nothing.
//   - The program depends on nothing but the order of its steps and [Choose].
//     Time, random numbers, addresses and the order of maps are not allowed.
//     The explorer repeats executions. It fails with [Unsteady] when it notices
//     a difference.
//   - The body creates all state that an execution changes.
//   - A loop that waits for another thread calls [Yield] in each round. The
//     thread then waits until an object changes that it has read in the round. A
//     program that still does not end within [Options.MaxSteps] steps is
//     reported as a livelock.
//
// # What is explored
//
// A step is one operation on an atomic, a semaphore, a mutex or a pool. Between two
// steps of a thread the explorer may run any number of steps of other threads. It
// runs one thread at a time, and the code between two steps of a thread is executed
// as one piece. [Choose] adds other decisions that can go either way: a call that
// may fail, or an external value.
//
// The orders of the steps are all that a Go program can do, if its threads
// synchronize by the types of this package only, if its plain memory is free of
// data races, and if the next section excludes nothing that it needs. The reason
// is the Go memory model. Atomics behave as if their operations were executed
// one after another in some order. A program without data races behaves as if
// all of its memory did (DRF-SC). It is therefore enough to run the orders of
// the steps and to show for each order that the plain accesses do not race. No
// weaker behaviour of processors is left out, because the compiler makes atomics
// as strong as the memory model requires on all of them.
//
// The explorer checks the accesses to each [Cell] with vector clocks. Two
// accesses, one of which is a write, must be ordered by the creation of threads,
// by an atomic read that sees an atomic write, by a token that is posted and
// taken, by an item that is put into a pool and taken, or by a mutex. A race is
// reported also in an execution in which the values happen to be right. For other
// plain memory there is the race detector, see below.
//
// An execution ends when no thread can take a step. It is a [Failure] in these
// cases:
//
//   - a thread other than a daemon has not ended by then ([Deadlock]; a lost
//     wake-up is one)
//   - the execution does not end ([Livelock])
//   - two accesses to a Cell are not ordered ([Race])
//   - a thread panics ([Panic])
//   - the program calls [M.Fatalf] ([Failed])
//
// With [Options.Crash] one thread may also stop for ever before any of its
// steps, as if its process had been killed or its processor taken away. If no
// execution fails, the other threads of the model never depend on a further
// step of that thread. The algorithm is then lock-free in the model, as far as
// that thread goes.
//
// With [Options.Timeouts] a timed wait may time out at any step, within
// [Options.Rounds] (see [Sema.WaitFor]).
//
// # What is not explored
//
//   - Programs other than the model. A model with two threads and three tasks
//     says nothing about four tasks, although few bugs need more than two or
//     three threads.
//   - Executions with more preemptions than the bound, unless the bound is [All].
//   - Synchronization by other means, such as sync.Mutex, channels, system calls
//     and goroutines. Lock and Unlock of a sync.Mutex are no steps, unlike those
//     of a [Mutex]. A load of an atomic before Lock and the critical section can
//     thus form one step. A bug that needs a step of another thread in between
//     is then not found.
//   - Rounds without a change. A thread passes its Yield when another thread
//     has changed an object that it has read since its last Yield, and otherwise
//     at most [Options.Rounds] times in a row. For a loop that waits and whose
//     rounds only read, that loses nothing: a further round would read the same
//     values. A loop that spins a few rounds and then parks or gives up is
//     different, since the number of rounds is state as well. Such a loop calls
//     [Pause] instead of Yield.
//   - More timeouts of one thread in a row, without a change by another thread in
//     between, than Options.Rounds and one.
//   - Other results of the sync.Pool that a [Pool] stands for. Its Get may return any
//     item, or none although there is one.
//   - Slowness and unfairness. Only an execution that never ends is a failure.
//   - Faults of the compiler, and of code that hides pointers from the garbage
//     collector.
//
// The result of a complete search names Options.Rounds if it has held back a
// thread: complete=true rounds=1. Without it no execution within the bound is
// missing.
//
// # Which strategy
//
// Begin with [DFS] and a bound of two or three preemptions. A preemption is a
// switch away from a thread that could continue. Switches where a thread ends,
// waits or yields are free. Most bugs need no more than two preemptions, and
// the number of executions grows only with a power of the steps. A complete
// search has run every execution within the bound, in the sense of "What is
// explored". The zero [Options] raise the bound by themselves: 0, 1, 2 and so on
// for ten seconds, and then run PCT.
//
// DFS with [All] runs every execution of the model, and takes time exponential
// in its length. [Options.Reduce] makes that feasible for programs of twenty or
// thirty steps: orders that differ only in neighbouring steps on different
// objects are run once (source sets and sleep sets). It leaves out executions and
// keeps the outcomes, on one condition. Threads share plain memory only in Cells
// or where the steps order the accesses, and they share a channel or context only
// by [Sema.WaitDone]. Otherwise an order that is left out may have another
// outcome. Reduce cannot be combined with a bound or with Timeouts.
//
// [PCT] and [Random] are for programs that are too large for DFS. PCT finds
// bugs that need few ordered steps, in long programs too. Random finds bugs
// that many orders have; it can reach each execution that DFS with All would
// run. Neither is ever complete. Use both, with long runs from time to time
// (-interleave.budget).
//
// A depth-first search stays for long in one corner of a large program: a bug
// that PCT finds at once may be behind a million executions of DFS without a
// bound. Use several strategies on one model, and plant a bug to see that they
// can find it.
//
// # Other tests
//
// A build whose atomics are model types has them in all its tests. With
// -interleave.delay=200 about one in 200 of their operations outside of
// explorations is delayed. Tests that rely on the timing of an idle machine
// then fail, and so does code. Such a run cannot be replayed.
//
// # Reading a failure
//
// A [Failure] is printed in this form:
//
//	interleave: counted 1
//	execution 2, 1 preemption, schedule 0,1x2,0
//	    step  position            add(0)              add(1)
//	       1  counter_test.go:10  Int32#0.Load() = 0
//	>>     2  counter_test.go:10  |                   Int32#0.Load() = 0
//	       3  counter_test.go:10  |                   Int32#0.Store(1)
//	 >     4  counter_test.go:10  Int32#0.Store(1)
//
// Its parts are these:
//
//   - The first line is the message. For a deadlock it lists each thread that
//     waits, its operation and the position. For a race it has both accesses.
//   - The second line has the number of the execution in this exploration, its
//     preemptions, and the schedule that runs it again.
//   - The table has a column for each thread, in the order in which they were
//     made. The header has their names and, in parentheses, their numbers in
//     the schedule. A column - is that of the body and of the Final functions.
//   - A line is one event, in the column of its thread. Its text may continue
//     over the columns to the right. A line with a number is a step. A line
//     without a number is an access to a [Cell], a result of [Choose], or a
//     crash.
//   - A step after a switch is marked. The mark >> is a preemption: the thread
//     of the step before could have continued. The mark > is a switch away from
//     a thread that has ended, waits, or has called [Yield]. Bugs are mostly at
//     the marks >>, between the last step of the one thread and the next step of
//     the other.
//   - An object has its type and a number, such as Int32#0, or the name that
//     [M.Name] has given to it. Pointers are p1, p2 and so on.
//   - The position is that of the call in the program. [Helper] leaves out a
//     function that wraps an operation.
//   - The stack of a panic follows the table. The middle of a long table is
//     left out. Failure.Trace has all of it.
//
// The executions of [PCT] and [Random] switch threads at many steps that have
// nothing to do with the failure. Explore therefore looks for an execution with
// fewer preemptions that fails with the same Kind, and reports that one. It may
// be another failure of this kind. The second line still has the number of the
// execution that failed first. The same seed gives the same report.
//
// # Replay
//
// A schedule lists the thread that takes each step and the results of [Choose]:
//
//	3     thread 3 takes a step
//	3x12  thread 3 takes 12 steps
//	3k    thread 3 crashes
//	v2    Choose returns 2
//
// Commas separate the entries. Threads are numbered from 0 in the order of their
// creation. The empty schedule is written as -. After the end of a schedule the
// thread with the lowest number continues.
//
// [Options.Replay] runs one schedule. So does the flag -interleave.replay of a
// test that calls Check, which then logs the steps also when the execution does
// not fail. The same options give the same executions on all machines and with
// each [Options.Backend].
//
// # The race detector
//
// [Options.Backend] selects what the threads run on. With [Coroutines] the
// race detector takes a switch of threads for synchronization, and reports no
// race between them. With [Baton] the switches are hidden from it, and it
// judges the synchronization of the program alone. Check takes Baton by itself
// under go test -race. The race detector then reports races on all plain
// memory that the executions access, and Check adds the schedule. That
// includes the memory of the model: give each thread a variable of its own for
// the results that Final reads. The race detector reports each race once, so a
// replay in the same process is silent.
//
// # Costs
//
// On one core of a current server a step takes 100 to 200 ns, and an execution
// another 2 µs: 250,000 to 450,000 executions of 15 steps per second. Baton takes
// 1.5 to 1.9 times as long, measured without the race detector. Under the race
// detector everything takes about five times as long. Memory does not grow with
// the number of executions. At the end of an execution the explorer ends the
// remaining threads, such as daemons, by [runtime.Goexit]. That runs their
// deferred functions and takes about a microsecond. An execution may have 64
// threads.
//
// One exploration runs in a process at a time. Goroutines that are not part of
// it may use the model types concurrently on amd64, arm64 and 386 without the
// tag purego. On other architectures and with purego they must not.
//
// # Sources
//
// The search and its preemption bound are those of CHESS (Musuvathi and Qadeer,
// PLDI 2007). Source sets are those of Abdulla, Aronis, Jonsson and Sagonas (POPL
// 2014), sleep sets are due to Godefroid (1996), PCT to Burckhardt and others (ASPLOS 2010).
// The form of the models follows loom and Shuttle for Rust.
//
// Terms are defined in docs/GLOSSARY.md.
package interleave
