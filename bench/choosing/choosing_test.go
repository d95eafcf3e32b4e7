package choosing

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lanewright/lanewright/par"
	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
	lfsync "github.com/lanewright/lanewright/sync"
)

// spin computes for n to 1.5n nanoseconds, and returns a number that depends on each step.
// It is not inlined, so that it takes the same time everywhere.
//
//go:noinline
func spin(n int) (x uint64) {
	for i := range n {
		x = x*6364136223846793005 + uint64(i)
	}
	return x
}

// answer waits for d, in the place of a server that answers after that time.
func answer(d time.Duration) { <-time.After(d) }

// BenchmarkFiles reads and hashes 2,000 files of 4 to 64 KiB: files that the system has
// in memory, and files that it reads from the disk.
func BenchmarkFiles(b *testing.B) {
	names := writeFiles(b, size(2000))
	for _, bench := range []struct {
		name   string
		before func()
	}{
		{"cached", nil},
		{"disk", func() { dropFiles(b, names) }},
	} {
		b.Run(bench.name, func(b *testing.B) { hashFiles(b, names, bench.before) })
	}
}

func writeFiles(b *testing.B, n int) (names []string) {
	b.Helper()
	dir := b.TempDir()
	random := rand.New(rand.NewPCG(1, 0))
	for i := range n {
		text := make([]byte, 4096+random.IntN(60*1024))
		name := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(name, text, 0o600); err != nil {
			b.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

func hashFiles(b *testing.B, names []string, before func()) {
	b.Helper()
	const atOnce = 32
	s := newScheduler(b, sched.Config{})
	stalling := newScheduler(b, sched.Config{StallAfter: 5 * time.Millisecond})
	lanes := newPool(b, pool.Config{Lanes: 1, Concurrency: atOnce, Backlog: pool.Unlimited}, func(_ context.Context, name string) (sum [32]byte, err error) {
		text, err := os.ReadFile(name)
		return sha256.Sum256(text), err
	})
	hash := func(name string) error {
		text, err := os.ReadFile(name)
		sha256.Sum256(text)
		return err
	}
	compare(b, 0, before,
		way{"goroutines, Semaphore 32", func() error {
			sema, err := lfsync.NewSemaphore(atOnce)
			if err != nil {
				return err
			}
			var all sync.WaitGroup
			var failed atomic.Pointer[error]
			for _, name := range names {
				if err := sema.Acquire(context.Background()); err != nil {
					return err
				}
				all.Go(func() {
					defer sema.Release()
					if err := hash(name); err != nil {
						failed.Store(&err)
					}
				})
			}
			all.Wait()
			if err := failed.Load(); err != nil {
				return *err
			}
			return nil
		}},
		way{"errgroup, limit 32", func() error {
			var g errgroup.Group
			g.SetLimit(atOnce)
			for _, name := range names {
				g.Go(func() error { return hash(name) })
			}
			return g.Wait()
		}},
		way{"sched.Group, Blocking", func() error {
			g := s.NewGroup(sched.GroupConfig{Limit: atOnce})
			for _, name := range names {
				g.Go(func() (err error) {
					var text []byte
					s.Blocking(func() { text, err = os.ReadFile(name) })
					sha256.Sum256(text)
					return err
				})
			}
			return g.Wait()
		}},
		way{"sched.Group", func() error {
			g := stalling.NewGroup(sched.GroupConfig{})
			for _, name := range names {
				g.Go(func() error { return hash(name) })
			}
			return g.Wait()
		}},
		way{"par.ForEachContext", func() error {
			return par.ForEachContext(context.Background(), s, names, func(_ int, name *string) error { return hash(*name) })
		}},
		way{"pool, Concurrency 32", func() error { return callAll(lanes, names) }},
	)
}

// BenchmarkWaits waits 500 times for a millisecond, at most 128 times at once, as
// callers of a server do.
func BenchmarkWaits(b *testing.B) {
	const (
		wait   = time.Millisecond
		atOnce = 128
	)
	n := size(500)
	s := newScheduler(b, sched.Config{})
	handler := func(context.Context, int) (int, error) { answer(wait); return 0, nil }
	wide := newPool(b, pool.Config{Lanes: 1, Concurrency: atOnce}, handler)
	lanes := newPool(b, pool.Config{Lanes: 2}, handler)
	args := make([]int, n)
	compare(b, 0, nil,
		way{"goroutines, Semaphore 128", func() error {
			sema, err := lfsync.NewSemaphore(atOnce)
			if err != nil {
				return err
			}
			var all sync.WaitGroup
			for range n {
				if err := sema.Acquire(context.Background()); err != nil {
					return err
				}
				all.Go(func() {
					defer sema.Release()
					answer(wait)
				})
			}
			all.Wait()
			return nil
		}},
		way{"errgroup, limit 128", func() error {
			var g errgroup.Group
			g.SetLimit(atOnce)
			for range n {
				g.Go(func() error { answer(wait); return nil })
			}
			return g.Wait()
		}},
		way{"sched.Group, Blocking", func() error {
			g := s.NewGroup(sched.GroupConfig{Limit: atOnce})
			for range n {
				g.Go(func() error { s.Blocking(func() { answer(wait) }); return nil })
			}
			return g.Wait()
		}},
		way{"pool, Concurrency 128", func() error { return callAll(wide, args) }},
		way{"pool, 2 lanes", func() error { return callAll(lanes, args) }},
	)
}

// BenchmarkLongTasks computes 24 pieces of 2 ms.
func BenchmarkLongTasks(b *testing.B) {
	const n = 24
	length := size(2_000_000)
	s := newScheduler(b, sched.Config{})
	var sum atomic.Uint64
	piece := func() { sum.Add(spin(length)) }
	compare(b, 0, nil,
		way{"goroutines, WaitGroup", func() error {
			var all sync.WaitGroup
			for range n {
				all.Go(piece)
			}
			all.Wait()
			return nil
		}},
		way{"errgroup, limit GOMAXPROCS", func() error {
			var g errgroup.Group
			g.SetLimit(runtime.GOMAXPROCS(0))
			for range n {
				g.Go(func() error { piece(); return nil })
			}
			return g.Wait()
		}},
		way{"sched.Group", func() error {
			g := s.NewGroup(sched.GroupConfig{})
			for range n {
				g.Go(func() error { piece(); return nil })
			}
			return g.Wait()
		}},
		way{"par.For", func() error {
			par.For(s, n, func(int) { piece() })
			return nil
		}},
	)
}

// BenchmarkSmallTasks computes 200,000 pieces of 200 ns. Times are for one piece.
func BenchmarkSmallTasks(b *testing.B) {
	const length = 200
	n := size(200_000)
	s := newScheduler(b, sched.Config{})
	results := make([]uint64, n)
	want := spin(length)
	check := func() error {
		for i, r := range results {
			if r != want {
				return fmt.Errorf("piece %d: got %d, want %d", i, r, want)
			}
			results[i] = 0
		}
		return nil
	}
	lanes := newPool(b, pool.Config{Backlog: pool.Unlimited}, func(_ context.Context, i int) (int, error) {
		results[i] = spin(length)
		return 0, nil
	})
	args := make([]int, n)
	for i := range args {
		args[i] = i
	}
	jobs := make([]sched.Job[int], n)
	compare(b, n, nil,
		way{"goroutines, WaitGroup", func() error {
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() { results[i] = spin(length) })
			}
			all.Wait()
			return check()
		}},
		way{"errgroup, limit GOMAXPROCS", func() error {
			var g errgroup.Group
			g.SetLimit(runtime.GOMAXPROCS(0))
			for i := range n {
				g.Go(func() error { results[i] = spin(length); return nil })
			}
			return errors.Join(g.Wait(), check())
		}},
		way{"sched.Group.Schedule", func() error {
			g := s.NewGroup(sched.GroupConfig{})
			for i := range jobs {
				j := &jobs[i]
				j.Value = i
				j.Fn = func(_ *sched.Worker, j *sched.Job[int]) { results[j.Value] = spin(length) }
				if err := g.Schedule(nil, j.Task()); err != nil {
					return err
				}
			}
			return errors.Join(g.Wait(), check())
		}},
		way{"sched.Group.Go", func() error {
			g := s.NewGroup(sched.GroupConfig{})
			for i := range n {
				g.Go(func() error { results[i] = spin(length); return nil })
			}
			return errors.Join(g.Wait(), check())
		}},
		way{"par.For", func() error {
			par.For(s, n, func(i int) { results[i] = spin(length) })
			return check()
		}},
		way{"pool", func() error { return errors.Join(callAll(lanes, args), check()) }},
	)
}

// BenchmarkRefusals refuses work because as much as the bound permits is in flight.
// Times are for one refusal.
func BenchmarkRefusals(b *testing.B) {
	n := size(20_000)
	sema, err := lfsync.NewSemaphore(1)
	if err != nil {
		b.Fatal(err)
	}
	sema.TryAcquire()
	full := make(chan int)

	s := newScheduler(b, sched.Config{MaxWorkers: 1})
	release := make(chan struct{})
	g := s.NewGroup(sched.GroupConfig{Limit: 1})
	g.Go(func() error { <-release; return nil })

	f := newPool(b, pool.Config{Lanes: 1, Backlog: 1, Overflow: pool.Fail}, func(context.Context, int) (int, error) { <-release; return 0, nil })
	b.Cleanup(func() { close(release) }) // before the cleanups of the scheduler and the pool
	ctx := context.Background()
	for refused := 0; refused < 5; { // in a row: the lane makes room while it takes calls out
		select {
		case <-f.Go(ctx, 0).Done():
			refused++
		case <-time.After(10 * time.Millisecond):
			refused = 0
		}
	}
	accepted := errors.New("the work was accepted")
	compare(b, n, nil,
		way{"channel, select with default", func() error {
			for i := range n {
				select {
				case full <- i:
					return accepted
				default:
				}
			}
			return nil
		}},
		way{"Semaphore.TryAcquire", func() error {
			for range n {
				if sema.TryAcquire() {
					return accepted
				}
			}
			return nil
		}},
		way{"sched.Group.TryGo", func() error {
			for range n {
				if g.TryGo(func() error { return nil }) {
					return accepted
				}
			}
			return nil
		}},
		way{"pool, Overflow Fail", func() error {
			for i := range n {
				if _, err := f.Call(ctx, i); !errors.Is(err, pool.ErrBacklogFull) {
					return cmpError(err, accepted)
				}
			}
			return nil
		}},
	)
}

func cmpError(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// BenchmarkState lets 64 goroutines change one state. A short change computes for 20 ns,
// a long one for 20 µs. Times are for one change.
func BenchmarkState(b *testing.B) {
	for _, bench := range []struct {
		name      string
		length, n int
	}{
		{"short", 20, 1000},
		{"long", 20_000, 100},
	} {
		b.Run(bench.name, func(b *testing.B) { changeState(b, bench.length, max(2, size(bench.n))) })
	}
}

func changeState(b *testing.B, length, n int) {
	b.Helper()
	const callers = 64
	count := 0
	state, step := uint64(0), spin(length)
	change := func() { state += spin(length); count++ }
	var mu sync.Mutex
	f, lanes := openPool(b, pool.Config{Lanes: 1}, func(context.Context, int) (int, error) { change(); return 0, nil })
	ctx := context.Background()
	run := func(op func() error) error {
		count, state = 0, 0
		var g errgroup.Group
		for range callers {
			g.Go(func() error {
				for range n {
					if err := op(); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if count != callers*n || state != step*callers*uint64(n) {
			return fmt.Errorf("%d changes, and state %d, want %d and %d", count, state, callers*n, step*callers*uint64(n))
		}
		return nil
	}
	compare(b, callers*n, nil,
		way{"sync.Mutex", func() error {
			return run(func() error { mu.Lock(); defer mu.Unlock(); change(); return nil })
		}},
		way{"goroutine and channels", func() error {
			requests := make(chan chan struct{})
			defer close(requests)
			go func() {
				for answer := range requests {
					change()
					answer <- struct{}{}
				}
			}()
			answers := sync.Pool{New: func() any { return make(chan struct{}, 1) }}
			return run(func() error {
				answer := answers.Get().(chan struct{})
				requests <- answer
				<-answer
				answers.Put(answer)
				return nil
			})
		}},
		way{"pool, 1 lane", func() error {
			return run(func() error { _, err := f.Call(ctx, 0); return err })
		}},
		way{"pool, Acquire", func() error {
			return run(func() error {
				lease, err := lanes.Acquire(ctx)
				if err != nil {
					return err
				}
				defer lease.Release()
				change()
				return nil
			})
		}},
	)
}

// BenchmarkTimeouts makes calls one after another, each with a timeout that does not
// pass. Times are for one call.
func BenchmarkTimeouts(b *testing.B) {
	n := size(20_000)
	const timeout = time.Minute
	ctx := context.Background()
	handler := func(_ context.Context, i int) (int, error) { return i + 1, nil }
	timed := newPool(b, pool.Config{Lanes: 1, Timeout: timeout}, handler)
	prompt, _ := openPool(b, pool.Config{Lanes: 1, Timeout: timeout}, handler, pool.TaskOptions{Prompt: true})
	plain := newPool(b, pool.Config{Lanes: 1}, handler)
	compare(b, n, nil,
		way{"goroutine, context, select", func() error {
			for i := range n {
				ctx, cancel := context.WithTimeout(ctx, timeout)
				answer := make(chan int, 1)
				go func() {
					r, _ := handler(ctx, i)
					answer <- r
				}()
				r := 0
				select {
				case r = <-answer:
				case <-ctx.Done():
				}
				cancel()
				if r != i+1 {
					return fmt.Errorf("got %d, want %d", r, i+1)
				}
			}
			return nil
		}},
		way{"pool, Timeout", func() error { return callEach(ctx, timed, n) }},
		way{"pool, Timeout, Prompt", func() error { return callEach(ctx, prompt, n) }},
		way{"pool, no timeout", func() error { return callEach(ctx, plain, n) }},
	)
}

// callEach calls f n times, and checks that it adds 1.
func callEach(ctx context.Context, f *pool.Func[int, int], n int) error {
	for i := range n {
		if r, err := f.Call(ctx, i); err != nil || r != i+1 {
			return fmt.Errorf("got %d, %v, want %d", r, err, i+1)
		}
	}
	return nil
}

// BenchmarkUnevenCalls makes 400 calls that wait for 1 ms and 10 that wait for 100 ms, in
// random order. With 4 at once the ideal is 350 ms.
func BenchmarkUnevenCalls(b *testing.B) {
	args := make([]time.Duration, size(410))
	for i := range args {
		args[i] = time.Millisecond
		if i < max(1, size(10)) {
			args[i] = 100 * time.Millisecond
		}
	}
	rand.New(rand.NewPCG(1, 0)).Shuffle(len(args), func(i, j int) { args[i], args[j] = args[j], args[i] })
	handler := func(_ context.Context, d time.Duration) (int, error) { answer(d); return 0, nil }
	one := newPool(b, pool.Config{Lanes: 1, Concurrency: 4}, handler)
	four := newPool(b, pool.Config{Lanes: 4}, handler)
	free := newPool(b, pool.Config{Lanes: 4, Balancer: pool.FirstFree()}, handler)
	compare(b, 0, nil,
		way{"1 lane, Concurrency 4", func() error { return callAll(one, args) }},
		way{"4 lanes", func() error { return callAll(four, args) }},
		way{"4 lanes, FirstFree", func() error { return callAll(free, args) }},
	)
}

// TestBenchmarks runs each benchmark with little work. Each run checks its own result.
func TestBenchmarks(t *testing.T) {
	times := flag.Lookup("test.benchtime").Value.String()
	if err := flag.Set("test.benchtime", "2x"); err != nil {
		t.Fatal(err)
	}
	small = true
	defer func() {
		small = false
		_ = flag.Set("test.benchtime", times)
	}()
	for name, benchmark := range map[string]func(*testing.B){
		"Files": BenchmarkFiles, "Waits": BenchmarkWaits, "LongTasks": BenchmarkLongTasks,
		"SmallTasks": BenchmarkSmallTasks, "Refusals": BenchmarkRefusals, "State": BenchmarkState,
		"Timeouts": BenchmarkTimeouts, "UnevenCalls": BenchmarkUnevenCalls,
	} {
		t.Run(name, func(t *testing.T) {
			if r := testing.Benchmark(benchmark); r.N == 0 {
				t.Error("the benchmark failed")
			}
		})
	}
}
