// Package pool runs calls on lanes.
//
// # A first program
//
//	var h pool.Handlers
//	add := pool.Register(&h, "add", func(ctx context.Context, a [2]int) (int, error) {
//		return a[0] + a[1], nil
//	})
//	p, err := pool.New(&h, pool.Config{})
//	...
//	defer p.Close()
//	sum, err := add.Call(ctx, [2]int{1, 2})
//
// A table of [Handlers] names the tasks. [New] makes a [Pool] of it and binds the functions that
// [Register] returned to the pool. [Func.Call] makes a call and waits. [Func.Go] returns a
// [Future]. [Pool.RunTask] and [Pool.Submit] call without types.
//
// # Lanes
//
// A lane runs one call at a time, or Config.Concurrency. A [Balancer] picks the lane of each call.
// If that lane is busy, the call runs on another lane that may run one more. If all are busy, it
// waits in a queue of the pool, from which each lane takes the oldest call when it may run one
// more. So no lane is idle beside a waiting call, and one long call does not delay those that could
// run elsewhere. With one lane the calls of a caller that name no lane start in their order, unless
// the caller is a handler or CallerRuns has it run some of them. Config.Backlog bounds the calls that
// wait.
//
// A call may name its lane. [CallOn] calls through a [Lease], which has the lane for itself.
// [CallAt] calls the lane with a [LaneID] and waits while a lease has it or waits for it. The calls of a caller
// that name a lane of one permit start there in their order, with the same two exceptions. Calls that name a lane and calls that name none start in no certain order.
// [Pool.Discard] ends all calls of a lane, for example because its handlers have left it in a bad
// state. Then the lane has a new id, and the waits for the old one end with [ErrLaneDiscarded].
//
// Workers of a [sched.Scheduler] run the calls. They cost nothing while they have nothing to do.
// Callers run the calls of the inline lane themselves. Values cross by reference, except to worker
// processes: caller and handler must not both write to the memory that an argument points to.
//
// A caller that has to wait anyway runs its call itself if no call waits, a lane may run one more,
// and, if the scheduler is given, that has a free place. That saves the hand-off.
//
// # The end of a call
//
// Each call that a pool takes ends exactly once. It ends with the outcome of its handler, or with
// an error that says why there is none. If the handler was not entered and never will be, the error
// is [ErrNotStarted] as well. The error or the panic of a handler comes as a [*RemoteError], and
// errors.Is and errors.As see through it. [Metrics] counts the ends by their [Cause]. A failure
// that no goroutine waits for reaches Config.OnEnd. Without that a panic goes to log/slog.
//
// A call whose context has ended before it is made never enters its handler. If the context ends
// before the handler returns, the outcome is the cause of the context. The caller has it at once,
// but on the inline lane when the handler that it runs returns. The handler learns of it by its
// context, and an Abortable one by its [AbortSignal]. A goroutine cannot be killed: the handler is
// overdue then and keeps its lane until it returns or blocks in a wait for a call or in
// [Pool.Blocking]. No balancer takes that lane for a free one, and it is not leased. A handler that
// CallerRuns has started without the lane does not keep it. Config.HardLimit lets a lane
// continue without a handler that does not return.
//
// # Worker processes
//
// With [Config].Process each lane is a worker process: see [Process]. The program of the worker, which
// is that of the host unless Process names another one, calls [WorkerMain] first in main. The tasks
// of both have the same names. Arguments and results are copied, so their types need an encoding of
// package transport, and caller and handler share no memory.
//
// A fault, or the end of a process, ends the calls that the process may have run, with an error that
// is [ErrWorkerLost]. The host continues, the process is replaced, and calls that had not started run
// elsewhere. Config.HardLimit and [Pool.Discard] kill the process of a lane. Calls do not run on the
// goroutines of their callers, and a handler makes no calls to the pool of its host. [Pool.Workers]
// describes the processes. docs/protocol.md describes what host and worker exchange.
//
// # Calls inside handlers
//
// A handler may call any function of any pool and wait for it. If no lane may run one more, a call
// of a function of its own pool runs at once, on top of it, if only the return of its own handler
// ends it. Such a call is not Remote, there is no HardLimit, and either its context cannot end and
// there is no Timeout, or the task has the option Prompt. The lane of the handler is not leased.
// While all lanes are leased, a call that names none gets [ErrAllLeased]. In all other cases a handler that waits
// gives up its permit of the lane and its worker. The lane runs its next call, so that nothing that
// the handler waits for is ever behind it. A task of any scheduler that waits for a call gives up
// its worker too: see [sched.Worker.Blocking]. When the handler comes back, it continues beside the
// call that runs there now. Handlers that keep state of their own across a call they wait for need
// a lock for it. While a handler waits, calls of the inline lane that it does not wait for get
// goroutines of their own.
//
// Goroutines, tasks and bodies of parallel loops that a handler starts are not that handler. They
// wait for its lane as other callers do. A handler that waits for them while they call the pool
// does so inside [Pool.Blocking]. With the context that [Carry] returns the goroutines are a part of
// the handler: the pool takes their calls while it shuts down, and their waits give up the permit of
// the handler. A handler that has carried its context, and a call on top of it, may run beside the
// next call of its lane from then on.
//
// # The end of a pool
//
// [Pool.Shutdown] finishes the calls that were accepted. [Pool.Close] ends them at once with
// [ErrThreadClosed]. [Pool.Terminate] also waits until the handlers have returned.
//
// A pool that shuts down still takes the calls that its handlers make, because they need them to
// finish. It refuses those of goroutines and tasks that a handler waits for, unless they come with
// a context of [Carry]. It does not wait for a handler whose own call has ended, by an Abort or by
// its time. The calls of that handler may be refused, or end with ErrThreadClosed.
//
// A context type with a method AfterFunc of its own has the function that this returns called in
// the middle of the end of a call. That function must not call this package, and must not panic. A
// call whose context panics in another method ends, if the pool has taken it. The panic goes on in
// the function that makes the call. If a worker asks for the deadline, the panic is the error of the
// call. A method of an error that is the cause of an end may panic in the goroutine that reads the
// error.
//
// Terms are defined in docs/GLOSSARY.md.
package pool
