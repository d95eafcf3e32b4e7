package suite

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/kernel"
	"github.com/lanewright/lanewright/internal/qsort"
	"github.com/lanewright/lanewright/sched"
)

// sizes are the sizes of the benchmarks.
type sizes struct {
	flood      int // tasks of external callers
	batch      int // tasks in one batch
	tree       int // tasks: 2^n-1
	yield      int // runs of one task
	chain      int // tasks
	efficiency int // tasks
	hot, cold  int // round trips back to back; round trips and wake-ups after a pause
	trips      int // waits for one task
	pause      time.Duration
	burst      int // tasks before the idle time
	idle       time.Duration
	queued     int // queued tasks whose memory is measured

	// queuedGoroutines is smaller than queued: a million goroutines take 2.7 GB, and
	// the memory of one does not depend on their number.
	queuedGoroutines int

	beside besideSizes

	sort  int // integers
	parts int // tasks of the sort

	fibN, treeDepth, queens int // the problems of fork-join
	entries                 int // computations on a small tree
	ramps                   int // computations of a millisecond

	loop, numbers int // indices of a loop, numbers of a map

	lane    laneSizes
	process processSizes
}

// fullSizes are the sizes of BENCHMARKS.md.
var fullSizes = sizes{
	flood: 1_000_000, batch: 1024, tree: 1<<20 - 1, yield: 10_000_000, chain: 1_000_000,
	efficiency: 200_000, hot: 200_000, trips: 50_000, cold: 1000, pause: 300 * time.Microsecond,
	burst: 100_000, idle: 5 * time.Second, queued: 1_000_000, queuedGoroutines: 100_000,
	beside: besideSizes{arrivals: 200, compute: 10 * time.Millisecond, fibN: 30},
	sort:   qsort.Size, parts: qsort.Scheduled,
	fibN: kernel.FibN, treeDepth: 23, queens: kernel.QueensN, entries: 2000, ramps: 50,
	loop: 1_000_000, numbers: 10_000_000,
	lane: laneSizes{
		trips: 200_000, calls: 1_000_000, polls: 100_000_000, small: 200_000, large: 10_000,
		lanes256: 256, lanes1024: 1024, lanes4096: 4096,
		inSetting: 50_000, pools: 500, detached: 1000, waiters: 100,
		short: time.Millisecond, long: 200 * time.Millisecond, request: 20 * time.Millisecond, answers: 400,
	},
	process: processSizes{
		trips: 200_000, calls: 200_000,
		echoes1KiB: 50_000, echoes64KiB: 5000, echoes1MiB: 500, short: time.Microsecond, long: time.Millisecond,
		firsts: 100, quiet: 1000, spawns: 100, lanes64: 64, settle: time.Second,
	},
}

// Benchmarks returns all benchmarks, with the sizes of BENCHMARKS.md.
func Benchmarks() []*bench.Benchmark { return benchmarks(fullSizes) }

// benchmarks returns all benchmarks in the order of BENCHMARKS.md. With w workers,
// MaxWorkers and GOMAXPROCS are w: the scheduler, its external callers and the
// references share w processors.
func benchmarks(z sizes) []*bench.Benchmark {
	return slices.Concat(z.coreBenchmarks(), z.forkBenchmarks(), z.parBenchmarks(), z.laneBenchmarks(), z.processBenchmarks())
}

