package peers

import (
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/internal/bench"
)

// noQueue tells which peers cannot hold a million tasks that wait for a worker.
func noQueue(p *Peer) string {
	switch {
	case p.blocking:
		return "it has no queue: whoever hands over a task waits for a worker"
	case p.Name == "channel" || p.Name == "xsync":
		return "its queue has a fixed size"
	default:
		return ""
	}
}

// queuedMemory weighs tasks that wait for a worker, all of which are held. A library
// that starts a goroutine for each task has its goroutines wait instead. Each run has
// a new pool: one that was used has kept its memory.
func (z Sizes) queuedMemory(first *Pool) *bench.Instance {
	return &bench.Instance{Run: func(m *bench.Meter) error {
		p, err := first.again()
		if err != nil {
			return err
		}
		defer p.end()
		n := z.queued
		if !p.limited {
			n = z.queuedGoroutines
		}
		return p.weigh(m, n)
	}}
}

// weigh weighs n tasks.
func (p *Pool) weigh(m *bench.Meter, n int) error {
	var ran atomic.Int64
	gate := make(chan struct{})
	task := func() {
		<-gate
		ran.Add(1)
		p.Done()
	}
	if p.limited {
		p.hold(gate)
	}
	m.Start()
	before := heap()
	p.Add(n)
	for range n {
		p.hand(task)
	}
	after := heap()
	m.Stop(n)
	early := ran.Load()
	close(gate)
	p.Wait()
	switch {
	case early != 0:
		return errors.New("tasks ran while they were weighed")
	case ran.Load() != int64(n):
		return errors.New("not all queued tasks ran afterwards")
	}
	m.Report((after - before) / float64(n))
	return nil
}

// hold keeps all workers at the gate.
func (p *Pool) hold(gate <-chan struct{}) {
	held := make(chan struct{})
	for range p.workers {
		p.Add(1)
		p.hand(func() {
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
	runtime.GC() // the second one empties what sync.Pool kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) + float64(m.StackInuse)
}
