// Package interleave runs a small concurrent program in its interleavings, one after
// another. It reports the first execution that fails, in a form that can be run
// again. An execution is one run of the program in one interleaving.
//
// # A first model
//
// A model is a function that builds a program: the state, a few threads that use it,
// and the law that must hold at the end. This one is in counter_test.go:
//
//	func TestModelCounter(t *testing.T) {
//		interleave.Check(t, "counter", interleave.Options{}, func(m *interleave.M) {
//			var n interleave.Int32 // the state
//			m.Name(&n, "n")
//			for range 2 { // two threads
//				m.Go("add", func() { n.Store(n.Load() + 1) })
//			}
//			m.Final(func() { // the law
//				if n.Load() != 2 {
//					m.Fatalf("counted %d", n.Load())
//				}
//			})
//		})
//	}
//
// [Check] calls the function once for each execution. go test -v prints this:
//
//	model counter executions=2 pruned=0 preemptions=0 complete=true
//	model counter executions=2 pruned=0 preemptions=1 complete=false
//	    counter_test.go:10: model counter: interleave: counted 1
//	        execution 4, 1 preemption, schedule 0,1x2,0
//	            step  position            add(0)        add(1)
//	               1  counter_test.go:14  n.Load() = 0
//	        >>     2  counter_test.go:14  |             n.Load() = 0
//	               3  counter_test.go:14  |             n.Store(1)
//	         >     4  counter_test.go:14  n.Store(1)
//
//	        run it again with
//	        	go test -run '^TestModelCounter$' ./counter -interleave.replay=counter:0,1x2,0
//
// Both threads load 0 before one of them stores 1. Without a preemption this cannot
// happen, so the first search is complete. With n.Add(1) the model passes, and no
// execution is left out:
//
//	model counter executions=2 pruned=0 preemptions=all complete=true
//
// pruned is the number of executions that [Options.Reduce] has abandoned. [Explore]
// does the same without a test and returns a [Result].
//
// # The code under test
//
// The explorer sees the operations of the types of this package and no others.
// [Bool], [Int32], [Int64], [Uint32], [Uint64], [Uintptr] and [Pointer] model the
// types of sync/atomic. [Mutex] models sync.Mutex, and [Pool] models sync.Pool.
// [Sema] is a semaphore to block on: call [Sema.Init] before its first use. [Cell] is
// plain memory that threads share. Code that is written for models uses these types
// directly. Production code uses aliases in a small package of its own, which has two
// files:
//
//	//go:build !interleave
//
//	type Uint64 = atomic.Uint64
//	type Cell[T any] struct{ v T } // with the methods Get and Set
//	func Yield() { runtime.Gosched() }
//
//	//go:build interleave
//
//	type Uint64 = interleave.Uint64
//	type Cell[T any] = interleave.Cell[T]
//	func Yield() { interleave.Helper(); interleave.Yield() }
//
// The first file has an object with the same methods in place of a Sema, such as a buffered
// channel. State that production code finds by the identity of its goroutine is in the
// variable of [Local]. The files with models have the tag as well: go test -tags interleave
// runs them. Without the tag the program contains nothing of the explorer.
// With the tag and outside an exploration, the types behave as those that they model,
// so that all other tests pass as before.
//
// # Rules of a model
//
//   - The body, which is the function that Check calls, creates all state that an
//     execution changes, and the threads ([M.Go]). The threads start when it has
//     returned. Both the body and the Final functions may call operations of the
//     program. These are no steps. They must not block, or wait in a loop with Yield.
//   - A thread fails the execution by [M.Fatalf] or a panic. Otherwise it writes its
//     results to variables of its own, which the Final functions read. The Final functions
//     run when all threads have ended, except daemons and a thread that has crashed.
//   - A thread that serves the others without an end is a daemon ([M.GoDaemon]).
//   - A thread blocks on a Sema or a Mutex only. Threads run one at a time, so the
//     thread that would end a wait for a channel or for a lock of package sync does
//     not run. After 20 seconds the exploration fails as a [Misuse] with the stack of
//     the thread. A thread that computes for that long fails in the same way.
//   - A thread starts no goroutine. [Go] makes another thread. The explorer does not run
//     the steps of goroutines in all their orders. If a goroutine uses a model object while the
//     execution of that object runs, the execution fails as a Misuse. A goroutine that
//     begins to do so later is not noticed, so a model whose thread starts one and does not
//     wait for it may pass. See "Costs and limits" for the other operations that are missed.
//   - The program depends on nothing but the order of its steps and [Choose]. Choose
//     stands for other decisions that can go either way, such as a call that may
//     fail.
//   - A loop that waits calls Yield or Pause: see the next section.
//
// Keep a model small: two or three threads with one to three operations each. Make
// capacities small, and start counters right before they wrap. Good laws are that
// each value arrives exactly once, that the order of each producer is kept, and that
// each call ends (a call that does not is a Deadlock or a Livelock by itself).
//
// # How to wait
//
//   - Until another thread posts a token or unlocks: [Sema] or [Mutex]. If no thread
//     can take a step, the execution fails as a [Deadlock]. A lost wake-up is one.
//   - In a loop that polls until another thread changes something: [Yield] in each
//     round. The thread then continues when another thread has changed an object that
//     it has read since its last Yield. A failed CompareAndSwap is a read, and a
//     write of the same value is no change. If no change comes, the execution fails as a
//     Deadlock as well.
//   - In a loop whose rounds are state: [Pause] in each round. Examples are a loop
//     that spins a few rounds and then parks or gives up, and a periodic loop that
//     counts or compares with the round before. Such a loop must end by itself.
//   - In a loop that repeats an operation only when another thread has succeeded with
//     its own, such as one around a CompareAndSwap: nothing.
//
// A loop that waits with Pause, or with nothing, does not end if the other thread
// never runs. The explorer runs that order too, and reports a [Livelock] after
// [Options.MaxSteps] steps.
//
// Yield has two limits. Without a change a thread passes its Yield at most
// [Options.Rounds] times in a row (1 by default), so executions in which the loop
// turns more often are not run. Nothing is lost if the rounds only read objects of this
// package and keep nothing for the next round, because the next round would read the same
// values. A loop keeps something if its next round knows that it is not the first one. With Rounds at
// [None], a round is then left out that begins before a change and ends after it.
// Yield also knows changes of these objects only. A loop that reads one of them and also
// polls a channel can be reported as a Deadlock although the channel is closed.
// A thread that has read none of them since its last Yield continues when another
// thread has come to its next step or its end, but not when that thread has only come
// from one Yield to the next. So a channel that is closed between two Yields may be
// missed. If such a thread waits for ever, the execution fails as a Misuse and not as a
// Deadlock. Wait for channels with [Sema.WaitDone].
//
// # What is explored
//
// A step is one call of Yield, or of a method of an atomic, a Sema (except Init), a
// Mutex or a Pool. Between two steps of a thread the explorer runs any number of
// steps of other threads. The code from one step to the next is executed as one
// piece, with its accesses to Cells. An execution ends when no thread can take a
// step. It fails in these cases, each of which is a [Kind]:
//
//   - Deadlock: a thread other than a daemon has not ended by then. The verdict is the
//     same if these threads wait while daemons take steps for ever. It is Misuse if one of
//     the waiting threads or daemons is at a Yield and has read no object since its last one
//   - Livelock: the execution has not ended after MaxSteps steps, in all other cases
//   - [Race]: two accesses to a Cell, one of which is a write, are not ordered. The
//     creation of a thread orders them, an atomic read that sees an atomic write, a
//     token that is posted and taken, an item that is put into a Pool and taken, and
//     a Mutex. A [Sema.WaitDone] that ends by its channel orders all earlier accesses of
//     all threads before it. The values read do not matter. A race ends the execution before its
//     results are checked. To see the wrong result, make the Cell an atomic
//   - [Panic] and [Failed]: a thread panics, or the program calls Fatalf
//   - Misuse and [Unsteady]: the program breaks a rule
//
// The orders of the steps are all behaviours of a Go program if its threads
// synchronize by the types of this package only and its plain memory is free of data
// races. The results of TryLock, of a timed wait and of a Pool are exceptions: see "What is
// left out". The reason is the Go memory model. Atomics behave as if their operations
// were executed one after another in some order. A program without data races behaves
// as if all of its memory did. No weaker behaviour of processors is left out, because
// the compiler makes atomics as strong as this on all of them.
//
// # Which strategy
//
// Begin with the zero [Options]. The search then raises its bound: it runs all
// executions with 0 preemptions, then all with at most 1, 2 and so on. It ends when
// no execution is left out (preemptions=all), or after four fifths of the Budget, which is
// ten seconds by default (one second under go test -short). The rest of the time is for at
// most 10,000 executions of PCT. Check prints a line for each bound, and one for PCT. The
// first failure has the fewest preemptions, unless PCT has found it. If nothing has failed,
// the Result is complete at the highest bound whose line says so.
//
// A preemption is a switch away from a thread that could take its step. Switches away
// from a thread that has ended, is blocked, is at a Yield or could only time out are
// free. Most bugs need at most two preemptions.
//
//   - A fixed bound (Preemptions: 2, or [None] for 0) is for a model that is part of
//     a test suite: it says the same on each machine. The number of executions grows
//     with a power of the steps.
//   - [All] has no bound. The number of executions is exponential in the steps.
//   - [Options.Reduce] has no bound either. It runs orders once that differ only in
//     neighbouring steps on different objects, or in two reads. That is often a
//     hundred times fewer, so that programs of twenty or thirty steps are complete.
//     It cannot be combined with a bound or with Timeouts.
//   - [PCT] and [Random] are for programs that are too large. PCT finds bugs that
//     need few ordered steps, in long programs too. Random finds bugs that many
//     orders have. Neither is ever complete. Use both, and long runs from time to
//     time (-interleave.budget=1h).
//
// Two options add executions to each strategy. [Options.Crash] lets one thread stop
// for ever before any of its steps. If several threads have the name, it may be any one of
// them. If the search is complete, the other threads
// never depend on a further step of that thread, within the bound. The line of a search
// in which no thread has that name ends with crash=absent: nothing has crashed in it. An
// execution beyond the bound may make such a thread. [Options.Timeouts] lets a
// [Sema.WaitFor] time out. Without it none does. The line of a search in which a thread has
// come to one then ends with timeouts=off.
//
// Plant a bug in each model, to see that the search can find it. A search without a
// bound stays for long in one corner of a large program: a bug that PCT finds at once
// may be behind a million of its executions.
//
// # What is left out
//
// complete=true means that every execution within the bound was run and that none has
// failed. It says nothing about the following:
//
//   - Programs other than the model. Two threads and three tasks say nothing about
//     four tasks.
//   - Executions with more preemptions than the bound.
//   - More rounds than Options.Rounds. complete=true rounds=1 says that a thread was
//     held back at a Yield after 1 round without a change, or at a timed wait after 2
//     timeouts without one. The search is still complete for loops whose rounds
//     only read the types of this package and keep nothing. For others, call Pause or raise Rounds.
//     Without rounds= no thread was held back.
//   - Without Options.Timeouts, all timeouts. complete=true timeouts=off says that a thread
//     has come to a Sema.WaitFor, which only a token could end.
//   - Timeouts in a row. After a timeout a thread times out at most Rounds times more
//     while no other thread changes an object. Changes by daemons do not count for
//     daemons. If no thread could take a step otherwise, the timers fire all the same,
//     unless only daemons have not ended.
//   - Daemons that wake each other for ever at a Yield. A daemon that polls may change what
//     another daemon polls, and so on. After four wakes in a row a change by a daemon wakes
//     no daemon, until a change by another thread has ended the Yield of one of them.
//     complete=true daemons=4 says that a daemon was held back. It continues all the same if
//     no thread could take a step otherwise, unless only daemons have not ended. Then the
//     execution ends, and Final may run although an object that the daemon polls has changed. A
//     law that needs the end of a longer exchange between daemons waits for it in a thread.
//   - Switches between steps. A sync.Mutex, a channel, a system call and plain memory
//     are no steps. A bug that needs another thread between a load of an atomic and
//     the Lock of a sync.Mutex is not found. A program without steps is one
//     execution.
//   - Other results of the sync.Mutex that a Mutex stands for. Its TryLock may return false
//     for an unlocked mutex, if the mutex is in starvation mode or another goroutine changes
//     its state at the same time. The TryLock of a Mutex returns false only if it is locked.
//   - Other results of the sync.Pool that a Pool stands for. Its Get may return any
//     item, or none although there is one.
//   - Operations of goroutines that the threads have started, if the operations come after
//     the end of the execution.
//   - Races on plain memory outside Cells: they need the race detector, see below.
//   - Races of an access that comes before a [Sema.WaitDone] that its channel ends, in such an
//     execution. The explorer does not know which thread has closed the channel, so it takes the
//     earlier accesses of all threads for ordered before the end of the wait. The race is found in
//     an execution in which the access comes afterwards, if there is one within the bound.
//   - With Reduce (reduce=on), orders with the same outcome. Their outcomes may differ if
//     threads share plain memory outside Cells that their steps do not order, or a channel
//     or a context other than by [Sema.WaitDone].
//   - The crash of a thread that no execution within the bound makes (crash=absent).
//   - With PCT and Random, most executions. Random can reach each execution of a
//     search without a bound. The probability that [PCT] states holds for programs
//     without Yield, Choose, Crash and Timeouts.
//   - Fairness. Threads that wake each other for ever, at Yields, by tokens or by
//     changes that renew timers, may keep a third thread from running. An example is two
//     threads whose rounds add to one counter and then subtract. The explorer then reports
//     a Livelock, or its search does not end, although a fair scheduler ends the program.
//     Two daemons keep it from running only if they also exchange tokens. Slowness is no
//     failure.
//   - Faults of the compiler, and of code that hides pointers from the collector.
//
// # Reading a failure
//
// The report of a [Failure] has these parts, as in the first section:
//
//   - The message. For a deadlock it lists the operation and the position of each
//     thread that waits, and for a race both accesses.
//   - The number of the execution, its preemptions, and its schedule.
//   - A table with a column for each thread that has an event, with the name and, in
//     parentheses, the number of the thread. The column - is that of the body and of
//     the Final functions.
//   - One line for each event, in the column of its thread. The text may continue
//     over the columns to the right. A numbered line is a step. The others are
//     accesses to Cells, results of Choose, and a crash.
//   - The mark >> at a step after a preemption: the thread of the step before could
//     have continued. The mark > is a free switch. Begin to read at the marks >>. Most
//     bugs are between the last step of the one thread and the next of the other.
//   - Objects by type and number, such as Int32#0, or by the name that [M.Name] has
//     given. Numbers are given in the order of the first use in the execution. Pointers
//     are p1, p2 and so on. A message names a thread without its number if no other thread
//     has the name.
//   - The position of the call in the program. [Helper] leaves out a function that
//     wraps operations. Production code calls Helper in the file of aliases that has the
//     tag. In the other file the function of that name does nothing.
//   - The stack of a panic or misuse. Check then prints the command for a replay.
//
// The middle of a long table is left out. Failure.Trace has all of it.
//
// The executions of PCT and Random switch threads at many steps that do not matter.
// Explore therefore looks for an execution with fewer preemptions that fails with the
// same Kind, and reports that one. It may be another failure of this kind. Its number
// is that of the execution that failed first. Races that the race detector has
// reported stay as they are, and so does a Misuse, except one of a thread that waits at a
// Yield and has read no object.
//
// # Replay
//
// A schedule lists the thread that takes each step and the results of Choose. Commas
// separate the entries, and threads are numbered from 0 in the order of their
// creation:
//
//	3     thread 3 takes a step
//	3x12  thread 3 takes 12 steps
//	3k    thread 3 crashes
//	v2    Choose returns 2
//	v1    of a wait that could take a token: it times out, or done is closed
//	-     no entry
//
// After the end of a schedule the thread with the lowest number continues.
// [Options.Replay] runs one schedule, and so does the flag -interleave.replay. Check
// then logs the steps also if the execution does not fail; go test -v shows them. With a
// name in the flag only the model of that name runs the schedule. Other models of the test
// are explored as without the flag, so a wrong name changes nothing. A schedule that does
// not fit the program fails as Misuse. A replay is one execution, and its line says
// complete=false. The line shows the bound of the options, which does not limit a replay.
// Rounds, Timeouts, Crash and MaxSteps must be those of the exploration that has printed the schedule. The
// same options give the same executions on all machines and with each
// [Options.Backend], as far as no Budget ends them.
//
// # Unsteady
//
// A depth-first search runs the steps before each new decision again. It compares
// them with the execution before: the thread, the operation, the object and the
// result. Of a pointer or an Uintptr it compares only whether it is zero. A
// difference fails as [Unsteady]. Causes are the order of maps, time, random numbers,
// addresses, a sync.Pool, other goroutines, and state that the body does not create.
// A difference of plain memory alone is not seen. PCT and Random compare nothing.
// With any strategy the message of a failure says so if its second run, for the
// report, was different.
//
// # The race detector
//
// Under go test -race, Check runs each thread on a goroutine ([Baton]) and hides its
// own switches from the race detector. The detector then reports races on all plain
// memory that the executions access, and Check adds the schedule. That includes the
// variables of the model, so give each thread its own. The detector reports each race
// once, so a replay in the same process is silent. Explore does the same with
// Backend: Baton. With [Coroutines], the default, the race detector finds no race
// between threads.
//
// A build whose atomics are model types has them in all its tests. There
// -interleave.delay=200 delays about one in 200 operations outside explorations.
// Tests that rely on the timing of an idle machine may then fail. Such a run cannot be
// replayed.
//
// # Costs and limits
//
// On one idle core of a server a step takes 163 to 262 ns, and 330,000 executions of 15
// steps run in a second (BENCHMARKS.md). Baton takes 1.5 to 1.9 times as long. Under the race
// detector everything takes about five times as long. Memory does not grow with the
// number of executions.
//
// An execution has at most 64 threads. At its end the explorer ends the remaining
// threads by [runtime.Goexit], which runs their deferred functions. One exploration
// runs in a process at a time. On amd64, arm64 and 386 without the tag purego, other
// goroutines may use model types during it, except objects of its executions. Elsewhere
// they must not, and the explorer does not notice if they do.
//
// The Misuse of another goroutine that uses an object of an execution has limits. The
// object must be used in a step, or by one of the first 64 operations of the body and of
// Final together. The explorer remembers up to 1,024 objects that other goroutines use
// during an exploration, and may miss objects beyond a few hundred. It looks at the end of
// each execution, so it does not see operations that come later.
//
// # Sources
//
// The search and its bound are those of CHESS (Musuvathi and Qadeer, PLDI 2007).
// Source sets are due to Abdulla, Aronis, Jonsson and Sagonas (POPL 2014), sleep sets
// to Godefroid (1996), PCT to Burckhardt and others (ASPLOS 2010). The form of the
// models follows loom and Shuttle for Rust. docs/GLOSSARY.md defines the terms.
package interleave
