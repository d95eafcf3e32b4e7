package stress

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	"github.com/lanewright/lanewright/pool"
)

// processScenario is the name of the scenario that needs WorkerMain.
const processScenario = "process"

var processScenarios = []scenario{{processScenario, runProcesses}}

// runProcesses has callers of pools of worker processes, which die at every moment, write floods
// of output and are stopped, while the pool is resized, paused, leased, and ended.
func runProcesses(r *round) {
	dir, err := os.MkdirTemp("", "lanewright-stress-")
	if err != nil {
		r.must("the folder of the journals", err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	hasSealed := warmProcesses(r, dir, pool.Sealed)
	if !hasSealed && !warmProcesses(r, dir, pool.File) {
		return
	}
	before := systemCounts()
	for range r.size(4) { // a round of 8 took 30 s, the default HangTimeout, with -race on two busy processors
		runProcessPool(r, dir, r.generateProcessConfig(hasSealed))
		if r.Failed() {
			return
		}
	}
	r.awaitSystem(before)
}

// warmProcesses makes a call to a worker process, so that the threads and descriptors are there
// that all pools of the program share. It returns false where no process with that kind of memory
// can be started.
func warmProcesses(r *round, dir string, kind pool.RegionKind) bool {
	r.did(1)
	k := newProcessSoak(r, dir, pool.Config{Lanes: 1, Process: &pool.Process{Region: kind, Payload: pool.Payload{Max: 1 << 20}}}, 1)
	if k == nil {
		return false
	}
	k.callBy(r.rng, func(ctx context.Context, c processCall) (uint64, error) { return k.t.work.Call(ctx, c) })
	k.end()
	return !r.Failed()
}

// generateProcessConfig generates the configuration of a pool.
func (r *round) generateProcessConfig(hasSealed bool) pool.Config {
	c := pool.Config{
		Lanes:         r.pick(1, 2, 3),
		Concurrency:   r.pick(1, 1, 2, 4, 31),
		Backlog:       r.pick(1, 16, pool.Unlimited, pool.Unlimited, pool.NoBacklog),
		Overflow:      []pool.Overflow{pool.Block, pool.Block, pool.Fail, pool.DropOldest}[r.rng.IntN(4)],
		AbortCapacity: r.pick(4, 64, 258),
		MaxAbandoned:  pool.Unlimited,
		Timeout:       []time.Duration{0, 0, 2 * time.Millisecond, time.Minute}[r.rng.IntN(4)],
		HardLimit:     []time.Duration{0, 0, 20 * time.Millisecond}[r.rng.IntN(3)],
		Balancer:      []pool.Balancer{nil, pool.FirstFree(), pool.FirstFreeOrRandom(rand.NewPCG(r.rng.Uint64(), 1))}[r.rng.IntN(3)],
		DrainOnClose:  r.rng.IntN(8) == 0,
		Process: &pool.Process{
			StopGrace: []time.Duration{time.Millisecond, 100 * time.Millisecond, 0}[r.rng.IntN(3)],
			// 64 KiB in 8 MiB and 1 MiB in 8 MiB: an arena that grows, and one of the largest size
			Payload: pool.Payload{Initial: r.pick(64<<10, 8<<20), Max: 8 << 20, PerValue: 1 << 20},
		},
	}
	if c.Backlog == pool.NoBacklog {
		c.Overflow = pool.Fail
	}
	kinds := []pool.RegionKind{pool.File}
	if hasSealed {
		kinds = []pool.RegionKind{pool.Sealed, pool.Sealed, pool.Named, pool.File}
	}
	if c.Process.Region = kinds[r.rng.IntN(len(kinds))]; c.Process.Region != pool.Sealed { // which is allocated in full
		c.Process.Payload = pool.Payload{Initial: r.pick(64<<10, 1<<20), Max: 1 << 20, PerValue: 128 << 10}
	}
	return c
}

// runProcessPool has callers of one pool. In every second one, on average, the pool is ended
// while they call.
func runProcessPool(r *round, dir string, c pool.Config) {
	k := newProcessSoak(r, dir, c, r.size(6000))
	if k == nil {
		return
	}
	k.ends = r.rng.IntN(2) == 0
	callers, how, closers := 1+r.rng.IntN(6), r.rng.IntN(4), r.pick(1, 1, 4)
	each := r.size(60)
	after := int64(r.rng.IntN(10 * each))
	seeds := r.seeds(callers + 1)
	quit, controller := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(controller)
		r.guard("controller", func() { k.control(seeds[callers], quit) })
	}()
	called := make(chan struct{})
	r.concurrently(2, func(i int) {
		if i == 0 {
			defer close(called)
			r.concurrently(callers, func(i int) {
				for n := 0; n < each && !r.Failed(); n++ {
					k.step(seeds[i])
				}
			})
			return
		}
		if !k.ends {
			return
		}
		for k.next.Load() < after {
			select {
			case <-called:
				return
			case <-time.After(100 * time.Microsecond):
			}
		}
		r.endPool(k.p, how, closers)
	})
	close(quit)
	<-controller
	if !k.ends {
		r.must("Wait", k.p.Wait(context.Background()))
		r.must("Shutdown", k.p.Shutdown(context.Background()))
	}
	k.end()
}

// control injects faults until quit is closed. The pool is not paused then, and no process is
// stopped.
func (k *processSoak) control(rng *rand.Rand, quit <-chan struct{}) {
	for {
		k.rest(rng, quit)
		select {
		case <-quit:
			return
		default:
		}
		switch rng.IntN(10) {
		case 0, 1, 2:
			k.kill(rng)
		case 3:
			k.stop(rng, quit)
		case 4:
			k.r.faults.resizes.Add(1)
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(50_000))*time.Microsecond)
			k.r.want("Resize", k.p.Resize(ctx, 1+rng.IntN(4)), append(k.allowedErrors(), context.DeadlineExceeded)...)
			cancel()
		case 5:
			k.r.want("SetConcurrency", k.p.SetConcurrency(1+rng.IntN(31)), k.allowedErrors()...)
		case 6:
			k.r.faults.pauses.Add(1)
			k.p.Pause()
			k.rest(rng, quit)
			k.p.Resume()
		case 7:
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(5000))*time.Microsecond)
			k.r.want("Ping", k.p.Ping(ctx, 0), append(k.allowedErrors(), context.DeadlineExceeded)...)
			cancel()
		default:
			k.counters()
		}
	}
}

