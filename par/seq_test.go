package par_test

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/par"
	"github.com/lanewright/lanewright/sched"
)

// TestMapSeqKeepsOrder: each result comes once, in the order of the values.
func TestMapSeqKeepsOrder(t *testing.T) {
	schedulers(t, func(t *testing.T, s *sched.Scheduler) {
		t.Helper()
		for _, n := range []int{0, 1, 2, 3, 30, 1000, 30_000} {
			for _, rounds := range []int{0, 3000} {
				if n*rounds > 3_000_000 {
					continue
				}
				within(t, func() {
					in := numbers(n)
					got := slices.Collect(par.MapSeq(s, slices.Values(in), func(i int) int { spin(rounds); return i }))
					if !slices.Equal(got, in) {
						t.Errorf("n=%d: got %d results, which differ", n, len(got))
					}
				})
			}
		}
	})
}

// TestForEachSeqUsesEachValueOnce: the body is called once for each value.
func TestForEachSeqUsesEachValueOnce(t *testing.T) {
	schedulers(t, func(t *testing.T, s *sched.Scheduler) {
		t.Helper()
		done := make([]atomic.Int32, 3000)
		within(t, func() {
			par.ForEachSeq(s, slices.Values(numbers(len(done))), func(i int) { spin(100); done[i].Add(1) })
		})
		for i := range done {
			if got := done[i].Load(); got != 1 {
				t.Errorf("value %d was used %d times", i, got)
			}
		}
	})
}

// TestMapSeqBoundsReadAhead: the number of values read ahead is bounded.
func TestMapSeqBoundsReadAhead(t *testing.T) {
	s := newScheduler(t, 2)
	read, used := 0, 0
	endless := func(yield func(int) bool) {
		for read = 1; yield(read); read++ {
			if ahead := read - used; ahead > (2*2+1)*1024 {
				t.Fatalf("%d values are read ahead", ahead)
			}
		}
	}
	for range par.MapSeq(s, endless, func(i int) int { return i }) {
		if used++; used == 100_000 {
			break
		}
	}
}

// TestMapSeqBatchesOnClosedScheduler: batches also grow on a closed scheduler. Batches of
// one value would need several allocations per value.
func TestMapSeqBatchesOnClosedScheduler(t *testing.T) {
	s := newScheduler(t, 1)
	s.Close()
	const n = 20_000
	allocs := testing.AllocsPerRun(1, func() {
		next := 0
		for v := range par.MapSeq(s, slices.Values(numbers(n)), func(i int) int { return i }) {
			if v != next {
				t.Fatalf("got the result %d, want %d", v, next)
			}
			next++
		}
		if next != n {
			t.Fatalf("got %d results, want %d", next, n)
		}
	})
	if allocs > n {
		t.Errorf("%.0f allocations for %d values", allocs, n)
	}
}

// TestMapSeqBreakEndsCalls: when the loop over the results ends early, no call is running
// afterwards, and the sequence ends.
func TestMapSeqBreakEndsCalls(t *testing.T) {
	schedulers(t, func(t *testing.T, s *sched.Scheduler) {
		t.Helper()
		for _, stop := range []int{1, 2, 100, 5000} {
			within(t, func() {
				ended := false
				var running, used atomic.Int32
				endless := func(yield func(int) bool) {
					defer func() { ended = true }()
					for i := 0; yield(i); i++ {
						continue
					}
				}
				for range par.MapSeq(s, endless, func(i int) int {
					running.Add(1)
					defer running.Add(-1)
					spin(100)
					return i
				}) {
					if int(used.Add(1)) == stop {
						break
					}
				}
				if r := running.Load(); r != 0 || !ended {
					t.Errorf("after %d: %d calls are still running, the sequence has ended: %t", stop, r, ended)
				}
			})
		}
	})
}

