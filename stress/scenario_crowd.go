package stress

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/sched"
)

var crowdScenarios = []scenario{
	{"crowd", func(r *round) { runCrowd(r, r.pick(1, 2, 5, 8)) }},
	{"crowd-256", func(r *round) {
		defer changeProcessors(r.rng.Uint64())()
		runCrowd(r, 256)
	}},
}

// runCrowd runs the programs of a crowd.
func runCrowd(r *round, workers int) {
	for _, p := range crowdPrograms {
		if !r.Failed() {
			p.run(crowd{round: r, workers: workers})
		}
	}
}

// crowdPrograms are the programs of a crowd: nested waits, callbacks that end abnormally, callbacks
// that block or lock their threads, and ends while callers schedule. Each has schedulers of its own.
var crowdPrograms = []crowdProgram{
	{"nested-waits", crowd.nestedWaits, func(int) int { return crowdCallers * (1<<crowdDepth - 1) }}, // all inner tasks wait
	{"abnormal-tasks", crowd.abnormalTasks, func(int) int { return crowdAbnormal }},
	{"abnormal-callers", crowd.abnormalCallers, func(int) int { return crowdAbnormal }},
	{"closes", crowd.closes, func(int) int { return 0 }},
	{"blocks", crowd.blocks, func(int) int { return crowdStalls }},
	{"locks", crowd.locks, func(int) int { return crowdBlocks }},
	{"runs", crowd.runs, func(int) int { return 0 }},
	{"shutdowns", crowd.shutdowns, func(workers int) int { return workers / 2 }}, // half of the callbacks that hold
}

// A crowdProgram is a program of a crowd. unplaced returns the largest number of its callbacks that
// have blocked or stalled at a time, and so run in addition to the workers in the worker count.
type crowdProgram struct {
	name     string
	run      func(c crowd)
	unplaced func(workers int) int
}

const (
	crowdCallers  = 4  // external callers of nestedWaits, each with a tree of tasks
	crowdDepth    = 5  // of such a tree: the number of tasks above a leaf
	crowdAbnormal = 16 // callbacks that end abnormally at a time, at most
	crowdStalls   = 38 // callbacks that block outside Blocking, beyond the number of workers
	crowdBlocks   = 16 // callbacks of locks that have blocked inside Blocking
)

// changeProcessors changes GOMAXPROCS about every millisecond until the function that it returns
// is called, which restores it. The time is the pace of a fault: nothing waits for it.
func changeProcessors(seed uint64) (restore func()) {
	was := runtime.GOMAXPROCS(0)
	stop := make(chan struct{})
	var changer sync.WaitGroup
	changer.Go(func() {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-ticker.C:
				runtime.GOMAXPROCS(1 + int(seedOfRound(seed, i)%uint64(2*was+2)))
			}
		}
	})
	return func() {
		close(stop)
		changer.Wait()
		runtime.GOMAXPROCS(was)
	}
}

// A crowd is the configuration of the programs: schedulers with so many workers. If locked is set,
// each worker has a thread of its own. settle, if not nil, waits until at most so many workers
// have threads, because the thread of a worker ends after the worker.
type crowd struct {
	*round
	workers int
	locked  bool
	settle  func(workers int)
}

// open makes a scheduler of the crowd.
func (c crowd) open(config sched.Config, fault func(call uint64) spawnFault) *sched.Scheduler {
	config.MaxWorkers, config.LockOSThread = c.workers, c.locked
	return c.round.open(config, fault)
}

// end is end of the round. The threads of the workers have ended then.
func (c crowd) end(s *sched.Scheduler, want int) {
	c.round.end(s, want)
	c.settled(0)
}

// settled calls settle.
func (c crowd) settled(workers int) {
	if c.settle != nil {
		c.settle(workers)
	}
}

// spawns returns, at random, a Spawner that never starts a worker, one that fails at times, or nil.
func (c crowd) spawns() func(call uint64) spawnFault {
	switch c.rng.IntN(4) {
	case 0:
		return func(uint64) spawnFault { return spawnFails }
	case 1:
		return c.generateFaults()
	}
	return nil
}

