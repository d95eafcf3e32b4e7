package peers

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/lanewright/lanewright/bench/remote"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/kernel"
	"github.com/lanewright/lanewright/internal/qsort"
	"github.com/lanewright/lanewright/internal/traffic"
)

// Workload is one name of the list of benchmarks.
type Workload struct {
	Name string
	Note string // the size, when it is smaller than in the benchmark of lanewright

	unit    string
	shareOf string
	nested  bool               // tasks schedule tasks
	joins   bool               // tasks wait for tasks
	waits   bool               // each caller waits for the end of its task before the next one
	workers int                // of the pool; 0: those of the row
	cannot  func(*Peer) string // returns why a peer cannot do it, or ""; nil: all peers can
	setup   func(*Pool) *bench.Instance

	calls func(remote.Client) func(*bench.Meter) error // calls another process; nil: the workload has tasks
	bytes int                                          // the size of a payload of calls
}

// Suite returns the workloads in the order of BENCHMARKS.md. With w workers, a pool has w
// workers unless its workload names another number, and GOMAXPROCS is w. A process that is
// called has as many processors as it finds.
func Suite(z Sizes) []*Workload { return slices.Concat(z.poolWorkloads(), z.processWorkloads()) }

// poolWorkloads returns the workloads of tasks.
func (z Sizes) poolWorkloads() []*Workload {
	return []*Workload{
		{Name: "sched/external-1", unit: bench.NsPerOp, setup: func(p *Pool) *bench.Instance { return z.external(p, 1) }},
		{Name: "sched/external-8", unit: bench.NsPerOp, setup: func(p *Pool) *bench.Instance { return z.external(p, 8) }},
		{Name: "sched/batch-1024", unit: bench.NsPerOp, cannot: noBatches, setup: z.batches},
		{Name: "sched/local-tree", unit: bench.NsPerOp, nested: true, setup: z.localTree},
		{
			Name: "sched/yield", unit: bench.NsPerOp, nested: true, setup: z.yields,
			Note: note("%d turns", z.yield, 10_000_000),
		},
		{Name: "sched/chain", unit: bench.NsPerOp, nested: true, setup: z.chains},
		{
			Name: "sched/efficiency-1us", unit: bench.Share, shareOf: refIdeal,
			setup: func(p *Pool) *bench.Instance { return efficiency(p, z.efficiency, time.Microsecond) },
		},
		{
			Name: "sched/efficiency-10us", unit: bench.Share, shareOf: refIdeal,
			setup: func(p *Pool) *bench.Instance { return efficiency(p, z.efficiencyLong, 10*time.Microsecond) },
			Note:  note("%d tasks", z.efficiencyLong, 200_000),
		},
		{Name: "sched/roundtrip-hot", unit: bench.NsPerOp, setup: func(p *Pool) *bench.Instance { return roundtrip(p, 0, z.hot) }},
		{Name: "sched/roundtrip-cold", unit: bench.NsPerOp, setup: func(p *Pool) *bench.Instance { return roundtrip(p, z.pause, z.cold) }},
		{Name: "sched/wake", unit: bench.NsPerOp, setup: z.wake},
		{Name: "sched/idle-cpu", unit: bench.MsCPU, setup: z.idleCPU},
		{Name: "sched/queued-memory", unit: bench.BytesPerTask, cannot: noQueue, setup: z.queuedMemory},
		{Name: "sched/quicksort", unit: bench.NsPerOp, nested: true, setup: z.quicksort},
		{Name: "sched/quicksort-join", unit: bench.NsPerOp, nested: true, joins: true, setup: z.quicksortJoin},
		{
			Name: "fork-join/fib", unit: bench.NsPerOp, nested: true, joins: true, setup: z.fibs,
			Note: note("fib(%d)", z.fib, kernel.FibN),
		},
		{ // every fork of these libraries is a closure
			Name: "fork-join/closure", unit: bench.NsPerOp, nested: true, joins: true, setup: z.fibs,
			Note: note("fib(%d)", z.fib, 30),
		},
		{
			Name: "fork-join/tree", unit: bench.NsPerOp, nested: true, joins: true, setup: z.trees,
			Note: note("2^%d-1 nodes", z.depth, 23),
		},
		{
			Name: "fork-join/tree-small", unit: bench.NsPerOp, nested: true, joins: true, setup: z.smallTrees,
			Note: note("%d entries", z.entries, 2000),
		},
		{
			Name: "fork-join/nqueens", unit: bench.NsPerOp, nested: true, joins: true, setup: z.nqueens,
			Note: note("%d queens", z.queens, kernel.QueensN),
		},
		{
			Name: "fork-join/quicksort", unit: bench.NsPerOp, nested: true, joins: true, setup: z.forkedSort,
			Note: note("%d elements", z.joinSort, qsort.Size),
		},
		{Name: "fork-join/idle-cpu", unit: bench.MsCPU, nested: true, joins: true, setup: z.forkIdleCPU},
		{Name: "par/for-1M", unit: bench.NsPerOp, setup: z.parFor},
		{Name: "par/map-10M", unit: bench.NsPerOp, setup: z.parMap},
		{Name: "par/sort-10M", unit: bench.NsPerOp, setup: z.sortChunks},
		{Name: "lane/call", unit: bench.NsPerOp, waits: true, setup: z.calls},
		{Name: "lane/pipeline-32", unit: bench.OpsPerSecond, setup: z.pipeline},
		{Name: "lane/callers-64", unit: bench.OpsPerSecond, waits: true, setup: z.callers},
		{Name: "lane/fair", unit: bench.NsPerOp, waits: true, workers: traffic.MixedWorkers, cannot: noLimit, setup: z.fair},
		{Name: "lane/web", unit: bench.NsPerOp, cannot: noRefusal, setup: z.web},
	}
}

