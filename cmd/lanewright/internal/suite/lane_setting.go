package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/pool"
)

// The names of references that are also benchmarks.
const (
	refCall       = "lane/call"
	refCallRemote = "lane/call-remote"
	refCallCancel = "lane/call-cancel"
	refLease      = "lane/lease-1"
)

// setting is a pool with its surroundings. Its calls are those of lane/call: typed, int to int,
// one after another from one goroutine, which waits for each answer. A figure is the mean of
// all calls, because surroundings may delay few calls, but these by milliseconds. Each run opens
// its own pool and closes it afterwards, because the pool of another setting could slow it down.
type setting struct {
	config      pool.Config // Lanes 0: a lane for each worker
	task        pool.TaskOptions
	cancellable bool // the calls have a context that can end
	futures     bool // the calls are made by Go and Future.Wait
	firstStays  bool // the first call keeps its lane: see notFirst

	// beside starts something that exists during the calls of a. end ends it, and is called
	// also after an error. A nil beside starts nothing.
	beside func(z sizes, a *stage) (end func() error, err error)
}

// The settings of several benchmarks.
var (
	remoteOnly       = pool.TaskOptions{Remote: true}
	remoteSetting    = setting{task: remoteOnly}
	cancelledSetting = setting{task: remoteOnly, cancellable: true}
)

// settingBenchmarks returns the benchmarks that compare a call with the same call in another
// setting. The other one is a benchmark as well and gives the reference its name. The two
// settings differ only in what the name of the row says, so that the ratio is the price of that.
func (z sizes) settingBenchmarks() []*bench.Benchmark {
	var all []*bench.Benchmark
	for _, row := range []struct {
		name, about   string
		setting       setting
		against       string
		againstOthers setting
	}{
		{
			"lane/call-remote-256", "lane/call-remote in a pool of 256 lanes, which the calls take in turn",
			setting{config: pool.Config{Lanes: z.lane.lanes256}, task: remoteOnly},
			refCallRemote, remoteSetting,
		},
		{
			"lane/call-remote-4096", "the same with 4,096 lanes",
			setting{config: pool.Config{Lanes: z.lane.lanes4096}, task: remoteOnly},
			refCallRemote, remoteSetting,
		},
		{
			"lane/call-timeout", "lane/call-remote with a Timeout of one minute",
			setting{task: pool.TaskOptions{Remote: true, Timeout: time.Minute}},
			refCallRemote, remoteSetting,
		},
		{
			refCallCancel, "lane/call-remote with a context that can end",
			cancelledSetting, refCallRemote, remoteSetting,
		},
		{
			"lane/call-pools-500", "lane/call-cancel beside 500 idle pools of 4 lanes",
			setting{task: remoteOnly, cancellable: true, beside: idlePools},
			refCallCancel, cancelledSetting,
		},
		{
			"lane/call-detached-1000", "remote calls by Go and Future.Wait beside 1,000 handlers that have given up their lane, one half in the same pool; the reference makes the same calls without them",
			setting{task: remoteOnly, futures: true, beside: detachedHandlers},
			refCallRemote,
			setting{task: remoteOnly, futures: true},
		},
		{
			"lane/call-waiters-100", "lane/call-remote in a pool of 256 lanes beside 100 goroutines in Wait of the pool, and the call that keeps them waiting",
			setting{config: pool.Config{Lanes: z.lane.lanes256}, task: remoteOnly, firstStays: true, beside: waiters},
			refCallRemote, remoteSetting,
		},
		{
			"lane/call-concurrency-16", "lane/call in a pool whose lanes run 16 calls at once",
			setting{config: pool.Config{Concurrency: 16}},
			refCall,
			setting{},
		},
	} {
		all = append(all, &bench.Benchmark{
			Name: row.name, Unit: bench.NsPerOp, About: row.about,
			Setup: func(workers int) (*bench.Instance, error) {
				return &bench.Instance{
					Run:        row.setting.run(z, workers),
					References: []bench.Reference{{Name: row.against, Run: row.againstOthers.run(z, workers)}},
				}, nil
			},
		})
	}
	return all
}