// nestedWaits has external callers that wait for trees of tasks. Each task waits for its
// children, and blocks before that in half of the trees. Other callers use a group with a limit.
// At the end a Shutdown runs the tasks that are queued.
func (c crowd) nestedWaits() {
	for range c.size(4) {
		s := c.open(sched.Config{}, c.spawns())
		const callers, depth, limited = crowdCallers, crowdDepth, 20
		var ran atomic.Int64
		block := c.rng.IntN(2) == 0
		var node func(left int) *sched.Task
		node = func(left int) *sched.Task {
			return &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				ran.Add(1)
				if left == 0 {
					return
				}
				var g sched.Group
				c.want("Group.Schedule", g.Schedule(w, node(left-1), node(left-1)), sched.ErrQueued)
				if block {
					c.faults.blocks.Add(1)
					w.Blocking(runtime.Gosched)
				}
				c.must("Worker.Wait", w.Wait(&g))
			}}
		}
		limit := s.NewGroup(sched.GroupConfig{Limit: 2})
		c.concurrently(2*callers, func(i int) {
			if i >= callers {
				for range limited {
					limit.Go(func() error { ran.Add(1); return nil })
				}
				return
			}
			g := s.NewGroup(sched.GroupConfig{})
			c.want("Group.Schedule", g.Schedule(nil, node(depth)), sched.ErrQueued)
			c.must("Group.Wait", g.Wait())
		})
		c.must("Group.Wait", limit.Wait())
		n := c.size(1000)
		for range n {
			c.want("Go", s.Go(func() { ran.Add(1) }), sched.ErrQueued)
		}
		want := callers*(1<<(depth+1)-1) + callers*limited + n
		c.end(s, want)
		if c.did(want); ran.Load() != int64(want) {
			c.Errorf("%d tasks ran, want %d", ran.Load(), want)
		}
	}
}

// An abnormal end of a task.
type abnormal struct {
	exits  bool // calls Goexit; otherwise it panics
	inside int  // 0: in the task, 1: in Blocking, 2: in a nested Do, 3: in a nested wait
}

func (c crowd) generateAbnormal() abnormal { return abnormal{c.rng.IntN(2) == 0, c.rng.IntN(4)} }

// end ends the callback of w. It counts the callbacks that it enters in ran.
func (a abnormal) end(c crowd, s *sched.Scheduler, w *sched.Worker, ran *atomic.Int64) {
	end := func() {
		if a.exits {
			c.faults.goexits.Add(1)
			runtime.Goexit()
		}
		c.faults.panics.Add(1)
		panic(a)
	}
	nested := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Add(1); end() }}
	switch a.inside {
	case 0:
		end()
	case 1:
		c.faults.blocks.Add(1)
		w.Blocking(end)
	case 2:
		c.want("Do in a callback", s.Do(nested), sched.ErrGoexit)
	case 3:
		var g sched.Group
		c.must("Group.Schedule", g.Schedule(w, nested))
		c.want("Wait in a callback", w.Wait(&g), sched.ErrGoexit)
	}
}

// abnormalTasks has tasks of groups that panic or call Goexit, in each of the ways. The panics
// reach the waits, and no place stays held.
func (c crowd) abnormalTasks() {
	s := c.open(sched.Config{}, nil)
	var ran atomic.Int64
	for range c.size(100) {
		g := s.NewGroup(sched.GroupConfig{RunAll: true})
		n := 1 + c.rng.IntN(crowdAbnormal)
		ran.Store(0)
		began := int64(0)
		for range n {
			a := c.generateAbnormal()
			began++
			if a.inside >= 2 {
				began++
			}
			recovers := c.rng.IntN(3) == 0
			c.must("Group.Schedule", g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				ran.Add(1)
				if recovers {
					defer func() { _ = recover() }()
				}
				a.end(c, s, w, &ran)
			}}))
		}
		if _, err := waitRaised(g); err != nil && !errors.Is(err, sched.ErrGoexit) {
			c.Errorf("the wait for tasks that panic or exit: %v", err)
		}
		if c.did(n); ran.Load() != began {
			c.Errorf("%d callbacks ran, want %d", ran.Load(), began)
			return
		}
		c.settled(c.workers)
	}
	c.end(s, -1)
}

