package sched_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/sched"
)

// TestMaxWorkers: MaxWorkers may be 16,383 and not more. 0 means GOMAXPROCS. Z-066. V-14a.
func TestMaxWorkers(t *testing.T) {
	for _, tc := range []struct {
		n    int
		want string
	}{
		{0, ""},
		{1, ""},
		{16_383, ""},
		{16_384, "Config.MaxWorkers is 16384"},
		{-1, "Config.MaxWorkers is -1"},
	} {
		s, err := sched.New(sched.Config{MaxWorkers: tc.n})
		if tc.want != "" {
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("New(%d) = %v, want an error with %q", tc.n, err, tc.want)
			}
			continue
		}
		must(t, err)
		want := tc.n
		if want == 0 {
			want = runtime.GOMAXPROCS(0)
		}
		if s.MaxWorkers() != want {
			t.Errorf("MaxWorkers = %d, want %d", s.MaxWorkers(), want)
		}
		ran := false
		must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran = true }}))
		if !ran {
			t.Errorf("with MaxWorkers %d the task did not run", tc.n)
		}
		must(t, s.Shutdown(within(t)))
	}
	_, err := sched.New(sched.Config{MaxWorkers: 16_384})
	mustBe(t, err, sched.ErrTooManyWorkers)
}

// TestMaxWorkersOutOfRange: New refuses a MaxWorkers that the Sync word cannot count. V-14a.
func TestMaxWorkersOutOfRange(t *testing.T) {
	for _, n := range []int{math.MinInt, -1, 16_384, 1<<14 + 1, math.MaxInt32, math.MaxInt} {
		s, err := sched.New(sched.Config{MaxWorkers: n})
		if s != nil || err == nil || !strings.Contains(err.Error(), fmt.Sprintf("Config.MaxWorkers is %d", n)) {
			t.Errorf("New(%d) = %v, %v", n, s, err)
		}
		if n > 0 && !errors.Is(err, sched.ErrTooManyWorkers) {
			t.Errorf("New(%d) = %v, want ErrTooManyWorkers", n, err)
		}
	}
}

// nearTheThreadLimit runs callbacks of each kind in a process that allows few more threads than a
// scheduler with LockOSThread may have workers: as many as the callbacks that block at once, and
// 32 for the Go runtime and for threads that end while others begin.
func nearTheThreadLimit(t *testing.T) {
	t.Helper()
	const workers, blocked, others = 128, 16, 32
	runtime.GOMAXPROCS(min(8, runtime.GOMAXPROCS(0))) // the Go runtime has a thread for each processor
	debug.SetMaxThreads(workers + blocked + others)
	rng := newRand(t)
	s, err := sched.New(sched.Config{MaxWorkers: workers, LockOSThread: true})
	must(t, err)
	for range 20 {
		// All workers run at once, and each of the blocked callbacks has released its place.
		inside, together, end := newLatch(blocked), newLatch(workers), make(chan struct{})
		g := s.NewGroup(sched.GroupConfig{RunAll: true})
		for range blocked {
			must(t, g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				w.Blocking(func() { inside.hit(); <-end })
			}}))
		}
		inside.wait(t)
		for range workers {
			must(t, g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { together.hit(); <-together.done }}))
		}
		together.wait(t)
		close(end)
		must(t, g.Wait())
		// Goexit ends the thread of a worker, and another worker begins.
		g = s.NewGroup(sched.GroupConfig{RunAll: true})
		for range 1 + rng.IntN(16) {
			must(t, g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { runtime.Goexit() }}))
			must(t, s.Do(noTask()))
		}
		mustBe(t, g.Wait(), sched.ErrGoexit)
	}
	atRest(t, s)
	fmt.Println("at rest")
}

// TestNearTheThreadLimit: a scheduler with LockOSThread needs no more threads than it has workers
// and callbacks that have released their place, apart from those of the Go runtime. V-14c.
func TestNearTheThreadLimit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the number of threads that the runtime needs depends on the system")
	}
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		if out, code := runChild(t, "near the thread limit"); code != 0 || !strings.Contains(out, "at rest") {
			t.Errorf("exit code %d, output:\n%.4000s", code, out)
		}
	}
}

// TestThreadLimit: with LockOSThread New refuses as many workers as the runtime allows threads. It
// leaves that limit as it is. V-14c.
func TestThreadLimit(t *testing.T) {
	old := debug.SetMaxThreads(12_000)
	defer debug.SetMaxThreads(old)
	for _, tc := range []struct {
		limit, n int
		lock, ok bool
	}{
		{limit: 12_000, n: 11_999, lock: true, ok: true},
		{limit: 12_000, n: 12_000, lock: true},
		{limit: 12_000, n: 16_383, lock: true},
		{limit: 12_000, n: 16_383, ok: true},
		{limit: 20_000, n: 16_383, lock: true, ok: true},
	} {
		debug.SetMaxThreads(tc.limit)
		s, err := sched.New(sched.Config{MaxWorkers: tc.n, LockOSThread: tc.lock})
		if got := debug.SetMaxThreads(tc.limit); got != tc.limit {
			t.Errorf("after New(%+v) the limit is %d", tc, got)
		}
		if tc.ok {
			must(t, err)
			must(t, s.Shutdown(within(t)))
			continue
		}
		want := fmt.Sprintf("Config.LockOSThread with %d workers, and the runtime allows %d threads", tc.n, tc.limit)
		if s != nil || !errors.Is(err, sched.ErrTooManyWorkers) || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v) = %v, %v, want an error with %q", tc, s, err, want)
		}
	}
}

// TestMaximumNumberOfWorkers: tasks run while 16,383 workers exist, and the next worker is
// refused. No field of the Sync word overflows into another. V-14b.
func TestMaximumNumberOfWorkers(t *testing.T) {
	const most = 16_383
	if testing.Short() || raceBuild() {
		t.Skip("too many goroutines for -short and for the race detector")
	}
	s, err := sched.New(sched.Config{MaxWorkers: most})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	for range most {
		callers.Go(func() {
			if err := s.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("Run = %v", err)
			}
		})
	}
	for deadline := time.Now().Add(patience.Limit); s.Stats().Parked < most && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	mustBe(t, s.Run(ctx), sched.ErrTooManyWorkers)
	l := newLatch(100)
	for range 100 {
		must(t, s.Go(l.hit))
	}
	l.wait(t)
	if st := s.Stats(); st.Workers != most || st.Spawns != 0 {
		t.Errorf("Stats = %+v, want %d workers, none of them spawned", st, most)
	}
	cancel()
	callers.Wait()
	atRest(t, s)
}
