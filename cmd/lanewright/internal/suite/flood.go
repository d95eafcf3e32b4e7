package suite

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/sched"
)

// The state of the goroutines of references. These are package variables, so that a go
// statement has no closure: it allocates nothing when the runtime reuses a goroutine.
var (
	refDone    sync.WaitGroup
	refLeft    int // goroutines of a chain that are still to start
	refWork    bench.Work
	refBad     atomic.Int64
	refSignal  = make(chan struct{}, 1)
	refStarted int64 // when the last goroutine started
)

func finish() { refDone.Done() }

// flood is many tasks of external callers, which wait for all of them.
type flood struct {
	workers, tasks int
	callers        int // goroutines that schedule
	batch          int // tasks in one batch; 1: no batches
}

func (f flood) setup() (*bench.Instance, error) {
	o, err := f.start(func(*sched.Worker, *sched.Task) {})
	if err != nil {
		return nil, err
	}
	return &bench.Instance{
		Run:        o.run,
		References: []bench.Reference{{Name: refGoroutines, Run: f.reference(finish)}},
		Close:      func() error { return workload.Shutdown(o.s) },
	}, nil
}

// flooding is a flood with its scheduler and its tasks.
type flooding struct {
	flood
	s     *sched.Scheduler
	g     *sched.Group
	queue []sched.Task
}

func (f flood) start(fn func(*sched.Worker, *sched.Task)) (*flooding, error) {
	s, err := newScheduler(f.workers)
	if err != nil {
		return nil, err
	}
	o := &flooding{flood: f, s: s, g: s.NewGroup(sched.GroupConfig{}), queue: make([]sched.Task, f.tasks)}
	for i := range o.queue {
		o.queue[i].Fn = fn
	}
	return o, nil
}

func (o *flooding) run(m *bench.Meter) error {
	before := o.s.Stats().Executed
	m.Start()
	err := o.scheduleAll()
	err = errors.Join(err, o.g.Wait())
	m.Stop(o.tasks)
	return errors.Join(err, executed(o.s, before, o.tasks))
}

// scheduleAll schedules the tasks from all callers.
func (o *flooding) scheduleAll() error {
	if o.callers == 1 {
		return o.schedule(o.queue)
	}
	errs := make([]error, o.callers)
	var callers sync.WaitGroup
	for i := range o.callers {
		callers.Go(func() { errs[i] = o.schedule(share(o.queue, i, o.callers)) })
	}
	callers.Wait()
	return errors.Join(errs...)
}

// schedule schedules the tasks of one caller.
func (o *flooding) schedule(tasks []sched.Task) error {
	if o.batch == 1 {
		for i := range tasks {
			if err := o.g.Schedule(nil, &tasks[i]); err != nil {
				return err
			}
		}
		return nil
	}
	var b sched.Batch
	for i := range tasks {
		if err := b.Add(&tasks[i]); err != nil {
			return err
		}
		if b.Len() == o.batch || i == len(tasks)-1 {
			if err := o.g.ScheduleBatch(nil, &b); err != nil {
				return err
			}
		}
	}
	return nil
}

// reference returns a run that starts a goroutine for each task and waits for all of
// them. task must call refDone.Done.
func (f flood) reference(task func()) func(*bench.Meter) error {
	return func(m *bench.Meter) error {
		m.Start()
		refDone.Add(f.tasks)
		if f.callers == 1 {
			for range f.tasks {
				go task()
			}
		} else {
			n := make([]struct{}, f.tasks)
			for i := range f.callers {
				go func() {
					for range share(n, i, f.callers) {
						go task()
					}
				}()
			}
		}
		refDone.Wait()
		m.Stop(f.tasks)
		return nil
	}
}

// share returns part i of s, which is divided into n parts of about equal length.
func share[T any](s []T, i, n int) []T { return s[len(s)*i/n : len(s)*(i+1)/n] }

