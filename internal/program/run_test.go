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

// A fate is what became of a task.
type fate struct {
	accepted int // times
	ran      int
	ended    int
	returned int  // by Close and Join
	unknown  bool // nobody has said whether it was accepted
	function bool // it is a function, which nobody knows by its task
	over     bool // whoever awaited it has been told of its end
	tw       *twig
	group    *sched.Group // that it is in
	started  *park.Sema   // posted to when a kid starts for the first time
	needed   bool         // somebody keeps its place until it starts
}

// A run is one execution of a program. The explorer runs one thread at a time,
// and so all of this is plain memory.
type run struct {
	*program
	m      *interleave.M
	s      *sched.Scheduler
	ctx    context.Context
	cancel context.CancelFunc

	fates   []fate
	tasks   map[*sched.Task]*twig
	holding []bool            // by worker ID: a callback runs that has not blocked
	top     map[uintptr]*twig // by goroutine: the innermost that runs there

	needed *park.Sema // posted to by each task that the holder needs

	gate *park.Sema // what the callers wait for, if anything
	idle *park.Sema // posted to by each worker that is about to park

	left    int // callers that have not ended
	busy    int // of those, not in Run
	running int // callbacks
	ran     int
	strays  int // tasks that came back and that nobody knows
	nudges  int // tasks of nudge that were accepted and have not run
	spawned int // calls of the Spawner
	failed  int
	alive   int // workers

	ending  bool // Shutdown or Close was called
	closing bool // Close was called
	over    bool // Shutdown or Join has returned nil
}

// body returns what the explorer runs.
func (p *program) body() func(m *interleave.M) {
	return func(m *interleave.M) {
		r := &run{
			program: p, m: m, fates: make([]fate, p.size), tasks: map[*sched.Task]*twig{},
			holding: make([]bool, p.workers), top: map[uintptr]*twig{},
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
		p.each(func(tw *twig) {
			if tw.id >= 0 {
				r.fates[tw.id].tw = tw
			}
			if tw.needs != nil {
				r.needed = newSema(len(tw.needs))
			}
			for _, n := range tw.needs {
				r.fates[n.id].needed = true
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

// Spawn starts a worker, or fails as the program says.
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

// warmUp makes all workers run a task at the same time and lets the callers begin
// when they have found no more.
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

// nudge schedules now and then while there is no worker. When the Spawner fails
// for one caller, others that rely on that worker are told nothing, and may wait
// until somebody schedules again.
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

// thread runs the calls of an outside thread. A task that it runs may call Goexit.
func (r *run) thread(calls func()) {
	defer func() {
		r.pause()
		if r.left--; r.left == 0 {
			r.finish()
		}
	}()
	if r.gate != nil {
		r.gate.Wait()
	}
	calls()
}

// pause counts out a thread that ends or is in Run: when all are, Run ends.
func (r *run) pause() {
	if r.busy--; r.busy == 0 {
		r.cancel()
	}
}

// finish is the end of the program, by the last thread.
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
			r.giveBack(tasks)
			if err != nil {
				r.m.Fatalf("Close = %v", err)
			}
		case endJoin:
			tasks, err := r.s.Join(context.Background())
			r.giveBack(tasks)
			r.ended(e, err)
		}
	}
}

func (r *run) must(what string, err error) {
	if err != nil {
		r.m.Fatalf("%s = %v", what, err)
	}
}