// run returns a run that measures calls in the setting.
func (s setting) run(z sizes, workers int) func(*bench.Meter) error {
	c := s.config
	c.Lanes = cmp.Or(c.Lanes, workers)
	return func(m *bench.Meter) error {
		if s.firstStays {
			c.Balancer = new(notFirst)
		}
		a, err := newStage(c, s.task)
		if err != nil {
			return err
		}
		err = errors.Join(s.measure(z, m, a), endPool(a.Pool))
		after := a.Metrics()
		switch {
		case err != nil:
			return err
		case after.Accepted != after.Ended || after.Accepted < uint64(z.lane.inSetting):
			return fmt.Errorf("the pool accepted %d calls and ended %d, want at least %d", after.Accepted, after.Ended, z.lane.inSetting)
		case s.task.Remote && directCalls(after) != 0:
			return fmt.Errorf("%d remote calls ran on the goroutine of their caller", directCalls(after))
		}
		return nil
	}
}

// measure measures the calls of a. Before that, it makes at least two calls on every lane.
func (s setting) measure(z sizes, m *bench.Meter, a *stage) (err error) {
	if s.beside != nil {
		end, begun := s.beside(z, a)
		defer func() { err = errors.Join(err, end()) }()
		if begun != nil {
			return begun
		}
	}
	ctx := context.Background()
	if s.cancellable {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
	}
	call := func(n int) bool {
		got, err := a.add.Call(ctx, n)
		return got == n+1 && err == nil
	}
	if s.futures {
		call = func(n int) bool {
			got, err := a.add.Go(ctx, n).Wait(ctx)
			return got == n+1 && err == nil
		}
	}
	wrong := 0
	for i := range max(z.lane.inSetting/10, 2*len(a.Lanes())) {
		if !call(i) {
			wrong++
		}
	}
	if err := workload.CheckAnswers(wrong); err != nil {
		return err
	}
	return oneByOne(z.lane.inSetting, call)(m)
}

// stage is a pool whose handlers add 1, keep their lane, or give it up.
type stage struct {
	adder
	keep, leave *pool.Func[*gate, struct{}]
	await       *pool.Func[*pool.Future[struct{}], struct{}]
}

// newStage returns a stage whose calls of add have these options.
func newStage(c pool.Config, o pool.TaskOptions) (*stage, error) {
	var h pool.Handlers
	a := new(stage)
	a.add = pool.Register(&h, "add", addOne, o)
	a.keep = pool.Register(&h, "keep", func(_ context.Context, g *gate) (none struct{}, err error) {
		g.wait()
		return none, nil
	}, remoteOnly)
	a.leave = pool.Register(&h, "leave", func(_ context.Context, g *gate) (none struct{}, err error) {
		a.Blocking(g.wait)
		return none, nil
	}, remoteOnly)
	a.await = pool.Register(&h, "await", func(ctx context.Context, f *pool.Future[struct{}]) (struct{}, error) {
		return f.Wait(ctx)
	}, remoteOnly)
	var err error
	a.Pool, err = pool.New(&h, c)
	return a, err
}

// gate blocks handlers until it opens.
type gate struct {
	reached atomic.Int64
	opened  chan struct{}
}

func newGate() *gate { return &gate{opened: make(chan struct{})} }

func (g *gate) wait() {
	g.reached.Add(1)
	<-g.opened
}

// until waits until holds returns true. It fails after 30 s.
func until(what string, holds func() bool) error {
	for deadline := time.Now().Add(30 * time.Second); !holds(); runtime.Gosched() {
		if time.Now().After(deadline) {
			return fmt.Errorf("not reached within 30 s: %s", what)
		}
	}
	return nil
}

// notFirst is a balancer that picks lane 0 for the first call, and then the other lanes in
// turn, if there are others. A call that keeps lane 0 is then beside all later calls.
type notFirst struct{ calls atomic.Uint32 }

func (b *notFirst) Pick(v pool.View) int {
	n := b.calls.Add(1) - 1
	if n == 0 || v.Len() == 1 {
		return 0
	}
	return 1 + int((n-1)%uint32(v.Len()-1))
}