// abnormalCallers has callers of Do whose task panics or calls Goexit, on their own goroutine if
// a place is free.
func (c crowd) abnormalCallers() {
	s := c.open(sched.Config{}, nil)
	var ran atomic.Int64
	for range c.size(100) {
		n := 1 + c.rng.IntN(crowdAbnormal/2)
		var callers sync.WaitGroup
		for range n {
			a := c.generateAbnormal()
			callers.Go(func() {
				defer func() { _ = recover() }()
				c.want("Do", s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
					ran.Add(1)
					a.end(c, s, w, &ran)
				}}), sched.ErrGoexit)
			})
		}
		callers.Wait()
		c.did(n)
		c.settled(c.workers)
	}
	c.end(s, int(ran.Load()))
}

// closes ends a scheduler while callers schedule in each way. Each task runs once, is refused once,
// or is returned once.
func (c crowd) closes() {
	for range c.size(16) {
		stallAfter := []time.Duration{0, sched.NeverStalled, time.Millisecond}[c.rng.IntN(3)]
		s := c.open(sched.Config{StallAfter: stallAfter}, nil)
		const callers, each = 8, 100
		outcomes := make([]atomic.Int32, callers*each)
		ids := make(map[*sched.Task]int, len(outcomes))
		tasks := make([]*sched.Task, len(outcomes))
		for i := range tasks {
			tasks[i] = &sched.Task{Fn: func(*sched.Worker, *sched.Task) { outcomes[i].Add(1) }}
			ids[tasks[i]] = i
		}
		note := func(err error, refused ...int) {
			if err == nil {
				return
			}
			if !errors.Is(err, sched.ErrClosed) {
				c.Errorf("a call of an external caller: %v", err)
			}
			for _, i := range refused {
				outcomes[i].Add(1)
			}
		}
		var returned []*sched.Task
		pauses := c.rng.IntN(200)
		c.concurrently(callers+1, func(i int) {
			if i == callers {
				for range pauses {
					runtime.Gosched()
				}
				c.faults.closes.Add(1)
				now, err := s.Close()
				c.must("Close", err)
				later, err := s.Join(context.Background())
				c.must("Join", err)
				returned = append(now, later...)
				return
			}
			for k := i * each; k < (i+1)*each; k++ {
				switch i % 4 {
				case 0:
					note(s.Schedule(tasks[k]), k)
				case 1:
					var b sched.Batch
					c.must("Add", b.Add(tasks[k]))
					note(s.ScheduleBatch(&b), k)
				case 2: // Close cancels a task that is queued, and refuses one that is not
					note(s.Do(tasks[k]), k)
				case 3: // runs in any case, without the scheduler if that is closed
					sched.ForkJoin(s, func(*sched.Forks[int, int], int) int { outcomes[k].Add(1); return 0 }, 0)
				}
			}
		})
		for _, task := range returned {
			outcomes[ids[task]].Add(1)
		}
		for i := range outcomes {
			if n := outcomes[i].Load(); n != 1 {
				c.Errorf("task %d ran, was refused, and was returned %d times in all", i, n)
				break
			}
		}
		c.did(callers * each)
		c.checkEnded(s, -1)
		c.settled(0)
	}
}

// blocks has more callbacks that block outside Blocking than workers. All of them begin, because
// the scheduler replaces stalled workers.
func (c crowd) blocks() {
	for range c.size(16) {
		s := c.open(sched.Config{StallAfter: time.Millisecond}, nil)
		n := c.workers + crowdStalls
		begun, done := newLatch(n), newLatch(n)
		for range n {
			c.must("Go", s.Go(func() { begun.countDown(); <-begun.open; done.countDown() }))
		}
		<-done.open
		c.did(n)
		c.end(s, n)
		if st := s.Stats(); st.Stalled != 0 {
			c.Errorf("after the end: %+v", st)
		}
	}
}

