package peers

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Jeffail/tunny"
	"github.com/alitto/pond/v2"
	"github.com/bytedance/gopkg/util/gopool"
	"github.com/gammazero/workerpool"
	"github.com/panjf2000/ants/v2"
	"github.com/puzpuzpuz/xsync/v4"
	"github.com/sourcegraph/conc"
	concpool "github.com/sourcegraph/conc/pool"
	"golang.org/x/sync/errgroup"

	"github.com/lanewright/lanewright/bench/remote"
)

// Peer is a library in one setting. It runs tasks in this process or calls another process.
type Peer struct {
	Name  string
	About string // one line: how it is used

	limited  bool // runs at most as many tasks at a time as it has workers: tasks that wait for tasks can deadlock
	blocking bool // is limited and has no queue: tasks that schedule tasks can deadlock
	waits    bool // schedule returns after the task has ended: only callers that wait can use it
	make     func(workers int) (*Pool, error)

	start func(bytes int) (remote.Client, error) // starts a process that answers payloads of that size; nil: the peer runs tasks
}

// open returns a pool with that many workers.
func (p *Peer) open(workers int) (*Pool, error) {
	pool, err := p.make(workers)
	if err != nil {
		return nil, err
	}
	pool.workers, pool.limited, pool.waits = workers, p.limited, p.waits
	pool.reopen = func() (*Pool, error) { return p.open(workers) }
	return pool, nil
}

// All returns the peers in the order of the list.
func All() []*Peer {
	return slices.Concat(poolPeers(), processPeers())
}

// poolPeers returns the peers that run tasks.
func poolPeers() []*Peer {
	return []*Peer{
		{Name: "goroutines", About: "one goroutine for each task, and a WaitGroup", make: goroutines},
		{Name: "errgroup", About: "golang.org/x/sync/errgroup, one goroutine for each task", make: unlimitedErrgroup},
		{Name: "errgroup-limit", About: "the same with SetLimit(workers)", limited: true, blocking: true, make: limitedErrgroup},
		{Name: "conc", About: "sourcegraph/conc: WaitGroup, one goroutine for each task; loops with conc/iter", make: concGroup},
		{Name: "conc-limit", About: "sourcegraph/conc: a pool of at most workers goroutines", limited: true, blocking: true, make: concLimit},
		{Name: "ants", About: "panjf2000/ants: a pool of workers", limited: true, blocking: true, make: antsLimited},
		{Name: "ants-unlimited", About: "panjf2000/ants: a pool without a limit", make: antsUnlimited},
		{Name: "pond", About: "alitto/pond: a pool of workers, tasks through Go", limited: true, make: pondPool},
		{Name: "gammazero", About: "gammazero/workerpool: a pool of workers", limited: true, make: gammazero},
		{Name: "tunny", About: "Jeffail/tunny: a pool of workers, whose callers wait for the end", limited: true, waits: true, make: tunnyPool},
		{Name: "gopool", About: "bytedance/gopkg/util/gopool: a pool of workers", limited: true, make: bytedance},
		{Name: "channel", About: "workers that receive from a channel of 1024; a task that finds it full runs the new task itself", limited: true, make: channel},
		{Name: "xsync", About: "the same on a puzpuzpuz/xsync MPMCQueue; a worker that finds it empty calls runtime.Gosched", limited: true, make: mpmc},
	}
}

