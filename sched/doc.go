// Package sched runs small tasks on a few workers, with work stealing, without
// allocation, and without ever blocking a caller.
//
// # A first program
//
//	var s sched.Scheduler // the zero value is ready to use
//	job := &sched.Job[int]{Value: 41}
//	job.Fn = func(w *sched.Worker, j *sched.Job[int]) { j.Value++ }
//	s.Do(job.Task()) // runs it and waits
//
// A [Task] is three words that the caller embeds in a struct of its own; [Job]
// does that with a type parameter. [Scheduler.Schedule] hands a task over and
// returns; [Scheduler.Do] also waits, and runs the task on the caller's goroutine
// when it may; [Scheduler.Go] takes a plain function. Inside a callback,
// [Worker.Schedule] is the cheap way. [Batch] schedules many tasks with one push
// and one wake-up. [Group] waits for tasks, collects their errors, and carries
// their panics.
//
// # How it works
//
// A place is what it takes to run tasks: a ring of 256 tasks, an overflow queue,
// counters. There are MaxWorkers of them. Whoever holds a place takes tasks and
// runs them: a worker goroutine, a caller of Do, a caller of Run. A worker looks
// for a task in its own ring, its own overflow queue, the injection queue (what
// came from outside), and then in the queues of the other places, in random
// order, where it takes half of what it finds. When it finds none it gives its
// place back and parks.
//
// Workers are goroutines that start when there is work and nobody to do it, up to
// MaxWorkers, and then stay, parked. One 32-bit word decides who is woken: at
// most one wake-up is under way at a time, and a worker that was woken and finds
// work wakes the next. So a burst of tasks does not wake all workers to find one
// task, and a busy scheduler pays one load a push for not waking anybody.
//
// # Who may wait
//
// A callback may wait. [Worker.Wait] runs tasks of the group that it waits for,
// and when there are none it gives its place to somebody else, as
// [Worker.Blocking] does. So a task that waits for a task never hangs the
// scheduler, also with one worker. What blocks without telling, or computes for long, keeps
// others from running for Config.StallAfter at most, if that is set.
//
// # Panics
//
// A panic in a task of a [Group], or of a Do, is raised again where the result is
// awaited. A panic in any other task crashes the program, as in a goroutine,
// unless Config.OnPanic takes it. runtime.Goexit ends the task and its worker;
// another one is started. A callback that never returns costs its worker, whose
// queued tasks the others steal when they have none of their own. What Go lets
// nobody recover from ends the program: a stack that overflows, a map that two
// write at once, memory that is used up.
//
// # The end
//
// [Scheduler.Shutdown] runs all that was accepted and ends the workers.
// [Scheduler.Close] stops after the running callbacks and hands back what nobody
// ran; [Scheduler.Join] waits for those callbacks.
//
// # Sources
//
// The word, the queues and the wake-ups follow Kprotty's zap (2021, "Resource
// efficient thread pools with Zig"), with its known faults mended; the ring is
// that of Tokio; the turn for outside callers that of the Go runtime. What differs
// is said at each type.
package sched
