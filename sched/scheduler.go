package sched

import (
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/cpu"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Scheduler runs tasks on workers. It starts workers when tasks are queued, and its
// workers park when none are. The zero Scheduler is ready to use with the default
// configuration. [New] takes another configuration. A Scheduler must not be copied. All
// methods are safe for concurrent use.
//
// A scheduler that is used inside a testing/synctest bubble belongs to the bubble of its
// first use. After Shutdown, or after Close and Join, it has no goroutine left.
type Scheduler struct {
	_ lfsync.NoCopy

	// Stored by init only, but for closing.
	once         park.Once
	ready        atomix.Bool
	config       Config
	max          int
	observed     bool        // Trace or OnPanic is set: also the only task of a Do is seen
	instrumented bool        // tasks run through Worker.runInstrumented
	spawnMayFail bool        // the Spawner may fail
	milli        int64       // a millisecond in ticks
	closing      atomix.Bool // Close was called: workers stop after their task

	attention        atomix.Int32 // not 0: workers check their place between two tasks: see stall.go and inspect.go
	monitorThreshold atomix.Int32 // the worker count from which a push may skip the slow path: see stall.go
	placeAwaited     atomix.Bool  // a goroutine relies on the next return of a place: see returnPlace

	// refusedSince is the time, in ticks, at which a worker has found no place. It is 0 after a
	// Do that has found no queued task since, or has yielded by time.
	refusedSince atomix.Uint64

	sync      lfsync.Sync              // the Sync word: see lfsync.Word
	idle      lfsync.WakeTokens        // idle workers park here
	lingerer  atomix.Pointer[lingerer] // of the worker that parks with its place: see linger.go
	injection mpsc.Queue               // tasks from callers without a place
	places    places

	idleEnd idleEnd

	requesters      atomix.Int32 // workers that request forks
	forkMonitorRuns atomix.Bool

	stallParker lfsync.Parker // the stall monitor parks here
	saturation  saturation

	life       life
	inspection inspection
	cold       coldCounts
}

// New returns a scheduler with the given configuration, or an error that names the field
// at fault. It starts no goroutine: the first task starts the first worker.
func New(c Config) (*Scheduler, error) {
	c, err := c.normalized()
	if err == nil {
		err = c.checkThreads()
	}
	if err != nil {
		return nil, err
	}
	s := &Scheduler{config: c}
	s.init()
	return s, nil
}

// init prepares the zero Scheduler on its first use. Each call of a goroutine that may be no
// worker of s passes init before it changes s or waits.
func (s *Scheduler) init() {
	if !s.ready.Load() {
		s.prepare()
	}
}

// prepare is the slow path of init. In a program with bubbles the default scheduler takes it
// in each call, because any of its callers may be in a bubble.
func (s *Scheduler) prepare() {
	if s == &shared {
		refuseBubble()
	}
	s.once.Do(s.setup)
}

func (s *Scheduler) setup() {
	s.config, _ = s.config.normalized() // New has checked; the zero Config is valid
	s.max = s.config.MaxWorkers
	s.observed = s.config.Trace || s.config.OnPanic != nil
	s.instrumented = s.observed || s.config.Labels
	_, sure := s.config.Spawner.(infallibleSpawner)
	s.spawnMayFail = !sure
	extra := 0
	s.milli = int64(1000 * cpu.TicksPerMicrosecond())
	s.monitorThreshold.Store(int32(s.max))
	if s.config.StallAfter > 0 {
		extra = maxStalled
		s.monitorThreshold.Store(monitorOff)
		s.stallParker.Init()
	}
	s.places.init(s.max, extra)
	s.idle.Init(lfsync.MaxWorkers)
	s.life.init()
	s.ready.Store(s != &shared || !mayHaveBubbles())
}

// MaxWorkers returns the configured number of places: see [Config].
func (s *Scheduler) MaxWorkers() int {
	s.init()
	return s.max
}

// Schedule queues tasks for the workers, in order, with one push and one notification.
// It never blocks unless the Spawner does. It allocates nothing unless it starts a worker or the
// monitor of [Config.StallAfter].
// Inside a callback prefer [Worker.Schedule], which is cheaper and queues the tasks at the place
// of that worker.
//
// Schedule returns [ErrQueued] when it has queued the tasks, no worker exists, and none
// could be started. It returns [ErrNilTask], [ErrAlreadyScheduled], [ErrShutdown] or
// [ErrClosed] when it has queued none of them.
func (s *Scheduler) Schedule(tasks ...*Task) error {
	s.init()
	if err := claimAll(tasks, ungrouped); err != nil {
		return err
	}
	return s.inject(tasks)
}

// ScheduleBatch queues all tasks of b with one push and one notification, and leaves b
// empty. The errors are those of Schedule. b is unchanged when no task was queued. For an
// empty batch ScheduleBatch does nothing.
func (s *Scheduler) ScheduleBatch(b *Batch) error {
	s.init()
	if n, err := b.ready(); n == 0 || err != nil {
		return err
	}
	b.mark(ungrouped)
	return s.injectBatch(b)
}

// Go runs fn as a task. It allocates the task, and in most cases the closure. On hot
// paths embed a [Task] instead. The errors are those of Schedule.
func (s *Scheduler) Go(fn func()) error {
	if fn == nil {
		return ErrNilTask
	}
	return s.Schedule(&Task{Fn: func(w *Worker, _ *Task) { callFunc(w, fn) }})
}

// Blocking calls fn as [Worker.Blocking] does. It is for callers without a reference to
// their worker. To find the worker takes a few nanoseconds. Outside callbacks of s Blocking
// only calls fn.
func (s *Scheduler) Blocking(fn func()) {
	if fn == nil {
		panic("sched: Scheduler.Blocking: nil function")
	}
	s.withoutPlace(fn)
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

// injectList queues l and reports whether it did. While the scheduler drains it still
// queues tasks of callbacks, even of those that schedule without their worker.
func (s *Scheduler) injectList(l *mpsc.List) bool {
	return s.injection.PushList(l) || s.life.phase.Load() == draining && s.inside() && s.pushOverflow(l)
}

// refusal returns the error for a push that the sealed injection queue has refused.
func (s *Scheduler) refusal() error {
	if s.closing.Load() {
		return ErrClosed
	}
	return ErrShutdown
}

// pushed notifies after a push. It returns ErrQueued when no worker exists to run the
// task. It inlines: in the common case no wake-up is possible, and one load shows it.
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

// notify starts at most one wake-up. waking states that the caller is the waking worker
// and has found a task. notify reports false when no worker exists and none could be
// started.
func (s *Scheduler) notify(waking bool) bool {
	s.startStallMonitor()
	return s.act(s.sync.Notify(waking, s.max), false)
}

// act carries out the action of a transition of the Sync word, and reports what notify
// reports. scheduling states that the caller has called Schedule: a panic of the Spawner
// then passes to it.
func (s *Scheduler) act(a lfsync.Action, scheduling bool) bool {
	switch a {
	case lfsync.ActionWake:
		s.cold.wakes.Add(1)
		s.idle.Post()
	case lfsync.ActionResume:
		s.cold.wakes.Add(1)
		s.lingerer.Swap(nil).end(lingerResumed)
	case lfsync.ActionSpawn:
		if !scheduling {
			defer crashOnPanic()
		}
		return s.spawn()
	}
	return true
}

// crashOnPanic ends the program with the panic of a Spawner that was called for a worker
// or a wait. Raised on this goroutine, the panic would be attributed to an unrelated task.
func crashOnPanic() {
	if r := recover(); r != nil {
		text := fmt.Sprintf("sched: Config.Spawner panicked: %v\n\n%s", r, debug.Stack())
		go panic(text)
	}
}

// spawn starts the worker that a transition has already counted. It reports false when
// the Spawner fails and no other worker exists. It panics when the Spawner fails after it has
// called run: the worker runs then.
func (s *Scheduler) spawn() (ok bool) {
	w := newWorker(s, spawnedWorker)
	s.life.alive.Add(1)
	run, started := w.run, false
	if s.spawnMayFail {
		run = func() { s.runOnce(w) }
	}
	defer func() {
		if started {
			s.cold.spawns.Add(1)
			return
		}
		// Also when the Spawner panicked.
		if !w.start.claim() {
			s.cold.spawns.Add(1)
			panic("sched: Config.Spawner has called run, and Spawn has failed")
		}
		s.cold.spawnFailures.Add(1)
		word := s.sync.SpawnFailed() // the next notify may spawn again
		s.subtracted(word)
		if ok = word.Spawned() > 0; !ok {
			s.placeAwaited.Store(true) // the next return of a place tries again
			s.life.starved.wakeAll()
		}
		s.life.workerEnded()
	}()
	started = s.config.Spawner.Spawn(run) == nil
	return true
}

// anyQueued reports whether a task is queued in any queue. It only loads.
func (s *Scheduler) anyQueued() bool {
	return !s.injection.Empty() || s.places.any(func(p *place) bool { return !p.queue.Empty() })
}

// anyAvailable reports whether any queue is available: it holds a task, and no consumer
// or thief holds the queue. A holder notifies for the tasks that it leaves. If held queues
// counted, workers would find them held, park, and wake again until the holder is done.
func (s *Scheduler) anyAvailable() bool {
	return s.injection.Available() || s.places.anyListed(func(p *place) bool { return p.queue.Available() })
}

// anyComputing reports whether a fork-join computation is open on a place.
func (s *Scheduler) anyComputing() bool {
	return s.places.anyComputed(func(p *place) bool { return p.forks.epoch.Load()&1 == 1 })
}

// takePlace returns a free place, or that of the lingering worker, or nil. To a goroutine
// that waits for the end, the attempt to make a place may have looked like a held place. It is
// therefore woken.
func (s *Scheduler) takePlace() *place {
	p := s.places.take()
	if p == nil {
		p = s.takeLingeringPlace()
	}
	if p == nil && s.life.phase.Load() != open {
		s.life.changed()
	}
	return p
}

// full reports that a goroutine which needs a place finds none.
func (s *Scheduler) full() bool { return s.places.full() && !s.keptPlace() }

// takeOrAwaitPlace returns a free place. If there is none, it returns nil, and the next
// return of a place notifies if a task is queued. It sets placeAwaited and then tries once
// more. returnPlace puts the place on the list and then loads placeAwaited. So either the
// second attempt finds that place, or returnPlace sees the flag.
func (s *Scheduler) takeOrAwaitPlace() *place {
	p := s.takePlace()
	if p == nil {
		s.placeAwaited.Store(true)
		p = s.takePlace()
	}
	if p == nil {
		s.noteRefusal()
	}
	return p
}

// notifyAvailable notifies if a queue is available. A worker calls it after it has left the
// worker count or the number of requesters, because a push may have relied on it while it was
// counted.
func (s *Scheduler) notifyAvailable() {
	if s.anyAvailable() {
		s.notify(false)
	}
}

// returnPlace puts the place of w on the free list. If a goroutine has found no place since
// the last return, it also looks at all queues, and notifies if one is available. A worker
// that has found no place has parked and relies on this. Other workers search all queues
// before they park.
func (s *Scheduler) returnPlace(w *Worker) {
	p := w.detach()
	p.endOccupancy(s) // after w has stopped being the holder: see stall.go
	s.returnDetached(p)
}

// returnDetached is returnPlace for a place without a holder.
func (s *Scheduler) returnDetached(p *place) {
	p.unlist(s)
	if !s.putPlace(p) {
		s.sweep(p) // the list is closed: no worker takes this place again
		s.places.put(p, true)
		s.life.changed()
		return
	}
	if s.placeAwaited.Load() && s.placeAwaited.Swap(false) {
		s.notifyAvailable()
	}
	if s.life.phase.Load() != open {
		s.life.changed()
	}
}

// Default returns the scheduler that all packages of a program share. It has the zero
// [Config], and GOMAXPROCS at the moment of its first use as MaxWorkers: a later change of
// GOMAXPROCS does not change it. A nil scheduler means Default in package par and in
// [ForkJoin] and its other forms. Methods of a nil Scheduler panic.
//
// A library uses Default so that its callers need no scheduler, and so that several
// libraries in one program do not each start GOMAXPROCS workers. A program makes its own
// [Scheduler] if it needs another Config or has to shut it down: Shutdown and Close of Default
// return [ErrDefault] and do nothing, because its other users still rely on it. Its tasks
// are those of all packages, so GOMAXPROCS tasks that block outside [Scheduler.Blocking]
// delay the tasks of others. The delay is one to two times [DefaultStallAfter] for each of
// them while the program leaves a processor idle. Otherwise it lasts until one of them ends, or
// for a second each: see [Config].
//
// A use of Default that could start or await a worker panics inside a bubble of
// testing/synctest, because its workers are not in the bubble, or would never leave it. A
// test passes a scheduler of its own in the bubble, and ends that with Shutdown. The check
// costs some 40 ns, in test programs only. Default recognizes a test program by the name that
// go test gives it, and takes a program without build information for one. It does not
// recognize a bubble whose clock has advanced by decades.
func Default() *Scheduler {
	shared.init()
	return &shared
}

var shared Scheduler

// loadTime is the time at which the program was loaded, which is outside every bubble.
var loadTime = time.Now()

// refuseBubble panics if the calling goroutine is in a bubble. The clock of a bubble begins
// in the year 2000, so loadTime is in its future. Outside bubbles time.Since uses the
// monotonic clock, which never reads less than it did at loadTime.
func refuseBubble() {
	if time.Since(loadTime) < 0 {
		panic("sched: Default, or a nil scheduler, is used inside a testing/synctest bubble: pass a scheduler that is made in the bubble, and shut it down there")
	}
}

// mayHaveBubbles reports whether the program may have bubbles: whether it is a test. It also
// reports true if the program does not contain its name.
func mayHaveBubbles() bool {
	info, ok := debug.ReadBuildInfo()
	return !ok || strings.HasSuffix(info.Path, ".test")
}
