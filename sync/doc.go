// Package sync provides the parts that the schedulers, lanes and pools of this module
// park and wake with. It is always imported as lfsync, and it exports no name that the
// standard package sync exports:
//
//	import lfsync "github.com/lanewright/lanewright/sync"
//
// # The Sync word
//
// A goroutine that makes a task visible must decide at once which worker to wake, if
// any. To wake one worker for each task is a thundering herd. To wake none is a hang.
// [Word] decides with one compare-and-swap on 32 bits, and in the common case with one
// load:
//
//   - A wake-up is the wake of a parked worker or the spawn of a new one. At most one
//     wake-up is in flight at a time. Until a worker takes it, it is a signal. The
//     worker that takes the signal is the waking worker. A waking worker that finds a
//     task passes its role on. It wakes or spawns the next worker if it can, and then
//     runs its task. A burst of tasks therefore wakes workers one after another,
//     exactly as fast as they find tasks.
//   - A parked worker is woken before another one is spawned. No worker is spawned
//     beyond the limit. Workers are spawned on demand: the zero [Sync] has none.
//   - A notification that can wake no worker is not lost. The word keeps one
//     notification, and the next worker takes it instead of parking.
//   - While all workers are busy, further notifications write nothing.
//
// A Word is a value with pure transitions. A [Sync] is the cell that stores a Word.
// Idle workers park on [WakeTokens]. Word, Sync and WakeTokens do not depend on tasks.
// Together they make the following protocol.
//
// A notifier is a goroutine that makes tasks visible:
//
//  1. Make the task visible in a queue that workers look at.
//  2. act := s.Notify(false, limit).
//  3. ActionWake: tokens.Post(). ActionSpawn: start a worker. If that fails, call
//     s.SpawnFailed(). The task stays queued, and the next Notify tries again.
//     ActionResume: the notifier is the taker of the lingering worker; see below.
//
// A worker is not waking at first. A spawned worker begins with step 3, which takes the
// signal of its spawn. A worker that came by s.Enter begins with step 1:
//
//  1. Look for a task in every queue.
//  2. If a task was found: act as a notifier with s.Notify(waking, limit) in two cases.
//     Either step 3 has sent the worker to search, or the search has made hidden tasks
//     visible. If it made none visible and every queue is empty now, no other worker is
//     needed. The worker then calls s.Rest() if it is waking, and no Notify unless Rest
//     returns false. waking is false from here on. Run the task and go to step 1.
//  3. If none was found: s.Wait(waking, false). OutcomeSearch and OutcomeSearchWaking state
//     whether the worker is waking now; go to step 1. One notification may stand for
//     several pushes. Step 2 therefore passes it on also when the worker is not waking.
//     OutcomeShutdown: leave.
//  4. OutcomePark: take a wake token and call s.Wait(false, true). Repeat this until the
//     outcome is another. A wake token is a hint, because it may be left over from a
//     wake-up that another worker has taken.
//
// One idle worker may linger. It keeps the means to run a task, and is woken before the
// others. The program has a register for one worker, and a [Parker] for each worker that may
// linger. In step 3:
//
//  1. Put the worker into the register if the register is empty. Then call s.Linger(waking)
//     in place of s.Wait(waking, false). If the register is not empty, call Wait.
//  2. Any outcome except OutcomePark: empty the register. The outcome is that of Wait.
//  3. OutcomePark: park alone until the taker has stored its result, which is resumed or
//     ended. Resumed: the worker is the waking worker; go to step 1 of a worker. Ended: the
//     worker is idle as any other; go to step 4 of a worker. A closer posts no wake token
//     for the worker that it takes, so it stores a third result, with which the worker leaves.
//  4. To end the lingering itself, the worker calls s.StopLingering(), and is a taker if
//     that returns true. It then waits for its result as before. The result may be resumed,
//     because another taker may have been first. The worker may even have taken the next
//     lingering worker, if that taker has already emptied the register.
//
// A taker is a goroutine that got ActionResume from Notify or Leave, true from
// s.StopLingering(), or lingering from s.Shutdown(). A goroutine that needs the means of the
// lingering worker calls StopLingering. The means belong to the taker until step 2:
//
//  1. Take the worker out of the register. The register is occupied until here, so no other
//     worker lingers in between.
//  2. Store the result for the worker: resumed after ActionResume, ended otherwise.
//  3. Unpark the worker.
//
// A worker leaves after a shutdown or for a reason of its own. A worker that has not begun
// yet does not leave; that is a failed spawn. A worker that lingers ends that first:
//
//  1. w, act := s.Leave(waking, idle, limit). idle is true when the last outcome was
//     OutcomePark. Do what act requires.
//  2. If the worker was neither waking nor idle, look at the queues once more, and notify
//     if they hold a task. A notification before the leave may have relied on this worker.
//  3. After a shutdown, the worker that sees w.Spawned() == 0 was the last one.
//
// A closer is a goroutine that ends the workers:
//
//  1. idle, lingering, first := s.Shutdown(). lingering: the closer is a taker.
//  2. Call tokens.Post() as many times as the number idle. Notifiers in progress may post
//     one more. No transition takes the shutdown back.
//
// No task is stranded while a worker is parked, for the following reason. The notifier
// makes the task visible before it notifies. The worker takes the notification in Wait
// before its next search. These are four operations on two variables. Each side writes one
// variable and then reads the other. The atomics of Go are sequentially consistent, so at
// least one side sees the write of the other. Either the worker sees the task, or the
// notifier sees that the worker is counted as idle or has cleared the notification. In the
// second case the notifier acts. Rest has the same argument. It fails after a notification,
// and a notifier after it finds no wake-up in flight.
//
// # Other types
//
// [Parker] blocks one goroutine until another goroutine unparks it, in either order.
// [Semaphore] limits how many goroutines do something at once. It grants permits in order
// of arrival, and an Acquire gives up when its context is done. [Backoff] spaces attempts:
// spin, then yield, then park.
// [Pad] and [CacheLine] keep hot words on separate cache lines. [NoCopy] makes go vet
// report copies.
//
// # What it is not for
//
// This package is for the authors of runtimes. A program that wants to run tasks uses
// package sched, or goroutines. A program that wants a mutex uses the standard sync.
// Semaphore is the exception: it is useful to any program that limits concurrent I/O.
//
// Terms are defined in docs/GLOSSARY.md.
package sync
