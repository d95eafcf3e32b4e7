//go:build interleave

package program_test

import (
	"context"
	"errors"

	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// ended checks the promises of Shutdown and Join at their return.
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
	for id, f := range r.records {
		if !r.closing && f.ran < f.accepted && !r.maySkip(&f) {
			r.m.Fatalf("%v has returned before task %d ran", e, id)
		}
	}
	if st := r.s.Stats(); st.Workers != 0 || st.Held != 0 || st.Parked != 0 {
		r.m.Fatalf("%v has returned, Stats = %+v", e, st)
	}
}

// noteReturned records tasks that Close or Join has returned.
func (r *run) noteReturned(tasks []*sched.Task) {
	for _, t := range tasks {
		if nd := r.tasks[t]; nd == nil {
			r.unknownReturned++
		} else if r.records[nd.id].returned++; nd.awaited || !r.closing {
			r.m.Fatalf("task %d was returned", nd.id)
		}
	}
}

// noteResult records the result of a call for its tasks.
func (r *run) noteResult(inside bool, err error, nds ...*node) {
	switch {
	case err == nil, errors.Is(err, sched.ErrQueued) && r.failed > 0:
		for _, nd := range nds {
			r.records[nd.id].accepted++
		}
	case errors.Is(err, sched.ErrClosed) && r.closing:
	case errors.Is(err, sched.ErrShutdown) && r.ending && (!inside || r.closing): // while Close runs, both are possible
	default:
		r.m.Fatalf("task %v was refused: %v", nds, err)
	}
}

// begin records the start of a task. The task calls the returned function at its end.
func (r *run) begin(nd *node) (end func()) {
	f := &r.records[nd.id]
	me := park.Self()
	top := r.top[me]
	switch {
	case r.over:
		r.m.Fatalf("task %d starts after the end of the scheduler", nd.id)
	case f.awaited:
		r.m.Fatalf("task %d starts after the wait for it has returned", nd.id)
	case top != nil && !nd.under(top):
		r.m.Fatalf("task %d runs on top of a task that does not wait for it", nd.id)
	}
	f.ran++
	r.ran++
	r.running++
	r.top[me] = nd
	if f.ran == 1 {
		if f.needed {
			r.needed.Post()
		}
		if nd.parent.id >= 0 {
			post(r.records[nd.parent.id].started)
		}
	}
	return func() {
		f.ended++
		r.running--
		r.top[me] = top
	}
}

// await waits for the children of by and checks the result of the wait.
func (r *run) await(by *node, wait func() error) {
	me := park.Self()
	if by.parent == nil && r.top[me] == nil { // an external caller
		r.top[me] = by
		defer func() { r.top[me] = nil }()
	}
	raised, err := r.waited(wait)
	if raised == nil && by.mode == modeWaitContext && by.parent == nil && r.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return // the tasks may still run
	}
	known := raised == nil && err == nil ||
		errors.Is(err, sched.ErrClosed) && r.closing ||
		errors.Is(err, sched.ErrShutdown) && r.ending
	for _, k := range by.members() {
		f := &r.records[k.id]
		f.awaited = true
		switch {
		case f.ran != f.ended:
			r.m.Fatalf("the wait for task %d returned while it runs", k.id)
		case err == nil && raised == nil && f.ran == 0 && (f.unknown || f.accepted > 0):
			r.m.Fatalf("the wait for task %d returned before it ran", k.id)
		case err == nil && raised == nil && f.ran > 0 && k.fails != succeeds:
			r.m.Fatalf("the wait for task %d does not report its failure", k.id)
		}
		known = known || raised == k || raised == nil && f.ran > 0 && k.matches(err)
	}
	switch {
	case known:
	case raised != nil:
		r.m.Fatalf("the wait for the tasks %v raised the panic of %d", by.children, raised.id)
	default:
		r.m.Fatalf("the wait for the tasks %v returned %v", by.children, err)
	}
}

// matches reports whether err is the result of a wait for nd.
func (nd *node) matches(err error) bool {
	var p *sched.PanicError
	return errors.As(err, &p) && p.Value == any(nd) ||
		errors.Is(err, sched.ErrGoexit) && nd.mayExit() ||
		errors.Is(err, errFunc) && nd.fails == errs
}

// waited calls wait. It returns the error of wait, or the task whose panic wait raised
// again.
func (r *run) waited(wait func() error) (from *node, err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *node: // a Do runs a task on the goroutine of its caller
			from = v
		case *sched.PanicError:
			if nd, ok := v.Value.(*node); ok {
				from = nd
				return
			}
			panic(v)
		default:
			panic(v)
		}
	}()
	return nil, wait()
}

// maySkip reports whether the group of a task may have skipped it: its context has ended, or a
// task of the group has failed, which an exit on top of its wait causes as well.
func (r *run) maySkip(f *record) bool {
	if !r.ends[f.group] {
		return false
	}
	for _, k := range r.records {
		if k.group == f.group && k.ran > 0 && (k.nd.fails != succeeds || k.nd.awaitsExit()) {
			return true
		}
	}
	return r.ctx.Err() != nil
}

// final checks the laws at the end of an execution. Each accepted task ran once, was
// returned, or was cancelled or skipped with its group. The counters add up, and no place is held.
func (r *run) final() {
	unknownReturned := r.nudges
	for id, f := range r.records {
		nd := f.nd
		if f.function && r.closing {
			unknownReturned += f.accepted - f.ran
			f.accepted = f.ran
		}
		outcomes := f.ran + f.returned
		switch {
		case f.ran != f.ended:
			r.m.Fatalf("task %d has not ended", id)
		case f.unknown && outcomes > 1, !f.unknown && outcomes > f.accepted:
			r.m.Fatalf("task %d was accepted %d times, ran %d times and was returned %d times", id, f.accepted, f.ran, f.returned)
		case !f.unknown && outcomes < f.accepted && !(nd.awaited && r.closing) && !r.maySkip(&f):
			r.m.Fatalf("task %d was accepted %d times and ran %d times", id, f.accepted, f.ran)
		}
	}
	if unknownReturned != r.unknownReturned {
		r.m.Fatalf("%d functions were returned, want %d", r.unknownReturned, unknownReturned)
	}
	st := r.s.Stats()
	if st.Workers != r.alive || st.Parked != r.alive || st.Held != 0 || st.Places > r.workers ||
		st.Executed != uint64(r.ran) || st.Spawns != uint64(r.spawned) || st.SpawnFailures != uint64(r.failed) ||
		st.EmptyWakes > st.Wakes {
		r.m.Fatalf("%d tasks ran, %d workers are left of %d, %d spawns failed, Stats = %+v", r.ran, r.alive, r.spawned, r.failed, st)
	}
}
