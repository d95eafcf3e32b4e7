package stress

import (
	"time"

	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
	"github.com/lanewright/lanewright/stress/internal/harness"
	"github.com/lanewright/lanewright/stress/lanelaw"
	"github.com/lanewright/lanewright/stress/queuelaw"
	"github.com/lanewright/lanewright/stress/schedlaw"
)

// lawScenarios returns a scenario for each law of queues, schedulers and lanes.
func lawScenarios() (list []scenario) {
	for _, kind := range []struct {
		name string
		queuelaw.Kind
	}{
		{"mpsc-lifo", queuelaw.MPSC(mpsc.LIFO)},
		{"mpsc-fifo", queuelaw.MPSC(mpsc.FIFO)},
		{"ring", queuelaw.Ring()},
		{"runqueue", queuelaw.RunQueue()},
	} {
		for _, l := range queuelaw.Laws() {
			list = append(list, scenario{"law/" + kind.name + "/" + l.Name, func(r *round) {
				l.Check(r, kind.Kind, queuelaw.Options(r.lawOptions()))
			}})
		}
	}
	with := func(c sched.Config) func(r *round) schedlaw.Kind {
		return func(r *round) schedlaw.Kind {
			c := c
			c.Spawner = &roundSpawner{r: r}
			return schedlaw.Sched(c)
		}
	}
	for _, kind := range []struct {
		name string
		make func(r *round) schedlaw.Kind
	}{
		{"sched", with(sched.Config{})},
		{"sched-stalls", with(sched.Config{StallAfter: time.Millisecond})},
		{"sched-zero", func(*round) schedlaw.Kind { return schedlaw.ZeroSched() }},
	} {
		for _, l := range schedlaw.Laws() {
			list = append(list, scenario{"law/" + kind.name + "/" + l.Name, func(r *round) {
				l.Check(r, kind.make(r), schedlaw.Options(r.lawOptions()))
			}})
		}
	}
	for _, kind := range []struct {
		name string
		lanelaw.Kind
	}{
		{"lane", lanelaw.Pool(pool.Config{})},
		{"lane-of-4", lanelaw.Pool(pool.Config{Concurrency: 4})},
		{"inline", lanelaw.Inline()},
	} {
		for _, l := range lanelaw.Laws() {
			list = append(list, scenario{"law/" + kind.name + "/" + l.Name, func(r *round) {
				l.Check(r, kind.Kind, lanelaw.Options(r.lawOptions()))
			}})
		}
	}
	return list
}

// lawOptions returns the options of a law in this round. Its deadline is half of
// hangTimeout, so that the law reports before the round counts as hung.
func (r *round) lawOptions() harness.Options {
	n := r.size(2000)
	r.did(n)
	return harness.Options{Seed: r.rng.Uint64() | 1, Operations: n, Deadline: r.hangTimeout / 2}
}
