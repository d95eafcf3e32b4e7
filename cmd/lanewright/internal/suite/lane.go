package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/pool"
)

// laneSizes is how much the benchmarks of calls do.
type laneSizes struct {
	trips        int // calls one after another, each of which is timed
	calls        int // calls that are timed together
	polls        int // looks at an AbortSignal
	small, large int // payloads of 1 KiB, of 64 KiB
}

const (
	laneDepth   = 32 // calls that one goroutine has outstanding: what a mailbox holds
	laneCallers = 64 // goroutines that call at once
	idleLanes   = 8
)

// laneBenchmarks are the benchmarks of calls. A pool has a lane for each worker, and
// one where the name says that one goroutine calls many times at once. The processors
// are shared by the callers, the workers, and the references.
func (z sizes) laneBenchmarks() []*bench.Benchmark {
	return []*bench.Benchmark{
		{
			Name: "lane/call", Unit: bench.NsPerOp,
			About: "a typed call, int to int, one after another",
			Setup: func(workers int) (*bench.Instance, error) {
				return z.callSetup(workers, pool.TaskOptions{})
			},
		},
		{
			Name: "lane/call-remote", Unit: bench.NsPerOp,
			About: "the same where a worker has to run it",
			Setup: func(workers int) (*bench.Instance, error) {
				return z.callSetup(workers, pool.TaskOptions{Remote: true})
			},
		},
		{
			Name: "lane/pipeline-32", Unit: bench.OpsPerSecond,
			About: "32 calls outstanding, from one goroutine to one lane",
			Setup: z.pipelineSetup,
		},
		{
			Name: "lane/callers-64", Unit: bench.OpsPerSecond,
			About: "64 goroutines that call, and wait for each answer",
			Setup: z.callersSetup,
		},
		{
			Name: "lane/payload-1KiB-copy", Unit: bench.MBPerSecond, Bytes: 1 << 10,
			About: "an echo of 1 KiB that is copied to memory of the other side and back, 32 outstanding",
			Setup: func(int) (*bench.Instance, error) { return copySetup(1<<10, z.lane.small) },
		},
		{
			Name: "lane/payload-64KiB-copy", Unit: bench.MBPerSecond, Bytes: 64 << 10,
			About: "the same with 64 KiB",
			Setup: func(int) (*bench.Instance, error) { return copySetup(64<<10, z.lane.large) },
		},
		{
			Name: "lane/payload-64KiB-move", Unit: bench.NsPerOp,
			About: "a call with 64 KiB by reference, one after another",
			Setup: z.moveSetup,
		},
		{
			Name: "lane/abort-poll", Unit: bench.NsPerOp,
			About: "a look at the signal of a call that runs",
			Setup: z.pollSetup,
		},
		{
			Name: "lane/inline", Unit: bench.NsPerOp,
			About: "a call on the inline lane of a pool without other lanes",
			Setup: z.inlineSetup,
		},
		{
			Name: "lane/allocs", Unit: allocsPerOp,
			About: "allocations of a call with a struct without pointers, half of them remote",
			Setup: z.allocsSetup,
		},
		{
			Name: "lane/idle-cpu", Unit: bench.MsCPU,
			About: "processor time of an idle pool of 8 lanes in the 5 s after a burst",
			Setup: z.idlePoolSetup,
		},
	}
}

// adder is a pool with one task, which adds 1.
type adder struct {
	*pool.Pool
	add *pool.Func[int, int]
}

func newAdder(c pool.Config, o pool.TaskOptions) (*adder, error) {
	var h pool.Handlers
	a := &adder{add: pool.Register(&h, "add", addOne, o)}
	var err error
	a.Pool, err = pool.New(&h, c)
	return a, err
}

func addOne(_ context.Context, n int) (int, error) { return n + 1, nil }

// ask makes a call and reports whether the answer is right.
func (a *adder) ask(n int) bool {
	got, err := a.add.Call(context.Background(), n)
	return got == n+1 && err == nil
}

