package stress

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/lanewright/lanewright/sched"
)

// A forkRun is a scheduler that computes trees, and the record of its other tasks.
type forkRun struct {
	r             *round
	s             *sched.Scheduler
	ends          bool        // s is ended during the computations, so it may refuse tasks
	withoutWorker bool        // the Spawner may fail: no tree relies on a worker
	repaired      atomic.Bool // the Spawner fails no more
	lock          sync.Mutex  // of tasks, which release their place before they lock it, and of callers of ForkJoin

	accepted, ran atomic.Int64 // tasks
}

// newForkRun opens a scheduler with the given number of workers. ends states that it is
// ended during the computations.
func newForkRun(r *round, workers int, ends bool) *forkRun {
	p := &forkRun{r: r, ends: ends, withoutWorker: r.rng.IntN(4) == 0}
	c := sched.Config{MaxWorkers: workers}
	if r.rng.IntN(4) == 0 {
		c.OnPanic = func(*sched.Task, any, []byte) {}
	}
	var fault func(uint64) spawnFault
	if p.withoutWorker {
		generated := r.generateFaults()
		fault = func(call uint64) spawnFault {
			if p.repaired.Load() {
				return spawnWorks
			}
			return generated(call)
		}
	}
	p.s = r.open(c, fault)
	return p
}

// schedule schedules n tasks that call fn, which may be nil, and reports whether they
// were accepted.
func (p *forkRun) schedule(schedule func(...*sched.Task) error, n int, fn func(*sched.Worker)) bool {
	tasks := make([]*sched.Task, n)
	for i := range tasks {
		tasks[i] = &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			p.ran.Add(1)
			if fn != nil {
				fn(w)
			}
		}}
	}
	if !p.accepts(schedule(tasks...)) {
		return false
	}
	p.accepted.Add(int64(n))
	return true
}

// accepts reports whether a scheduler that returned err has accepted its tasks.
func (p *forkRun) accepts(err error) bool {
	switch {
	case err == nil, errors.Is(err, sched.ErrQueued):
		return true
	case !p.ends || !errors.Is(err, sched.ErrShutdown) && !errors.Is(err, sched.ErrClosed):
		p.r.Errorf("Schedule: %v", err)
	}
	return false
}

// await schedules n tasks in g and waits for them. w may be nil.
func (p *forkRun) await(g *sched.Group, w *sched.Worker, n int, wait func() error) {
	var ran atomic.Int32
	want := int32(0)
	for range n {
		if p.accepts(g.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Add(1) }})) {
			want++
		}
	}
	p.waited(wait(), func() bool { return ran.Load() == want })
}

// waited checks the error of a wait.
func (p *forkRun) waited(err error, ran func() bool) {
	switch {
	case err == nil && !ran():
		p.r.Errorf("a wait in a body returned before its tasks had run")
	case err == nil:
	case !p.ends || !errors.Is(err, sched.ErrShutdown) && !errors.Is(err, sched.ErrClosed):
		p.r.Errorf("a wait in a body: %v", err)
	}
}

// forkMode is how the computation of a tree begins.
type forkMode int

const (
	byCaller forkMode = iota
	byCallerLocked
	byTask
	byDo
	byGroup
	forkModes
)

// begin computes t and returns when the computation has ended. It does not wait for a
// task of a scheduler that is ended concurrently or may have no worker, because that
// task may never run.
func (t *forkTree) begin(mode forkMode) {
	p := t.p
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { t.compute() }}
	switch mode {
	case byCallerLocked:
		p.lock.Lock()
		defer p.lock.Unlock()
		t.compute()
	case byTask:
		if p.schedule(p.s.Schedule, 1, func(*sched.Worker) { t.compute() }) && !p.ends && !p.withoutWorker {
			<-t.done
		}
	case byDo:
		t.awaited(p.s.Do(task))
	case byGroup:
		g := p.s.NewGroup(sched.GroupConfig{})
		if p.accepts(g.Schedule(nil, task)) {
			t.awaited(g.Wait())
		}
	default:
		t.compute()
	}
}

