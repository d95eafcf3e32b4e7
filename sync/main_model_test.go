//go:build interleave

package sync_test

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/invariant"
	lfsync "github.com/lanewright/lanewright/sync"
)

// explore checks a model. The model must be explored completely. Under the race detector an
// execution takes many times as long, and few executions show the races.
func explore(t *testing.T, name string, o interleave.Options, body func(m *interleave.M)) {
	t.Helper()
	if raceEnabled {
		o.Budget = 3 * time.Second
	}
	r := interleave.Check(t, name, o, body)
	if r.Failure == nil && !r.Complete && !raceEnabled && flag.Lookup("interleave.replay").Value.String() == "" {
		t.Errorf("model %s: not complete after %d executions", name, r.Executions)
	}
}

// planted explores a model with a planted bug, which must be found. want is part of the
// message of the failure.
func planted(t *testing.T, bug, want string, o interleave.Options, body func(m *interleave.M)) {
	t.Helper()
	t.Run("planted: "+bug, func(t *testing.T) {
		r := interleave.Explore(o, body)
		if r.Failure == nil {
			t.Fatalf("not found in %d executions, complete=%v", r.Executions, r.Complete)
		}
		asserted := invariant.Enabled && strings.Contains(r.Failure.Message, "invariant violated") // an assertion finds some bugs first
		if !strings.Contains(r.Failure.Message, want) && !asserted {
			t.Errorf("found %q, want %q", r.Failure.Message, want)
		}
		t.Logf("found in execution %d: %s", r.Failure.Execution, r.Failure.Message)
	})
}

var (
	two   = interleave.Options{Preemptions: 2, Budget: time.Minute}
	three = interleave.Options{Preemptions: 3, Budget: time.Minute}
	all   = interleave.Options{Preemptions: interleave.All, Reduce: true, Budget: time.Minute}
)

// cell is implemented by Sync and by mutant.
type cell interface {
	Load() lfsync.Word
	Notify(waking bool, limit int) lfsync.Action
	Wait(waking, idle bool) lfsync.Outcome
	Linger(waking bool) lfsync.Outcome
	StopLingering() bool
	Rest() bool
	SpawnFailed() lfsync.Word
	Enter(limit int) (lfsync.Word, bool)
	Leave(waking, idle bool, limit int) (lfsync.Word, lfsync.Action)
	Shutdown() (idle int, lingering, first bool)
}

// rules holds transitions with planted bugs. A nil rule stands for that of the Word.
type rules struct {
	notify      func(w lfsync.Word, waking bool, limit int) (lfsync.Word, lfsync.Action)
	wait        func(w lfsync.Word, waking, idle bool) (lfsync.Word, lfsync.Outcome)
	linger      func(w lfsync.Word, waking bool) (lfsync.Word, lfsync.Outcome)
	stop        func(w lfsync.Word) (lfsync.Word, bool)
	rest        func(w lfsync.Word) (lfsync.Word, bool)
	spawnFailed func(w lfsync.Word) lfsync.Word
	leave       func(w lfsync.Word, waking, idle bool, limit int) (lfsync.Word, lfsync.Action)
	shutdown    func(w lfsync.Word) (lfsync.Word, int, bool)
}

// mutant is a Sync with other rules.
type mutant struct {
	rules
	word atomix.Uint32
}

// newCell returns a Sync if r is nil, and otherwise a mutant with the rules r.
func newCell(r *rules) cell {
	if r == nil {
		return new(lfsync.Sync)
	}
	c := &mutant{rules: *r}
	if c.notify == nil {
		c.notify = lfsync.Word.Notify
	}
	if c.wait == nil {
		c.wait = lfsync.Word.Wait
	}
	if c.linger == nil {
		c.linger = lfsync.Word.Linger
	}
	if c.stop == nil {
		c.stop = lfsync.Word.StopLingering
	}
	if c.rest == nil {
		c.rest = lfsync.Word.Rest
	}
	if c.shutdown == nil {
		c.shutdown = lfsync.Word.Shutdown
	}
	if c.spawnFailed == nil {
		c.spawnFailed = lfsync.Word.SpawnFailed
	}
	if c.leave == nil {
		c.leave = lfsync.Word.Leave
	}
	return c
}

func (c *mutant) change(f func(lfsync.Word) lfsync.Word) {
	for {
		w := c.Load()
		next := f(w)
		if next == w || c.word.CompareAndSwap(uint32(w), uint32(next)) {
			return
		}
	}
}

func (c *mutant) Load() lfsync.Word { return lfsync.Word(c.word.Load()) }

func (c *mutant) Notify(waking bool, limit int) (act lfsync.Action) {
	c.change(func(w lfsync.Word) (next lfsync.Word) { next, act = c.notify(w, waking, limit); return next })
	return act
}

func (c *mutant) Wait(waking, idle bool) (out lfsync.Outcome) {
	c.change(func(w lfsync.Word) (next lfsync.Word) { next, out = c.wait(w, waking, idle); return next })
	return out
}

func (c *mutant) Linger(waking bool) (out lfsync.Outcome) {
	c.change(func(w lfsync.Word) (next lfsync.Word) { next, out = c.linger(w, waking); return next })
	return out
}

func (c *mutant) StopLingering() (ok bool) {
	c.change(func(w lfsync.Word) (next lfsync.Word) { next, ok = c.stop(w); return next })
	return ok
}

func (c *mutant) Rest() (ok bool) {
	c.change(func(w lfsync.Word) (next lfsync.Word) { next, ok = c.rest(w); return next })
	return ok
}

func (c *mutant) SpawnFailed() (next lfsync.Word) {
	c.change(func(w lfsync.Word) lfsync.Word { next = c.spawnFailed(w); return next })
	return next
}

func (c *mutant) Enter(limit int) (next lfsync.Word, ok bool) {
	c.change(func(w lfsync.Word) lfsync.Word { next, ok = w.Enter(limit); return next })
	return next, ok
}

func (c *mutant) Leave(waking, idle bool, limit int) (next lfsync.Word, act lfsync.Action) {
	c.change(func(w lfsync.Word) lfsync.Word { next, act = c.leave(w, waking, idle, limit); return next })
	return next, act
}

func (c *mutant) Shutdown() (idle int, lingering, first bool) {
	c.change(func(w lfsync.Word) (next lfsync.Word) {
		lingering = w.Lingering()
		next, idle, first = c.shutdown(w)
		return next
	})
	return idle, first && lingering, first
}

// ghost is a number that belongs to the model and not to the program. One thread runs at a
// time, and no access is a step. The race detector does not see the accesses because the
// threads are not ordered for it.
type ghost struct{ n int }

//go:norace
func (g *ghost) add(d int) int {
	g.n += d
	return g.n
}

//go:norace
func (g *ghost) set(n int) { g.n = n }

//go:norace
func (g *ghost) get() int { return g.n }
