// Package par runs loops on all workers of a scheduler: For, ForRange, ForEach, Map,
// Reduce, Find and the like, sorting, and iterators.
//
//	var workers sched.Scheduler
//	par.For(&workers, len(images), func(i int) { resize(images[i]) })
//	sizes := par.Map(&workers, files, size)
//	total := par.Reduce(&workers, sizes, 0, func(a, b int) int { return a + b })
//
// The first argument of each function is the scheduler to run on, and must not be nil:
// there is no default one, which two libraries in one program would share by
// accident. The caller is one of the workers. Loops may be started inside the bodies of others, inside tasks of the
// scheduler, and from many goroutines at the same time. When a function returns,
// nothing that it has started is running any more. On a scheduler that was shut
// down or closed a loop runs on the caller alone.
//
// A panic in a body ends the loop early, and is raised again on the caller's goroutine:
// as it is, or as a [sched.PanicError] with the stack when it happened on another
// worker. So does [runtime.Goexit]. Filter, Scan and the sorts drop what nobody
// has begun then, and wait for what other workers have.
//
// Loops do not belong into [sched.Config.OnIdle]: they panic there when they enter the
// scheduler.
//
// # No grain to tune
//
// Loops split themselves, when and where others have nothing to do, which is known as
// lazy binary splitting. A worker does its range in chunks of some microseconds.
// Between two chunks it looks whether another worker is hungry. If so, and if enough
// is left, it hands the upper half of what is left over, and goes on with the lower
// half. So nothing is split while all are busy, and the size of the pieces follows
// from how long they take. What the chunks are is measured.
//
// A loop begins on the caller alone, and enters the scheduler when a look at the clock
// shows that it takes more than a few microseconds. A small loop costs some 35 ns more
// than a plain one. Where there are so few indices that the first one might be half of
// the work, it counts what the body took the last time; and when that is
// not known, each worker gets its part at once.
//
// A body that varies by index may be as slow as it likes; but a worker inside a chunk
// cannot hand over what is behind it, and how long the chunk is follows from the
// indices before. So a loop that seems to take less than a few microseconds, from its
// first indices, is done by the caller alone. Loops over the outer index, with a
// body of at least some nanoseconds, are best.
//
// # What it is not for
//
// Bodies that wait, for the network, a channel, or each other: they keep a worker
// while they do, and there are as many as processors. Use goroutines. Bodies that write next to each other: neighbours of a
// range may be done by different workers, so let them write to their own index, and not
// to counters that share a cache line. Recursion is for [sched.ForkJoin].
//
// Source: Tzannes, Caragea, Barua, Vishkin: Lazy binary-splitting: a run-time adaptive
// work-stealing scheduler, PPoPP 2010. There a worker splits when its deque is empty;
// here it does so when another one asks, and the chunks have no fixed size.
package par
