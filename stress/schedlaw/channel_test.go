package schedlaw_test

import (
	"sync"

	"github.com/lanewright/lanewright/stress/schedlaw"
)

// chanPool has workers that receive tasks from a goroutine with the queue. A worker
// that waits for a group or blocks starts a spare worker.
type chanPool struct {
	in      chan chanTask
	out     chan chanTask
	quit    chan struct{}   // closed to end the workers
	left    chan []chanTask // the queued tasks at the time when quit was closed
	workers sync.WaitGroup
	tasks   sync.WaitGroup // accepted tasks that have not ended

	mu      sync.RWMutex // held for reading while a task is sent
	refuses bool         // tasks of external callers are refused
	closed  bool
}

func chanPools() schedlaw.Kind {
	return schedlaw.Kind{
		Name: "channel pool",
		New: func(workers int) schedlaw.Scheduler {
			p := &chanPool{
				in:   make(chan chanTask),
				out:  make(chan chanTask),
				quit: make(chan struct{}),
				left: make(chan []chanTask, 1),
			}
			go p.runQueue()
			for range workers {
				p.workers.Go(func() { p.work(p.quit) })
			}
			return p
		},
	}
}

// runQueue holds the queue and sends its tasks to the workers.
func (p *chanPool) runQueue() {
	var queue []chanTask
	for {
		var out chan chanTask
		var first chanTask
		if len(queue) > 0 {
			out, first = p.out, queue[0]
		}
		select {
		case t := <-p.in:
			queue = append(queue, t)
		case out <- first:
			queue = queue[1:]
		case <-p.quit:
			p.left <- queue
			return
		}
	}
}

func (p *chanPool) work(quit <-chan struct{}) {
	for {
		select {
		case t := <-p.out:
			t.fn(chanWorker{p})
			p.done(t)
		case <-quit:
			return
		case <-p.quit:
			return
		}
	}
}

// withSpareWorker calls fn, which waits, while one more worker runs.
func (p *chanPool) withSpareWorker(fn func()) {
	done := make(chan struct{})
	defer close(done)
	go p.work(done)
	fn()
}

type chanTask struct {
	fn    schedlaw.Task
	group *chanGroup
}

func (p *chanPool) push(t chanTask, inside bool) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed || p.refuses && !inside {
		return false
	}
	p.tasks.Add(1)
	if t.group != nil {
		t.group.tasks.Add(1)
	}
	p.in <- t
	return true
}

// done counts a task that has run or will not run.
func (p *chanPool) done(t chanTask) {
	p.tasks.Done()
	if t.group != nil {
		t.group.tasks.Done()
	}
}

func (p *chanPool) Schedule(fn schedlaw.Task) bool { return p.push(chanTask{fn: fn}, false) }

func (p *chanPool) Shutdown() {
	p.mu.Lock()
	p.refuses = true
	p.mu.Unlock()
	p.tasks.Wait()
	p.Close()
}

func (p *chanPool) Close() (unrun int) {
	p.mu.Lock()
	p.refuses, p.closed = true, true
	p.mu.Unlock()
	close(p.quit)
	rest := <-p.left
	for _, t := range rest {
		p.done(t)
	}
	p.workers.Wait()
	p.tasks.Wait() // includes tasks on spare workers
	return len(rest)
}

type chanWorker struct{ p *chanPool }

func (w chanWorker) Schedule(fn schedlaw.Task) bool {
	return w.p.push(chanTask{fn: fn}, true)
}

func (w chanWorker) Blocking(fn func()) { w.p.withSpareWorker(fn) }

func (p *chanPool) NewGroup() schedlaw.Group { return &chanGroup{p: p} }

type chanGroup struct {
	p     *chanPool
	tasks sync.WaitGroup
}

func (g *chanGroup) Schedule(w schedlaw.Worker, fn schedlaw.Task) bool {
	return g.p.push(chanTask{fn, g}, w != nil)
}

func (g *chanGroup) Wait(w schedlaw.Worker) {
	if w == nil {
		g.tasks.Wait()
		return
	}
	g.p.withSpareWorker(g.tasks.Wait)
}
