package stress

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/sched"
)

var spawnerScenarios = []scenario{
	{"spawner-faults", runSpawnerFaults},
	{"spawner-first", runSpawnerFirst},
	{"spawner-never", runSpawnerNever},
	{"spawner-panics", runSpawnerPanics},
}

// generateFaults generates when a Spawner fails: at first, at every n-th call, at all
// others, at random, or always.
func (r *round) generateFaults() func(call uint64) spawnFault {
	k := uint64(1 + r.rng.IntN(9))
	seed := r.rng.Uint64()
	return [...]func(call uint64) spawnFault{
		func(call uint64) spawnFault { return failIf(call <= k) },
		func(call uint64) spawnFault { return failIf(call%(k+1) == 0) },
		func(call uint64) spawnFault { return failIf(call%(k+1) != 0) },
		func(call uint64) spawnFault { return failIf(seedOfRound(seed, int(call))%4 < 3) },
		func(uint64) spawnFault { return spawnFails },
	}[r.rng.IntN(5)]
}

func failIf(b bool) spawnFault {
	if b {
		return spawnFails
	}
	return spawnWorks
}

// runSpawnerFaults has callers that schedule while the Spawner fails by a generated
// rule, for values of MaxWorkers up to 64. Once the Spawner works, one more task starts
// a worker that runs all tasks.
func runSpawnerFaults(r *round) {
	for workers := 1; workers <= 64; workers += 1 + r.rng.IntN(r.pick(1, 8)) {
		fault := r.generateFaults()
		var repaired atomic.Bool
		s := r.open(sched.Config{MaxWorkers: workers}, func(call uint64) spawnFault {
			if repaired.Load() {
				return spawnWorks
			}
			return fault(call)
		})
		callers, each := 1+r.rng.IntN(3), r.size(32)
		all := newLatch(callers*each + 1)
		block := r.rng.IntN(2) == 0
		task := func() *sched.Task {
			return &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				if block {
					r.faults.blocks.Add(1)
					w.Blocking(runtime.Gosched)
				}
				all.countDown()
			}}
		}
		r.concurrently(callers, func(int) {
			for range each {
				r.want("Schedule", s.Schedule(task()), sched.ErrQueued)
			}
		})
		repaired.Store(true)
		r.must("Schedule with a Spawner that works", s.Schedule(task()))
		<-all.open
		r.did(callers*each + 1)
		r.end(s, callers*each+1)
		if r.Failed() {
			return
		}
	}
}

// runSpawnerFirst has one caller, and a Spawner that fails on its first k calls. k
// tasks are queued, and the next one starts a worker for all of them.
func runSpawnerFirst(r *round) {
	for k := range r.size(65) {
		s := r.open(sched.Config{MaxWorkers: 1 + r.rng.IntN(64)}, func(call uint64) spawnFault { return failIf(call <= uint64(k)) })
		all := newLatch(k + 1)
		for i := range k + 1 {
			if err := s.Go(all.countDown); errors.Is(err, sched.ErrQueued) != (i < k) || i == k && err != nil {
				r.Errorf("schedule %d of %d, the last of which finds a worker: %v", i+1, k+1, err)
			}
		}
		<-all.open
		r.did(k + 1)
		r.end(s, k+1)
	}
}

// runSpawnerNever has no worker: Do, Wait, Run and Shutdown run the tasks themselves.
func runSpawnerNever(r *round) {
	for range r.size(200) {
		s := r.open(sched.Config{MaxWorkers: r.pick(1, 2, 8)}, func(uint64) spawnFault { return spawnFails })
		ran := 0
		count := func(*sched.Worker, *sched.Task) { ran++ }
		want := 0
		expect := func(what string, n int) {
			if want += n; ran != want {
				r.Errorf("%s: %d tasks ran, want %d", what, ran, want)
			}
		}
		for range 4 {
			switch n := 1 + r.rng.IntN(3); r.rng.IntN(3) {
			case 0:
				tasks := make([]*sched.Task, n)
				for i := range tasks {
					tasks[i] = &sched.Task{Fn: count}
				}
				r.must("Do", s.Do(tasks...))
				expect("Do", n)
			case 1:
				g := s.NewGroup(sched.GroupConfig{})
				for range n {
					r.queued(g.Schedule(nil, &sched.Task{Fn: count}))
				}
				r.must("Wait", g.Wait())
				expect("Wait", n)
			case 2:
				ctx, cancel := context.WithCancel(context.Background())
				for range n {
					r.queued(s.Schedule(&sched.Task{Fn: count}))
				}
				r.queued(s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++; cancel() }}))
				r.want("Run", s.Run(ctx), context.Canceled)
				r.faults.cancels.Add(1)
				expect("Run", n+1)
			}
			r.did(2)
		}
		n := r.rng.IntN(4)
		for range n {
			r.queued(s.Schedule(&sched.Task{Fn: count}))
		}
		r.end(s, want+n)
		expect("Shutdown", n)
	}
}

// queued checks that a schedule reports ErrQueued, which states that no worker runs.
func (r *round) queued(err error) {
	if !errors.Is(err, sched.ErrQueued) {
		r.Errorf("Schedule without any worker: %v", err)
	}
}

// runSpawnerPanics has a Spawner that panics at first. The caller receives the panic.
// With one worker at most, only its next call starts one.
func runSpawnerPanics(r *round) {
	for range r.size(100) {
		k := r.rng.IntN(5)
		s := r.open(sched.Config{MaxWorkers: 1}, func(call uint64) spawnFault {
			if call <= uint64(k) {
				return spawnPanics
			}
			return spawnWorks
		})
		all := newLatch(k + 1)
		for i := range k + 1 {
			func() {
				defer func() {
					if p := recover(); (p != nil) != (i < k) || p != nil && p != any(errNoSpawn) {
						r.Errorf("schedule %d of %d, the last of which finds a worker: panic %v", i+1, k+1, p)
					}
				}()
				r.must("Go", s.Go(all.countDown))
			}()
		}
		<-all.open
		r.did(k + 1)
		r.end(s, k+1)
	}
}
