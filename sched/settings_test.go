package sched_test

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/sched"
)

// underPressure matches the tests that TestMatrix runs again.
const underPressure = "^(TestExactlyOnce|TestRescheduleItself|TestWaitInTasks|TestNestedGroups|TestBlocking" +
	"|TestShutdownDrains|TestCloseReturnsUnrunTasks|TestEveryNthSpawnFails|TestGoexit|TestGroupReportsAbnormalEnds|TestScheduleDuringShutdown)$"

// TestMatrix: the most sensitive tests pass with one processor, with a garbage collector that
// always runs, and with a runtime that preempts only at calls. V-17a.
func TestMatrix(t *testing.T) {
	if testing.Short() || raceBuild() || ringSize < 64 {
		t.Skip("runs many tests five times: too slow for -short and for slow builds")
	}
	const noPreempt = "GODEBUG=asyncpreemptoff=1"
	for _, env := range [][]string{
		{"GOMAXPROCS=1"}, {"GOGC=1"}, {noPreempt}, {"GOMAXPROCS=1", "GOGC=1", noPreempt}, {"GOMAXPROCS=8"},
	} {
		t.Run(strings.Join(env, " "), func(t *testing.T) {
			out, err := proctest.Output(t, proctest.Self(t, env, "-test.short", "-test.timeout=5m", "-test.run="+underPressure))
			if err != nil || !strings.Contains(out, "PASS") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestOneProcessor: waits and tasks end with GOMAXPROCS=1. V-17a.
func TestOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, workers := range []int{1, 3} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		var leaves atomic.Int64
		for range 20 {
			must(t, s.Do((&node{depth: 6, leaves: &leaves}).arm()))
		}
		l := newLatch(1000)
		for range 1000 {
			must(t, s.Go(l.hit))
		}
		l.wait(t)
	}
}

// TestCollectorAllTheTime: tasks that are reachable only through queues survive a garbage
// collector that always runs. Z-048. V-17a.
func TestCollectorAllTheTime(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	n := 3000
	if testing.Short() {
		n = 300
	}
	type numbers = sched.Job[[]int]
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		g := s.NewGroup(sched.GroupConfig{})
		var sum atomic.Int64
		var fn func(w *sched.Worker, j *numbers)
		fn = func(w *sched.Worker, j *numbers) {
			for _, v := range j.Value {
				sum.Add(int64(v))
			}
			if len(j.Value) > 1 {
				for i := range 2 {
					half := &numbers{Fn: fn, Value: append([]int(nil), j.Value[i*len(j.Value)/2:(i+1)*len(j.Value)/2]...)}
					if err := g.Schedule(w, half.Task()); err != nil {
						t.Error(err)
					}
				}
			}
			j.Value = nil
		}
		for range n {
			j := &numbers{Fn: fn, Value: []int{1, 2, 3, 4}}
			must(t, g.Schedule(nil, j.Task()))
		}
		must(t, g.Wait())
		if got, want := sum.Load(), int64(n*10*3); got != want {
			t.Errorf("the sum is %d, want %d", got, want)
		}
	}
}

// TestOversubscribed: all tasks run when the workers far outnumber the processors and the tasks
// block, yield, wait and schedule.
func TestOversubscribed(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2_000
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	s := newScheduler(t, sched.Config{MaxWorkers: 64})
	var leaves atomic.Int64
	l := newLatch(n)
	for i := range n {
		must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			switch i % 4 {
			case 0:
				w.Blocking(runtime.Gosched)
			case 1:
				runtime.Gosched()
			case 2:
				if err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}); err != nil {
					t.Error(err)
				}
				return
			case 3:
				var g sched.Group
				for range 2 {
					if err := g.Schedule(w, (&node{depth: 1, leaves: &leaves}).arm()); err != nil {
						t.Error(err)
					}
				}
				if err := w.Wait(&g); err != nil {
					t.Error(err)
				}
			}
			l.hit()
		}}))
	}
	l.wait(t)
	if got, want := leaves.Load(), int64(n/4*4); got != want {
		t.Errorf("%d leaves ran, want %d", got, want)
	}
}
