package par_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/par"
	"github.com/lanewright/lanewright/sched"
)

// within fails the test when fn takes longer than patience.Limit.
func within(t *testing.T, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	select {
	case <-done:
	case <-time.After(patience.Limit):
		t.Fatal("the function has not returned within the limit")
	}
}

// newScheduler returns a scheduler that is closed at the end of the test.
func newScheduler(tb testing.TB, workers int) *sched.Scheduler {
	tb.Helper()
	s, err := sched.New(sched.Config{MaxWorkers: workers})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if left, _ := s.Close(); len(left) != 0 {
			tb.Errorf("Close returned %d tasks, want none", len(left))
		}
	})
	return s
}

// schedulers calls test with each kind of scheduler on which a loop may run.
func schedulers(t *testing.T, test func(t *testing.T, s *sched.Scheduler)) {
	t.Helper()
	for _, tc := range []struct {
		name    string
		workers int
		end     func(s *sched.Scheduler) error
	}{
		{"GOMAXPROCS", 0, nil},
		{"1", 1, nil},
		{"2", 2, nil},
		{"5", 5, nil},
		{"shut down", 2, func(s *sched.Scheduler) error { return s.Shutdown(context.Background()) }},
		{"closed", 2, func(s *sched.Scheduler) error { _, err := s.Close(); return err }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScheduler(t, tc.workers)
			if tc.end != nil {
				if err := tc.end(s); err != nil {
					t.Fatal(err)
				}
			}
			test(t, s)
		})
	}
}

// counts returns the numbers of indices to try, near the limits of steps and chunks.
func counts() []int {
	ns := []int{-3, 0}
	for _, n := range []int{1, 4, 7, 10, 16, 40, 64, 257, 1000, 4096, 20_000} {
		ns = append(ns, n-1, n, n+1)
	}
	return ns
}

// spin computes for a while, so that a loop over it is shared.
func spin(rounds int) {
	x := 1.0
	for range rounds {
		x = x*1.0000001 + 1e-9
	}
	if x == 0 {
		panic("never")
	}
}

// forms are the loops that call a function once for each index.
var forms = []struct {
	name string
	run  func(s *sched.Scheduler, n int, body func(i int))
}{
	{"For", par.For},
	{"ForRange", func(s *sched.Scheduler, n int, body func(int)) {
		par.ForRange(s, n, func(lo, hi int) {
			if lo >= hi {
				panic(fmt.Sprintf("empty range [%d, %d)", lo, hi))
			}
			for i := lo; i < hi; i++ {
				body(i)
			}
		})
	}},
	{"ForEach", func(s *sched.Scheduler, n int, body func(int)) {
		par.ForEach(s, numbers(n), func(i int, v *int) {
			if *v != i {
				panic(fmt.Sprintf("element %d is %d", i, *v))
			}
			body(i)
		})
	}},
	{"Map", func(s *sched.Scheduler, n int, body func(int)) {
		out := par.Map(s, numbers(n), func(i int) int { body(i); return -i })
		for i, v := range out {
			if v != -i {
				panic(fmt.Sprintf("result %d is %d", i, v))
			}
		}
	}},
	{"MapReduce", func(s *sched.Scheduler, n int, body func(int)) {
		n = max(n, 0)
		sum := par.MapReduce(s, numbers(n), 0, func(i int) int { body(i); return i }, func(a, b int) int { return a + b })
		if want := n * (n - 1) / 2; sum != want {
			panic(fmt.Sprintf("sum %d, want %d", sum, want))
		}
	}},
	{"FoldRange", func(s *sched.Scheduler, n int, body func(int)) {
		got := par.FoldRange(s, n, func() []int { return nil }, func(acc []int, lo, hi int) []int {
			for i := lo; i < hi; i++ {
				body(i)
				acc = append(acc, i)
			}
			return acc
		}, func(a, b []int) []int { return append(a, b...) })
		if !slices.Equal(got, numbers(n)) {
			panic("out of order")
		}
	}},
	{"FindIndex", func(s *sched.Scheduler, n int, body func(int)) {
		if i := par.FindIndex(s, numbers(n), func(i int) bool { body(i); return false }); i != -1 {
			panic("found something")
		}
	}},
	{"ForContext", func(s *sched.Scheduler, n int, body func(int)) {
		if err := par.ForContext(context.Background(), s, n, func(i int) error { body(i); return nil }); err != nil {
			panic(err)
		}
	}},
	{"ForRangeContext", func(s *sched.Scheduler, n int, body func(int)) {
		if err := par.ForRangeContext(context.Background(), s, n, func(lo, hi int) error {
			for i := lo; i < hi; i++ {
				body(i)
			}
			return nil
		}); err != nil {
			panic(err)
		}
	}},
	{"ForEachContext", func(s *sched.Scheduler, n int, body func(int)) {
		if err := par.ForEachContext(context.Background(), s, numbers(n), func(i int, v *int) error { body(*v); return nil }); err != nil {
			panic(err)
		}
	}},
	{"MapContext", func(s *sched.Scheduler, n int, body func(int)) {
		out, err := par.MapContext(context.Background(), s, numbers(n), func(i int) (int, error) { body(i); return i, nil })
		if err != nil || !slices.Equal(out, numbers(n)) {
			panic(fmt.Sprint("wrong results ", err))
		}
	}},
	{"Invoke", func(s *sched.Scheduler, n int, body func(int)) {
		fns := make([]func(), min(max(n, 0), 2000))
		for i := range fns {
			fns[i] = func() { body(i) }
		}
		par.Invoke(s, fns...)
		for i := len(fns); i < n; i++ {
			body(i)
		}
	}},
}

