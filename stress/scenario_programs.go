package stress

import (
	"context"
	"errors"
	"sync"

	"github.com/lanewright/lanewright/sched"
)

var programScenarios = []scenario{
	{"programs", runPrograms},
	{"programs-without-workers", runProgramsWithoutWorkers},
}

// generateScript generates the script of a program, in the common case a short one.
func (r *round) generateScript() []byte {
	script := make([]byte, 1+r.rng.IntN(r.pick(8, 8, 8, 16, 16, 80)))
	for i := range script {
		script[i] = byte(r.rng.Uint32())
	}
	return script
}

// runPrograms runs generated programs, several of them on one scheduler one after the
// other, with callers of Run in addition to its workers.
func runPrograms(r *round) {
	p := newProgram(r)
	for n := r.size(4000); n > 0 && !r.Failed(); {
		c := sched.Config{MaxWorkers: r.pick(1, 2, 2, 3, 4, 8, 64)}
		if r.rng.IntN(4) == 0 {
			c.OnPanic = func(*sched.Task, any, []byte) {}
		}
		s := r.open(c, nil)
		p.use(s, c.OnPanic != nil)
		ctx, cancel := context.WithCancel(context.Background())
		var runners sync.WaitGroup
		for range r.pick(0, 0, 0, 1, 2) {
			runners.Go(func() {
				if err := s.Run(ctx); !errors.Is(err, context.Canceled) {
					r.Errorf("Run: %v", err)
				}
				r.faults.cancels.Add(1)
			})
		}
		entries := 0
		for range min(n, 1+r.rng.IntN(r.pick(1, 16, 64))) {
			n--
			p.read(r.generateScript())
			p.run(nil)
			entries += p.entries()
		}
		cancel()
		runners.Wait()
		r.end(s, entries)
	}
}

// runProgramsWithoutWorkers runs programs with a Spawner that fails in most cases. A
// caller that waits, or shuts down, runs the tasks that no worker runs.
func runProgramsWithoutWorkers(r *round) {
	p := newProgram(r)
	p.withoutWorker = true
	for range r.size(500) {
		s := r.open(sched.Config{MaxWorkers: r.pick(1, 2, 3, 8)}, r.generateFaults())
		p.use(s, false)
		p.read(r.generateScript())
		p.run(func() { r.must("Shutdown", s.Shutdown(context.Background())) })
		r.checkEnded(s, p.entries())
		if r.Failed() {
			return
		}
	}
}
