package stress

import (
	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
)

// lawScenarios makes a scenario of each law of queues, schedulers and lanes.
func lawScenarios() (list []scenario) {
	for _, kind := range []struct {
		name string
		QueueKind
	}{
		{"mpsc-lifo", Overflow(mpsc.LIFO)},
		{"mpsc-fifo", Overflow(mpsc.FIFO)},
		{"ring", Ring()},
		{"runqueue", RunQueue()},
	} {
		for _, l := range QueueLaws() {
			list = append(list, scenario{"law/" + kind.name + "/" + l.Name, func(r *round) { l.Check(r, kind.QueueKind, r.lawOptions()) }})
		}
	}
	for _, l := range SchedulerLaws() {
		list = append(list, scenario{"law/sched/" + l.Name, func(r *round) {
			l.Check(r, Sched(sched.Config{Spawner: &roundSpawner{r: r}}), r.lawOptions())
		}})
	}
	for _, kind := range []struct {
		name string
		LaneKind
	}{
		{"lane", PoolLanes(pool.Config{})},
		{"lane-of-4", PoolLanes(pool.Config{Concurrency: 4})},
		{"inline", InlineLane()},
	} {
		for _, l := range LaneLaws() {
			list = append(list, scenario{"law/" + kind.name + "/" + l.Name, func(r *round) { l.Check(r, kind.LaneKind, r.lawOptions()) }})
		}
	}
	return list
}

// lawOptions are those of a law in this round. It gives up before the round does.
func (r *round) lawOptions() Options {
	n := r.size(2000)
	r.did(n)
	return Options{Seed: r.rng.Uint64() | 1, Operations: n, Deadline: r.hangTimeout / 2}
}
