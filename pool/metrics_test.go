package pool_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/pool"
)

// TestLaneShowsItsHandlers checks that LaneInfo has the handlers with a permit. Each has the
// time of the first look that has found it. LaneInfo also has the goroutines that wait for a
// lease of the lane.
func TestLaneShowsItsHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f, p := gated(t, pool.Config{Lanes: 2, Concurrency: 2})
		if l := p.Lanes()[0]; l.Running != nil || l.WaitingLeases != 0 {
			t.Fatalf("an idle lane is %+v", l)
		}
		first := f.Go(bg, 1)
		g.entered(t, 1)
		began := time.Now()
		lane := -1
		for _, l := range p.Lanes() {
			for _, h := range l.Running {
				if lane = l.Lane; h != (pool.Running{Task: "gate", Lane: lane, Since: began}) {
					t.Fatalf("the handler is %+v", h)
				}
			}
		}
		time.Sleep(time.Second)
		if h := p.Metrics().Lanes[lane].Running; len(h) != 1 || h[0].Since != began {
			t.Fatalf("a second later the handlers are %+v", h)
		}
		leased := make(chan *pool.Lease, 1)
		go func() {
			l, err := p.AcquireLane(bg, lane)
			if err != nil {
				t.Error(err)
			}
			leased <- l
		}()
		synctest.Wait()
		if n := p.Lanes()[lane].WaitingLeases; n != 1 {
			t.Fatalf("%d goroutines wait for a lease, want 1", n)
		}
		g.open <- struct{}{}
		result(t, first)
		l := <-leased
		next := pool.GoOn(bg, l, f, 2)
		g.entered(t, 1)
		if h := p.Lanes()[lane].Running; len(h) != 1 || h[0].Since != time.Now() {
			t.Fatalf("the handlers of the next call are %+v", h)
		}
		l.Release()
		g.release()
		result(t, next)
	})
}

// TestTaskEnds checks that Metrics counts the ends of the calls of each task by their cause.
// The tasks are in the order of registration.
func TestTaskEnds(t *testing.T) {
	var h pool.Handlers
	good := pool.Register(&h, "z", double)
	bad := pool.Register(&h, "a", func(_ context.Context, n int) (int, error) {
		if n == 0 {
			panic("zero")
		}
		return 0, errWhy
	}, pool.TaskOptions{Remote: true})
	p := newPool(t, &h, pool.Config{Lanes: 9, Inline: &pool.Inline{}})
	for i := range 20 {
		result(t, good.Go(bg, i))
		if _, err := good.Call(bg, i); err != nil {
			t.Fatal(err)
		}
		_, err := bad.Call(bg, i%2)
		mustNotBe(t, err)
	}
	want := []pool.TaskInfo{{Task: "z", Ends: pool.Ends{Returned: 40}}, {Task: "a", Ends: pool.Ends{Failed: 10, Panicked: 10}}}
	if got := p.Metrics().Tasks; !slices.Equal(got, want) {
		t.Errorf("the tasks are %+v, want %+v", got, want)
	}
	balanced(t, p)

	var plain pool.Handlers
	f := pool.Register(&plain, "plain", double)
	p = newPool(t, &plain, pool.Config{Lanes: pool.NoLanes, Inline: &pool.Inline{}})
	if _, err := f.Call(bg, 1); err != nil {
		t.Fatal(err)
	}
	want = []pool.TaskInfo{{Task: "plain", Ends: pool.Ends{Returned: 1}}}
	if got := p.Metrics().Tasks; !slices.Equal(got, want) {
		t.Errorf("the tasks are %+v, want %+v", got, want)
	}
}