// checked returns run with a check that it made exactly n calls, that all of them have
// ended, and, if direct says so, that as many of them ran on the goroutine of their
// caller as direct allows.
func checked(p *pool.Pool, n int, direct func(n uint64) bool, run func(*bench.Meter) error) func(*bench.Meter) error {
	return func(m *bench.Meter) error {
		before := p.Metrics()
		err := cmp.Or(run(m), p.Wait(m.Context()))
		if err != nil {
			return err
		}
		after := p.Metrics()
		accepted, ended := after.Accepted-before.Accepted, after.Ended-before.Ended
		if accepted != uint64(n) || ended != uint64(n) {
			return fmt.Errorf("the pool took %d calls and ended %d, want %d", accepted, ended, n)
		}
		if own := directCalls(after) - directCalls(before); direct != nil && !direct(own) {
			return fmt.Errorf("%d of %d calls ran on the goroutine of their caller", own, n)
		}
		return nil
	}
}

// directCalls returns how many calls ran on the goroutine of their caller.
func directCalls(m pool.Metrics) (n uint64) {
	for _, l := range m.Lanes {
		n += l.Direct
	}
	return n
}

// callSetup measures calls one after another. The reference sends the number to a
// goroutine and receives the answer.
func (z sizes) callSetup(workers int, o pool.TaskOptions) (*bench.Instance, error) {
	a, err := newAdder(pool.Config{Lanes: workers}, o)
	if err != nil {
		return nil, err
	}
	per := 1
	if bench.ClockStep() > 30 { // a clock of coarse steps cannot tell single calls apart
		per = 16
	}
	ns := make([]int64, z.lane.trips/per)
	var direct func(uint64) bool
	if o.Remote {
		direct = func(n uint64) bool { return n == 0 }
	}
	ref := newAnswerer(0)
	return &bench.Instance{
		Run:        checked(a.Pool, len(ns)*per, direct, trips(ns, per, a.ask)),
		References: []bench.Reference{{Name: refChannel, Run: trips(ns, per, ref.ask)}},
		Close: func() error {
			ref.end()
			return endPool(a.Pool)
		},
	}, nil
}

// trips measures calls of ask one after another, with a reading of the clock after
// each per of them.
func trips(ns []int64, per int, ask func(n int) bool) func(*bench.Meter) error {
	return func(m *bench.Meter) error {
		wrong := 0
		m.Start()
		last := bench.Now()
		for i := range ns {
			for k := range per {
				if !ask(i*per + k) {
					wrong++
				}
			}
			now := bench.Now()
			ns[i] = now - last
			last = now
		}
		m.Stop(len(ns) * per)
		m.Latencies(ns, per)
		return cmp.Or(m.Context().Err(), workload.CheckAnswers(wrong))
	}
}

// answerer is a goroutine that adds 1 to what comes through a channel, and sends it
// back through another.
type answerer struct{ there, back chan int }

// newAnswerer returns one whose channels have that much room.
func newAnswerer(room int) *answerer {
	a := &answerer{make(chan int, room), make(chan int, room)}
	go func() {
		for n := range a.there {
			a.back <- n + 1
		}
		close(a.back)
	}()
	return a
}

func (a *answerer) ask(n int) bool {
	a.there <- n
	return <-a.back == n+1
}

// end ends the goroutine and waits for it.
func (a *answerer) end() {
	close(a.there)
	<-a.back
}

// pipelineSetup measures calls of one goroutine that waits for the oldest of 32 before
// it makes the next. The channels of the reference have room for as many.
func (z sizes) pipelineSetup(int) (*bench.Instance, error) {
	a, err := newAdder(pool.Config{Lanes: 1}, pool.TaskOptions{})
	if err != nil {
		return nil, err
	}
	n := z.lane.calls
	var futures [laneDepth]*pool.Future[int]
	ref := newAnswerer(laneDepth)
	return &bench.Instance{
		Run: checked(a.Pool, n, nil, pipeline(n,
			func(i int) { futures[i%laneDepth] = a.add.Go(context.Background(), i) },
			func(i int) bool {
				got, err := futures[i%laneDepth].Wait(context.Background())
				return got == i+1 && err == nil
			})),
		References: []bench.Reference{{Name: refChannel, Run: pipeline(n,
			func(i int) { ref.there <- i },
			func(i int) bool { return <-ref.back == i+1 })}},
		Close: func() error {
			ref.end()
			return endPool(a.Pool)
		},
	}, nil
}

