package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/remote"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/helper"
	"github.com/lanewright/lanewright/pool"
)

// processSizes are the sizes of the benchmarks of calls into worker processes.
type processSizes struct {
	trips int // calls one after another, timed singly
	calls int // calls timed together; a quarter of them with handlers that compute and for several callers

	echoes1KiB, echoes64KiB, echoes1MiB int

	short, long time.Duration // computations of several calls at once
	firsts      int           // rounds of them
	quiet       int           // calls after a pause
	spawns      int           // pools

	lanes64 int           // the lanes of the benchmarks with this number in their names
	settle  time.Duration // the idle time of a new host
}

// The names of the references of worker processes.
const (
	refSocket    = "socket"
	refSpinLimit = "spin-limit"
	refHandler   = "handler"
	refFair      = "lane/fair"
)

// processBenchmarks returns the benchmarks of calls into worker processes, which are this program again. The host uses w
// processors for w workers. The number of processes is in the name of the row, or it is 1.
func (z sizes) processBenchmarks() []*bench.Benchmark {
	return slices.Concat(z.processCalls(), z.processTimes(), z.processIdle())
}

// processCalls returns the benchmarks of calls back to back.
func (z sizes) processCalls() []*bench.Benchmark {
	return []*bench.Benchmark{
		{
			Name: "process/call", Unit: bench.NsPerOp,
			About: "a typed call into a worker process, int to int, one after another",
			Setup: func(int) (*bench.Instance, error) { return z.processCallSetup(false) },
		},
		{
			Name: "process/call-hog", Unit: bench.NsPerOp,
			About: "the same beside a process that computes all the time",
			Setup: func(int) (*bench.Instance, error) { return z.processCallSetup(true) },
		},
		{
			Name: "process/pipeline-32", Unit: bench.OpsPerSecond,
			About: "32 calls outstanding, from one goroutine to one worker process",
			Setup: func(int) (*bench.Instance, error) { return z.processPipelineSetup(false) },
		},
		{
			Name: "process/pipeline-32-3us", Unit: bench.OpsPerSecond,
			About: "the same with handlers that compute for 3 µs; the ideal is their computations in one loop",
			Setup: func(int) (*bench.Instance, error) { return z.processComputeSetup(3 * time.Microsecond) },
		},
		{
			Name: "process/pipeline-32-hog", Unit: bench.OpsPerSecond,
			About: "process/pipeline-32 beside a process that computes all the time",
			Setup: func(int) (*bench.Instance, error) { return z.processPipelineSetup(true) },
		},
		{
			Name: "process/workers-2", Unit: bench.OpsPerSecond,
			About: "two worker processes, each with a goroutine that calls it and waits for each answer",
			Setup: func(int) (*bench.Instance, error) { return z.processWorkersSetup(2, false) },
		},
		{
			Name: "process/workers-4", Unit: bench.OpsPerSecond,
			About: "the same with four of each",
			Setup: func(int) (*bench.Instance, error) { return z.processWorkersSetup(4, false) },
		},
		{
			Name: "process/workers-2-hog", Unit: bench.OpsPerSecond,
			About: "process/workers-2 beside a process that computes all the time",
			Setup: func(int) (*bench.Instance, error) { return z.processWorkersSetup(2, true) },
		},
		{
			Name: "process/echo-1KiB", Unit: bench.NsPerOp,
			About: "an echo of 1 KiB, one after another; the host fills each payload and reads every byte of each answer",
			Setup: func(int) (*bench.Instance, error) { return z.processEchoSetup(1<<10, z.process.echoes1KiB, true) },
		},
		{
			Name: "process/echo-64KiB", Unit: bench.NsPerOp,
			About: "the same with 64 KiB",
			Setup: func(int) (*bench.Instance, error) { return z.processEchoSetup(64<<10, z.process.echoes64KiB, true) },
		},
		{
			Name: "process/echo-1MiB", Unit: bench.NsPerOp,
			About: "the same with 1 MiB",
			Setup: func(int) (*bench.Instance, error) { return z.processEchoSetup(1<<20, z.process.echoes1MiB, true) },
		},
		{
			Name: "process/echo-1MiB-untouched", Unit: bench.NsPerOp,
			About: "the same, but the host writes and reads only the first and the last 8 bytes",
			Setup: func(int) (*bench.Instance, error) { return z.processEchoSetup(1<<20, z.process.echoes1MiB, false) },
		},
	}
}

// processTimes returns the benchmarks of the moments at which calls begin and end.
func (z sizes) processTimes() []*bench.Benchmark {
	return []*bench.Benchmark{
		{
			Name: "process/first-of-8", Unit: bench.NsPerOp,
			About: "8 calls at once, whose handlers compute for 1 ms, until the first one is answered",
			Setup: func(int) (*bench.Instance, error) { return z.firstSetup(z.process.long) },
		},
		{
			Name: "process/first-of-8-mixed", Unit: bench.NsPerOp,
			About: "the same with a first handler that computes for 1 µs",
			Setup: func(int) (*bench.Instance, error) { return z.firstSetup(z.process.short) },
		},
		{
			Name: "process/fair", Unit: bench.NsPerOp,
			About: "lane/fair with four worker processes",
			Setup: func(int) (*bench.Instance, error) { return z.processFairSetup() },
		},
		{
			Name: "process/wake", Unit: bench.NsPerOp,
			About: "a call into a worker process after 300 µs of quiet",
			Setup: func(int) (*bench.Instance, error) { return z.processWakeSetup(1) },
		},
		{
			Name: "process/wake-64", Unit: bench.NsPerOp,
			About: "the same with 64 worker processes, which the calls take in turn",
			Setup: func(int) (*bench.Instance, error) { return z.processWakeSetup(z.process.lanes64) },
		},
		{
			Name: "process/spawn", Unit: bench.NsPerOp,
			About: "a new pool with one worker process, until its first call is answered",
			Setup: func(int) (*bench.Instance, error) { return z.spawnSetup() },
		},
	}
}

