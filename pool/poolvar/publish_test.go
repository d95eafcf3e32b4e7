package poolvar_test

import (
	"context"
	"encoding/json"
	"expvar"
	"fmt"
	"testing"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/pool/poolvar"
)

// newPool returns a pool with a task, and the function that calls it.
func newPool() (*pool.Pool, *pool.Func[int, int]) {
	var h pool.Handlers
	f := pool.Register(&h, "double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	p, err := pool.New(&h, pool.Config{Lanes: 2})
	if err != nil {
		panic(err)
	}
	return p, f
}

// TestPublish checks that each read of the variable is a snapshot of the moment of the read as
// JSON.
func TestPublish(t *testing.T) {
	p, f := newPool()
	poolvar.Publish("TestPublish", p)
	read := func() (m pool.Metrics) {
		t.Helper()
		if err := json.Unmarshal([]byte(expvar.Get("TestPublish").String()), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	for n := range 5 {
		if m := read(); m.Accepted != uint64(n) || m.Ended != uint64(n) || len(m.Lanes) != 2 || m.Status != "open" {
			t.Errorf("after %d calls: %+v", n, m)
		}
		if _, err := f.Call(context.Background(), n); err != nil {
			t.Fatal(err)
		}
		if err := p.Wait(context.Background()); err != nil { // until the counters are up to date
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if m := read(); m.Status != "closed" || m.Accepted != 5 {
		t.Errorf("at the end: %+v", m)
	}
	if got := panicOf(func() { poolvar.Publish("no pool", nil) }); got != "poolvar: Publish: nil pool" {
		t.Errorf("panic %v", got)
	}
	if expvar.Get("no pool") != nil {
		t.Error("a pool that is nil was published")
	}
}

// panicOf returns the value that fn panics with.
func panicOf(fn func()) (value any) {
	defer func() { value = recover() }()
	fn()
	return nil
}

func ExamplePublish() {
	p, f := newPool()
	defer p.Close()
	poolvar.Publish("pool", p)
	if _, err := f.Call(context.Background(), 1); err != nil {
		fmt.Println(err)
	}
	var m pool.Metrics
	err := json.Unmarshal([]byte(expvar.Get("pool").String()), &m)
	fmt.Println(m.Accepted, err)
	// Output: 1 <nil>
}
