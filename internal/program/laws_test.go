//go:build interleave

package program_test

import (
	"context"
	"errors"

	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// ended checks what Shutdown or Join promise when they return.
func (r *run) ended(e end, err error) {
	switch {
	case e == endShutdownContext && errors.Is(err, context.Canceled) && r.ctx.Err() != nil:
		return
	case e == endJoin && errors.Is(err, sched.ErrNotClosed) && !r.over:
		return
	case err != nil:
		r.m.Fatalf("%v = %v", e, err)
	}
	r.over = true
	if r.running != 0 {
		r.m.Fatalf("%v has returned while %d tasks run", e, r.running)
	}
	for id, f := range r.fates {
		if !r.closing && f.ran < f.accepted {
			r.m.Fatalf("%v has returned before task %d ran", e, id)
		}
	}
	if st := r.s.Stats(); st.Workers != 0 || st.Held != 0 || st.Parked != 0 {
		r.m.Fatalf("%v has returned, Stats = %+v", e, st)
	}
}

// giveBack notes tasks that Close or Join has returned.
func (r *run) giveBack(tasks []*sched.Task) {
	for _, t := range tasks {
		if tw := r.tasks[t]; tw == nil {
			r.strays++
		} else if r.fates[tw.id].returned++; tw.awaited || !r.closing {
			r.m.Fatalf("task %d was handed back", tw.id)
		}
	}
}

// took notes what a call has said about tasks that it was given.
func (r *run) took(inside bool, err error, tws ...*twig) {
	switch {
	case err == nil, errors.Is(err, sched.ErrQueued) && r.failed > 0:
		for _, tw := range tws {
			r.fates[tw.id].accepted++
		}
	case errors.Is(err, sched.ErrClosed) && r.closing:
	case errors.Is(err, sched.ErrShutdown) && r.ending && (!inside || r.closing): // while it closes, either
	default:
		r.m.Fatalf("task %v was refused: %v", tws, err)
	}
}

// begin is the start of a task; what it returns is to be called at its end.
func (r *run) begin(tw *twig) (end func()) {
	f := &r.fates[tw.id]
	me := park.Self()
	top := r.top[me]
	switch {
	case r.over:
		r.m.Fatalf("task %d starts after the end of the scheduler", tw.id)
	case f.over:
		r.m.Fatalf("task %d starts after the wait for it has returned", tw.id)
	case top != nil && !tw.under(top):
		r.m.Fatalf("task %d runs on top of one that does not wait for it", tw.id)
	}
	f.ran++
	r.ran++
	r.running++
	r.top[me] = tw
	if f.ran == 1 {
		if f.needed {
			r.needed.Post()
		}
		if tw.parent.id >= 0 {
			post(r.fates[tw.parent.id].started)
		}
	}
	return func() {
		f.ended++
		r.running--
		r.top[me] = top
	}
}

// await waits for the kids of by and checks what the wait says.
func (r *run) await(by *twig, wait func() error) {
	me := park.Self()
	if by.parent == nil && r.top[me] == nil { // an outside thread
		r.top[me] = by
		defer func() { r.top[me] = nil }()
	}
	raised, err := r.waited(wait)
	if raised == nil && by.way == wayWaitContext && by.parent == nil && r.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return // the tasks may run still
	}
	known := raised == nil && err == nil ||
		errors.Is(err, sched.ErrClosed) && r.closing ||
		errors.Is(err, sched.ErrShutdown) && r.ending
	for _, k := range by.members() {
		f := &r.fates[k.id]
		f.over = true
		switch {
		case f.ran != f.ended:
			r.m.Fatalf("the wait for task %d has returned while it runs", k.id)
		case err == nil && raised == nil && f.ran == 0 && (f.unknown || f.accepted > 0):
			r.m.Fatalf("the wait for task %d has returned before it ran", k.id)
		case err == nil && raised == nil && f.ran > 0 && k.fails != succeeds:
			r.m.Fatalf("the wait for task %d does not tell of its failure", k.id)
		}
		known = known || raised == k || raised == nil && f.ran > 0 && k.matches(err)
	}
	switch {
	case known:
	case raised != nil:
		r.m.Fatalf("the wait for the tasks %v has raised the panic of %d", by.kids, raised.id)
	default:
		r.m.Fatalf("the wait for the tasks %v has returned %v", by.kids, err)
	}
}

// matches reports whether err is what a wait returns for tw.
func (tw *twig) matches(err error) bool {
	var p *sched.PanicError
	return errors.As(err, &p) && p.Value == any(tw) ||
		errors.Is(err, sched.ErrGoexit) && tw.mayExit() ||
		errors.Is(err, errFunc) && tw.fails == errs
}

// waited calls wait and returns the task whose panic it has raised.
func (r *run) waited(wait func() error) (from *twig, err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *twig: // a Do on the caller's goroutine
			from = v
		case *sched.PanicError:
			if tw, ok := v.Value.(*twig); ok {
				from = tw
				return
			}
			panic(v)
		default:
			panic(v)
		}
	}()
	return nil, wait()
}

// final checks the laws at the end of an execution: each task that was accepted
// ran once, was handed back, or was cancelled with its group; the counters add up;
// nobody holds a place.
func (r *run) final() {
	strays := r.nudges
	for id, f := range r.fates {
		tw := f.tw
		if f.function && r.closing {
			strays += f.accepted - f.ran
			f.accepted = f.ran
		}
		gone := f.ran + f.returned
		switch {
		case f.ran != f.ended:
			r.m.Fatalf("task %d has not ended", id)
		case f.unknown && gone > 1, !f.unknown && gone > f.accepted:
			r.m.Fatalf("task %d was accepted %d times and ran %d times, %d times it was handed back", id, f.accepted, f.ran, f.returned)
		case !f.unknown && gone < f.accepted && !(tw.awaited && r.closing):
			r.m.Fatalf("task %d was accepted %d times and ran %d times", id, f.accepted, f.ran)
		}
	}
	if strays != r.strays {
		r.m.Fatalf("%d functions were handed back, want %d", r.strays, strays)
	}
	st := r.s.Stats()
	if st.Workers != r.alive || st.Parked != r.alive || st.Held != 0 || st.Places > r.workers ||
		st.Executed != uint64(r.ran) || st.Spawns != uint64(r.spawned) || st.SpawnFailures != uint64(r.failed) ||
		st.EmptyWakes > st.Wakes {
		r.m.Fatalf("%d tasks ran, %d workers are left of %d, %d spawns failed, Stats = %+v", r.ran, r.alive, r.spawned, r.failed, st)
	}
}
