// Package par runs loops on all workers of a scheduler. It has loops over indices and
// slices (For, ForRange, ForEach), Map, Reduce, Scan, Filter, Find, sorts and iterators.
//
//	par.For(nil, len(images), func(i int) { resize(images[i]) })
//	sizes := par.Map(nil, files, size)
//	total := par.Reduce(nil, sizes, 0, func(a, b int) int { return a + b })
//
// Each function takes the scheduler as its first argument, or as the second one after a
// context. nil means [sched.Default], the scheduler that the whole program shares, so that
// several libraries do not each start workers of their own. Inside a bubble of
// testing/synctest a nil scheduler panics: the test passes a scheduler of the bubble. Each
// function panics when a body or another function is nil. The caller is one of the workers. A
// loop may be started inside the body of another loop, inside a task of the scheduler, and
// from many goroutines at the same time. When a function returns, nothing that it has started
// is running any more. On a scheduler that was shut down or closed, a loop runs on the caller
// alone.
//
// A panic in a body ends the loop early and is raised again on the goroutine of the
// caller. The value is the same, or a [sched.PanicError] with the stack when the panic
// happened on another worker. [runtime.Goexit] in a body ends the loop early and then
// the goroutine of the caller. Filter, Scan and the sorts then drop the parts that no
// worker has begun, and wait for the parts that other workers have begun.
//
// A body that blocks now and then, on a lock for example, does so inside
// [sched.Scheduler.Blocking]. Its place then serves other parts and tasks in the meantime. Blocking
// finds the worker of the calling goroutine.
//
// Do not start a loop in [sched.Config.OnIdle]: it panics when it enters the scheduler.
//
// # No grain to tune
//
// Loops divide themselves on demand, which is known as lazy binary splitting. A worker
// runs its range in chunks of some microseconds. Between two chunks it looks whether
// another worker has requested a fork. If so, and if enough is left, it forks the upper
// half of the rest, which the other worker can then take, and continues with the lower
// half. A loop is therefore not divided while all workers are busy, and the size of the
// parts follows from the time that the indices take. The length of a chunk follows from
// the measured time of the chunk before it.
//
// A loop begins on the caller alone. It enters the scheduler when a reading of the clock
// shows that it takes more than a few microseconds. A small loop costs some 35 ns more
// than a plain one. When there are so few indices that the first one could be half of
// the work, the loop uses the time that the same body took before. When that time is not
// known, each worker gets its part at once.
//
// The time of a body may vary by index without a limit, with one exception. A worker
// inside a chunk cannot hand over the indices behind it, and the length of the chunk
// follows from the indices before it. A loop whose first indices suggest less than a few
// microseconds therefore runs on the caller alone. The best loops run over the outer
// index, with a body of at least some nanoseconds.
//
// # What it is not for
//
//   - Bodies that wait for most of their time, for the network for example, or that wait for each
//     other. The indices behind such a body in its chunk wait as well, also when it waits inside
//     Blocking. Use goroutines.
//   - Bodies that write to memory next to each other. Neighbours of a range may run on
//     different workers: let each body write to its own index, and not to counters that
//     share a cache line.
//   - Recursion. Use [sched.ForkJoin].
//
// # Source
//
// Tzannes, Caragea, Barua, Vishkin: Lazy binary-splitting: a run-time adaptive
// work-stealing scheduler, PPoPP 2010. In that paper a worker splits when its deque is
// empty. Here a worker splits when another worker requests it, and the chunks have no
// fixed size.
//
// Terms are defined in docs/GLOSSARY.md.
package par