// numbers returns 0 to n-1.
func numbers(n int) []int {
	in := make([]int, max(n, 0))
	for i := range in {
		in[i] = i
	}
	return in
}

// TestEachIndexRunsOnce: each loop runs each index once, for any number of indices and any
// time of the body.
func TestEachIndexRunsOnce(t *testing.T) {
	schedulers(t, func(t *testing.T, s *sched.Scheduler) {
		t.Helper()
		for _, form := range forms {
			t.Run(form.name, func(t *testing.T) {
				for _, n := range counts() {
					for _, rounds := range []int{0, 200} {
						if rounds*n > 100_000 {
							continue
						}
						done := make([]atomic.Int32, max(n, 0))
						form.run(s, n, func(i int) {
							spin(rounds)
							done[i].Add(1)
						})
						for i := range done {
							if got := done[i].Load(); got != 1 {
								t.Fatalf("n=%d: index %d was done %d times", n, i, got)
							}
						}
					}
				}
			})
		}
	})
}

// TestLongLoopIsShared: several workers run a loop that takes long. The test ends when a
// second goroutine has run an index.
func TestLongLoopIsShared(t *testing.T) {
	s := newScheduler(t, 2)
	within(t, func() {
		var seen sync.Map
		var workers atomic.Int32
		note := func() {
			if _, ok := seen.LoadOrStore(goroutine(), true); !ok {
				workers.Add(1)
			}
		}
		for workers.Load() < 2 {
			par.For(s, 200_000, func(i int) {
				if spin(50); i%256 == 0 {
					note()
				}
			})
		}
	})
}

// TestLoopThatBecomesLongIsShared: a loop whose first indices are short is shared when
// later indices take long.
func TestLoopThatBecomesLongIsShared(t *testing.T) {
	s := newScheduler(t, 2)
	within(t, func() {
		caller := goroutine()
		for shared := false; !shared; {
			var others atomic.Int32
			par.For(s, 20_000, func(i int) {
				if i >= 10_000 {
					if spin(1000); goroutine() != caller {
						others.Add(1)
					}
				}
			})
			shared = others.Load() > 0
		}
	})
}

