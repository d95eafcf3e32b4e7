package peers

import (
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/internal/bench"
)

// noQueue returns why a peer cannot hold a million queued tasks, or "".
func noQueue(p *Peer) string {
	switch {
	case p.blocking:
		return "it has no queue: a caller that schedules a task waits for a worker"
	case p.Name == "channel" || p.Name == "xsync":
		return "its queue has a fixed size"
	default:
		return ""
	}
}

// queuedMemory measures the memory of queued tasks while all workers wait at a gate. If a
// library starts a goroutine for each task, these goroutines wait there too. Each run
// has a new pool, because a used pool retains memory.
func (z Sizes) queuedMemory(first *Pool) *bench.Instance {
	return &bench.Instance{Run: func(m *bench.Meter) error {
		p, err := first.reopen()
		if err != nil {
			return err
		}
		defer p.end()
		n := z.queued
		if !p.limited {
			n = z.queuedGoroutines
		}
		return p.measureMemory(m, n)
	}}
}

// measureMemory measures the memory of n tasks.
func (p *Pool) measureMemory(m *bench.Meter, n int) error {
	var ran atomic.Int64
	gate := make(chan struct{})
	task := func() {
		<-gate
		ran.Add(1)
		p.Done()
	}
	if p.limited {
		p.holdWorkers(gate)
	}
	m.Start()
	before := heap()
	p.Add(n)
	for range n {
		p.schedule(task)
	}
	after := heap()
	m.Stop(n)
	early := ran.Load()
	close(gate)
	p.Wait()
	switch {
	case early != 0:
		return errors.New("tasks ran while their memory was measured")
	case ran.Load() != int64(n):
		return errors.New("some of the queued tasks did not run")
	}
	m.Report((after - before) / float64(n))
	return nil
}

// holdWorkers makes all workers wait at the gate.
func (p *Pool) holdWorkers(gate <-chan struct{}) {
	held := make(chan struct{})
	for range p.workers {
		p.Add(1)
		p.schedule(func() {
			held <- struct{}{}
			<-gate
			p.Done()
		})
		<-held
	}
}

// heap returns the bytes of live objects and of stacks.
func heap() float64 {
	runtime.GC()
	runtime.GC() // the second one frees what sync.Pool retained
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) + float64(m.StackInuse)
}
