package suite

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/remote"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/helper"
	"github.com/lanewright/lanewright/internal/traffic"
	"github.com/lanewright/lanewright/pool"
)

// firstCalls is the number of calls at once of process/first-of-8.
const firstCalls = 8

// firstSetup measures rounds of 8 calls at once: the time from the first call to its answer. The first handler computes
// for the time first, and the others for z.process.long. Before a round the worker answers 32 short calls, so that it takes as many
// calls at once as it ever does, and has not parked. The handler of the reference is the first one, in the host.
func (z sizes) firstSetup(first time.Duration) (*bench.Instance, error) {
	var all parts
	p, err := all.pool(1)
	if err != nil {
		return all.fail(err)
	}
	steps := [firstCalls]uint32{bench.NewWork(first).Steps()}
	want := [firstCalls]uint64{remote.Computation{Steps: steps[0]}.Result()}
	long := bench.NewWork(z.process.long).Steps()
	longResult := remote.Computation{Steps: long}.Result()
	for i := 1; i < firstCalls; i++ {
		steps[i], want[i] = long, longResult|uint64(i)
	}
	ns := make([]int64, z.process.firsts)
	rounds := func(prepare func() bool, round func() (took int64, right bool)) func(*bench.Meter) error {
		return func(m *bench.Meter) error {
			wrong := 0
			m.Start()
			for i := range ns {
				ready := prepare()
				took, right := round()
				if !ready || !right {
					wrong++
				}
				ns[i] = took
			}
			m.Stop(len(ns))
			m.Latencies(ns, 1)
			return cmp.Or(m.Context().Err(), workload.CheckAnswers(wrong))
		}
	}
	ctx := context.Background()
	var short [laneDepth]*pool.Future[int]
	var futures [firstCalls]*pool.Future[uint64]
	return &bench.Instance{
		Run: p.checked(len(ns)*(len(short)+firstCalls), rounds(
			func() bool {
				right := true
				for i := range short {
					short[i] = p.Add.Go(ctx, i)
				}
				for i, f := range short {
					got, err := f.Wait(ctx)
					right = right && got == i+1 && err == nil
				}
				return right
			},
			func() (took int64, right bool) {
				right = true
				began := bench.Now()
				for i := range futures {
					futures[i] = p.Compute.Go(ctx, remote.Computation{Steps: steps[i], ID: uint32(i)})
				}
				for i, f := range futures {
					got, err := f.Wait(ctx)
					if i == 0 {
						took = bench.Now() - began
					}
					right = right && got == want[i] && err == nil
				}
				return took, right
			})),
		References: []bench.Reference{{Name: refHandler, Run: rounds(
			func() bool { return true },
			func() (took int64, right bool) {
				began := bench.Now()
				right = remote.Computation{Steps: steps[0]}.Result() == want[0]
				return bench.Now() - began, right
			})}},
		Close: all.end,
	}, nil
}

// processFairSetup measures the calls of lane/fair with worker processes. Its reference is lane/fair.
func (z sizes) processFairSetup() (*bench.Instance, error) {
	var all parts
	p, err := all.pool(traffic.MixedWorkers)
	if err != nil {
		return all.fail(err)
	}
	lanes, err := newSleeper(pool.Config{Lanes: traffic.MixedWorkers})
	if err != nil {
		return all.fail(err)
	}
	all = append(all, func() error { return endPool(lanes.Pool) })
	orders := traffic.Orders(z.lane.short, z.lane.long)
	n := len(orders) * traffic.MixedCalls
	there := sleeper{Pool: p.Pool, sleep: p.Sleep}
	return &bench.Instance{
		Run:        p.checked(n, worst(orders, there.all)),
		References: []bench.Reference{{Name: refFair, Run: checked(lanes.Pool, n, nil, worst(orders, lanes.all))}},
		Close:      all.end,
	}, nil
}

// processWakeSetup measures calls after a pause in which both sides park. A latency is that from the call to the answer.
// The calls take the lanes in turn. The reference with one lane is a message by a socket after the same pause.
func (z sizes) processWakeSetup(lanes int) (*bench.Instance, error) {
	var all parts
	p, err := all.pool(lanes)
	if err != nil {
		return all.fail(err)
	}
	ids := p.ids()
	ns := make([]int64, z.process.quiet)
	quiet := func(call func(n int) bool) func(*bench.Meter) error {
		return func(m *bench.Meter) error {
			wrong := 0
			m.Start()
			for i := range ns {
				time.Sleep(z.pause)
				began := bench.Now()
				if !call(i) {
					wrong++
				}
				ns[i] = bench.Now() - began
			}
			m.Stop(len(ns))
			m.Latencies(ns, 1)
			return cmp.Or(m.Context().Err(), workload.CheckAnswers(wrong))
		}
	}
	inst := &bench.Instance{
		Run:   p.checked(len(ns), quiet(func(n int) bool { return p.callAt(ids[n%len(ids)], n) })),
		Close: all.end,
	}
	if lanes > 1 {
		return inst, nil
	}
	socket, err := all.socket(helper.NumberBytes)
	if err != nil {
		return all.fail(err)
	}
	inst.References = []bench.Reference{{Name: refSocket, Run: quiet(callBySocket(socket))}}
	return inst, nil
}

// spawnSetup measures new pools with one worker process each. The pool is closed after the measurement.
func (z sizes) spawnSetup() (*bench.Instance, error) {
	if err := checkProcesses(); err != nil {
		return nil, err
	}
	ns := make([]int64, z.process.spawns)
	return &bench.Instance{Run: func(m *bench.Meter) error {
		m.Start()
		for i := range ns {
			began := bench.Now()
			p, err := newProcesses(1)
			if err != nil {
				return err
			}
			right := p.call(i)
			ns[i] = bench.Now() - began
			if err := endPool(p.Pool); err != nil {
				return err
			}
			if !right {
				return fmt.Errorf("the first call of pool %d has a wrong answer", i)
			}
			if err := m.Context().Err(); err != nil {
				return err
			}
		}
		m.Stop(len(ns))
		m.Latencies(ns, 1)
		return nil
	}}, nil
}

// checkProcesses returns an error if the system has no worker processes.
func checkProcesses() error {
	p, err := newProcesses(1)
	if err != nil {
		return err
	}
	return endPool(p.Pool)
}
