package peers

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/traffic"
)

// noLimit returns why a peer cannot make calls wait for a worker, or "".
func noLimit(p *Peer) string {
	if p.limited {
		return ""
	}
	return "it has no limit: all calls run at once"
}

// noRefusal returns why a peer has no queue like that of lane/web, or "".
func noRefusal(p *Peer) string {
	if p.Name == "pond" {
		return ""
	}
	return "it is not measured with a bounded queue that refuses tasks: see pond"
}

// fair makes the calls of lane/fair on a pool of four workers. One goroutine schedules them
// without a pause. Where callers wait for the end, each call has a goroutine of its own. The
// value is the time of the slowest of the three orders.
func (z Sizes) fair(p *Pool) *bench.Instance {
	schedule := p.schedule
	if p.waits {
		schedule = func(task func()) { go p.schedule(task) }
	}
	orders := traffic.Orders(z.short, z.long)
	return &bench.Instance{Run: func(m *bench.Meter) error {
		var longest int64
		var ran atomic.Int64
		m.Start()
		for _, calls := range orders {
			began := bench.Now()
			p.Add(len(calls))
			for _, d := range calls {
				schedule(func() {
					time.Sleep(d)
					ran.Add(1)
					p.Done()
				})
			}
			p.Wait()
			longest = max(longest, bench.Now()-began)
		}
		m.Stop(len(orders))
		m.Report(float64(longest))
		return errUnless(ran.Load() == int64(len(orders)*traffic.MixedCalls))
	}}
}

// web makes the calls of the clients of lane/web on a pool of two workers that lets four tasks
// wait and refuses others. Each run has a pool of its own.
func (z Sizes) web(p *Pool) *bench.Instance {
	ns := make([]int64, z.answers)
	clients := traffic.Clients{Number: traffic.WebClients, Retry: z.request / 4}
	answers := make([]sync.WaitGroup, traffic.WebClients)
	return &bench.Instance{Run: func(m *bench.Meter) error {
		try, end := p.refusing(traffic.WebWorkers, traffic.WebBacklog)
		defer end()
		m.Start()
		refused, err := clients.Run(m.Context(), ns, func(client int) (bool, error) {
			answers[client].Add(1)
			if !try(func() {
				time.Sleep(z.request)
				answers[client].Done()
			}) {
				answers[client].Done()
				return false, nil
			}
			answers[client].Wait()
			return true, nil
		})
		m.Stop(len(ns))
		m.Latencies(ns, 1)
		m.Refused(refused)
		return err
	}}
}
