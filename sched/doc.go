// Package sched runs small tasks on a few workers. Scheduling a task never blocks
// the caller and needs no memory beyond the task. Workers without tasks steal from others.
//
// # A first program
//
//	s := sched.Default() // the scheduler that the whole program shares
//	job := &sched.Job[int]{Value: 41}
//	job.Fn = func(w *sched.Worker, j *sched.Job[int]) { j.Value++ }
//	s.Do(job.Task()) // runs the task and waits for it
//
// A program that needs a [Config], or that has to drain or close, makes a scheduler of its
// own with [New]. The zero Scheduler is ready to use. Its workers end with Shutdown
// or Close, and when it has been idle for Config.IdleTimeout.
// A library takes a scheduler of its caller, where nil means [Default].
//
// # Which function to call
//
// A [Task] is three words that the caller embeds in a struct of its own. [Job] does
// so with a type parameter.
//
//	Scheduler.Schedule  hands tasks over and returns
//	Scheduler.Do        runs tasks and waits, on the goroutine of the caller if possible
//	Scheduler.Go        takes a plain function, which is allocated
//	Worker.Schedule     the cheap form inside a callback
//	Batch               schedules many tasks with one push and one notification
//	Group               waits for tasks, and collects their errors and panics
//	ForkJoin            divide and conquer at the cost of some nanoseconds a fork
//
// # How it works
//
// A place is the right and the means to run tasks: a ring of 256 tasks, an overflow
// queue, and counters. There are MaxWorkers places, and one more for each stalled one. Only
// the holder of a place starts a task. The holder is a worker goroutine, or the caller of a
// function that runs tasks itself, such as Do, Run, or ForkJoin.
//
// A worker looks for a task in this order: its own ring, its own overflow queue, the
// injection queue, which holds the tasks of external callers, and the queues of the
// other places. It visits those in turn, from a random one on. It takes up to 128 tasks of an
// overflow queue, or the older half of a ring. A worker that finds no task returns its place and parks. One parked worker
// keeps its place until another goroutine needs it.
//
// Workers are goroutines. The scheduler starts one when a task is queued, no worker is
// parked, and no wake-up is in flight, up to MaxWorkers. Parked workers end when all have been
// parked for Config.IdleTimeout. One 32-bit word
// throttles their wake-ups: at most one wake-up is in flight, and a woken worker that
// finds a task wakes the next if further tasks are queued. A burst of tasks therefore does not
// wake all workers at once, and a push to a busy scheduler costs one load more than the queue.
//
// # Waiting and blocking
//
// A callback may wait. [Worker.Wait] runs tasks of the group that it waits for. When
// it finds none, it releases its place, as [Worker.Blocking] does, so that another
// worker can run tasks. A task that waits for a task therefore never hangs the
// scheduler, even with one worker, unless tasks wait for each other in a cycle. A
// callback that blocks outside [Worker.Blocking], or computes for long, delays queued
// tasks. Config.StallAfter bounds this delay. Without MaxWorkers its default is 10 ms, which
// applies while a processor is idle. While none is, a second takes its place. So callbacks that
// block do not stop the scheduler.
//
// # Panics
//
// A panic in a task of a [Group] or of a Do is raised again where the result is
// awaited. A panic in any other task crashes the program, as in a goroutine, unless
// Config.OnPanic is set. runtime.Goexit ends the task and its worker, and the
// scheduler starts another worker for the next task. A callback that never returns costs
// its worker. Other workers steal its queued tasks when they have none of their own, and
// now and then when they have. The
// errors that Go does not let a program recover from end the program: stack overflow,
// concurrent map writes, out of memory.
//
// # The end
//
// [Scheduler.Shutdown] runs all accepted tasks and ends the workers.
// [Scheduler.Close] stops after the running callbacks and returns the tasks that have
// not run. [Scheduler.Join] waits for those callbacks.
//
// # What runs now
//
// [Scheduler.Stats] counts the tasks that are queued and the callbacks that run.
// [Scheduler.Inspect] names the functions of the callbacks.
//
// # Sources
//
// The Sync word, the queues and the wake-ups follow Kprotty's zap (2021, "Resource
// efficient thread pools with Zig"), with its known faults repaired. The ring is that of
// Tokio. The fairness towards external callers is that of the Go runtime. Each type
// states where it differs.
//
// The folder sched/protocol states the protocols of this package step by step, with the
// argument for each claim. Terms are defined in docs/GLOSSARY.md.
package sched