// goroutine returns a text that identifies the calling goroutine.
func goroutine() string {
	buf := make([]byte, 32)
	return string(buf[:runtime.Stack(buf, false)])
}

// TestFewLongCallsRunConcurrently: the calls for a few long indices run at the same time,
// also when the body is not known yet.
func TestFewLongCallsRunConcurrently(t *testing.T) {
	s := newScheduler(t, 4)
	busy := func(int) {
		for began := time.Now(); time.Since(began) < time.Millisecond; {
			spin(100)
		}
	}
	// All loops here have the same body: the code of one closure.
	loop := func(n int, body func(int)) { par.For(s, n, func(i int) { body(i) }) }
	meet := func(n int) func(int) {
		var here atomic.Int32
		return func(i int) {
			busy(i) // otherwise the body would become light
			here.Add(1)
			for here.Load() < int32(n) {
				runtime.Gosched()
			}
		}
	}
	for n := 2; n <= 4; n++ {
		within(t, func() { loop(n, meet(n)) })
		within(t, func() { par.Invoke(s, slices.Repeat([]func(){func() {}}, n)...) })
		within(t, func() {
			body := meet(n)
			par.Invoke(s, slices.Repeat([]func(){func() { body(0) }}, n)...)
		})
		for range 5 { // the body becomes light
			loop(n, func(int) {})
		}
		loop(n, busy) // the body becomes heavy again
		within(t, func() { loop(n, meet(n)) })
	}
}

// TestPanicReachesCaller: a panic at any index and on any worker is raised again on the
// caller, and no body runs afterwards.
func TestPanicReachesCaller(t *testing.T) {
	schedulers(t, func(t *testing.T, s *sched.Scheduler) {
		t.Helper()
		for _, form := range forms {
			t.Run(form.name, func(t *testing.T) {
				for _, n := range []int{1, 2, 17, 300} {
					for _, at := range []int{0, n / 2, n - 1} {
						if at >= n {
							continue
						}
						var running atomic.Int32
						value := fmt.Sprintf("%s: at %d of %d", form.name, at, n)
						got := recovered(func() {
							form.run(s, n, func(i int) {
								running.Add(1)
								defer running.Add(-1)
								spin(300)
								if i == at {
									panic(value)
								}
							})
						})
						if got != value {
							t.Fatalf("at %d of %d: got the panic %v", at, n, got)
						}
						if r := running.Load(); r != 0 {
							t.Fatalf("at %d of %d: %d bodies are still running", at, n, r)
						}
					}
				}
			})
		}
	})
}

// recovered returns the panic of fn. It returns the value inside a PanicError.
func recovered(fn func()) (value any) {
	defer func() {
		value = recover()
		if err, ok := value.(*sched.PanicError); ok {
			value = err.Value
		}
	}()
	fn()
	return nil
}

// TestPanicEndsLoop: after a panic of the caller or of another worker, the other one of the
// two begins no call. Otherwise this loop would take for ever.
func TestPanicEndsLoop(t *testing.T) {
	for _, own := range []bool{true, false} { // the caller panics
		s := newScheduler(t, 2) // a new one, with a free place for the caller
		var shared, over atomic.Bool
		ended := make(chan struct{})
		// Both places are held. The task runs when the goroutine that panics has left the
		// loop, or waits for the other one.
		end := sync.OnceFunc(func() { close(ended) })
		task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { end() }}
		within(t, func() {
			caller := goroutine()
			if got := recovered(func() {
				par.ForRange(s, math.MaxInt, func(int, int) {
					spin(1000)
					here := goroutine() == caller
					if !here {
						shared.Store(true)
					}
					switch {
					case !shared.Load():
					case here == own:
						panic("early")
					case over.Swap(true):
						t.Errorf("own %t: a call began after the panic", own)
						panic("late")
					default:
						if err := s.Schedule(task); err != nil {
							t.Error(err)
						}
						<-ended
					}
				})
			}); got != "early" {
				t.Errorf("own %t: got the panic %v", own, got)
			}
		})
	}
}

