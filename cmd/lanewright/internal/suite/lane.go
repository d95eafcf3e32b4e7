package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/pool"
)

// laneSizes are the sizes of the benchmarks of calls.
type laneSizes struct {
	trips        int // calls one after another, timed singly
	calls        int // calls timed together
	polls        int // polls of an AbortSignal
	small, large int // payloads of 1 KiB; of 64 KiB

	// The lanes of the benchmarks with these numbers in their names. Tests make fewer, because
	// a call may cost more with each lane.
	lanes256, lanes1024, lanes4096 int

	inSetting int // calls one after another in a setting
	pools     int // idle ones
	detached  int // handlers
	waiters   int // goroutines in Pool.Wait

	short, long time.Duration // calls of lane/fair
	request     time.Duration // a call of lane/web
	answers     int           // of its server
}

const (
	laneDepth   = 32 // outstanding calls of one goroutine
	laneCallers = 64 // goroutines that call at once
	idleLanes   = 8
)

// laneBenchmarks returns the benchmarks of calls. A pool has a lane for each worker, or one
// lane where a single goroutine has many calls outstanding. The callers, the workers and
// the references share the processors.
func (z sizes) laneBenchmarks() []*bench.Benchmark {
	return slices.Concat(z.callBenchmarks(), z.settingBenchmarks(), z.flowBenchmarks())
}

// callBenchmarks returns the benchmarks of calls one after another.
func (z sizes) callBenchmarks() []*bench.Benchmark {
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
			About: "the same with calls that only a worker may run",
			Setup: func(workers int) (*bench.Instance, error) {
				return z.callSetup(workers, remoteOnly)
			},
		},
	}
}

// flowBenchmarks returns the benchmarks of many calls at once, of payloads, and of the other
// parts of a pool.
func (z sizes) flowBenchmarks() []*bench.Benchmark {
	return []*bench.Benchmark{
		{
			Name: "lane/pipeline-32", Unit: bench.OpsPerSecond,
			About: "32 calls outstanding, from one goroutine to one lane",
			Setup: z.pipelineSetup,
		},
		{
			Name: "lane/callers-64", Unit: bench.OpsPerSecond,
			About: "64 goroutines, each of which waits for an answer before its next call",
			Setup: z.callersSetup,
		},
		{
			Name: "lane/fair", Unit: bench.NsPerOp,
			About: "400 calls of 1 ms and ten of 200 ms on 4 lanes until all have ended; the worst of three orders",
			Setup: z.fairSetup,
		},
		{
			Name: "lane/web", Unit: bench.NsPerOp,
			About: "40 clients, calls of 20 ms on 2 lanes, a backlog of 4; refused clients try again after 5 ms",
			Setup: z.webSetup,
		},
		{
			Name: refLease, Unit: bench.NsPerOp,
			About: "acquisition and release of a lease in a pool with one lane",
			Setup: func(int) (*bench.Instance, error) { return z.leaseSetup(1, "") },
		},
		{
			Name: "lane/lease-1024", Unit: bench.NsPerOp,
			About: "the same in a pool with 1,024 lanes",
			Setup: func(int) (*bench.Instance, error) { return z.leaseSetup(z.lane.lanes1024, refLease) },
		},
		{
			Name: "lane/payload-1KiB-copy", Unit: bench.MBPerSecond, Bytes: 1 << 10,
			About: "an echo of 1 KiB, copied to the memory of the other side and back, 32 outstanding",
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
			About: "a poll of the signal of a running call",
			Setup: z.pollSetup,
		},
		{
			Name: "lane/inline", Unit: bench.NsPerOp,
			About: "a call on the inline lane of a pool without other lanes",
			Setup: z.inlineSetup,
		},
		{
			Name: "lane/allocs", Unit: allocsPerOp,
			About: "allocations of a call with a struct without pointers; half of the calls are remote",
			Setup: z.allocsSetup,
		},
		{
			Name: "lane/idle-cpu", Unit: bench.MsCPU,
			About: "processor time of an idle pool of 8 lanes in the 5 s after a burst",
			Setup: z.idlePoolSetup,
		},
	}
}

// adder is a pool with one function, which adds 1.
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

// call makes a call and reports whether the answer is right.
func (a *adder) call(n int) bool {
	got, err := a.add.Call(context.Background(), n)
	return got == n+1 && err == nil
}

// checked returns run with a check of the counters of the pool: it accepted n calls and
// ended all of them. direct, which may be nil, reports whether the number of calls on
// the goroutine of their caller is right.
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
			return fmt.Errorf("the pool accepted %d calls and ended %d, want %d", accepted, ended, n)
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
	per := callsPerReading()
	ns := make([]int64, z.lane.trips/per)
	var direct func(uint64) bool
	if o.Remote {
		direct = func(n uint64) bool { return n == 0 }
	}
	ref := newAnswerer(0)
	return &bench.Instance{
		Run:        checked(a.Pool, len(ns)*per, direct, trips(ns, per, a.call)),
		References: []bench.Reference{{Name: refChannel, Run: trips(ns, per, ref.call)}},
		Close: func() error {
			ref.end()
			return endPool(a.Pool)
		},
	}, nil
}

