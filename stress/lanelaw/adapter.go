package lanelaw

import (
	"context"
	"fmt"
	"runtime"

	"github.com/lanewright/lanewright/pool"
)

// Pool returns the kind of the lanes of [pool.Pool] that run on goroutines. c is their
// configuration, apart from the fields that a law chooses.
func Pool(c pool.Config) Kind {
	n := max(1, c.Concurrency)
	return Kind{
		Name:        fmt.Sprintf("pool lanes of %d", n),
		New:         func(law pool.Config, gate Gate) Lanes { return newPoolLanes(merge(c, law), gate) },
		Concurrency: n,
		Ordered:     n == 1,
		Shared:      true,
		Bounded:     true,
		AbortSlots:  true,
		Exits:       true,
		Leases:      true,
	}
}

// Inline returns the kind of the inline lane of [pool.Pool]. A goroutine runs the calls
// that no caller waits for, as the main loop of a program does.
func Inline() Kind {
	return Kind{
		Name: "inline lane",
		New: func(law pool.Config, gate Gate) Lanes {
			law.Lanes, law.Inline = pool.NoLanes, new(pool.Inline)
			l := &inlineLanes{poolLanes: newPoolLanes(law, gate), rings: make(chan struct{}, 1), quit: make(chan struct{})}
			go l.pump()
			return l
		},
	}
}

// merge returns c with the fields that a law chooses.
func merge(c, law pool.Config) pool.Config {
	c.Lanes, c.Backlog, c.Overflow = law.Lanes, law.Backlog, law.Overflow
	c.AbortCapacity, c.Timeout = law.AbortCapacity, law.Timeout
	return c
}

// poolLanes is a pool with the tasks of the laws.
type poolLanes struct {
	p     *pool.Pool
	tasks map[string]*pool.Func[any, any]
}

func newPoolLanes(c pool.Config, gate Gate) *poolLanes {
	var h pool.Handlers
	l := &poolLanes{tasks: map[string]*pool.Func[any, any]{}}
	for name, task := range Tasks(gate) {
		l.tasks[name] = pool.Register(&h, name, func(ctx context.Context, payload any) (any, error) {
			return task.Run(Call{
				Context: ctx,
				Aborted: pool.AbortSignalOf(ctx).Aborted,
				Call:    func(task string, payload any) (any, error) { return l.Call(ctx, task, payload) },
			}, payload)
		}, pool.TaskOptions{Abortable: task.Abortable, Remote: task.Exits})
	}
	if c.OnEnd == nil {
		c.OnEnd = func(pool.Ended) {} // the panics are those of the laws, and the log would have each of them
	}
	p, err := pool.New(&h, c)
	if err != nil {
		panic(fmt.Sprintf("lanelaw: Pool: %v", err))
	}
	l.p = p
	return l
}

func (l *poolLanes) Call(ctx context.Context, task string, payload any) (any, error) {
	if f := l.tasks[task]; f != nil {
		return f.Call(ctx, payload)
	}
	return l.p.RunTask(ctx, task, payload)
}

func (l *poolLanes) Go(ctx context.Context, task string, payload any) Future {
	return l.tasks[task].Go(ctx, payload)
}

func (l *poolLanes) Acquire(ctx context.Context, lane int) (Lease, error) {
	if lane < 0 {
		return l.lease(l.p.Acquire(ctx))
	}
	return l.lease(l.p.AcquireLane(ctx, lane))
}

func (l *poolLanes) AcquireID(ctx context.Context, id pool.LaneID) (Lease, error) {
	return l.lease(l.p.AcquireID(ctx, id))
}

func (l *poolLanes) lease(got *pool.Lease, err error) (Lease, error) {
	if err != nil {
		return nil, err
	}
	return poolLease{got, l}, nil
}

// poolLease is a lease of a lane of a pool.
type poolLease struct {
	*pool.Lease
	l *poolLanes
}

func (l poolLease) Go(ctx context.Context, task string, payload any) Future {
	return pool.GoOn(ctx, l.Lease, l.l.tasks[task], payload)
}

func (l *poolLanes) Ping(ctx context.Context) error     { return l.p.Ping(ctx, 0) }
func (l *poolLanes) Pause()                             { l.p.Pause() }
func (l *poolLanes) Resume()                            { l.p.Resume() }
func (l *poolLanes) Shutdown(ctx context.Context) error { return l.p.Shutdown(ctx) }
func (l *poolLanes) Close()                             { _ = l.p.Close() } // always nil

func (l *poolLanes) Join(ctx context.Context) error {
	_, err := l.p.Terminate(ctx)
	return err
}

func (l *poolLanes) Counts() Counts {
	m := l.p.Metrics()
	return Counts{Accepted: m.Accepted, Ended: m.Ended, Backlog: m.Backlog, InFlight: m.InFlight}
}

// inlineLanes is a pool with an inline lane only.
type inlineLanes struct {
	*poolLanes
	rings chan struct{} // holds a value when a call may be waiting
	quit  chan struct{}
}

// pump runs calls until the pool has ended. A call that ends the goroutine makes pump
// continue on a new one.
func (l *inlineLanes) pump() {
	ended := false
	defer func() {
		if !ended {
			l.ring()
			go l.pump()
		}
	}()
	for {
		select {
		case <-l.rings:
		case <-l.quit:
			ended = true
			return
		}
		for l.p.RunInline(1) > 0 {
			runtime.Gosched()
		}
	}
}

// ring wakes pump, because a call may be waiting.
func (l *inlineLanes) ring() {
	select {
	case l.rings <- struct{}{}:
	default:
	}
}

func (l *inlineLanes) Go(ctx context.Context, task string, payload any) Future {
	defer l.ring()
	return l.poolLanes.Go(ctx, task, payload)
}

func (l *inlineLanes) Resume() {
	l.poolLanes.Resume()
	l.ring()
}

// Ping asks the pool, because no loop of a lane could answer.
func (l *inlineLanes) Ping(ctx context.Context) error {
	_, err := l.p.RunTask(ctx, "request", nil)
	return err
}

func (l *inlineLanes) Join(ctx context.Context) error {
	err := l.poolLanes.Join(ctx)
	close(l.quit)
	return err
}