// TestGoexitEndsCaller: runtime.Goexit in a body ends the goroutine of the caller, and no
// body runs afterwards.
func TestGoexitEndsCaller(t *testing.T) {
	s := newScheduler(t, 2)
	for _, at := range []int{0, 1, 700, 1999} {
		var running atomic.Int32
		returned := false
		within(t, func() {
			done := make(chan struct{})
			go func() {
				defer close(done)
				par.For(s, 2000, func(i int) {
					running.Add(1)
					defer running.Add(-1)
					spin(300)
					if i == at {
						runtime.Goexit()
					}
				})
				returned = true
			}()
			<-done
		})
		if returned {
			t.Errorf("at %d: For returned", at)
		}
		if r := running.Load(); r != 0 {
			t.Errorf("at %d: %d bodies are still running", at, r)
		}
	}
}

// TestNestedLoops: a loop runs inside a loop, inside a task, and inside a task of another
// scheduler.
func TestNestedLoops(t *testing.T) {
	schedulers(t, func(t *testing.T, s *sched.Scheduler) {
		t.Helper()
		nest := func() int {
			var sum atomic.Int64
			par.For(s, 20, func(i int) {
				par.ForRange(s, 2000, func(lo, hi int) {
					n := par.FoldRange(s, hi-lo, func() int { return 0 }, func(acc, lo, hi int) int { spin(20); return acc + hi - lo },
						func(a, b int) int { return a + b })
					sum.Add(int64(n))
				})
			})
			return int(sum.Load())
		}
		within(t, func() {
			if got := nest(); got != 40_000 {
				t.Errorf("got %d, want 40000", got)
			}
		})
		for _, other := range []*sched.Scheduler{s, newScheduler(t, 2)} {
			if other == nil {
				continue
			}
			within(t, func() {
				got := -1
				if err := other.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { got = nest() }}); err == nil && got != 40_000 {
					t.Errorf("in a task: got %d, want 40000", got)
				}
			})
		}
	})
}

// TestLoopsFromManyGoroutines: loops from many goroutines run on one scheduler at the same
// time.
func TestLoopsFromManyGoroutines(t *testing.T) {
	schedulers(t, func(t *testing.T, s *sched.Scheduler) {
		t.Helper()
		within(t, func() {
			var wg sync.WaitGroup
			for g := range 8 {
				wg.Go(func() {
					for round := range 20 {
						n := 1 + (g*977+round*131)%3000
						got := par.MapReduce(s, numbers(n), 0, func(i int) int { spin(20); return i }, func(a, b int) int { return a + b })
						if want := n * (n - 1) / 2; got != want {
							t.Errorf("n=%d: got %d, want %d", n, got, want)
						}
					}
				})
			}
			wg.Wait()
		})
	})
}

// TestLoopsEndOnOneProcessor: loops end with several workers on one processor.
func TestLoopsEndOnOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := newScheduler(t, 3)
	within(t, func() {
		for range 20 {
			var sum atomic.Int64
			par.For(s, 5000, func(i int) { spin(100); sum.Add(int64(i)) })
			if got := sum.Load(); got != 5000*4999/2 {
				t.Errorf("got %d", got)
			}
		}
	})
}

// TestUnevenBodiesRunOnce: each index runs once when the time of the body varies by many
// orders of magnitude.
func TestUnevenBodiesRunOnce(t *testing.T) {
	s := newScheduler(t, 2)
	for _, tc := range []struct {
		name   string
		rounds func(i int) int
	}{
		{"first", func(i int) int { return map[bool]int{true: 1_000_000}[i == 0] }},
		{"last", func(i int) int { return map[bool]int{true: 1_000_000}[i == 2999] }},
		{"growing", func(i int) int { return i / 10 }},
		{"falling", func(i int) int { return (3000 - i) / 10 }},
		{"periodic", func(i int) int { return map[bool]int{true: 100_000}[i%300 == 299] }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			done := make([]atomic.Int32, 3000)
			par.For(s, len(done), func(i int) { spin(tc.rounds(i)); done[i].Add(1) })
			for i := range done {
				if got := done[i].Load(); got != 1 {
					t.Errorf("index %d was done %d times", i, got)
				}
			}
		})
	}
}