// locks has callbacks that lock their goroutine to its thread, more of them than workers. All of them
// have begun before one continues. Some leave their worker locked, and some end with Goexit, which
// ends the thread as well. As many as exceed the workers have blocked inside Blocking.
func (c crowd) locks() {
	for range c.size(16) {
		s := c.open(sched.Config{}, nil)
		n := c.workers + crowdBlocks
		begun := newLatch(n)
		g := s.NewGroup(sched.GroupConfig{RunAll: true})
		for i := range n {
			unlocks, exits := c.rng.IntN(2) == 0, c.rng.IntN(4) == 0
			c.must("Group.Schedule", g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				runtime.LockOSThread()
				if unlocks {
					defer runtime.UnlockOSThread()
				}
				begun.countDown()
				if i < crowdBlocks {
					c.faults.blocks.Add(1)
					w.Blocking(func() { <-begun.open })
				} else {
					<-begun.open
				}
				if exits {
					c.faults.goexits.Add(1)
					runtime.Goexit()
				}
			}}))
		}
		c.want("Group.Wait", g.Wait(), sched.ErrGoexit)
		c.did(n)
		c.end(s, n)
	}
}

// runs has callers of Run whose contexts end after up to half a millisecond, in a scheduler without
// workers. A last Run finds the tasks that they have left.
func (c crowd) runs() {
	s := c.open(sched.Config{}, func(uint64) spawnFault { return spawnFails })
	const callers = 4
	each := c.size(200)
	times := make([]time.Duration, callers*each)
	for i := range times {
		times[i] = time.Duration(c.rng.IntN(500)) * time.Microsecond
	}
	all := newLatch(callers * each)
	c.concurrently(callers, func(i int) {
		for _, d := range times[i*each : (i+1)*each] {
			c.want("Go", s.Go(all.countDown), sched.ErrQueued)
			ctx, cancel := context.WithTimeout(context.Background(), d)
			c.want("Run", s.Run(ctx), context.DeadlineExceeded)
			cancel()
			c.faults.cancels.Add(1)
		}
	})
	c.end(s, callers*each)
	<-all.open
	c.did(callers * each)
}

// shutdowns has calls of Shutdown whose contexts end while callbacks hold their places and others
// have blocked. The error of each wraps the cause. Later calls return when the callbacks have
// ended.
func (c crowd) shutdowns() {
	for range c.size(50) {
		s := c.open(sched.Config{}, nil)
		n := 1 + c.rng.IntN(2*c.workers)
		hold := min(n, c.workers)
		begun, end := newLatch(hold), make(chan struct{})
		var ran atomic.Int64
		for i := range n {
			c.must("Schedule", s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				ran.Add(1)
				if i < hold {
					begun.countDown()
					if i%2 == 0 {
						<-end
					} else {
						w.Blocking(func() { <-end })
					}
				}
			}}))
		}
		<-begun.open
		why := fmt.Errorf("the context of Shutdown has ended")
		ctx, cancel := context.WithCancelCause(context.Background())
		c.concurrently(4, func(i int) {
			switch {
			case i == 0:
				cancel(why)
			case i%2 == 0:
				c.want("Shutdown", s.Shutdown(ctx), why)
			default:
				if _, err := s.Join(ctx); err != nil && !isAny(err, why, sched.ErrNotClosed) {
					c.Errorf("Join: %v", err)
				}
			}
		})
		if got := len(s.Inspect()); got < hold {
			c.Errorf("Inspect returns %d callbacks, and %d run: %+v", got, hold, s.Stats())
		}
		close(end)
		c.faults.shutdowns.Add(1)
		c.end(s, n)
		if c.did(n); ran.Load() != int64(n) {
			c.Errorf("%d tasks ran, want %d", ran.Load(), n)
		}
	}
}
