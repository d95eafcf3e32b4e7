//go:build interleave

package program_test

import (
	"context"
	"errors"
	"time"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

var (
	errSpawn = errors.New("spawn failed")
	errFunc  = errors.New("function failed")
)

// A record is what happened to a task.
type record struct {
	accepted int // number of times
	ran      int
	ended    int
	returned int  // by Close and Join
	unknown  bool // no result states whether it was accepted
	function bool // it is a function, whose task the program does not know
	awaited  bool // the wait for it has returned
	nd       *node
	group    *sched.Group // the group of the task
	started  *park.Sema   // posted at the first start of each child
	needed   bool         // a task holds its place until this one starts
}

// A run is one execution of a program. It is plain memory, because the explorer runs
// one thread at a time.
type run struct {
	*program
	m      *interleave.M
	s      *sched.Scheduler
	ctx    context.Context
	cancel context.CancelFunc

	records []record
	ends    map[*sched.Group]bool // groups that have the context, and may skip tasks
	tasks   map[*sched.Task]*node
	holding []bool            // by worker ID: a callback runs that has not blocked
	top     map[uintptr]*node // by goroutine: the innermost running task

	needed *park.Sema // posted by each task that the holder needs

	gate *park.Sema // the callers wait for it, unless it is nil
	idle *park.Sema // posted by each worker that is about to park

	left            int // callers that have not ended
	busy            int // of those, the callers that are not in Run
	running         int // callbacks
	ran             int
	unknownReturned int // returned tasks that the program does not know
	nudges          int // accepted tasks of nudge that have not run
	spawned         int // successful calls of the Spawner
	failed          int
	alive           int // workers

	ending  bool // Shutdown or Close was called
	closing bool // Close was called
	over    bool // Shutdown or Join has returned nil
}

// body returns the program for the explorer.
func (p *program) body() func(m *interleave.M) {
	return func(m *interleave.M) {
		r := &run{
			program: p, m: m, records: make([]record, p.size), ends: map[*sched.Group]bool{}, tasks: map[*sched.Task]*node{},
			holding: make([]bool, p.workers), top: map[uintptr]*node{},
		}
		c := sched.Config{MaxWorkers: p.workers, Spawner: r}
		if p.observed {
			c.OnPanic = func(*sched.Task, any, []byte) {}
		}
		if p.warm {
			r.gate, r.idle = newSema(len(p.callers)+1), newSema(p.workers)
			c.OnIdle = func(*sched.Worker) { r.idle.Post() }
			m.Go("warm-up", r.warmUp)
		}
		var err error
		if r.s, err = sched.New(c); err != nil {
			m.Fatalf("New: %v", err)
		}
		p.each(func(nd *node) {
			if nd.id >= 0 {
				r.records[nd.id].nd = nd
			}
			if nd.needs != nil {
				r.needed = newSema(len(nd.needs))
			}
			for _, n := range nd.needs {
				r.records[n.id].needed = true
			}
		})
		r.ctx, r.cancel = context.WithCancel(context.Background())
		m.Final(r.final)
		r.left = len(p.callers)
		if p.closer != nil {
			r.left++
			m.Go("closer", func() { r.thread(func() { r.close(p.closer) }) })
		}
		r.busy = r.left
		for _, calls := range p.callers {
			m.Go("caller", func() {
				r.thread(func() {
					for _, c := range calls {
						r.call(c)
					}
				})
			})
		}
		if p.failures != 0 {
			m.GoDaemon("nudge", r.nudge)
		}
	}
}

func newSema(n int) *park.Sema {
	s := new(park.Sema)
	s.Init(n)
	return s
}

func post(s *park.Sema) {
	if s != nil {
		s.Post()
	}
}

// Spawn starts a worker, or fails as the program states.
func (r *run) Spawn(work func()) error {
	n := r.spawned + r.failed
	if n < 3 && r.failures>>n&1 != 0 {
		r.failed++
		return errSpawn
	}
	r.spawned++
	r.alive++
	interleave.GoDaemon("worker", func() {
		defer func() { r.alive-- }()
		work()
	})
	return nil
}

// warmUp makes all workers run a task at the same time. The callers begin when the
// workers are about to park.
func (r *run) warmUp() {
	met, arrived := newSema(r.workers), 0
	for range r.workers {
		r.must("Go", r.s.Go(func() {
			r.ran++
			if arrived++; arrived < r.workers {
				met.Wait()
			} else {
				for range r.workers - 1 {
					met.Post()
				}
			}
		}))
	}
	for range r.workers {
		r.idle.Wait()
	}
	for range r.left {
		r.gate.Post()
	}
}

// nudge schedules a task at times while no worker runs. When the Spawner fails for one
// caller, other callers that rely on its worker are not notified, and may wait until
// the next Schedule.
func (r *run) nudge() {
	tick := newSema(1)
	for !r.ending && r.left > 0 {
		if tick.WaitFor(time.Millisecond); r.ending || r.s.Stats().Workers > 0 {
			continue
		}
		switch err := r.s.Go(func() { r.ran++; r.nudges-- }); {
		case err == nil, errors.Is(err, sched.ErrQueued):
			r.nudges++
		case !r.ending:
			r.m.Fatalf("Go = %v", err)
		}
	}
}

// thread runs the calls of an external caller. A task that it runs may call Goexit.
func (r *run) thread(calls func()) {
	defer func() {
		r.leaveBusy()
		if r.left--; r.left == 0 {
			r.finish()
		}
	}()
	if r.gate != nil {
		r.gate.Wait()
	}
	calls()
}

// leaveBusy counts a thread that ends or enters Run. When no thread is busy, Run ends.
func (r *run) leaveBusy() {
	if r.busy--; r.busy == 0 {
		r.cancel()
	}
}

// finish ends the program. The last thread calls it.
func (r *run) finish() {
	switch r.last {
	case endShutdown:
		r.close([]end{endShutdown})
	case endClose:
		r.close([]end{endClose})
	}
	if r.ending {
		r.close([]end{endShutdown, endJoin})
	}
}

// close ends the scheduler.
func (r *run) close(ends []end) {
	for _, e := range ends {
		switch e {
		case endShutdown:
			r.ending = true
			r.ended(e, r.s.Shutdown(context.Background()))
		case endShutdownContext:
			r.ending = true
			r.ended(e, r.s.Shutdown(r.ctx))
		case endClose:
			r.ending, r.closing = true, true
			tasks, err := r.s.Close()
			r.noteReturned(tasks)
			if err != nil {
				r.m.Fatalf("Close = %v", err)
			}
		case endJoin:
			tasks, err := r.s.Join(context.Background())
			r.noteReturned(tasks)
			r.ended(e, err)
		}
	}
}

func (r *run) must(what string, err error) {
	if err != nil {
		r.m.Fatalf("%s = %v", what, err)
	}
}