// pipeline measures n calls with 32 of them outstanding. send makes one, and receive
// waits for the answer of the oldest and reports whether it is right.
func pipeline(n int, send func(i int), receive func(i int) bool) func(*bench.Meter) error {
	return func(m *bench.Meter) error {
		wrong := 0
		m.Start()
		for i := range n + laneDepth {
			if i >= laneDepth && !receive(i-laneDepth) {
				wrong++
			}
			if i < n {
				send(i)
			}
		}
		m.Stop(n)
		return cmp.Or(m.Context().Err(), workload.CheckAnswers(wrong))
	}
}

// callersSetup measures calls of 64 goroutines. Those of the reference start a
// goroutine for each call.
func (z sizes) callersSetup(workers int) (*bench.Instance, error) {
	a, err := newAdder(pool.Config{Lanes: workers}, pool.TaskOptions{})
	if err != nil {
		return nil, err
	}
	n := z.lane.calls
	starters := make([]*starter, laneCallers)
	for i := range starters {
		starters[i] = newStarter()
	}
	crowded := func(ask func(caller, n int) bool) func(*bench.Meter) error {
		return func(m *bench.Meter) error {
			m.Start()
			err := workload.Crowd(laneCallers, n, ask)
			m.Stop(n)
			return cmp.Or(m.Context().Err(), err)
		}
	}
	return &bench.Instance{
		Run: checked(a.Pool, n, nil, crowded(func(_, n int) bool { return a.ask(n) })),
		References: []bench.Reference{{Name: refGoroutines, Run: crowded(func(caller, n int) bool {
			return starters[caller].ask(n)
		})}},
		Close: func() error { return endPool(a.Pool) },
	}, nil
}

// starter starts a goroutine for each call and waits for it.
type starter struct {
	sync.WaitGroup
	arg, result int
	work        func() // a go statement with a func value allocates nothing
	_           [128]byte
}

func newStarter() *starter {
	s := new(starter)
	s.work = func() {
		s.result = s.arg + 1
		s.Done()
	}
	return s
}

func (s *starter) ask(n int) bool {
	s.arg = n
	s.Add(1)
	go s.work()
	s.Wait()
	return s.result == n+1
}

// inlineSetup measures a pool whose callers are its only lane. The reference calls the
// function.
func (z sizes) inlineSetup(int) (*bench.Instance, error) {
	a, err := newAdder(pool.Config{Lanes: pool.NoLanes, Inline: new(pool.Inline)}, pool.TaskOptions{})
	if err != nil {
		return nil, err
	}
	n := z.lane.calls
	all := func(own uint64) bool { return own == uint64(n) }
	return &bench.Instance{
		Run: checked(a.Pool, n, all, oneByOne(n, a.ask)),
		References: []bench.Reference{{Name: refSequential, Run: oneByOne(n, func(n int) bool {
			got, err := addOne(context.Background(), n)
			return got == n+1 && err == nil
		})}},
		Close: func() error { return endPool(a.Pool) },
	}, nil
}

// oneByOne measures n calls of ask together.
func oneByOne(n int, ask func(n int) bool) func(*bench.Meter) error {
	return func(m *bench.Meter) error {
		wrong := 0
		m.Start()
		for i := range n {
			if !ask(i) {
				wrong++
			}
		}
		m.Stop(n)
		return cmp.Or(m.Context().Err(), workload.CheckAnswers(wrong))
	}
}

// endPool finishes what p has, and waits until its workers have ended.
func endPool(p *pool.Pool) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 30*time.Second,
		errors.New("the pool did not shut down within 30 s"))
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		return fmt.Errorf("%w: %+v", err, p.Metrics())
	}
	left, err := p.Terminate(ctx)
	if err == nil && left != 0 {
		err = fmt.Errorf("%d handlers are left in a pool that has ended", left)
	}
	return err
}