// Find returns the peer of that name, or nil.
func Find(name string) *Peer {
	all := All()
	if i := slices.IndexFunc(all, func(p *Peer) bool { return p.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// must panics with an error: a pool that refuses a task has no figure.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("peers: a pool refused a task: %v", err))
	}
}

func goroutines(int) (*Pool, error) {
	return &Pool{
		schedule: func(task func()) { go task() },
		fork: func(f func()) waiter {
			wg := new(sync.WaitGroup)
			wg.Go(f)
			return wg
		},
		yield: runtime.Gosched,
	}, nil
}

// errgroupFork is a fork with a group of its own.
type errgroupFork struct{ errgroup.Group }

func (g *errgroupFork) Wait() { must(g.Group.Wait()) }

func unlimitedErrgroup(int) (*Pool, error) {
	p := errgroupPool(new(errgroup.Group))
	p.fork = func(f func()) waiter {
		g := new(errgroupFork)
		g.Go(func() error {
			f()
			return nil
		})
		return g
	}
	return p, nil
}

func limitedErrgroup(workers int) (*Pool, error) {
	g := new(errgroup.Group)
	g.SetLimit(workers)
	return errgroupPool(g), nil
}

func errgroupPool(g *errgroup.Group) *Pool {
	return &Pool{
		schedule: func(task func()) {
			g.Go(func() error {
				task()
				return nil
			})
		},
	}
}

func concGroup(int) (*Pool, error) {
	g := conc.NewWaitGroup()
	return &Pool{
		schedule: g.Go,
		fork: func(f func()) waiter {
			g := new(conc.WaitGroup)
			g.Go(f)
			return g
		},
		loop: concLoops{},
	}, nil
}

// concLimit calls Wait only at the end, because the pool accepts no task afterwards.
func concLimit(workers int) (*Pool, error) {
	p := concpool.New().WithMaxGoroutines(workers)
	return &Pool{schedule: p.Go, close: p.Wait}, nil
}

func antsLimited(workers int) (*Pool, error) { return antsPool(workers) }

func antsUnlimited(int) (*Pool, error) { return antsPool(-1) }

func antsPool(size int) (*Pool, error) {
	p, err := ants.NewPool(size)
	if err != nil {
		return nil, err
	}
	return &Pool{
		schedule: func(task func()) { must(p.Submit(task)) },
		close:    func() { must(p.ReleaseTimeout(time.Minute)) },
	}, nil
}

func pondPool(workers int) (*Pool, error) {
	p := pond.NewPool(workers)
	return &Pool{
		schedule: func(task func()) { must(p.Go(task)) },
		batch:    func(tasks []func()) { p.NewGroup().Submit(tasks...) },
		close:    p.StopAndWait,
		refusing: pondRefusing,
	}, nil
}

// pondRefusing returns a pool of that many workers that lets waiting tasks wait and refuses
// others.
func pondRefusing(workers, waiting int) (try func(task func()) bool, end func()) {
	p := pond.NewPool(workers, pond.WithQueueSize(waiting), pond.WithNonBlocking(true))
	return func(task func()) bool {
		err := p.Go(task)
		if errors.Is(err, pond.ErrQueueFull) {
			return false
		}
		must(err)
		return true
	}, p.StopAndWait
}

func tunnyPool(workers int) (*Pool, error) {
	p := tunny.NewCallback(workers)
	return &Pool{
		schedule: func(task func()) {
			if err, failed := p.Process(task).(error); failed {
				must(err)
			}
		},
		close: p.Close,
	}, nil
}

func gammazero(workers int) (*Pool, error) {
	p := workerpool.New(workers)
	return &Pool{schedule: p.Submit, close: p.StopWait}, nil
}

func bytedance(workers int) (*Pool, error) {
	p := gopool.NewPool("peers", int32(workers), gopool.NewConfig())
	return &Pool{schedule: p.Go}, nil // without close: idle workers end by themselves
}

// queued is the capacity of the queues of channel and mpmc.
const queued = 1024

func channel(workers int) (*Pool, error) {
	tasks := make(chan func(), queued)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for task := range tasks {
				task()
			}
		})
	}
	return &Pool{
		schedule: func(task func()) { tasks <- task },
		scheduleInside: func(task func()) {
			select {
			case tasks <- task:
			default:
				task()
			}
		},
		close: func() {
			close(tasks)
			running.Wait()
		},
	}, nil
}

func mpmc(workers int) (*Pool, error) {
	q := xsync.NewMPMCQueue[func()](queued)
	var ended atomic.Bool
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for !ended.Load() {
				if task, ok := q.TryDequeue(); ok {
					task()
				} else {
					runtime.Gosched()
				}
			}
		})
	}
	return &Pool{
		schedule: func(task func()) {
			for !q.TryEnqueue(task) {
				runtime.Gosched()
			}
		},
		scheduleInside: func(task func()) {
			if !q.TryEnqueue(task) {
				task()
			}
		},
		close: func() {
			ended.Store(true)
			running.Wait()
		},
	}, nil
}
