package stress

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/sched"
)

// TestProgramsShrink runs programs that rapid generates. When one fails, rapid shrinks
// its script. Z-006, Z-015, Z-057.
func TestProgramsShrink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		script := rapid.SliceOfN(rapid.Byte(), 1, 60).Draw(t, "script")
		workers := rapid.IntRange(1, 8).Draw(t, "workers")
		withoutWorker := rapid.Bool().Draw(t, "without workers")
		r := newRound("programs", 0, Config{HangTimeout: 2 * time.Minute})
		r.run(scenario{"programs", func(r *round) {
			p := newProgram(r)
			p.withoutWorker = withoutWorker
			var fault func(uint64) spawnFault
			if withoutWorker {
				fault = func(uint64) spawnFault { return spawnFails }
			}
			s := r.open(sched.Config{MaxWorkers: workers}, fault)
			p.use(s, false)
			p.read(script)
			p.run(func() { r.must("Shutdown", s.Shutdown(t.Context())) })
			r.checkEnded(s, p.entries())
		}})
		for _, text := range r.failures {
			t.Errorf("%s", text)
		}
	})
}

// TestProgramRead checks how scripts are read.
func TestProgramRead(t *testing.T) {
	p := newProgram(nil)
	for _, tc := range []struct {
		name   string
		script []byte
		want   string
	}{
		{"nothing", nil, ""},
		{"one", []byte{0}, "0 schedule\n"},
		{"two roots", []byte{0, 0, 2, 0}, "0 schedule\n1 batch\n"},
		{"children", []byte{1, 2, 3, 0, 0, 4, 0}, "0 external\n  1 yield\n  2 blocking-first\n"},
		{"failures", []byte{6, 2, 0, 1, 0, 0, 7, 1, 1, 0}, "0 wait\n  1 schedule, panics\n  2 wait-unknown, exits\n"},
		{"no awaited yield", []byte{9, 1, 3, 0, 0}, "0 do\n  1 schedule\n"},
		{"over the number of modes", []byte{10, 0}, "0 schedule\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p.read(tc.script)
			if got := p.String(); got != tc.want {
				t.Errorf("the program is\n%swant\n%s", got, tc.want)
			}
		})
	}
}

// TestProgramsAfterAnIdleHour checks that an idle hour between bursts of programs
// changes no counter and ends the workers, and that no later task is missed.
func TestProgramsAfterAnIdleHour(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		synctest.Test(t, func(t *testing.T) {
			r := newRound("programs", uint64(workers), Config{HangTimeout: time.Hour})
			s := r.open(sched.Config{MaxWorkers: workers}, nil)
			p := newProgram(r)
			p.use(s, false)
			entries := 0
			for range 4 {
				for range r.size(200) {
					p.read(r.generateScript())
					p.run(nil)
					entries += p.entries()
				}
				synctest.Wait()
				before := s.Stats()
				time.Sleep(time.Hour)
				before.Workers, before.Parked = 0, 0
				if after := s.Stats(); after != before {
					t.Errorf("an idle hour changed the counters from %+v to %+v", before, after)
				}
			}
			r.end(s, entries)
			for _, text := range r.failures {
				t.Error(text)
			}
		})
	}
}

// TestProgramRuns checks that a run finds a task that ran twice, and two callbacks with
// one worker ID.
func TestProgramRuns(t *testing.T) {
	for name, spoil := range map[string]func(p *program){
		"twice":   func(p *program) { p.nodes[1].Value.ran.Add(1) },
		"same ID": func(p *program) { p.holding[0].Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRound("programs", 1, Config{HangTimeout: time.Minute})
			p := newProgram(r)
			s := r.open(sched.Config{MaxWorkers: 1}, nil)
			p.use(s, false)
			p.read([]byte{0, 1, 0, 0})
			spoil(p)
			p.run(nil)
			r.end(s, 2)
			if !r.Failed() {
				t.Error("no violation was recorded")
			}
		})
	}
}