// processIdle returns the benchmarks of what worker processes take while they are idle.
func (z sizes) processIdle() []*bench.Benchmark {
	return []*bench.Benchmark{
		{
			Name: "process/idle-cpu", Unit: bench.MsCPU,
			About: "processor time of a host with 64 idle worker processes in the 5 s after a burst",
			Setup: func(int) (*bench.Instance, error) { return z.processIdleSetup() },
		},
		{
			Name: "process/idle-threads", Unit: bench.Threads,
			About: "threads that 64 idle worker processes add to a new host",
			Setup: func(int) (*bench.Instance, error) {
				return z.hostSetup(func(u remote.HostUse) float64 { return float64(u.Threads) })
			},
		},
		{
			Name: "process/memory", Unit: bench.BytesPerLane,
			About: "private memory of a worker process after a burst",
			Setup: func(int) (*bench.Instance, error) { return z.processMemorySetup() },
		},
		{
			Name: "process/memory-host", Unit: bench.BytesPerLane,
			About: "resident memory that each of 64 worker processes adds to a new host",
			Setup: func(int) (*bench.Instance, error) {
				return z.hostSetup(func(u remote.HostUse) float64 { return u.BytesPerLane })
			},
		},
	}
}

// processes is a pool of worker processes with its tasks.
type processes struct {
	*pool.Pool
	*remote.Tasks
}

func newProcesses(lanes int) (*processes, error) {
	t := remote.NewTasks()
	p, err := pool.New(&t.Handlers, pool.Config{Lanes: lanes, Process: new(pool.Process)})
	if err != nil {
		return nil, err
	}
	return &processes{p, t}, nil
}

// call makes a call and reports whether the answer is right.
func (p *processes) call(n int) bool {
	got, err := p.Add.Call(context.Background(), n)
	return got == n+1 && err == nil
}

// ids returns the ids of the lanes.
func (p *processes) ids() []pool.LaneID {
	var ids []pool.LaneID
	for _, l := range p.Lanes() {
		ids = append(ids, l.ID)
	}
	return ids
}

// callAt makes a call of a certain lane and reports whether the answer is right.
func (p *processes) callAt(id pool.LaneID, n int) bool {
	got, err := pool.CallAt(context.Background(), id, p.Add, n)
	return got == n+1 && err == nil
}

// burst makes n calls, and the same number on each lane.
func (p *processes) burst(n int) error {
	ids := p.ids()
	for i := range max(n, len(ids)) {
		if id := ids[i%len(ids)]; !p.callAt(id, i) {
			return fmt.Errorf("call %d of %v has a wrong answer", i, id)
		}
	}
	return nil
}

// checked is the check of the counters of the pool, and of its processes: none has ended.
func (p *processes) checked(n int, run func(*bench.Meter) error) func(*bench.Meter) error {
	run = checked(p.Pool, n, nil, run)
	return func(m *bench.Meter) error {
		err := run(m)
		for _, w := range p.Workers() {
			if w.Deaths != 0 {
				err = errors.Join(err, fmt.Errorf("%d worker processes of lane %d have ended", w.Deaths, w.Lane))
			}
		}
		return err
	}
}

// parts are the pools and the processes of a row, which end in reverse order.
type parts []func() error

// end ends all parts.
func (p *parts) end() error {
	var errs []error
	for _, end := range slices.Backward(*p) {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

// fail ends all parts and returns err.
func (p *parts) fail(err error) (*bench.Instance, error) { return nil, errors.Join(err, p.end()) }

// pool adds a pool of worker processes.
func (p *parts) pool(lanes int) (*processes, error) {
	pool, err := newProcesses(lanes)
	if err == nil {
		*p = append(*p, func() error { return endPool(pool.Pool) })
	}
	return pool, err
}

// socket adds a process that answers messages of that size.
func (p *parts) socket(size int) (*helper.Answerer, error) {
	s, err := helper.StartSocket(size)
	if err == nil {
		*p = append(*p, s.Close)
	}
	return s, err
}

// beside adds a process that computes all the time, if hog is true. It returns a function that makes a run check that the
// process computes before and after it.
func (p *parts) beside(hog bool) (check func(run func(*bench.Meter) error) func(*bench.Meter) error, err error) {
	if !hog {
		return func(run func(*bench.Meter) error) func(*bench.Meter) error { return run }, nil
	}
	h, err := remote.StartHog()
	if err != nil {
		return nil, err
	}
	*p = append(*p, h.Close)
	return func(run func(*bench.Meter) error) func(*bench.Meter) error {
		return func(m *bench.Meter) error {
			if err := h.Check(); err != nil {
				return err
			}
			return errors.Join(run(m), h.Check())
		}
	}, nil
}
