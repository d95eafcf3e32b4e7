package sched_test

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// TestTwoSchedulersScheduleOnEachOther: a worker of another scheduler is an external caller. B8.
func TestTwoSchedulersScheduleOnEachOther(t *testing.T) {
	n := 50_000
	if testing.Short() {
		n = 2_000
	}
	a := newScheduler(t, sched.Config{MaxWorkers: 1})
	b := newScheduler(t, sched.Config{MaxWorkers: 2})
	l := newLatch(1)
	var left atomic.Int64
	left.Store(int64(n))
	task := &sched.Task{}
	task.Fn = func(w *sched.Worker, self *sched.Task) {
		to := a
		if w.Scheduler() == a {
			to = b
		}
		if left.Add(-1) == 0 {
			l.hit()
			return
		}
		if err := to.Schedule(self); err != nil {
			t.Error(err)
		}
	}
	must(t, a.Schedule(task))
	l.wait(t)
}

// TestRingOfSchedulers: tasks are passed round three schedulers, one of which is closed. Each
// task arrives, is refused, or is returned, exactly once. B8.
func TestRingOfSchedulers(t *testing.T) {
	const tokens = 200
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for round := range rounds {
		ring := make([]*sched.Scheduler, 3)
		for i := range ring {
			s, err := sched.New(sched.Config{MaxWorkers: 1 + (round+i)%3})
			must(t, err)
			ring[i] = s
		}
		type token struct{ hops, at int }
		var arrived, refused atomic.Int64
		fn := func(w *sched.Worker, j *sched.Job[token]) {
			if j.Value.hops--; j.Value.hops == 0 {
				arrived.Add(1)
				return
			}
			j.Value.at = (j.Value.at + 1) % len(ring)
			switch err := ring[j.Value.at].Schedule(j.Task()); {
			case errors.Is(err, sched.ErrClosed), errors.Is(err, sched.ErrShutdown):
				refused.Add(1)
			case err != nil:
				t.Error(err)
			}
		}
		for i := range tokens {
			j := &sched.Job[token]{Fn: fn, Value: token{hops: 1 + i*5, at: i % len(ring)}}
			must(t, ring[j.Value.at].Schedule(j.Task()))
		}
		for arrived.Load() < int64(round) {
			runtime.Gosched()
		}
		came, err := ring[0].Close()
		must(t, err)
		for _, s := range ring[1:] {
			must(t, s.Shutdown(within(t)))
		}
		later, err := ring[0].Join(within(t))
		must(t, err)
		back := int64(len(came) + len(later))
		if sum := arrived.Load() + refused.Load() + back; sum != tokens {
			t.Fatalf("round %d: %d arrived, %d refused, %d returned: %d of %d",
				round, arrived.Load(), refused.Load(), back, sum, tokens)
		}
	}
}
