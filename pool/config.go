package pool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lanewright/lanewright/sched"
	lfsync "github.com/lanewright/lanewright/sync"
	"github.com/lanewright/lanewright/transport"
)

// Config configures a Pool. The zero Config is the default. It has as many lanes as Go may use
// processors, and each lane runs one call at a time.
type Config struct {
	// Lanes is the number of lanes that run calls on goroutines, or of worker processes, at most 4,096. 0 means GOMAXPROCS.
	// NoLanes means none, which needs Inline.
	Lanes int
	// Concurrency is how many calls a lane runs at once. 0 means 1. [Pool.SetConcurrency] changes
	// it. With 1 the calls of a lane run in the order in which they came. With more, workers take
	// them in that order, and a call whose worker is slower may enter its handler behind the next
	// one. A worker process may have more calls, which wait there: see [Process].
	Concurrency int
	// Balancer picks the lane of each call. nil means RoundRobin. A pool with one
	// lane never asks it.
	Balancer Balancer
	// Inline, when not nil, makes callers a lane, too.
	Inline *Inline

	// Backlog is how many calls of the pool may wait to start: those for which no lane has a permit,
	// those on a lease whose lane is busy, and those that wait for their argument. 0 means
	// DefaultBacklog, NoBacklog means none, and Unlimited means no bound. Calls of the inline lane
	// do not count. A call that ends while it waits frees its space at once.
	Backlog int
	// Overflow says what happens to a call for which there is no space.
	Overflow Overflow

	// Timeout is how long a call may take. It includes the time in queues. 0 means as long as the
	// context of the call allows.
	Timeout time.Duration
	// HardLimit is how long a handler may run before its lane continues without it. 0 means without
	// limit. The caller gets ErrHardLimit then. A worker process is killed. A goroutine cannot be killed, so the handler stays
	// behind until it returns. On a Scheduler that is given it keeps its worker until then, unless
	// that has StallAfter. The caller that runs a call of the inline lane has the error when the
	// handler returns.
	HardLimit time.Duration
	// MaxAbandoned is how many handlers may be left behind at a time, by HardLimit or a Discard,
	// besides those that run when the last one is. While as many have not returned, the pool refuses calls
	// with ErrTooManyAbandoned, and each call that waits ends with it when a lane comes to it. So a program
	// whose handlers hang does not fill the memory with them. 0 means DefaultMaxAbandoned. Unlimited means
	// no bound.
	MaxAbandoned int
	// AbortCapacity is how many calls of abortable tasks may be under way at once.
	// 0 means DefaultAbortCapacity. The maximum is 65,534.
	AbortCapacity int

	// OnEnd, when not nil, is called once for each call that ends with an error while no goroutine
	// waits for it or has its channel. So the calls of Func.Call and Func.TryCall do not reach it.
	// It is also called for a panic of a handler whose call, of any kind, has ended before: by its
	// context, for example. The counts of Ends have that call by the cause of its end. OnEnd runs
	// on a goroutine of its own. A goroutine may wait for the future later. A call that the pool has not
	// taken does not reach OnEnd, but for one of Func.Go without space in the backlog. Without OnEnd a
	// panic goes to log/slog.
	OnEnd func(Ended)

	// Labels puts the label task=NAME on the goroutine of a handler and into its context, for profiles:
	// see [runtime/pprof.Do]. It costs some allocations a call. Afterwards the goroutine, which may be that
	// of the caller, has the labels of the context of the call.
	Labels bool
	// Trace makes each handler a region with the name of its task in an execution trace: see
	// [runtime/trace.WithRegion].
	Trace bool

	// Bootstrap, if it is not nil, is called once for each lane before the lane takes calls. An error
	// of it is the error of New or Resize. It must not call Resize.
	Bootstrap func(ctx context.Context, lane int) error
	// DrainOnClose makes Close finish the accepted calls first, as Shutdown does. Inside a handler of
	// the pool Close does not wait for that.
	DrainOnClose bool

	// Process, when not nil, makes the lanes worker processes. Then there are no fields Inline, Bootstrap, Scheduler,
	// LockOSThread, Labels and Trace, the policy CallerRuns does not exist, and Concurrency is at most 31.
	Process *Process

	// Scheduler runs the handlers. nil gives the pool one of its own, which ends with the pool. It
	// has a place for each call that may run at once on the lanes that New makes. Resize and
	// SetConcurrency add no place. While handlers block, one comes every 10 to 20 ms, at most 1,024. A
	// scheduler that is given has to outlive the pool.
	Scheduler *sched.Scheduler
	// LockOSThread wires each worker of the pool's own scheduler to a thread.
	LockOSThread bool
}

// Inline configures the lane of the callers. A call there runs on the goroutine of its caller. A call
// without a waiting caller runs on goroutines in Future.Wait, Pool.Wait, Shutdown, Terminate,
// Resize and RunInline. Callers that wait for a call of another lane run none.
type Inline struct {
	// Position is where the lane stands in the order of the balancer.
	Position Position
	// BatchSize is how many of its calls a waiting goroutine runs before it looks
	// whether its own call has ended. 0 means 1.
	BatchSize int
	// DispatchThreshold is how many calls have to be in flight in the pool before the balancer may
	// pick the lane. 0 means 1. It has no effect in a pool without another lane.
	DispatchThreshold int
}

