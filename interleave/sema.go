package interleave

import (
	"runtime"
	"time"
)

// Sema is a counting semaphore that the explorer schedules. Post adds a token.
// Wait takes a token, and blocks while there is none. Each call is one step. When
// all threads that have not ended wait without a token, the execution is a
// deadlock.
//
// Tokens are taken in the order in which they were added. The Post of a token
// happens before the end of the Wait that takes it. No other edge is implied.
//
// Init comes before every other method. Outside an exploration a Sema is a
// buffered channel. It is safe for concurrent use after Init. It must not be
// copied before Init.
type Sema struct {
	tokens chan struct{}
}

// Init sets the capacity in tokens and removes all tokens. It must be called
// before the first use, by one thread. It panics when capacity is less than 1. The other
// methods panic before Init.
func (s *Sema) Init(capacity int) {
	if capacity < 1 {
		panic("interleave: Sema.Init: capacity is less than 1")
	}
	s.tokens = make(chan struct{}, capacity)
}

// Post adds a token and returns true. When the semaphore is full, it drops the
// token and returns false. It never blocks.
//
//go:norace
func (s *Sema) Post() bool {
	if s.tokens == nil {
		panic("interleave: Sema.Post before Init")
	}
	x := enterFor(addressOf(s))
	if x == nil {
		return s.post()
	}
	t := s.step(x, opPost)
	ok := s.post()
	if t != nil && ok {
		x.objects.list[t.op.obj].post(&t.clock, len(x.threads))
		t.clock[t.id]++
		x.change(t, t.op.obj)
		x.logResult(1)
	}
	if x.tracing {
		x.noteOp("Sema", sprintf("Post() = %t", ok))
	}
	return ok
}

func (s *Sema) post() bool {
	select {
	case s.tokens <- struct{}{}:
		return true
	default:
		return false
	}
}

// TryWait takes a token if there is one, and reports whether it did. It never
// blocks.
//
//go:norace
func (s *Sema) TryWait() bool {
	if s.tokens == nil {
		panic("interleave: Sema.TryWait before Init")
	}
	x := enterFor(addressOf(s))
	if x == nil {
		return s.take()
	}
	t := s.step(x, opTryWait)
	ok := s.take()
	if t != nil && ok {
		x.taken(t)
	}
	if x.tracing {
		x.noteOp("Sema", sprintf("TryWait() = %t", ok))
	}
	return ok
}

func (s *Sema) take() bool {
	select {
	case <-s.tokens:
		return true
	default:
		return false
	}
}

// Wait takes a token. It blocks while there is none.
//
//go:norace
func (s *Sema) Wait() {
	if s.tokens == nil {
		panic("interleave: Sema.Wait before Init")
	}
	x := enterFor(addressOf(s))
	if x == nil {
		<-s.tokens
		return
	}
	s.wait(x, opWait, nil)
	if x.tracing {
		x.noteOp("Sema", "Wait()")
	}
}

// WaitDone takes a token and returns true, or returns false when done is closed.
// It blocks while neither is possible. When both are possible, an exploration
// tries both. With a nil channel WaitDone is Wait. No value may be sent on done. The end
// by done counts as ordered after the earlier accesses of all threads to Cells, although it
// is only after those of the thread that has closed done: see "What is left out".
//
//go:norace
func (s *Sema) WaitDone(done <-chan struct{}) bool {
	if s.tokens == nil {
		panic("interleave: Sema.WaitDone before Init")
	}
	x := enterFor(addressOf(s))
	if x == nil {
		select {
		case <-s.tokens:
			return true
		case <-done:
			return false
		}
	}
	ok := s.wait(x, opWaitDone, done)
	if x.tracing {
		x.noteOp("Sema", sprintf("WaitDone() = %t", ok))
	}
	return ok
}

// WaitFor takes a token and returns true, or returns false after the time d. With
// a d of zero or less it is TryWait.
//
// In an exploration no time passes. The call never times out without
// [Options.Timeouts]. With it, the call may time out at any step, for any d. A thread
// times out at most [Options.Rounds] times in a row after a first timeout, until
// another thread changes an object, unless no thread could take a step otherwise.
//
//go:norace
func (s *Sema) WaitFor(d time.Duration) bool {
	if s.tokens == nil {
		panic("interleave: Sema.WaitFor before Init")
	}
	if d <= 0 {
		return s.TryWait()
	}
	x := enterFor(addressOf(s))
	if x == nil {
		return s.waitFor(d)
	}
	ok := s.wait(x, opWaitFor, nil)
	if x.tracing {
		x.noteOp("Sema", sprintf("WaitFor(%v) = %t", d, ok))
	}
	return ok
}

func (s *Sema) waitFor(d time.Duration) bool {
	if s.take() {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.tokens:
		return true
	case <-timer.C:
		return false
	}
}

// step announces an operation. It returns the calling thread, or nil when the
// operation is no step of the program.
//
//go:norace
func (s *Sema) step(x *explorer, kind opKind) *thread {
	t := x.current
	if t == nil || x.phase != phaseRun {
		x.outside(addressOf(s))
		return nil
	}
	id, isNew := x.objects.find(addressOf(s))
	if isNew {
		x.objects.list[id].initial = len(s.tokens)
	}
	t.step(kind, id)
	x.read(t, id)
	if x.opts.Reduce {
		x.lastEvent().available = len(s.tokens) > 0
	}
	return t
}

// wait is an operation that can block.
//
//go:norace
func (s *Sema) wait(x *explorer, kind opKind, done <-chan struct{}) bool {
	t := x.current
	if t != nil && x.phase == phaseRun {
		t.sema, t.done = s, done
		x.untimed = x.untimed || kind == opWaitFor && !x.opts.Timeouts
	}
	t = s.step(x, kind)
	if t == nil {
		return s.waitOutsideRun(x, done)
	}
	token := len(s.tokens) > 0
	mayFail := !token
	if kind == opWaitDone {
		mayFail = closed(done)
	}
	if token && kind == opWaitFor && x.opts.Timeouts {
		if mayFail = x.mayTimeOut(t); !mayFail {
			x.held = true
		}
	}
	if token && mayFail && x.choose(2) == 1 {
		token = false
	}
	if token {
		s.take()
		x.taken(t)
		return true
	}
	if kind == opWaitDone {
		// The explorer does not know the thread that closed the channel. It
		// orders all previous actions of all threads before this one, so that
		// it reports no race that is none.
		received(done)
		for _, u := range x.threads {
			t.clock.join(&u.clock, len(x.threads))
			u.clock[u.id]++
		}
		return false
	}
	x.timeOut(t)
	return false
}

// taken records that the current step of thread t has taken a token.
//
//go:norace
func (x *explorer) taken(t *thread) {
	x.objects.list[t.op.obj].take(&t.clock, len(x.threads))
	x.change(t, t.op.obj)
	x.logResult(1)
}

// received receives from a closed channel and lets the race detector see it.
func received(done <-chan struct{}) { <-done }

// waitOutsideRun is a wait that is no step. It must not block, because no thread
// runs that could end it.
//
//go:norace
func (s *Sema) waitOutsideRun(x *explorer, done <-chan struct{}) bool {
	if s.take() {
		return true
	}
	if done != nil && closed(done) {
		return false
	}
	if x.current != nil {
		runtime.Goexit() // the caller is a deferred function of a thread that unwinds
	}
	panic("interleave: Sema: a wait outside the threads would block for ever")
}