// Pick returns the workload of that name, or nil.
func Pick(all []*Workload, name string) *Workload {
	if i := slices.IndexFunc(all, func(w *Workload) bool { return w.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// Cannot returns why the peer cannot do the workload, or "".
func (w *Workload) Cannot(p *Peer) string {
	switch {
	case w.calls != nil && p.start == nil:
		return "it has no worker process"
	case w.calls == nil && p.start != nil:
		return "it calls another process: see process/call"
	case p.waits && !w.waits:
		return "its callers wait for the end of each task: see lane/callers-64"
	case w.cannot == nil:
		return ""
	}
	return w.cannot(p)
}

// MayHang reports whether the workload can deadlock, because all workers may run tasks that
// wait for the start or the end of other tasks.
func (w *Workload) MayHang(p *Peer) bool {
	return w.joins && p.limited || w.nested && p.blocking
}

// Unit returns the unit of the values, and whether less or more is better.
func (w *Workload) Unit() (unit, better string) {
	if w.shareOf != "" || w.unit == bench.OpsPerSecond {
		return w.unit, bench.More
	}
	return w.unit, bench.Less
}

// Benchmark returns the workload on the peer. It calls begin, which may be nil, before
// each run of a variant.
func (w *Workload) Benchmark(p *Peer, begin func()) *bench.Benchmark {
	return &bench.Benchmark{
		Name: w.Name, Unit: w.unit, ShareOf: w.shareOf,
		Setup: func(workers int) (*bench.Instance, error) {
			inst, err := w.open(p, workers)
			if err != nil {
				return nil, err
			}
			inst.Run = withBegin(inst.Run, begin)
			for i, ref := range inst.References {
				inst.References[i].Run = withBegin(ref.Run, begin)
			}
			return inst, nil
		},
	}
}

// open returns the workload on a new pool or a new process of the peer.
func (w *Workload) open(p *Peer, workers int) (*bench.Instance, error) {
	if w.calls != nil {
		return w.callsProcess(p)
	}
	pool, err := p.open(cmp.Or(w.workers, workers))
	if err != nil {
		return nil, err
	}
	inst := w.setup(pool)
	inst.Close = func() error {
		pool.end()
		return nil
	}
	return inst, nil
}

// withBegin returns a run that calls begin, unless it is nil, and then run.
func withBegin(run func(*bench.Meter) error, begin func()) func(*bench.Meter) error {
	return func(m *bench.Meter) error {
		if begin != nil {
			begin()
		}
		return run(m)
	}
}

// The names of references.
const (
	refSequential = "sequential"
	refIdeal      = "ideal"
	refLoop       = "loop"
	refSlicesSort = "slices.Sort"
)

// timed returns a run that times work, which has ops operations, and then calls check.
func timed(ops int, work func(), check func() error) func(*bench.Meter) error {
	return func(m *bench.Meter) error {
		m.Start()
		work()
		m.Stop(ops)
		return check()
	}
}

var errWrong = errors.New("the result is wrong")

// errUnless returns errWrong unless ok.
func errUnless(ok bool) error {
	if ok {
		return nil
	}
	return errWrong
}