// TestNilArgumentsPanic: each function panics when an argument is nil or invalid. The panic
// names the function and the argument.
func TestNilArgumentsPanic(t *testing.T) {
	in := []int{1}
	ctx := context.Background()
	zero := func() int { return 0 }
	add := func(a, b int) int { return a + b }
	for _, tc := range []struct {
		want string
		call func()
	}{
		{"par: For: nil body", func() { par.For(nil, 0, nil) }},
		{"par: ForRange: nil body", func() { par.ForRange(nil, 0, nil) }},
		{"par: ForEach: nil body", func() { par.ForEach[int](nil, nil, nil) }},
		{"par: Map: nil function", func() { par.Map[int, int](nil, nil, nil) }},
		{"par: MapInto: nil function", func() { par.MapInto[int, int](nil, nil, nil, nil) }},
		{"par: MapInto: 1 elements do not fit into 0", func() { par.MapInto(nil, nil, in, func(i int) int { return i }) }},
		{"par: Reduce: nil function", func() { par.Reduce(nil, in, 0, nil) }},
		{"par: MapReduce: nil function", func() { par.MapReduce[int](nil, in, 0, nil, add) }},
		{"par: MapReduce: nil function", func() { par.MapReduce(nil, in, 0, func(i int) int { return i }, nil) }},
		{"par: Fold: nil function", func() { par.Fold(nil, in, nil, add, add) }},
		{"par: Fold: nil function", func() { par.Fold(nil, in, zero, nil, add) }},
		{"par: Fold: nil function", func() { par.Fold(nil, in, zero, add, nil) }},
		{"par: FoldRange: nil function", func() { par.FoldRange(nil, 1, zero, nil, add) }},
		{"par: ReduceFixed: nil function", func() { par.ReduceFixed(nil, in, 1, 0, nil) }},
		{"par: ReduceFixed: blocks of less than one element", func() { par.ReduceFixed(nil, in, 0, 0, add) }},
		{"par: MapReduceFixed: blocks of less than one element", func() { par.MapReduceFixed(nil, in, 0, 0, func(i int) int { return i }, add) }},
		{"par: MapReduceFixed: nil function", func() { par.MapReduceFixed[int](nil, in, 1, 0, nil, add) }},
		{"par: Any: nil function", func() { par.Any(nil, in, nil) }},
		{"par: All: nil function", func() { par.All(nil, in, nil) }},
		{"par: Find: nil function", func() { par.Find(nil, in, nil) }},
		{"par: FindIndex: nil function", func() { par.FindIndex(nil, in, nil) }},
		{"par: ForContext: nil body", func() { par.ForContext(ctx, nil, 0, nil) }},
		{"par: ForRangeContext: nil body", func() { par.ForRangeContext(ctx, nil, 0, nil) }},
		{"par: ForEachContext: nil body", func() { par.ForEachContext[int](ctx, nil, nil, nil) }},
		{"par: MapContext: nil function", func() { par.MapContext[int, int](ctx, nil, nil, nil) }},
		{"par: Invoke: nil function", func() { par.Invoke(nil, func() {}, nil) }},
	} {
		if got := recovered(tc.call); got != tc.want {
			t.Errorf("got the panic %v, want %v", got, tc.want)
		}
	}
}

