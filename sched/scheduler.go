package sched

import (
	"fmt"
	"runtime/debug"
	stdsync "sync"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Scheduler runs tasks on workers that it starts when there is work and parks
// when there is none. The zero Scheduler is ready to use with the default
// configuration; [New] takes another one. A Scheduler must not be copied.
// All methods are safe for concurrent use.
//
// A scheduler used inside a testing/synctest bubble belongs to the bubble of its
// first use; Shutdown, or Close and Join, leave no goroutine behind.
type Scheduler struct {
	_ lfsync.NoCopy

	// Read-mostly: written by init only.
	once         stdsync.Once
	ready        atomix.Bool
	config       Config
	max          int
	instrumented bool        // tasks run through Worker.observe
	spawnMayFail bool        // the Spawner may fail
	closing      atomix.Bool // Close was called: workers stop after their task

	attention        atomix.Int32 // not 0: workers look up between two tasks: see stall.go
	monitorThreshold atomix.Int32 // from how many workers on a push need not tell anybody: see stall.go

	sync      lfsync.Sync       // who sleeps, who wakes: see lfsync.Word
	idle      lfsync.WakeTokens // what idle workers park on
	injection mpsc.Queue        // tasks from callers without a place
	places    places

	requesters      atomix.Int32 // workers that ask for forks
	forkMonitorRuns atomix.Bool  // the watch runs

	stallParker lfsync.Parker // what the stall watch parks on

	life life
	cold coldCounts
}

// New returns a scheduler with the given configuration, or an error that names
// the field at fault. It starts nothing: workers come with the first task.
func New(c Config) (*Scheduler, error) {
	c, err := c.normalized()
	if err != nil {
		return nil, err
	}
	s := &Scheduler{config: c}
	s.init()
	return s, nil
}

// init prepares the zero Scheduler on its first use.
func (s *Scheduler) init() {
	if !s.ready.Load() {
		s.once.Do(s.setup)
	}
}

func (s *Scheduler) setup() {
	s.config, _ = s.config.normalized() // New has checked; the zero Config is valid
	s.max = s.config.MaxWorkers
	s.instrumented = s.config.Trace || s.config.OnPanic != nil
	_, sure := s.config.Spawner.(infallibleSpawner)
	s.spawnMayFail = !sure
	extra := 0
	s.monitorThreshold.Store(int32(s.max))
	if s.config.StallAfter > 0 {
		extra = maxStalled
		s.monitorThreshold.Store(monitorOff)
		s.stallParker.Init()
	}
	s.places.init(s.max, extra)
	s.idle.Init(lfsync.MaxWorkers)
	s.life.init()
	s.ready.Store(true)
}

// MaxWorkers returns the configured number of tasks that may run at once.
func (s *Scheduler) MaxWorkers() int {
	s.init()
	return s.max
}

// Schedule queues tasks for the workers, in order, with one push and one notify.
// It never blocks and allocates nothing.
//
// It returns nil, or [ErrQueued] when the tasks were queued and no worker could
// be started, or without taking any of them: [ErrNilTask],
// [ErrAlreadyScheduled], [ErrShutdown], [ErrClosed]. Inside a callback prefer
// [Worker.Schedule], which is cheaper and keeps the tasks near.
func (s *Scheduler) Schedule(tasks ...*Task) error {
	s.init()
	if err := claimAll(tasks, ungrouped); err != nil {
		return err
	}
	return s.inject(tasks)
}

// ScheduleBatch queues all tasks of b with one push and one notify, and leaves b
// empty. It returns what Schedule returns; b is unchanged when nothing was taken.
// An empty batch is nothing to do.
func (s *Scheduler) ScheduleBatch(b *Batch) error {
	s.init()
	if n, err := b.ready(); n == 0 || err != nil {
		return err
	}
	b.mark(ungrouped)
	return s.injectBatch(b)
}

// Go runs fn as a task. It allocates the task and, mostly, the closure: for hot
// paths embed a [Task]. It returns what Schedule returns.
func (s *Scheduler) Go(fn func()) error {
	if fn == nil {
		return ErrNilTask
	}
	return s.Schedule(&Task{Fn: func(*Worker, *Task) { fn() }})
}

// inject queues claimed tasks from a caller without a place.
func (s *Scheduler) inject(tasks []*Task) error {
	if len(tasks) == 0 {
		return nil
	}
	if len(tasks) == 1 && s.injection.Push(&tasks[0].node) {
		return s.pushed()
	}
	var l mpsc.List
	link(&l, tasks)
	if !s.injectList(&l) {
		unclaimAll(tasks)
		return s.refusal()
	}
	return s.pushed()
}

// injectBatch queues a marked batch from a caller without a place.
func (s *Scheduler) injectBatch(b *Batch) error {
	if !s.injectList(&b.list) {
		b.mark(batched)
		return s.refusal()
	}
	return s.pushed()
}

// injectList queues l and reports whether it did. While the scheduler drains, it
// takes what callbacks schedule, also when they do so without their worker.
func (s *Scheduler) injectList(l *mpsc.List) bool {
	return s.injection.PushList(l) || s.life.phase.Load() == draining && s.inside() && s.pushOverflow(l)
}

// refusal is the error of a sealed injection queue.
func (s *Scheduler) refusal() error {
	if s.closing.Load() {
		return ErrClosed
	}
	return ErrShutdown
}

// pushed tells the workers that a push was made, and reports whether somebody
// will run it. It inlines: mostly, there is nobody to tell.
func (s *Scheduler) pushed() error {
	if s.sync.NotifyFast(int(s.monitorThreshold.Load())) {
		return nil
	}
	return s.pushedSlow()
}

func (s *Scheduler) pushedSlow() error {
	s.startStallMonitor()
	if !s.act(s.sync.Notify(false, s.max), true) {
		return ErrQueued
	}
	return nil
}

// notify makes at most one worker come and look. waking says that the caller is
// the waking worker and has found work. It reports false when no worker exists
// and none could be started.
func (s *Scheduler) notify(waking bool) bool {
	s.startStallMonitor()
	return s.act(s.sync.Notify(waking, s.max), false)
}

// act carries out what a transition of the Sync word asked for. It reports what
// notify does. asked says that a caller scheduled tasks, who gets a panic of the
// Spawner.
func (s *Scheduler) act(a lfsync.Action, asked bool) bool {
	switch a {
	case lfsync.ActionWake:
		s.cold.wakes.Add(1)
		s.idle.Post()
	case lfsync.ActionSpawn:
		if !asked {
			defer crashOnPanic()
		}
		return s.spawn()
	}
	return true
}

// crashOnPanic ends the program with the panic of a Spawner that nobody has asked
// for a worker: raised here, it would end the task or the wait of somebody else.
func crashOnPanic() {
	if r := recover(); r != nil {
		text := fmt.Sprintf("sched: Config.Spawner panicked: %v\n\n%s", r, debug.Stack())
		go panic(text)
	}
}

// spawn starts the worker that a transition has counted already. It reports
// false when that failed and no other worker exists.
func (s *Scheduler) spawn() (ok bool) {
	w := &Worker{s: s, counted: true, justSpawned: true}
	s.life.alive.Add(1)
	started := false
	defer func() {
		if started {
			s.cold.spawns.Add(1)
			return
		}
		// Also when the Spawner panicked.
		s.cold.spawnFailures.Add(1)
		ok = s.sync.SpawnFailed().Spawned() > 0 // opens the latch again
		if !ok {
			s.life.starved.wakeAll()
		}
		s.life.workerEnded()
	}()
	started = s.config.Spawner.Spawn(w.run) == nil
	return true
}

// anyQueued reports whether a task waits anywhere. It only loads.
func (s *Scheduler) anyQueued() bool {
	return !s.injection.Empty() || s.places.any(func(p *place) bool { return !p.queue.Empty() })
}

// anyAvailable reports whether a task waits anywhere that nobody is taking from.
// Whoever is taking tells of what it leaves; to count its queue as well would
// make those who find it closed come again and again until it is done.
func (s *Scheduler) anyAvailable() bool {
	return s.injection.Available() || s.places.any(func(p *place) bool { return p.queue.Available() })
}

// takePlace returns a free place, or nil. The attempt to make one may have looked
// like a held place to who waits for the end.
func (s *Scheduler) takePlace() *place {
	p := s.places.take()
	if p == nil && s.life.phase.Load() != open {
		s.life.changed()
	}
	return p
}

// giveBack puts the place of w back and, as the last to leave, sees to it that
// what is queued has somebody who comes: a worker that found no free place has
// parked and relies on this.
func (s *Scheduler) returnPlace(w *Worker) {
	p := w.detach()
	p.endOccupancy(s) // when w is the holder no more: see stall.go
	if !s.putPlace(p) {
		s.sweep(p) // closed: nobody takes this place again
		s.places.put(p, true)
		s.life.changed()
		return
	}
	if s.anyAvailable() {
		s.notify(false)
	}
	if s.life.phase.Load() != open {
		s.life.changed()
	}
}