func (z sizes) coreBenchmarks() []*bench.Benchmark {
	return []*bench.Benchmark{
		{
			Name: "sched/external-1", Unit: bench.NsPerOp,
			About: "one million empty tasks, one by one, from one external caller, which waits for all of them",
			Setup: func(workers int) (*bench.Instance, error) {
				return flood{workers: workers, tasks: z.flood, callers: 1, batch: 1}.setup()
			},
		},
		{
			Name: "sched/external-8", Unit: bench.NsPerOp,
			About: "the same from eight external callers",
			Setup: func(workers int) (*bench.Instance, error) {
				return flood{workers: workers, tasks: z.flood, callers: 8, batch: 1}.setup()
			},
		},
		{
			Name: "sched/batch-1024", Unit: bench.NsPerOp,
			About: "one million empty tasks from one external caller, in batches of 1024",
			Setup: func(workers int) (*bench.Instance, error) {
				return flood{workers: workers, tasks: z.flood, callers: 1, batch: z.batch}.setup()
			},
		},
		{
			Name: "sched/local-tree", Unit: bench.NsPerOp,
			About: "a binary tree of 2^20-1 tasks, each of which schedules two others",
			Setup: z.treeSetup,
		},
		{
			Name: "sched/yield", Unit: bench.NsPerOp,
			About: "one task that schedules itself ten million times",
			Setup: z.yieldSetup,
		},
		{
			Name: "sched/chain", Unit: bench.NsPerOp,
			About: "one million tasks, each of which schedules the next",
			Setup: z.chainSetup,
		},
		{
			Name: "sched/efficiency-1us", Unit: bench.Share, ShareOf: refIdeal,
			About: "200,000 tasks of 1 µs of work, as a share of the ideal",
			Setup: func(workers int) (*bench.Instance, error) { return z.efficiencySetup(workers, time.Microsecond) },
		},
		{
			Name: "sched/efficiency-10us", Unit: bench.Share, ShareOf: refIdeal,
			About: "the same with 10 µs",
			Setup: func(workers int) (*bench.Instance, error) { return z.efficiencySetup(workers, 10*time.Microsecond) },
		},
		{
			Name: "sched/roundtrip-hot", Unit: bench.NsPerOp,
			About: "Do of one empty task, back to back",
			Setup: func(workers int) (*bench.Instance, error) { return roundtripSetup(workers, 0, z.hot) },
		},
		{
			Name: "sched/roundtrip-cold", Unit: bench.NsPerOp,
			About: "the same, each after 300 µs of sleep",
			Setup: func(workers int) (*bench.Instance, error) { return roundtripSetup(workers, z.pause, z.cold) },
		},
		tripsRow("sched/do-places-1024", "sched/roundtrip-hot on a scheduler that has made 1,024 places", 1024, z.hot, doTrip, refHot),
		tripsRow("sched/do-places-16383", "the same with 16,383 places", mostPlaces, z.hot, doTrip, refHot),
		tripsRow("sched/go-wait-2", "Go of an empty function and a wait for it, back to back, two places", 2, z.trips, goTrip, refGoroutines),
		tripsRow("sched/go-wait-1024", "the same on a scheduler that has made 1,024 places", 1024, z.trips, goTrip, refGoWait),
		tripsRow("sched/go-wait-16383", "the same with 16,383 places", mostPlaces, z.trips, goTrip, refGoWait),
		{
			Name: "sched/group-one", Unit: bench.NsPerOp,
			About: "a new group, Go of one empty function, and Wait",
			Setup: func(workers int) (*bench.Instance, error) {
				return tripsSetup(workers, max(workers, 2), z.trips, groupTrip, refGoroutines)
			},
		},
		{
			Name: "sched/wake", Unit: bench.NsPerOp,
			About: "from Schedule to the first instruction of the task; all workers are parked, each call follows 300 µs of sleep",
			Setup: z.wakeSetup,
		},
		{
			Name: "sched/external-beside-do-10ms", Unit: bench.NsPerOp,
			About: "from the arrival of a task from outside to its first instruction, while two goroutines call Do with tasks of 10 ms",
			Setup: func(workers int) (*bench.Instance, error) { return z.besideSetup(workers, z.doComputation()) },
		},
		{
			Name: "sched/external-beside-forks", Unit: bench.NsPerOp,
			About: "the same while they call ForkJoin with computations of some milliseconds",
			Setup: func(workers int) (*bench.Instance, error) { return z.besideSetup(workers, z.forkComputation()) },
		},
		{
			Name: "sched/idle-cpu", Unit: bench.MsCPU,
			About: "processor time of an idle scheduler in the 5 s after a burst",
			Setup: z.idleSetup,
		},
		{
			Name: "sched/queued-memory", Unit: bench.BytesPerTask,
			About: "memory of one million queued tasks",
			Setup: z.queuedSetup,
		},
		{
			Name: "sched/quicksort", Unit: bench.NsPerOp,
			About: "ten million integers, 1,211,202 tasks in one group; a figure is that of one task",
			Setup: func(workers int) (*bench.Instance, error) {
				return z.sortSetup(workers, func(s *sched.Scheduler) sortRun { return workload.NewSorter(s) },
					sortReference{refGoroutines, workload.GoSort}, sortReference{refSequential, qsort.Sequential},
					sortReference{refChannel, func(a []int32) { workload.PoolSort(workers, a) }})
			},
		},
		{
			Name: "sched/quicksort-join", Unit: bench.NsPerOp,
			About: "the same, each task waits for both halves",
			Setup: func(workers int) (*bench.Instance, error) {
				return z.sortSetup(workers, func(s *sched.Scheduler) sortRun { return workload.NewJoiner(s) },
					sortReference{refGoroutines, workload.GoJoin})
			},
		},
	}
}

