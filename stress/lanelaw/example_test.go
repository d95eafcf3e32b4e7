package lanelaw_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/stress/lanelaw"
)

// printGate is a gate that holds no handler and prints each point.
type printGate struct{}

func (printGate) Reach(call uint64, at lanelaw.HandlerPoint) bool {
	fmt.Println("call", call, "at", at)
	return true
}

// printer is a T that prints failures.
type printer struct{ failed bool }

func (p *printer) Helper()             {}
func (p *printer) Logf(string, ...any) {}
func (p *printer) Failed() bool        { return p.failed }

func (p *printer) Errorf(format string, args ...any) {
	p.failed = true
	fmt.Printf(format+"\n", args...)
}

// openLanes returns the lanes of a pool with the gate.
func openLanes() lanelaw.Lanes {
	return lanelaw.Pool(pool.Config{}).New(pool.Config{Lanes: 1}, printGate{})
}

// The lanes of a pool. In a test, t is the *testing.T.
func ExampleCheck() {
	t := new(printer)
	lanelaw.Check(t, lanelaw.Pool(pool.Config{}), lanelaw.Options{Operations: 1000})
	fmt.Println("failed:", t.Failed())
	// Output: failed: false
}

// One law, for lanes that run three handlers at once.
func ExampleLaw() {
	t := new(printer)
	for _, l := range lanelaw.Laws() {
		if l.Name == "limit" {
			fmt.Println(l.Text)
			l.Check(t, lanelaw.Pool(pool.Config{Concurrency: 3}), lanelaw.Options{Operations: 1000})
		}
	}
	fmt.Println("failed:", t.Failed())
	// Output:
	// A lane runs Concurrency handlers at once, and no more.
	// failed: false
}

// The promises of a kind of lanes.
func ExampleKind() {
	k := lanelaw.Pool(pool.Config{Concurrency: 2})
	fmt.Println(k.Name, k.Concurrency, k.Ordered, k.Bounded)
	// Output: pool lanes of 2 2 false true
}

// The calls that a law makes.
func ExampleLanes() {
	l := openLanes()
	fmt.Println(l.Call(context.Background(), "echo", "hello"))
	l.Close()
	fmt.Println(l.Call(context.Background(), "echo", "hello"))
	fmt.Println(l.Join(context.Background()))
	// Output:
	// hello <nil>
	// <nil> Pool is shut down
	// <nil>
}

// A call that is aborted before it starts.
func ExampleFuture() {
	l := openLanes()
	l.Pause()
	f := l.Go(context.Background(), "echo", "hello")
	f.Abort(errors.New("not needed any more"))
	<-f.Done()
	l.Resume()
	fmt.Println(f.Wait(context.Background()))
	fmt.Println(l.Shutdown(context.Background()))
	// Output:
	// <nil> not needed any more; the call has not started
	// <nil>
}

// The counts of lanes with one waiting call.
func ExampleCounts() {
	l := openLanes()
	l.Pause()
	l.Go(context.Background(), "echo", "hello")
	c := l.Counts()
	fmt.Println(c.Accepted, c.Ended, c.Backlog+c.InFlight)
	l.Close()
	// Output: 1 0 1
}

// Lanes that a caller may have for itself.
func ExampleLeasedLanes() {
	l := openLanes().(lanelaw.LeasedLanes) //nolint:forcetypeassert // lanelaw.Pool has leases
	lease, _ := l.Acquire(context.Background(), -1)
	_, err := l.Call(context.Background(), "echo", "hello")
	fmt.Println(errors.Is(err, pool.ErrAllLeased))
	lease.Release()
	fmt.Println(l.Call(context.Background(), "echo", "hello"))
	l.Close()
	// Output:
	// true
	// hello <nil>
}

// The end of a lease.
func ExampleLease() {
	l := openLanes().(lanelaw.LeasedLanes) //nolint:forcetypeassert // lanelaw.Pool has leases
	lease, _ := l.Acquire(context.Background(), 0)
	fmt.Println(lease.Go(context.Background(), "echo", "hello").Wait(context.Background()))
	lease.Discard(nil)
	_, err := lease.Go(context.Background(), "echo", "hello").Wait(context.Background())
	fmt.Println(errors.Is(err, pool.ErrLeaseOver))
	_, err = l.AcquireID(context.Background(), lease.ID())
	fmt.Println(errors.Is(err, pool.ErrLaneDiscarded))
	l.Close()
	// Output:
	// hello <nil>
	// true
	// true
}

// The abortable tasks of the laws.
func ExampleTask() {
	var names []string
	for name, task := range lanelaw.Tasks(printGate{}) {
		if task.Abortable {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	fmt.Println(names)
	// Output: [await poll poll-once]
}

// A handler that makes calls: the Call carries what it needs.
func ExampleCall() {
	nest := lanelaw.Tasks(printGate{})["nest"].Run
	var c lanelaw.Call
	c.Call = func(_ string, payload any) (any, error) { return nest(c, payload) }
	fmt.Println(nest(c, uint64(5)))
	// Output: 5 <nil>
}

// A gate receives the progress of handlers.
func ExampleGate() {
	l := openLanes()
	fmt.Println(l.Call(context.Background(), "call", uint64(7)))
	l.Close()
	// Output:
	// call 7 at 0
	// call 7 at 3
	// 22 <nil>
}

// A handler that sees the abort of its call.
func ExampleHandlerPoint() {
	task := lanelaw.Tasks(printGate{})["poll"]
	_, err := task.Run(lanelaw.Call{Aborted: func() bool { return true }}, uint64(1))
	fmt.Println(err, lanelaw.HandlerAborted)
	// Output:
	// call 1 at 0
	// call 1 at 2
	// call 1 at 3
	// <nil> 2
}

// Lanes whose error does not name the task. printer is a T that prints failures.
func ExampleT() {
	k := lanelaw.Pool(pool.Config{})
	k.Name = "terse"
	open := k.New
	k.New = func(c pool.Config, gate lanelaw.Gate) lanelaw.Lanes { return terse{open(c, gate)} }
	for _, l := range lanelaw.Laws() {
		if l.Name == "unknown" {
			l.Check(new(printer), k, lanelaw.Options{Seed: 1, Operations: 4})
		}
	}
	// Output:
	// terse: law "unknown": a call of the unknown task "none" ended with no such task; 1 lanes, a backlog of -1; repeat with Options{Seed: 1}
}

// terse are lanes whose error does not name an unknown task.
type terse struct{ lanelaw.Lanes }

func (l terse) Call(ctx context.Context, task string, payload any) (any, error) {
	if _, ok := lanelaw.Tasks(nil)[task]; !ok {
		return nil, errors.New("no such task")
	}
	return l.Lanes.Call(ctx, task, payload)
}

// The defaults, and the options that repeat the shapes of a violation.
func ExampleOptions() {
	t := new(printer)
	for _, o := range []lanelaw.Options{{Operations: 1000}, {Seed: 42, Operations: 1000}} {
		lanelaw.Check(t, lanelaw.Pool(pool.Config{}), o)
	}
	fmt.Println("failed:", t.Failed())
	// Output:
	// failed: false
}
