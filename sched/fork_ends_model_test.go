//go:build interleave

package sched_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// TestModelForkClose: a computation ends with its result although Close and Join happen at
// any step of it. A fork runs on its joiner if they find its task in a queue.
func TestModelForkClose(t *testing.T) {
	closes := func(workers int) func(m *interleave.M) {
		return func(m *interleave.M) {
			var fm *forkModel
			fm = newForkModel(m, workers, func(f *forks) int {
				promote(f, 1)
				return fm.join(f, 1)
			}, result(10))
			m.Go("root", func() { fm.runs(10) })
			m.Go("closer", func() {
				if n := fm.closeAndJoin(); n != 0 {
					m.Fatalf("Close and Join returned %d tasks, want none", n)
				}
			})
		}
	}
	interleave.Check(t, "fork-close-1", bounded(), closes(1))
	interleave.Check(t, "fork-close-2", interleave.Options{Preemptions: 1}, closes(2))
}

// TestModelForkShutdown: Shutdown waits for the computation unless the computation runs on
// the caller alone.
func TestModelForkShutdown(t *testing.T) {
	interleave.Check(t, "fork-shutdown", bounded(), func(m *interleave.M) {
		var fm *forkModel
		fm = newForkModel(m, 1, func(f *forks) int {
			promote(f, 1)
			return fm.join(f, 1)
		}, result(10))
		m.Go("root", func() { fm.runs(10) })
		m.Go("closer", func() { fm.must(fm.s.Shutdown(context.Background())) })
	})
}

// TestModelForkCancel: no fork is promoted after a body has seen the end of the context.
// All other bodies see the end as well.
func TestModelForkCancel(t *testing.T) {
	interleave.Check(t, "fork-cancel", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		var c sched.Cancel
		md := newModel(m, 2, 0)
		m.Go("root", func() {
			sched.ForkJoinCancel(&c, md.s, func(f *forks, i int) int {
				if i == 1 {
					for !f.Cancelled() {
						park.Yield()
					}
					return 0
				}
				promote(f, 1)
				seen, n := f.Cancelled(), f.Promoted()
				promote(f, 1)
				if seen && f.Promoted() > n {
					m.Fatalf("a fork was promoted after the end of the context")
				}
				for range 2 {
					if f.TakeBack() {
						continue // its body would wait for the end of the context
					}
					f.Await()
				}
				return 0
			}, 0)
		})
		m.Go("canceller", c.End)
	})
}

// TestModelForkCancelOuter: no fork of a cancelled outer computation is promoted while an
// inner computation continues to promote its forks.
func TestModelForkCancelOuter(t *testing.T) {
	interleave.Check(t, "fork-cancel-outer", bounded(), func(m *interleave.M) {
		var c sched.Cancel
		md := newModel(m, 1, 0)
		m.Go("root", func() {
			sched.ForkJoinCancel(&c, md.s, func(outer *forks, _ int) int {
				outer.Fork(1)
				c.End()
				sched.ForkJoin(md.s, func(inner *forks, i int) int {
					if i == 0 {
						promote(inner, 1)
						if outer.Promoted() != 0 || inner.Promoted() != 1 {
							m.Fatalf("promoted: %d of the outer, %d of the inner", outer.Promoted(), inner.Promoted())
						}
						inner.TakeBack()
						inner.Await()
					}
					return 0
				}, 0)
				outer.TakeBack()
				return 0
			}, 0)
		})
	})
}

// TestModelForkSpawnFails: the join runs the fork of a body that blocks if no worker can
// be started for it.
func TestModelForkSpawnFails(t *testing.T) {
	interleave.Check(t, "fork-spawn-fails", bounded(), func(m *interleave.M) {
		var fm *forkModel
		fm = newForkModel(m, 1, func(f *forks) int {
			f.Fork(1)
			f.Worker().Blocking(func() {})
			return fm.join(f, 1)
		}, result(10))
		fm.model = newModel(m, 1, anyNumber)
		m.Go("root", func() { fm.runs(10) })
	})
}

