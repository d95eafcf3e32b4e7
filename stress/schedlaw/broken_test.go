package schedlaw_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/stress/internal/harness"
	"github.com/lanewright/lanewright/stress/internal/lawtest"
	"github.com/lanewright/lanewright/stress/schedlaw"
)

// brokenScheduler is a mutexScheduler with one method replaced, the one that is not
// nil. n counts the tasks of external callers.
type brokenScheduler struct {
	*mutexScheduler
	schedule func(s *brokenScheduler, fn schedlaw.Task) bool
	counters func(s *brokenScheduler) schedlaw.Counters
	close    func(s *brokenScheduler) int
	n        atomic.Int64
}

func (s *brokenScheduler) Schedule(fn schedlaw.Task) bool {
	s.n.Add(1)
	if s.schedule == nil {
		return s.mutexScheduler.Schedule(fn)
	}
	return s.schedule(s, fn)
}

func (s *brokenScheduler) Counters() schedlaw.Counters {
	if s.counters == nil {
		return s.mutexScheduler.Counters()
	}
	return s.counters(s)
}

func (s *brokenScheduler) Close() int {
	if s.close == nil {
		return s.mutexScheduler.Close()
	}
	return s.close(s)
}

// brokenSchedulers lists faults of schedulers, with the law that finds each one and a
// part of its message.
var brokenSchedulers = []struct {
	law, fault, want string
	scheduler        *brokenScheduler
	inner            mutexFault
	extra            int // workers
}{
	{law: "once", fault: "a task runs twice", want: "ran 2 times", scheduler: &brokenScheduler{
		schedule: func(s *brokenScheduler, fn schedlaw.Task) bool {
			if s.n.Load()%10 == 0 {
				s.mutexScheduler.Schedule(fn)
			}
			return s.mutexScheduler.Schedule(fn)
		},
	}},
	{law: "lost", fault: "a task is dropped", want: "had not run when Shutdown returned", scheduler: &brokenScheduler{
		schedule: func(s *brokenScheduler, fn schedlaw.Task) bool {
			return s.n.Load()%10 == 0 || s.mutexScheduler.Schedule(fn)
		},
	}},
	{law: "limit", fault: "one worker too many", want: "tasks run at once", extra: 1},
	{law: "refused", fault: "a refused task is kept", want: "was refused and ran", scheduler: &brokenScheduler{
		schedule: func(s *brokenScheduler, fn schedlaw.Task) bool {
			return s.mutexScheduler.Schedule(fn) && s.n.Load()%10 != 0
		},
	}},
	{law: "refused", fault: "Shutdown refuses nothing", want: "accepted after Shutdown", scheduler: &brokenScheduler{
		schedule: func(s *brokenScheduler, fn schedlaw.Task) bool {
			if !s.mutexScheduler.Schedule(fn) {
				fn(mutexWorker{s.mutexScheduler})
			}
			return true
		},
	}},
	{law: "awake", fault: "one wake for several tasks", want: "tasks of external callers run", inner: wakesOnceOnly},
	{law: "awake", fault: "a scheduler refuses before Shutdown", want: "refused by a scheduler that was not shut down", scheduler: &brokenScheduler{
		schedule: func(s *brokenScheduler, fn schedlaw.Task) bool {
			return s.n.Load()%10 != 0 && s.mutexScheduler.Schedule(fn)
		},
	}},
	{law: "awake", fault: "tasks run where they are scheduled", want: "tasks of external callers run", scheduler: &brokenScheduler{
		schedule: func(s *brokenScheduler, fn schedlaw.Task) bool {
			fn(mutexWorker{s.mutexScheduler})
			return true
		},
	}},
	{law: "chain", fault: "no wake for a task of a task", want: "tasks that tasks scheduled run", inner: wakesNotInside},
	{law: "fair", fault: "tasks of tasks run first", want: "have run while others schedule themselves", inner: runsInsideFirst},
	{law: "stalled", fault: "a stalled worker is not replaced", want: "tasks of stalled workers run", inner: noFault},
	{law: "blocked", fault: "a stalled worker is not replaced", want: "tasks that wait for each other run", inner: noFault},
	{law: "computing", fault: "workers are replaced whose tasks compute", want: "tasks compute at once", extra: 2},
	{law: "waits", fault: "the last task is not awaited", want: "of its group had run", inner: waitsForAllBut1},
	{law: "waits", fault: "the end of the group is not notified", want: "Waits of external callers have not returned", inner: waitsForEver},
	{law: "nested", fault: "workers wait and none is left to run tasks", want: "Waits of tasks have not returned", inner: waitsOnWorker},
	{law: "nested", fault: "the last task is not awaited", want: "returned before task", inner: waitsForAllBut1},
	{law: "shared", fault: "queued tasks are not awaited", want: "of its group had run", inner: waitsForStarted},
	{law: "blocking", fault: "the worker blocks", want: "in Blocking run", inner: blocksWorker},
	{law: "resumes", fault: "Shutdown does not wait for tasks in Blocking", want: "Shutdown returned", inner: endsWhileBlocked},
	{law: "resumes", fault: "Shutdown refuses the tasks of tasks", want: "was refused before Shutdown returned", inner: refusesInside},
	{law: "counters", fault: "Executed is off by one", want: "the counters say", scheduler: &brokenScheduler{
		counters: func(s *brokenScheduler) schedlaw.Counters {
			c := s.mutexScheduler.Counters()
			c.Executed -= min(1, c.Executed)
			return c
		},
	}},
	{law: "counters", fault: "Executed decreases", want: "xecuted", scheduler: &brokenScheduler{
		counters: func(s *brokenScheduler) schedlaw.Counters {
			c := s.mutexScheduler.Counters()
			c.Executed %= 256
			return c
		},
	}},
	{law: "counters", fault: "a task counts as executed before it is scheduled", want: "had been scheduled", scheduler: &brokenScheduler{
		counters: func(s *brokenScheduler) schedlaw.Counters {
			c := s.mutexScheduler.Counters()
			c.Executed++
			return c
		},
	}},
	{law: "counters", fault: "parked workers are counted twice", want: "parked workers of", scheduler: &brokenScheduler{
		counters: func(s *brokenScheduler) schedlaw.Counters {
			c := s.mutexScheduler.Counters()
			c.Parked *= 2
			return c
		},
	}},
	{law: "counters", fault: "workers that have ended are counted", want: "workers after Shutdown", scheduler: &brokenScheduler{
		counters: func(s *brokenScheduler) schedlaw.Counters {
			c := s.mutexScheduler.Counters()
			c.Workers = 1
			c.Parked = min(c.Parked, 1)
			return c
		},
	}},
	{law: "close", fault: "queued tasks are not counted", want: "Close returned 0 as not run", scheduler: &brokenScheduler{
		close: func(s *brokenScheduler) int {
			s.mutexScheduler.Close()
			return 0
		},
	}},
	{law: "close", fault: "Close refuses nothing", want: "accepted", scheduler: &brokenScheduler{
		schedule: func(s *brokenScheduler, fn schedlaw.Task) bool {
			return s.mutexScheduler.Schedule(fn) || s.n.Load()%64 != 0
		},
	}},
	{law: "closing", fault: "Wait waits for a dropped task", want: "Waits have not returned", inner: closesNoGroup},
}

