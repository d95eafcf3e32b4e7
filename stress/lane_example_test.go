package stress_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/stress"
)

// printGate is a gate that holds nobody, and prints who comes.
type printGate struct{}

func (printGate) Pass(call uint64, at stress.LanePoint) bool {
	fmt.Println("call", call, "at", at)
	return true
}

// openLanes returns lanes of a pool with the gate.
func openLanes() stress.Lanes {
	return stress.PoolLanes(pool.Config{}).New(pool.Config{Lanes: 1}, printGate{})
}

// Lanes, here those of a pool, in a test of their own: t is its *testing.T.
func ExampleCheckLanes() {
	t := new(printer)
	stress.CheckLanes(t, stress.PoolLanes(pool.Config{}), stress.Options{Operations: 1000})
	fmt.Println("failed:", t.Failed())
	// Output: failed: false
}

// One law, of lanes that run three handlers at once.
func ExampleLaneLaw() {
	t := new(printer)
	for _, l := range stress.LaneLaws() {
		if l.Name == "limit" {
			fmt.Println(l.Text)
			l.Check(t, stress.PoolLanes(pool.Config{Concurrency: 3}), stress.Options{Operations: 1000})
		}
	}
	fmt.Println("failed:", t.Failed())
	// Output:
	// A lane runs as many handlers at once as it says, and no more.
	// failed: false
}

// What a kind of lanes promises.
func ExampleLaneKind() {
	k := stress.PoolLanes(pool.Config{Concurrency: 2})
	fmt.Println(k.Name, k.Concurrency, k.Ordered, k.Slots)
	// Output: pool lanes of 2 2 false 32
}

// What a law does with lanes.
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
func ExampleLaneFuture() {
	l := openLanes()
	l.Pause()
	f := l.Go(context.Background(), "echo", "hello")
	f.Abort(errors.New("not needed any more"))
	<-f.Done()
	l.Resume()
	fmt.Println(f.Wait(context.Background()))
	fmt.Println(l.Shutdown(context.Background()))
	// Output:
	// <nil> not needed any more
	// <nil>
}

// The counters of lanes with one call that waits.
func ExampleLaneCounts() {
	l := openLanes()
	l.Pause()
	l.Go(context.Background(), "echo", "hello")
	c := l.Counts()
	fmt.Println(c.Accepted, c.Ended, c.Backlog+c.InFlight)
	l.Close()
	// Output: 1 0 1
}

// The tasks that lanes need for the laws.
func ExampleLaneTask() {
	var names []string
	for name, task := range stress.LaneTasks(printGate{}) {
		if task.Abortable {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	fmt.Println(names)
	// Output: [await glance poll]
}

// A handler that makes the calls of its own: what it needs comes in a LaneCall.
func ExampleLaneCall() {
	nest := stress.LaneTasks(printGate{})["nest"].Run
	var c stress.LaneCall
	c.Call = func(_ string, payload any) (any, error) { return nest(c, payload) }
	fmt.Println(nest(c, uint64(5)))
	// Output: 5 <nil>
}

// A gate sees where handlers are.
func ExampleLaneGate() {
	l := openLanes()
	fmt.Println(l.Call(context.Background(), "call", uint64(7)))
	l.Close()
	// Output:
	// call 7 at 0
	// call 7 at 3
	// 22 <nil>
}

// A handler that is told of its abort says so.
func ExampleLanePoint() {
	task := stress.LaneTasks(printGate{})["poll"]
	_, err := task.Run(stress.LaneCall{Aborted: func() bool { return true }}, uint64(1))
	fmt.Println(err, stress.LaneTold)
	// Output:
	// call 1 at 0
	// call 1 at 2
	// call 1 at 3
	// <nil> 2
}