// Position is where the inline lane stands in the order of lanes.
type Position uint8

// The positions of an inline lane.
const (
	Last Position = iota
	First
)

// Overflow is what happens to a call for which the backlog has no space.
type Overflow uint8

// The policies. In each of them a call that does not run ends with an error.
const (
	// Block makes the caller of Go wait until its call is one of the first Config.Backlog that wait, or
	// has ended. The call has its position in the queue at once. A Call waits for its own end only.
	Block Overflow = iota
	// Fail refuses the call with ErrBacklogFull.
	Fail
	// CallerRuns runs the call at once on the goroutine of its caller. A call of a Remote task, and
	// one that its context, a Timeout or a HardLimit may end, gets a goroutine of its own. The
	// caller waits for that. While the pool is paused, CallerRuns is Block, and while no lane takes
	// the call because a lane is reserved for a lease: see [Pool.Acquire].
	CallerRuns
	// DropOldest ends the call that has waited longest, with ErrDropped. If calls wait that cannot
	// be dropped, it is Fail. Those are calls that wait for their argument, and calls of other
	// queues: a call that names a lane drops only calls that name the same lane, and a call that
	// names none only such calls.
	DropOldest
)

// Defaults, and values with a meaning of their own.
const (
	DefaultBacklog       = 1024
	DefaultAbortCapacity = transport.DefaultAborts
	DefaultMaxAbandoned  = 64
	Unlimited            = -1 // of Config.Backlog and Config.MaxAbandoned
	NoBacklog            = -2 // of Config.Backlog
	NoLanes              = -1 // of Config.Lanes

	maxLanes         = 4096
	maxAbortCapacity = transport.MaxAborts
	defaultStall     = 10 * time.Millisecond
)

// check returns c with defaults filled in, or an error that names the field at
// fault.
func (c Config) check(processors int) (Config, error) {
	var errs []error
	bad := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("pool: Config."+field+": "+format, args...))
	}
	defaultTo := func(v *int, n int) {
		if *v == 0 {
			*v = n
		}
	}
	defaultTo(&c.Lanes, processors)
	defaultTo(&c.Concurrency, 1)
	defaultTo(&c.Backlog, DefaultBacklog)
	defaultTo(&c.AbortCapacity, DefaultAbortCapacity)
	defaultTo(&c.MaxAbandoned, DefaultMaxAbandoned)
	if c.Balancer == nil {
		c.Balancer = RoundRobin()
	}
	switch {
	case c.Lanes == NoLanes && c.Inline == nil:
		bad("Lanes", "a pool without lanes needs Inline")
	case c.Lanes != NoLanes && (c.Lanes < 0 || c.Lanes > maxLanes):
		bad("Lanes", "%d is not in 1..%d", c.Lanes, maxLanes)
	}
	if c.Concurrency < 0 || c.Concurrency > lfsync.MaxWorkers {
		bad("Concurrency", "%d is not in 1..%d", c.Concurrency, lfsync.MaxWorkers)
	}
	if c.Backlog < 0 && c.Backlog != Unlimited && c.Backlog != NoBacklog {
		bad("Backlog", "%d is negative", c.Backlog)
	}
	if c.Backlog == NoBacklog && c.Overflow == DropOldest {
		bad("Overflow", "DropOldest needs a Backlog")
	}
	if c.Overflow > DropOldest {
		bad("Overflow", "%d is no policy", c.Overflow)
	}
	if c.Timeout < 0 {
		bad("Timeout", "%v is negative", c.Timeout)
	}
	if c.HardLimit < 0 {
		bad("HardLimit", "%v is negative", c.HardLimit)
	}
	if c.MaxAbandoned < 0 && c.MaxAbandoned != Unlimited {
		bad("MaxAbandoned", "%d is negative", c.MaxAbandoned)
	}
	if c.AbortCapacity < 0 || c.AbortCapacity > maxAbortCapacity {
		bad("AbortCapacity", "%d is not in 1..%d", c.AbortCapacity, maxAbortCapacity)
	}
	if c.Inline != nil {
		in := *c.Inline
		defaultTo(&in.BatchSize, 1)
		defaultTo(&in.DispatchThreshold, 1)
		if in.BatchSize < 0 || in.DispatchThreshold < 0 || in.Position > First {
			bad("Inline", "%+v is out of range", in)
		}
		c.Inline = &in
	}
	if c.Process != nil {
		q := c.Process.check(bad)
		c.Process = &q
		for _, field := range []struct {
			name  string
			isSet bool
		}{
			{"Inline", c.Inline != nil},
			{"Bootstrap", c.Bootstrap != nil},
			{"Scheduler", c.Scheduler != nil},
			{"LockOSThread", c.LockOSThread},
			{"Labels", c.Labels},
			{"Trace", c.Trace},
			{"Overflow", c.Overflow == CallerRuns},
		} {
			if field.isSet {
				bad(field.name, "has no meaning with Process")
			}
		}
		if c.Concurrency > maxProcessCalls {
			bad("Concurrency", "%d is not in 1..%d, which is the number for a process", c.Concurrency, maxProcessCalls)
		}
	}
	if c.Scheduler != nil && c.LockOSThread {
		bad("LockOSThread", "is for the pool's own scheduler, and Config.Scheduler is set")
	}
	return c, errors.Join(errs...)
}