// isStuck are the violations that only a deadline reveals.
var isStuck = map[string]bool{
	"tasks of external callers run":                 true,
	"tasks that tasks scheduled run":                true,
	"refused by a scheduler that was not shut down": true,
	"have run while others schedule themselves":     true,
	"tasks of stalled workers run":                  true,
	"tasks that wait for each other run":            true,
	"in Blocking run":                               true,
	"Waits of external callers have not returned":   true,
	"Waits of tasks have not returned":              true,
	"Waits have not returned":                       true,
}

// TestBrokenSchedulers checks that each law finds a scheduler with a fault that
// violates it.
func TestBrokenSchedulers(t *testing.T) {
	caught := map[string]bool{}
	for _, b := range brokenSchedulers {
		replaces, ifIdle := b.law == "stalled" || b.law == "blocked", b.law == "computing"
		k := schedlaw.Kind{Name: "broken", DrainAccepts: true, ReplacesStalled: replaces, ReplacesIfIdle: ifIdle, New: func(workers int) schedlaw.Scheduler {
			s := newMutexScheduler(workers+b.extra, b.inner)
			if b.scheduler == nil {
				return s
			}
			return &brokenScheduler{mutexScheduler: s, schedule: b.scheduler.schedule, counters: b.scheduler.counters, close: b.scheduler.close}
		}}
		for _, l := range schedlaw.Laws() {
			if l.Name == b.law {
				caught[l.Name] = true
				t.Run(fmt.Sprintf("%s/%s", l.Name, b.fault), func(t *testing.T) {
					t.Parallel()
					lawtest.WantBroken(t, l.Name, b.want, isStuck[b.want], func(r harness.T, o harness.Options) { l.Check(r, k, schedlaw.Options(o)) })
				})
			}
		}
	}
	for _, l := range schedlaw.Laws() {
		if !caught[l.Name] {
			t.Errorf("no broken scheduler violates the law %q", l.Name)
		}
	}
}