// TestLoopsMatchPlainLoops: random loops have the results of plain loops.
func TestLoopsMatchPlainLoops(t *testing.T) {
	schedulersOfSizes := []*sched.Scheduler{newScheduler(t, 1), newScheduler(t, 2), newScheduler(t, 3)}
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(schedulersOfSizes).Draw(rt, "scheduler")
		n := rapid.OneOf(rapid.IntRange(0, 70), rapid.IntRange(0, 5000)).Draw(rt, "n")
		in := make([]int, n)
		x := rapid.Uint32().Draw(rt, "seed")
		for i := range in {
			x = x*1664525 + 1013904223
			in[i] = int(x >> 16)
		}
		rounds := rapid.SampledFrom([]int{0, 0, 10, 200}).Draw(rt, "rounds")
		limit := rapid.IntRange(0, 1<<16).Draw(rt, "limit")
		match := func(v int) bool { spin(rounds); return v > limit }

		if got, want := par.FindIndex(s, in, match), slices.IndexFunc(in, match); got != want {
			rt.Fatalf("FindIndex: got %d, want %d", got, want)
		}
		want := slices.IndexFunc(in, match)
		if v, ok := par.Find(s, in, match); ok != (want >= 0) || ok && v != in[want] {
			rt.Fatalf("Find: got %d %t, want index %d", v, ok, want)
		}
		if got := par.Any(s, in, match); got != (want >= 0) {
			rt.Fatalf("Any: got %t, want index %d", got, want)
		}
		if got := par.All(s, in, func(v int) bool { return !match(v) }); got != (want < 0) {
			rt.Fatalf("All: got %t, want index %d", got, want)
		}

		// The composition of affine maps is associative and not commutative.
		type affine struct{ a, b uint64 }
		after := func(x, y affine) affine { spin(rounds); return affine{x.a * y.a, x.a*y.b + x.b} }
		maps := par.Map(s, in, func(v int) affine { return affine{uint64(v)*2 + 1, uint64(v) ^ 77} })
		seq := affine{1, 0}
		for i, v := range in {
			if maps[i] != (affine{uint64(v)*2 + 1, uint64(v) ^ 77}) {
				rt.Fatalf("Map: element %d is %v", i, maps[i])
			}
			seq = after(seq, maps[i])
		}
		block := rapid.IntRange(1, 300).Draw(rt, "block")
		for name, got := range map[string]affine{
			"Reduce":      par.Reduce(s, maps, affine{1, 0}, after),
			"ReduceFixed": par.ReduceFixed(s, maps, block, affine{1, 0}, after),
			"MapReduce":   par.MapReduce(s, in, affine{1, 0}, func(v int) affine { return affine{uint64(v)*2 + 1, uint64(v) ^ 77} }, after),
			"Fold":        par.Fold(s, maps, func() affine { return affine{1, 0} }, after, after),
		} {
			if got != seq {
				rt.Fatalf("%s: got %v, want %v", name, got, seq)
			}
		}
		par.MapInto(s, in, in, func(v int) int { return v + 1 })
		for i, v := range in {
			if maps[i].b != uint64(v-1)^77 {
				rt.Fatalf("MapInto: element %d is %d", i, v)
			}
		}
	})
}

// TestReduceFixedIsReproducible: sums of floating-point numbers are the same in each run
// and with each number of workers.
func TestReduceFixedIsReproducible(t *testing.T) {
	in := make([]float64, 100_000)
	for i := range in {
		in[i] = 1 / float64(i+1)
	}
	add := func(a, b float64) float64 { return a + b }
	want := par.ReduceFixed(newScheduler(t, 1), in, 512, 0, add)
	for _, workers := range []int{1, 2, 3, 5} {
		s := newScheduler(t, workers)
		for range 20 {
			if got := par.ReduceFixed(s, in, 512, 0, add); got != want {
				t.Fatalf("%d workers: got %v, want %v", workers, got, want)
			}
			if got := par.MapReduceFixed(s, in, 512, 0, func(v float64) float64 { return v }, add); got != want {
				t.Fatalf("MapReduceFixed, %d workers: got %v, want %v", workers, got, want)
			}
		}
	}
}