// idlePools makes pools of 4 lanes. Each lane has run one call, so that the pools are idle and
// not merely new.
func idlePools(z sizes, _ *stage) (end func() error, err error) {
	var all []*adder
	end = func() error {
		var errs []error
		for _, a := range all {
			errs = append(errs, endPool(a.Pool))
		}
		return errors.Join(errs...)
	}
	for range z.lane.pools {
		a, err := newAdder(pool.Config{Lanes: 4}, remoteOnly)
		if err != nil {
			return end, err
		}
		all = append(all, a)
		for n := range 4 {
			if !a.call(n) {
				return end, workload.CheckAnswers(1)
			}
		}
	}
	return end, nil
}

// detachedHandlers makes handlers wait without their lanes, one half in a and the other half in
// a pool of its own. In each pool some wait inside Blocking and the others for a future.
func detachedHandlers(z sizes, a *stage) (end func() error, err error) {
	g := newGate()
	other, err := newStage(pool.Config{Lanes: 4}, remoteOnly)
	if err != nil {
		return func() error { return nil }, err
	}
	end = func() error {
		close(g.opened)
		return endPool(other.Pool)
	}
	half := z.lane.detached / 2
	for _, a := range []*stage{a, other} {
		first := a.leave.Go(context.Background(), g)
		for i := range half - 1 {
			if i%2 == 0 {
				a.await.Go(context.Background(), first)
			} else {
				a.leave.Go(context.Background(), g)
			}
		}
		if err := until("each handler has given up its lane", func() bool { return a.Metrics().Detached == half }); err != nil {
			return end, err
		}
	}
	return end, nil
}

// waiters makes goroutines wait in Pool.Wait of a. A call that keeps its lane keeps them
// waiting.
func waiters(z sizes, a *stage) (end func() error, err error) {
	g := newGate()
	held := a.keep.Go(context.Background(), g)
	results := make(chan error, z.lane.waiters)
	ctx := &askedContext{Context: context.Background()}
	for range z.lane.waiters {
		go func() { results <- a.Wait(ctx) }()
	}
	end = func() error {
		early := len(results)
		close(g.opened)
		_, err := held.Wait(context.Background())
		for range z.lane.waiters {
			err = errors.Join(err, <-results)
		}
		if early != 0 {
			err = errors.Join(err, fmt.Errorf("%d goroutines did not wait", early))
		}
		return err
	}
	return end, until("the call runs and each goroutine waits", func() bool {
		return g.reached.Load() == 1 && ctx.asked.Load() >= int64(z.lane.waiters)
	})
}

// askedContext counts how often its end is asked for. A goroutine in Pool.Wait asks right
// before it parks.
type askedContext struct {
	context.Context
	asked atomic.Int64
}

func (c *askedContext) Done() <-chan struct{} {
	c.asked.Add(1)
	return c.Context.Done()
}

// leaseSetup measures the acquisition and release of a lease in a pool with that many lanes.
// Without against, the reference takes a token from a channel and puts it back. Otherwise the
// reference is the same in a pool with one lane.
func (z sizes) leaseSetup(lanes int, against string) (*bench.Instance, error) {
	inst := &bench.Instance{Run: z.leases(lanes)}
	if against != "" {
		inst.References = []bench.Reference{{Name: against, Run: z.leases(1)}}
		return inst, nil
	}
	token := make(chan struct{}, 1)
	token <- struct{}{}
	inst.References = []bench.Reference{{Name: refChannel, Run: oneByOne(z.lane.trips, func(int) bool {
		t := <-token
		token <- t
		return true
	})}}
	return inst, nil
}

// leases measures leases one after another. Each run has its own pool, as in setting.
func (z sizes) leases(lanes int) func(*bench.Meter) error {
	return func(m *bench.Meter) error {
		a, err := newAdder(pool.Config{Lanes: lanes}, pool.TaskOptions{})
		if err != nil {
			return err
		}
		lease := func(int) bool {
			l, err := a.Acquire(context.Background())
			if err != nil {
				return false
			}
			l.Release()
			return true
		}
		for n := range 2 * lanes { // each lane has run a call
			if !a.call(n) {
				return errors.Join(workload.CheckAnswers(1), endPool(a.Pool))
			}
		}
		return errors.Join(oneByOne(z.lane.trips, lease)(m), endPool(a.Pool))
	}
}
