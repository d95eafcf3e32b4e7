// Package sync holds what the schedulers, lanes and pools of this module wait
// and wake with: the wake word, tokens, a parker, a semaphore, backoff, padding.
// It is always imported as lfsync, and exports no name that the standard package
// sync exports:
//
//	import lfsync "github.com/lanewright/lanewright/sync"
//
// # The wake word
//
// A scheduler with many workers must answer one question fast: I have just made
// a task visible; whom do I wake, if anybody? To wake a worker for each task is a
// thundering herd; to wake none is a hang. [Word] answers it with one compare and
// swap on 32 bits, and mostly with one load:
//
//   - At most one wake is under way at a time. The worker that claims it is the
//     waking worker. When it finds a task it passes the duty on: it wakes the next
//     one, if there is one to wake, and runs its task. A burst of tasks thus wakes
//     workers one after another, as fast as they find work and no faster.
//   - A parked worker is woken before another one is spawned, and none is
//     spawned beyond the limit. Workers are made on demand: the zero [Sync] has none.
//   - Work that is announced while nobody can be woken is not forgotten: the word
//     keeps one notification, which the next worker takes instead of parking.
//   - When everybody is busy, announcing more work writes nothing.
//
// Word is a value with pure transitions; [Sync] is the cell that stores one; and
// [WakeTokens] is what the idle workers park on. None of them knows what a task is.
// Together they make this protocol.
//
// Whoever made tasks visible:
//
//  1. Make the task visible, in a queue that workers look at.
//  2. act := s.Notify(false, limit).
//  3. ActionWake: tokens.Post(). ActionSpawn: start a worker; if that fails,
//     s.SpawnFailed(): the task stays queued, and the next Notify tries again.
//
// A worker, whose waking is false at first. One that was spawned begins with 3,
// which claims the signal that it was spawned by; one that came by s.Enter
// begins with 1:
//
//  1. Look for a task in every queue.
//  2. Found one: if 3 has sent the worker to look, or if the look made other tasks
//     visible that were hidden, do as above with s.Notify(waking, limit). waking
//     is false from here on. Run the task, and go to 1.
//  3. Found none: s.Wait(waking, false). OutcomeSearch and OutcomeSearchWaking
//     say whether the worker is waking now; go to 1. The notification that it has
//     taken may have been that of several pushes, which is why 2 passes it on
//     also when the worker is not waking. OutcomeShutdown: leave.
//  4. OutcomePark: take a token, and ask again with s.Wait(false, true), until
//     the outcome is another. A token is a hint: it may be left over from a wake
//     that somebody else has answered.
//
// A worker that leaves, after a shutdown or for reasons of its own, but not
// before it has begun (that is a failed spawn):
//
//  1. w, act := s.Leave(waking, idle, limit), where idle says that it was last
//     told to park. Do what act says.
//  2. If it was neither waking nor idle, look at the queues once more, and
//     notify if they hold something: a notification that came before it left may
//     have counted on it.
//  3. After a shutdown, who sees w.Spawned() == 0 was the last one.
//
// Whoever ends the workers:
//
//  1. idle, first := s.Shutdown().
//  2. Post idle tokens. Notifiers that are still under way may post another one;
//     nothing can take the shutdown back.
//
// Why no task is stranded while a worker is parked: the notifier's step 1 comes
// before its step 2, and the worker's claim of the notification (in Wait) before
// its next look. These are four operations on two variables, each side writes
// one and then reads the other, and Go's atomics are sequentially consistent: at
// least one side sees the other. Either the notifier sees that the worker counts
// as idle, or has cleared the notification, and acts; or the worker sees the
// task.
//
// # What else there is
//
// [Parker] blocks one goroutine until another one lets it go on, in either
// order. [Semaphore] bounds how many goroutines do something at once, in order of
// arrival, and gives up when a context is done. [Backoff] spaces attempts: spin,
// then yield, then park. [Pad] and [CacheLine] keep hot words apart. [NoCopy]
// makes go vet find copies.
//
// # What it is not for
//
// This package is for those who build runtimes. A program that wants to run
// tasks wants package sched, or goroutines; one that wants a mutex wants the
// standard sync. Semaphore is the exception: it is of use to any program, for
// bounding concurrent I/O.
package sync