// TestFoldMayChangeAccumulators: add and combine may change an accumulator in place.
func TestFoldMayChangeAccumulators(t *testing.T) {
	s := newScheduler(t, 2)
	in := numbers(60_000)
	for range 5 {
		got := par.Fold(s, in, func() map[int]int { return map[int]int{} },
			func(m map[int]int, v int) map[int]int { m[v%10]++; return m },
			func(a, b map[int]int) map[int]int {
				for k, n := range b {
					a[k] += n
				}
				return a
			})
		for k := range 10 {
			if got[k] != 6000 {
				t.Fatalf("got %v, want 6000 each", got)
			}
		}
	}
}

// TestHitEndsSearch: after a hit the other worker ends its search. No other element
// matches, so it would otherwise search for ever.
func TestHitEndsSearch(t *testing.T) {
	type element = struct{}
	in := make([]element, math.MaxInt)
	for _, tc := range []struct {
		name   string
		own    bool // the caller finds the element, and thereby the lowest index
		search func(s *sched.Scheduler, match func(element) bool) bool
	}{
		{"Any", true, func(s *sched.Scheduler, match func(element) bool) bool { return par.Any(s, in, match) }},
		{"Any", false, func(s *sched.Scheduler, match func(element) bool) bool { return par.Any(s, in, match) }},
		{"All", true, func(s *sched.Scheduler, match func(element) bool) bool {
			return !par.All(s, in, func(v element) bool { return !match(v) })
		}},
		{"All", false, func(s *sched.Scheduler, match func(element) bool) bool {
			return !par.All(s, in, func(v element) bool { return !match(v) })
		}},
		{"Find", true, func(s *sched.Scheduler, match func(element) bool) bool { _, ok := par.Find(s, in, match); return ok }},
		{"FindIndex", true, func(s *sched.Scheduler, match func(element) bool) bool { return par.FindIndex(s, in, match) >= 0 }},
	} {
		within(t, func() {
			// A new scheduler has a free place for the caller. Otherwise workers could
			// run the whole loop.
			s := newScheduler(t, 2)
			caller := goroutine()
			var shared, hit atomic.Bool
			if !tc.search(s, func(element) bool {
				own := goroutine() == caller
				if !own {
					shared.Store(true)
				}
				return shared.Load() && own == tc.own && !hit.Swap(true)
			}) {
				t.Errorf("%s, own %t: found nothing", tc.name, tc.own)
			}
		})
	}
}

// TestHitKeepsLowerIndices: a search for the lowest index is not ended by a hit above it.
func TestHitKeepsLowerIndices(t *testing.T) {
	const lowest = 40
	for name, find := range map[string]func(s *sched.Scheduler, in []int, match func(int) bool) int{
		"FindIndex": par.FindIndex[int],
		"Find": func(s *sched.Scheduler, in []int, match func(int) bool) int {
			v, _ := par.Find(s, in, match)
			return v
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, hit := lateHit(t, lowest)
			within(t, func() {
				if got := find(s, numbers(1000), hit); got != lowest {
					t.Errorf("found index %d, want %d", got, lowest)
				}
			})
		})
	}
}

// TestHugeRangesDoNotOverflow: the lengths of chunks do not overflow, for any range and any
// time of the first index.
func TestHugeRangesDoNotOverflow(t *testing.T) {
	s := newScheduler(t, 1)
	for _, rounds := range []int{0, 1000, 3000, 10_000, 30_000} {
		for _, n := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt - 100} {
			next := 0
			got := recovered(func() {
				par.ForRange(s, n, func(lo, hi int) {
					if lo != next || hi <= lo {
						panic(fmt.Sprintf("range [%d, %d) comes after %d", lo, hi, next))
					}
					if next = hi; lo == 0 {
						spin(rounds)
					}
				})
			})
			if got != nil || next != n {
				t.Errorf("%d rounds, %d indices: panic %v, ended at %d", rounds, n, got, next)
			}
		}
	}
}