// callsPerReading returns the number of calls for each reading of the clock. A coarse clock does
// not resolve single calls. Then a figure is the mean of several.
func callsPerReading() int {
	if bench.ClockStep() > 30 {
		return 16
	}
	return 1
}

// trips measures calls one after another. It reads the clock after every per calls.
func trips(ns []int64, per int, call func(n int) bool) func(*bench.Meter) error {
	return func(m *bench.Meter) error {
		wrong := 0
		m.Start()
		last := bench.Now()
		for i := range ns {
			for k := range per {
				if !call(i*per + k) {
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

// answerer is a goroutine that receives numbers from a channel, adds 1 to each, and sends
// them back through another channel.
type answerer struct{ requests, answers chan int }

// newAnswerer returns an answerer whose channels have that capacity.
func newAnswerer(capacity int) *answerer {
	a := &answerer{make(chan int, capacity), make(chan int, capacity)}
	go func() {
		for n := range a.requests {
			a.answers <- n + 1
		}
		close(a.answers)
	}()
	return a
}

func (a *answerer) call(n int) bool {
	a.requests <- n
	return <-a.answers == n+1
}

// end ends the goroutine and waits for it.
func (a *answerer) end() {
	close(a.requests)
	<-a.answers
}

// pipelineSetup measures calls of one goroutine with 32 of them outstanding: it waits for
// the oldest one before it makes the next. The channels of the reference have the same
// capacity.
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
			func(i int) { ref.requests <- i },
			func(i int) bool { return <-ref.answers == i+1 })}},
		Close: func() error {
			ref.end()
			return endPool(a.Pool)
		},
	}, nil
}

// pipeline measures n calls with 32 of them outstanding. send makes a call. receive waits
// for the answer of the oldest call and reports whether it is right.
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

// callersSetup measures calls of 64 goroutines. The callers of the reference start a
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
	crowded := func(call func(caller, n int) bool) func(*bench.Meter) error {
		return func(m *bench.Meter) error {
			m.Start()
			err := workload.Crowd(laneCallers, n, call)
			m.Stop(n)
			return cmp.Or(m.Context().Err(), err)
		}
	}
	return &bench.Instance{
		Run: checked(a.Pool, n, nil, crowded(func(_, n int) bool { return a.call(n) })),
		References: []bench.Reference{{Name: refGoroutines, Run: crowded(func(caller, n int) bool {
			return starters[caller].call(n)
		})}},
		Close: func() error { return endPool(a.Pool) },
	}, nil
}

// starter starts a goroutine for each call and waits for it.
type starter struct {
	sync.WaitGroup
	arg, result int
	work        func()    // a field, because a go statement with a func value allocates nothing
	_           [128]byte // keeps the next starter off these cache lines
}

func newStarter() *starter {
	s := new(starter)
	s.work = func() {
		s.result = s.arg + 1
		s.Done()
	}
	return s
}

func (s *starter) call(n int) bool {
	s.arg = n
	s.Add(1)
	go s.work()
	s.Wait()
	return s.result == n+1
}

// inlineSetup measures a pool with the inline lane only. The reference calls the
// function.
func (z sizes) inlineSetup(int) (*bench.Instance, error) {
	a, err := newAdder(pool.Config{Lanes: pool.NoLanes, Inline: new(pool.Inline)}, pool.TaskOptions{})
	if err != nil {
		return nil, err
	}
	n := z.lane.calls
	all := func(direct uint64) bool { return direct == uint64(n) }
	return &bench.Instance{
		Run: checked(a.Pool, n, all, oneByOne(n, a.call)),
		References: []bench.Reference{{Name: refSequential, Run: oneByOne(n, func(n int) bool {
			got, err := addOne(context.Background(), n)
			return got == n+1 && err == nil
		})}},
		Close: func() error { return endPool(a.Pool) },
	}, nil
}

// oneByOne measures n calls, one after another and timed together.
func oneByOne(n int, call func(n int) bool) func(*bench.Meter) error {
	return func(m *bench.Meter) error {
		wrong := 0
		m.Start()
		for i := range n {
			if !call(i) {
				wrong++
			}
		}
		m.Stop(n)
		return cmp.Or(m.Context().Err(), workload.CheckAnswers(wrong))
	}
}

// endPool shuts p down: it waits for the accepted calls and for the end of the workers.
func endPool(p *pool.Pool) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 30*time.Second,
		errors.New("the pool did not shut down within 30 s"))
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		return fmt.Errorf("%w: %+v", err, p.Metrics())
	}
	left, err := p.Terminate(ctx)
	if err == nil && left != 0 {
		err = fmt.Errorf("%d handlers of the ended pool have not returned", left)
	}
	return err
}