// raised runs fn and returns the value of its panic, and whether a PanicError wrapped the
// value.
func raised(fn func()) (value any, wrapped bool) {
	defer func() {
		value = recover()
		var err *sched.PanicError
		if e, ok := value.(error); ok && errors.As(e, &err) {
			value, wrapped = err.Value, true
		}
	}()
	fn()
	return nil, false
}

// TestModelForkPanic: the join of a fork that panics raises the panic again. The value is
// in a PanicError if another worker ran the fork. It is unchanged if the joiner ran the
// fork.
func TestModelForkPanic(t *testing.T) {
	interleave.Check(t, "fork-panic", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		var fm *forkModel
		var joiner, runner *forks
		fm = newForkModel(m, 2, func(f *forks) int {
			joiner = f
			promote(f, 1)
			if v, wrapped := raised(func() { fm.join(f, 1) }); v != "boom" || wrapped != (runner != joiner) {
				m.Fatalf("panic value %v, in a PanicError: %v, raised by another worker: %v", v, wrapped, runner != joiner)
			}
			f.Fork(2) // the stack remains usable
			return fm.join(f, 2)
		}, func(f *forks) int { runner = f; panic("boom") }, result(5))
		m.Go("root", func() { fm.runs(5) })
	})
}

// TestModelForkOwnerPanics: no body runs after a ForkJoin whose body panics. Each promoted
// fork of that body runs at most once and a private one never.
func TestModelForkOwnerPanics(t *testing.T) {
	interleave.Check(t, "fork-owner-panics", bounded(), func(m *interleave.M) {
		promoted := 0
		fm := newForkModel(m, 2, func(f *forks) int {
			promote(f, 1)
			f.Fork(2)
			promoted = f.Promoted()
			panic("owner")
		}, result(0), result(0))
		m.Go("root", func() {
			v, _ := raised(func() { fm.run() })
			if v != "owner" || fm.ran[1] > 1 || fm.ran[2] > promoted-1 {
				m.Fatalf("panic value %v, the bodies ran %v times, %d forks were promoted", v, fm.ran, promoted)
			}
		})
	})
}

// TestModelForkGoexit: a Goexit of a fork continues at its join and ends the caller of
// ForkJoin, whichever goroutine runs the fork.
func TestModelForkGoexit(t *testing.T) {
	interleave.Check(t, "fork-goexit", bounded(), func(m *interleave.M) {
		var fm *forkModel
		fm = newForkModel(m, 2, func(f *forks) int {
			promote(f, 1)
			fm.join(f, 1)
			m.Fatalf("the join returned after a Goexit of its fork")
			return 0
		}, func(*forks) int { runtime.Goexit(); return 0 })
		m.Go("root", func() { fm.run() })
		m.Final(func() {
			if !fm.ended || fm.ran[1] != 1 {
				m.Fatalf("ForkJoin has ended: %v, the fork ran %d times, want true and 1", fm.ended, fm.ran[1])
			}
		})
	})
}

// TestModelForkGoexitInClose: no fork runs on top of a body that unwinds. A worker runs a
// fork of the body, and that fork waits for one that calls Goexit. This Goexit would end
// close and ForkJoin half way if it ran on top of the body.
func TestModelForkGoexitInClose(t *testing.T) {
	interleave.Check(t, "fork-goexit-in-close", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		var begun, exiting park.Sema
		begun.Init(1)
		exiting.Init(1)
		var fm *forkModel
		fm = newForkModel(m, 2, func(f *forks) int {
			promote(f, 1)
			return fm.join(f, 1)
		}, func(f *forks) int {
			promote(f, 2)
			begun.Wait() // another worker runs it
			panic("one")
		}, func(f *forks) int {
			promote(f, 3)
			begun.Post()
			exiting.Wait() // another worker runs it
			return fm.join(f, 3)
		}, func(*forks) int {
			exiting.Post()
			runtime.Goexit()
			return 0
		})
		m.Go("root", func() {
			if v, _ := raised(func() { fm.run() }); v != "one" {
				m.Fatalf("panic value %v, want one", v)
			}
		})
		m.Final(func() {
			if !fm.ended || fm.ran[2] != 1 || fm.ran[3] != 1 {
				m.Fatalf("ForkJoin has ended: %v, the bodies ran %v times", fm.ended, fm.ran)
			}
		})
	})
}
