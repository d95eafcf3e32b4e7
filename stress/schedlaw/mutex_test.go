package schedlaw_test

import (
	"slices"
	"sync"

	"github.com/lanewright/lanewright/stress/schedlaw"
)

// mutexScheduler is a slice of tasks behind a mutex, with workers that wait on a
// condition variable. A worker that waits for a group runs queued tasks until the group
// has ended.
type mutexScheduler struct {
	workers sync.WaitGroup
	fault   mutexFault

	mu       sync.Mutex
	changed  *sync.Cond
	queue    []mutexTask
	running  int // running tasks
	alive    int // existing workers
	parked   int // waiting workers, a part of alive
	spare    int // workers that end next, because Blocking has started as many
	executed uint64
	refuses  bool // tasks of external callers are refused
	ends     bool // the workers end
	closed   bool
}

// mutexFault is a fault of a mutexScheduler.
type mutexFault int

const (
	noFault          mutexFault = iota
	wakesOnceOnly               // wakes one worker for several tasks
	wakesNotInside              // wakes no worker for a task that a task schedules
	waitsForAllBut1             // drops the last task of the group
	waitsForStarted             // drops the tasks of the group that have not started
	waitsForEver                // does not notify the end of a group
	waitsOnWorker               // does not run tasks while a worker waits
	blocksWorker                // starts no worker in Blocking
	closesNoGroup               // does not count the tasks of a group that Close drops
	runsInsideFirst             // runs a task of an external caller only if no task has scheduled one
	endsWhileBlocked            // does not wait for tasks in Blocking
	refusesInside               // refuses the tasks of tasks as soon as Shutdown is called
)

type mutexTask struct {
	fn    schedlaw.Task
	group *mutexGroup
}

func mutexSchedulers(fault mutexFault) schedlaw.Kind {
	return schedlaw.Kind{
		Name:         "mutex scheduler",
		New:          func(workers int) schedlaw.Scheduler { return newMutexScheduler(workers, fault) },
		DrainAccepts: true,
	}
}

func newMutexScheduler(workers int, fault mutexFault) *mutexScheduler {
	s := &mutexScheduler{fault: fault}
	s.changed = sync.NewCond(&s.mu)
	s.mu.Lock()
	defer s.mu.Unlock()
	for range workers {
		s.start()
	}
	return s
}

// start starts a worker. The caller holds the mutex, as it does for all methods below
// that do not lock it.
func (s *mutexScheduler) start() {
	s.alive++
	s.workers.Go(s.work)
}

func (s *mutexScheduler) work() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.ends {
		switch {
		case s.spare > 0:
			s.spare--
			s.alive--
			return
		case len(s.queue) > 0:
			s.runNext()
		default:
			s.parked++
			s.changed.Wait()
			s.parked--
		}
	}
	s.alive--
}

func (s *mutexScheduler) runNext() {
	t := s.queue[0]
	s.queue = s.queue[1:]
	s.running++
	s.executed++
	s.mu.Unlock()
	t.fn(mutexWorker{s})
	s.mu.Lock()
	s.running--
	if t.group != nil {
		t.group.pending--
	}
	if s.fault != waitsForEver {
		s.changed.Broadcast()
	}
}

func (s *mutexScheduler) Schedule(fn schedlaw.Task) bool {
	return s.push(mutexTask{fn: fn}, false)
}

func (s *mutexScheduler) push(t mutexTask, inside bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.refuses && (!inside || s.fault == refusesInside) {
		return false
	}
	if t.group != nil {
		t.group.pending++
	}
	if inside && s.fault == runsInsideFirst {
		s.queue = slices.Insert(s.queue, 0, t)
	} else {
		s.queue = append(s.queue, t)
	}
	switch {
	case s.fault == wakesOnceOnly && len(s.queue) > 1, s.fault == wakesNotInside && inside:
	case s.fault == wakesOnceOnly, s.fault == wakesNotInside:
		s.changed.Signal()
	default:
		s.changed.Broadcast()
	}
	return true
}

func (s *mutexScheduler) Shutdown() {
	s.mu.Lock()
	s.refuses = true
	for len(s.queue) > 0 || s.running > 0 {
		s.changed.Wait()
	}
	s.end()
}

func (s *mutexScheduler) Close() (unrun int) {
	s.mu.Lock()
	s.refuses, s.closed = true, true
	for _, t := range s.queue {
		switch {
		case t.group == nil:
			unrun++
		case s.fault != closesNoGroup:
			t.group.pending--
		}
	}
	s.queue = nil
	s.end()
	return unrun
}

// end ends the workers and unlocks the mutex.
func (s *mutexScheduler) end() {
	s.ends = true
	s.changed.Broadcast()
	s.mu.Unlock()
	s.workers.Wait()
}

func (s *mutexScheduler) Counters() schedlaw.Counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	return schedlaw.Counters{Executed: s.executed, Workers: s.alive, Parked: s.parked}
}

type mutexWorker struct{ s *mutexScheduler }

func (w mutexWorker) Schedule(fn schedlaw.Task) bool {
	return w.s.push(mutexTask{fn: fn}, true)
}

// Blocking starts a worker that replaces the blocked one.
func (w mutexWorker) Blocking(fn func()) {
	if w.s.fault == blocksWorker {
		fn()
		return
	}
	uncounted := 0
	if w.s.fault == endsWhileBlocked {
		uncounted = 1
	}
	w.s.mu.Lock()
	w.s.start()
	w.s.running -= uncounted
	w.s.mu.Unlock()
	fn()
	w.s.mu.Lock()
	w.s.running += uncounted
	w.s.spare++
	w.s.changed.Broadcast()
	w.s.mu.Unlock()
}

func (s *mutexScheduler) NewGroup() schedlaw.Group { return &mutexGroup{s: s} }

type mutexGroup struct {
	s       *mutexScheduler
	pending int
}

func (g *mutexGroup) Schedule(w schedlaw.Worker, fn schedlaw.Task) bool {
	return g.s.push(mutexTask{fn, g}, w != nil)
}

func (g *mutexGroup) Wait(w schedlaw.Worker) {
	s := g.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for g.pending > 0 {
		switch {
		case s.fault == waitsForAllBut1 && g.dropLast():
		case s.fault == waitsForStarted && g.dropQueued():
		case w != nil && len(s.queue) > 0 && s.fault != waitsOnWorker:
			s.runNext()
		default:
			s.changed.Wait()
		}
	}
}

// dropLast removes the last task of g from the queue.
func (g *mutexGroup) dropLast() bool {
	for i, t := range g.s.queue {
		if t.group == g && g.pending == 1 {
			g.s.queue = append(g.s.queue[:i:i], g.s.queue[i+1:]...)
			g.pending = 0
			return true
		}
	}
	return false
}

// dropQueued removes the tasks of g from the queue and reports whether there were any.
func (g *mutexGroup) dropQueued() bool {
	before := len(g.s.queue)
	g.s.queue = slices.DeleteFunc(g.s.queue, func(t mutexTask) bool { return t.group == g })
	dropped := before - len(g.s.queue)
	g.pending -= dropped
	return dropped > 0
}