// awaited checks the error of a wait for the task that computes the tree.
func (t *forkTree) awaited(err error) {
	if !errors.Is(err, sched.ErrGoexit) || !t.root.mayExit {
		t.p.waited(err, func() bool { return t.computed.Load() == 1 })
	}
}

// plan is a tree that a caller computes, and how the computation begins.
type plan struct {
	tree *forkTree
	mode forkMode
}

// generatePlan generates a plan.
func (p *forkRun) generatePlan() plan {
	script := make([]byte, p.r.pick(4, 16, 64, 256, 1200))
	for i := range script {
		script[i] = byte(p.r.rng.Uint32())
	}
	return plan{readForkTree(p, script), forkMode(p.r.rng.IntN(int(forkModes)))}
}

// computeAll computes the trees of the plans one after the other. Each computation may
// end its goroutine.
func (p *forkRun) computeAll(plans []plan) {
	for _, pl := range plans {
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.r.guard("caller", func() { pl.tree.begin(pl.mode) })
		}()
		<-done
	}
}

// traffic schedules n rounds of ordinary tasks.
func (p *forkRun) traffic(n int) {
	for i := range n {
		switch i % 4 {
		case 0:
			p.schedule(p.s.Schedule, 3, nil)
		case 1: // tasks that schedule
			p.schedule(p.s.Schedule, 1, func(w *sched.Worker) { p.schedule(w.Schedule, 1+i%5, nil) })
		case 2: // one that needs a lock
			p.schedule(p.s.Schedule, 1, func(w *sched.Worker) {
				p.r.faults.blocks.Add(1)
				w.Blocking(p.lock.Lock)
				p.lock.Unlock()
			})
		case 3:
			var ran atomic.Bool
			p.waited(p.s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Store(true) }}), ran.Load)
		}
		runtime.Gosched()
	}
}

// burst has MaxWorkers callbacks that run at once: tasks, callers of ForkJoin, or the
// forks of one computation. It does not return when a place has been lost.
func (p *forkRun) burst(kind int) {
	n := p.s.MaxWorkers()
	all := newLatch(n)
	meet := func() { all.countDown(); <-all.open }
	switch kind {
	case 0:
		p.schedule(p.s.Schedule, n, func(*sched.Worker) { meet() })
		<-all.open
	case 1:
		p.r.concurrently(n, func(int) {
			sched.ForkJoin(p.s, func(*sched.Forks[int, int], int) int { meet(); return 0 }, 0)
		})
	case 2:
		got := sched.ForkJoin(p.s, func(f *sched.Forks[int, int], left int) int { return fan(f, left, all) }, n-1)
		if got != n {
			p.r.Errorf("%d forks of %d have run", got, n)
		}
	}
	p.r.did(n)
}

const burstKinds = 3

// fan forks left times and then offers forks until all of them have begun. Each begins
// on a worker of its own, because all end together.
func fan(f *sched.Forks[int, int], left int, all *latch) int {
	if all.countDown(); left <= 0 {
		<-all.open
		return 1
	}
	for range left {
		f.Fork(0)
	}
	for opened := false; !opened; {
		select {
		case <-all.open:
			opened = true
		default:
			if f.Wanted() {
				f.Promote()
			}
			runtime.Gosched()
		}
	}
	sum := 1
	for range left {
		if f.TakeBack() {
			sum += fan(f, 0, all)
		} else {
			sum += f.Await()
		}
	}
	return sum
}

// checkEnd checks the record at the end, when the given number of tasks was returned.
func (p *forkRun) checkEnd(returned int, plans []plan) {
	if accepted, ran := p.accepted.Load(), p.ran.Load(); accepted != ran+int64(returned) {
		p.r.Errorf("%d tasks were accepted, %d ran and %d were returned", accepted, ran, returned)
	}
	for _, pl := range plans {
		if n := pl.tree.computed.Load(); n != 1 && !p.ends {
			pl.tree.failf("computed %d times", n)
		}
	}
	p.r.checkEnded(p.s, -1)
}

// errForkCancel is the cause with which the contexts of trees end.
var errForkCancel = errors.New("the tree is cancelled")

// withContext makes a context for t.
func (t *forkTree) withContext() { t.ctx, t.cancel = context.WithCancelCause(context.Background()) }