// rest waits until some calls have been answered, or for a while.
func (k *processSoak) rest(rng *rand.Rand, quit <-chan struct{}) {
	next := k.answered.Load() + int64(rng.IntN(40))
	while := time.After(time.Duration(rng.IntN(20_000)) * time.Microsecond)
	for k.answered.Load() < next {
		select {
		case <-quit:
			return
		case <-while:
			return
		default:
			runtime.Gosched()
		}
	}
}

// processOf returns the process of one of the workers, or nil. The system gives a number to
// another process only after it has given all others, so the number is that of the worker.
func (k *processSoak) processOf(rng *rand.Rand) *os.Process {
	all := k.p.Workers()
	if w := all[rng.IntN(len(all))]; w.Pid != 0 {
		if p, err := os.FindProcess(w.Pid); err == nil {
			return p
		}
	}
	return nil
}

// kill kills one of the processes, which may also be starting or ending.
func (k *processSoak) kill(rng *rand.Rand) {
	if p := k.processOf(rng); p != nil {
		if p.Kill() == nil {
			k.r.faults.kills.Add(1)
		}
		_ = p.Release() // always nil
	}
}

// stop stops one of the processes for a while, and lets it continue or kills it.
func (k *processSoak) stop(rng *rand.Rand, quit <-chan struct{}) {
	p := k.processOf(rng)
	if p == nil {
		return
	}
	defer func() { _ = p.Release() }() // always nil
	if suspend(p) != nil {
		return
	}
	k.r.faults.blocks.Add(1)
	k.rest(rng, quit)
	if rng.IntN(2) == 0 && p.Kill() == nil {
		k.r.faults.kills.Add(1)
		return
	}
	_ = resume(p) // it may have died
}

// counters checks the counters of the pool while calls are made.
func (k *processSoak) counters() {
	for _, l := range k.p.Metrics().Lanes {
		if l.Backlog < 0 || l.InFlight < 0 || uint64(l.Backlog+l.InFlight) != l.Accepted-l.Ended {
			k.r.Errorf("the counters of a lane do not add up: %+v", l)
		}
	}
	for i, w := range k.p.Workers() {
		if w.Lane != i || w.Generation < 1 || w.Deaths > w.Generation {
			k.r.Errorf("the description of a worker: %+v", w)
		}
	}
}

// awaitSystem waits until the program has as many descriptors, processes and named regions as
// before, and not many threads more.
func (r *round) awaitSystem(before systemState) {
	for until := time.Now().Add(r.hangTimeout / 2); ; <-time.After(time.Millisecond) {
		runtime.GC() // a region is unmapped when its link is collected
		text := systemCounts().compare(before)
		switch {
		case text == "":
			return
		case time.Now().After(until):
			r.Errorf("after the end of all pools: %s", text)
			return
		}
	}
}

// checkProcesses returns an error if the scenario cannot run in this program.
func checkProcesses() error {
	if hasWorkerMain.Load() {
		return nil
	}
	return errors.New("stress: the scenario " + processScenario + " needs a program that calls stress.WorkerMain first")
}