// The names of references.
const (
	refGoroutines = "goroutines"
	refGosched    = "gosched"
	refSequential = "sequential"
	refChannel    = "channel"
	refIdeal      = "ideal"
	refHot        = "sched/roundtrip-hot"
	refGoWait     = "sched/go-wait-2"
)

// newScheduler returns a scheduler with that many workers.
func newScheduler(workers int) (*sched.Scheduler, error) {
	return sched.New(sched.Config{MaxWorkers: workers})
}

// executed returns an error unless the scheduler ran exactly n tasks since its counter
// was before. Workers publish their counts late, so executed waits up to 10 s.
func executed(s *sched.Scheduler, before uint64, n int) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		got := s.Stats().Executed - before
		switch {
		case got == uint64(n):
			return nil
		case got > uint64(n), time.Now().After(deadline):
			return fmt.Errorf("%d tasks were run, want %d", got, n)
		}
		runtime.Gosched()
	}
}

// sortRun is a quicksort on a scheduler.
type sortRun interface {
	Sort(a []int32) error
	Tasks() int // of the last sort
}

// sortReference is a quicksort without the scheduler.
type sortReference struct {
	name string
	sort func([]int32)
}

// sortSetup measures the quicksort that newRun returns, and its references.
func (z sizes) sortSetup(workers int, newRun func(*sched.Scheduler) sortRun, references ...sortReference) (*bench.Instance, error) {
	s, err := newScheduler(workers)
	if err != nil {
		return nil, err
	}
	shuffled, a := make([]int32, z.sort), make([]int32, z.sort)
	qsort.Fill(shuffled)
	qsort.Shuffle(shuffled)
	onTasks := newRun(s)
	run := func(sort func(a []int32) (tasks int, err error)) func(*bench.Meter) error {
		return func(m *bench.Meter) error {
			copy(a, shuffled)
			m.Start()
			tasks, err := sort(a)
			m.Stop(z.parts)
			if err != nil {
				return err
			}
			return workload.CheckSort(a, tasks, z.parts)
		}
	}
	inst := &bench.Instance{
		Run: run(func(a []int32) (int, error) {
			err := onTasks.Sort(a)
			return onTasks.Tasks(), err
		}),
		Close: func() error { return workload.Shutdown(s) },
	}
	for _, ref := range references {
		inst.References = append(inst.References, bench.Reference{
			Name: ref.name,
			Run:  run(func(a []int32) (int, error) { ref.sort(a); return workload.NotCounted, nil }),
		})
	}
	return inst, nil
}