// efficiencySetup compares tasks that work for d with the ideal: one goroutine for each
// worker, with its share of the work in one loop.
func (z sizes) efficiencySetup(workers int, d time.Duration) (*bench.Instance, error) {
	work := bench.NewWork(d)
	var bad atomic.Int64
	f := flood{workers: workers, tasks: z.efficiency, callers: 1, batch: z.batch}
	o, err := f.start(func(*sched.Worker, *sched.Task) {
		if !work.Do() {
			bad.Add(1)
		}
	})
	if err != nil {
		return nil, err
	}
	verified := func(run func(*bench.Meter) error) func(*bench.Meter) error {
		return func(m *bench.Meter) error {
			refWork = work
			refBad.Store(0)
			bad.Store(0)
			err := run(m)
			if n := bad.Load() + refBad.Load(); n != 0 {
				return errors.Join(err, errors.New("a task computed a wrong result"))
			}
			return err
		}
	}
	ideal := func(m *bench.Meter) error {
		units := make([]struct{}, z.efficiency)
		var loops sync.WaitGroup
		m.Start()
		for i := range workers {
			loops.Go(func() {
				for range share(units, i, workers) {
					if !work.Do() {
						bad.Add(1)
					}
				}
			})
		}
		loops.Wait()
		m.Stop(z.efficiency)
		return nil
	}
	return &bench.Instance{
		Run: verified(o.run),
		References: []bench.Reference{
			{Name: refIdeal, Run: verified(ideal)},
			{Name: refGoroutines, Run: verified(f.reference(doWork))},
		},
		Close: func() error { return workload.Shutdown(o.s) },
	}, nil
}

func doWork() {
	if !refWork.Do() {
		refBad.Add(1)
	}
	refDone.Done()
}

// queuedSetup measures the memory of queued tasks. One task for each worker waits at a
// gate, so that the tasks that are scheduled afterwards stay queued. The memory of the
// task itself, which belongs to the caller, is included.
func (z sizes) queuedSetup(workers int) (*bench.Instance, error) {
	s, err := newScheduler(workers)
	if err != nil {
		return nil, err
	}
	g := s.NewGroup(sched.GroupConfig{})
	run := func(m *bench.Meter) error {
		var ran atomic.Int64
		fn := func(*sched.Worker, *sched.Task) { ran.Add(1) }
		held, gate := make(chan struct{}), make(chan struct{})
		release := sync.OnceFunc(func() { close(gate) })
		defer release()
		holders := make([]sched.Task, workers)
		for i := range holders {
			holders[i].Fn = func(*sched.Worker, *sched.Task) {
				held <- struct{}{}
				<-gate
			}
			if err := g.Schedule(nil, &holders[i]); err != nil {
				return err
			}
			<-held
		}
		m.Start()
		before := heap()
		tasks := make([]sched.Task, z.queued)
		for i := range tasks {
			tasks[i].Fn = fn
			if err := g.Schedule(nil, &tasks[i]); err != nil {
				return err
			}
		}
		after := heap()
		m.Stop(z.queued)
		early := ran.Load()
		release()
		if err := g.Wait(); err != nil {
			return err
		}
		switch {
		case early != 0:
			return errors.New("tasks ran while their memory was measured")
		case ran.Load() != int64(z.queued):
			return errors.New("some of the queued tasks did not run")
		}
		m.Report((after - before) / float64(z.queued))
		runtime.KeepAlive(tasks)
		return nil
	}
	// Goroutines wait at a channel, because Go has no other queue for them. The runtime
	// reuses the descriptors of goroutines that ended and never frees them, so only
	// the first run includes them. The other runs measure the stacks.
	reference := func(m *bench.Meter) error {
		gate := make(chan struct{})
		wait := func() {
			<-gate
			refDone.Done()
		}
		m.Start()
		before := heap()
		refDone.Add(z.queuedGoroutines)
		for range z.queuedGoroutines {
			go wait()
		}
		after := heap()
		m.Stop(z.queuedGoroutines)
		close(gate)
		refDone.Wait()
		m.Report((after - before) / float64(z.queuedGoroutines))
		return nil
	}
	return &bench.Instance{
		Run:        run,
		References: []bench.Reference{{Name: refGoroutines, Run: reference}},
		Close:      func() error { return workload.Shutdown(s) },
	}, nil
}

// heap returns the bytes of live objects and of stacks.
func heap() float64 {
	runtime.GC()
	runtime.GC() // the second one frees what sync.Pool retained
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) + float64(m.StackInuse)
}