// TestMapSeqBreakBeginsNoCall: no call begins after the loop over the results has ended. At
// most two calls run at that moment. They keep their workers, so the last of the four values
// that were read ahead waits behind them.
func TestMapSeqBreakBeginsNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 2})
		if err != nil {
			t.Fatal(err)
		}
		var calls atomic.Int32
		resume := make(chan struct{})
		go func() {
			for range par.MapSeq(s, slices.Values(numbers(100)), func(i int) int {
				if calls.Add(1); i > 0 {
					<-resume
				}
				return i
			}) {
				break
			}
		}()
		synctest.Wait() // until the loop waits for the calls that run
		begun := calls.Load()
		close(resume)
		synctest.Wait()
		if n := calls.Load(); n != begun {
			t.Errorf("%d calls began after the end of the loop and %d before it", n-begun, begun)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestMapSeqPanicAtItsValue: a panic of the function is raised at its value, after the
// results before it. A panic of the sequence or of the loop is raised as well.
func TestMapSeqPanicAtItsValue(t *testing.T) {
	schedulers(t, func(t *testing.T, s *sched.Scheduler) {
		t.Helper()
		for _, at := range []int{0, 1, 50, 999} {
			within(t, func() {
				var running atomic.Int32
				next := 0
				got := recovered(func() {
					for v := range par.MapSeq(s, slices.Values(numbers(1000)), func(i int) int {
						running.Add(1)
						defer running.Add(-1)
						if spin(1000); i == at {
							panic("at")
						}
						return i
					}) {
						if v != next {
							t.Errorf("got the result %d, want %d", v, next)
						}
						next++
					}
				})
				if got != "at" || next != at || running.Load() != 0 {
					t.Errorf("at %d: got the panic %v after %d results, %d calls are still running", at, got, next, running.Load())
				}
			})
		}
		if got := recovered(func() {
			for range par.MapSeq(s, func(yield func(int) bool) { yield(1); panic("sequence") }, func(i int) int { return i }) {
			}
		}); got != "sequence" {
			t.Errorf("got the panic %v of the sequence", got)
		}
		if got := recovered(func() {
			for range par.MapSeq(s, slices.Values(numbers(100)), func(i int) int { return i }) {
				panic("loop")
			}
		}); got != "loop" {
			t.Errorf("got the panic %v of the loop", got)
		}
	})
}

// TestMapSeqGoexitEndsCaller: runtime.Goexit in the function ends the goroutine of the
// caller.
func TestMapSeqGoexitEndsCaller(t *testing.T) {
	s := newScheduler(t, 2)
	returned := false
	within(t, func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			par.ForEachSeq(s, slices.Values(numbers(100)), func(i int) {
				if i == 50 {
					runtime.Goexit()
				}
			})
			returned = true
		}()
		<-done
	})
	if returned {
		t.Error("ForEachSeq returned")
	}
}

// TestMapSeqInTaskOfOneWorker: MapSeq inside a task of a scheduler with one worker does not
// wait for itself.
func TestMapSeqInTaskOfOneWorker(t *testing.T) {
	s := newScheduler(t, 1)
	within(t, func() {
		var got []int
		if err := s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
			got = slices.Collect(par.MapSeq(s, slices.Values(numbers(500)), func(i int) int { return i }))
		}}); err != nil {
			t.Error(err)
		}
		if !slices.Equal(got, numbers(500)) {
			t.Errorf("got %d results, which differ", len(got))
		}
	})
}

// TestMapSeqRaisesPanicWithOnPanic: with OnPanic set, the panic is also raised on the
// caller.
func TestMapSeqRaisesPanicWithOnPanic(t *testing.T) {
	var handled atomic.Int32
	s, err := sched.New(sched.Config{MaxWorkers: 2, OnPanic: func(*sched.Task, any, []byte) { handled.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := recovered(func() {
		par.ForEachSeq(s, slices.Values(numbers(10)), func(int) { panic("it") })
	}); got != "it" || handled.Load() == 0 {
		t.Errorf("got the panic %v, OnPanic was called %d times", got, handled.Load())
	}
}

// TestMapSeqMatchesLoop: the results of a random sequence are those of a loop, for a reader
// that stops anywhere.
func TestMapSeqMatchesLoop(t *testing.T) {
	s := newScheduler(t, 2)
	rapid.Check(t, func(rt *rapid.T) {
		in := rapid.SliceOf(rapid.Int()).Draw(rt, "in")
		in = slices.Repeat(in, rapid.IntRange(1, 50).Draw(rt, "times"))
		stop := rapid.IntRange(0, len(in)+1).Draw(rt, "stop")
		rounds := rapid.SampledFrom([]int{0, 100}).Draw(rt, "rounds")
		var got []int
		next, done := iter.Pull(par.MapSeq(s, slices.Values(in), func(v int) int { spin(rounds); return v + 1 }))
		defer done()
		for range stop {
			v, ok := next()
			if !ok {
				break
			}
			got = append(got, v-1)
		}
		if want := in[:min(stop, len(in))]; !slices.Equal(got, want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
	})
}

// TestSeqPanicThatWrapsErrGoexit: a panic with an error that wraps ErrGoexit is a panic and
// no Goexit.
func TestSeqPanicThatWrapsErrGoexit(t *testing.T) {
	s := newScheduler(t, 2)
	wrapped := fmt.Errorf("mine: %w", sched.ErrGoexit)
	got := recovered(func() {
		par.ForEachSeq(s, func(yield func(int) bool) {
			for i := range 100 {
				if !yield(i) {
					return
				}
			}
		}, func(i int) {
			if i == 50 {
				panic(wrapped)
			}
		})
	})
	err, _ := got.(error)
	if !errors.Is(err, wrapped) {
		t.Errorf("got the panic %v, want %v", got, wrapped)
	}
}
