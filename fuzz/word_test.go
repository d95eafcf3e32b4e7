package fuzz_test

import (
	"fmt"
	"testing"

	lfsync "github.com/lanewright/lanewright/sync"
)

const maxWorkers = lfsync.MaxWorkers

// lingeringBit is the one bit of a word that MakeWord does not set.
const lingeringBit lfsync.Word = 1 << 3

// fields is the wake word as the design describes it. It has five variables. Its
// methods state the rules for reading.
type fields struct {
	state               lfsync.State
	notified, lingering bool
	idle, spawned       int
}

func fieldsOf(w lfsync.Word) fields {
	return fields{w.State(), w.Notified(), w.Lingering(), w.Idle(), w.Spawned()}
}

// word is the inverse of fieldsOf.
func (f *fields) word() lfsync.Word {
	w := lfsync.MakeWord(f.state, f.notified, f.idle, f.spawned)
	if f.lingering {
		w |= lingeringBit
	}
	return w
}

// onTokens returns the number of idle workers that do not linger.
func (f *fields) onTokens() int {
	if f.lingering {
		return f.idle - 1
	}
	return f.idle
}

func (f *fields) down() bool { return f.state == lfsync.StateShutdown }

// notify is called when a task became visible. It starts a wake, unless one is in
// progress that is not the caller's own. It resumes the lingering worker, which looks
// for tasks afterwards. Otherwise it wakes a parked worker before it spawns one. A
// notification is never lost.
func (f *fields) notify(waking bool, limit int) lfsync.Action {
	if f.down() {
		return lfsync.ActionNone
	}
	f.notified = true
	if f.state != lfsync.StatePending && !waking {
		return lfsync.ActionNone
	}
	if f.lingering {
		f.lingering, f.notified, f.state = false, false, lfsync.StateWaking
		f.idle--
		return lfsync.ActionResume
	}
	f.state = lfsync.StateSignaled
	if f.idle > 0 {
		return lfsync.ActionWake
	}
	if f.spawned < limit && f.spawned < maxWorkers {
		f.spawned++
		return lfsync.ActionSpawn
	}
	f.state = lfsync.StatePending
	return lfsync.ActionNone
}

// wait is called by a worker that found nothing. It takes a notification together with
// the signal. Otherwise it parks and is no longer the waking worker.
func (f *fields) wait(waking, idle bool) lfsync.Outcome {
	if f.down() {
		return lfsync.OutcomeShutdown
	}
	if !f.notified {
		if waking {
			f.state = lfsync.StatePending
		}
		if !idle {
			f.idle++
		}
		return lfsync.OutcomePark
	}
	f.notified = false
	if idle {
		f.idle--
	}
	if f.state == lfsync.StateSignaled {
		f.state, waking = lfsync.StateWaking, true
	}
	if waking {
		return lfsync.OutcomeSearchWaking
	}
	return lfsync.OutcomeSearch
}

// linger: a worker found nothing. If it parks, it lingers.
func (f *fields) linger(waking bool) lfsync.Outcome {
	out := f.wait(waking, false)
	f.lingering = out == lfsync.OutcomePark
	return out
}

// stopLingering: the worker that lingered is idle as any other.
func (f *fields) stopLingering() bool {
	ok := f.lingering
	f.lingering = false
	return ok
}

// rest: the waking worker needs no other worker, unless a task became visible.
func (f *fields) rest() bool {
	if f.down() || f.notified {
		return false
	}
	f.state = lfsync.StatePending
	return true
}

// spawnFailed takes the worker out of the count. The next notify may spawn again.
func (f *fields) spawnFailed() {
	f.spawned--
	if f.state == lfsync.StateSignaled {
		f.state = lfsync.StatePending
	}
}

// enter: one more worker, up to the limit.
func (f *fields) enter(limit int) bool {
	if f.down() || f.spawned >= limit || f.spawned == maxWorkers {
		return false
	}
	f.spawned++
	return true
}

// leave takes one worker out of the count. It passes on the obligation of the waking
// worker and a notification that may have woken it.
func (f *fields) leave(waking, idle bool, limit int) lfsync.Action {
	f.spawned--
	if f.down() {
		return lfsync.ActionNone
	}
	if idle {
		f.idle--
	}
	if waking {
		return f.notify(true, limit)
	}
	if idle && f.notified && f.state != lfsync.StateWaking {
		f.state = lfsync.StatePending
		return f.notify(false, limit)
	}
	return lfsync.ActionNone
}

// shutdown leaves no worker idle, and no transition leaves this state. The lingering
// worker takes no token.
func (f *fields) shutdown() (idle int, first bool) {
	if f.down() {
		return 0, false
	}
	idle = f.onTokens()
	f.state, f.notified, f.lingering, f.idle = lfsync.StateShutdown, true, false, 0
	return idle, true
}

// may reports whether the protocol allows a worker that is waking or idle with this
// word.
func (f *fields) may(waking, idle bool) bool {
	return f.down() || (!waking || f.state == lfsync.StateWaking && !idle) && (!idle || f.onTokens() > 0)
}

// wordPair is a word and its model.
type wordPair struct {
	w lfsync.Word
	f fields
}

// Each of these methods makes a transition of both and compares the results.

func (p *wordPair) notify(t *testing.T, waking bool, limit int) lfsync.Action {
	t.Helper()
	next, act := p.w.Notify(waking, limit)
	p.step(t, next, fmt.Sprintf("Notify(%v, %d)", waking, limit), act, p.f.notify(waking, limit))
	return act
}

func (p *wordPair) wait(t *testing.T, waking, idle bool) lfsync.Outcome {
	t.Helper()
	next, out := p.w.Wait(waking, idle)
	p.step(t, next, fmt.Sprintf("Wait(%v, %v)", waking, idle), out, p.f.wait(waking, idle))
	return out
}

func (p *wordPair) linger(t *testing.T, waking bool) lfsync.Outcome {
	t.Helper()
	next, out := p.w.Linger(waking)
	p.step(t, next, fmt.Sprintf("Linger(%v)", waking), out, p.f.linger(waking))
	return out
}

func (p *wordPair) stopLingering(t *testing.T) bool {
	t.Helper()
	next, ok := p.w.StopLingering()
	p.step(t, next, "StopLingering()", ok, p.f.stopLingering())
	return ok
}

func (p *wordPair) rest(t *testing.T) bool {
	t.Helper()
	next, ok := p.w.Rest()
	p.step(t, next, "Rest()", ok, p.f.rest())
	return ok
}

func (p *wordPair) spawnFailed(t *testing.T) {
	t.Helper()
	p.f.spawnFailed()
	p.step(t, p.w.SpawnFailed(), "SpawnFailed()", nil, nil)
}

func (p *wordPair) enter(t *testing.T, limit int) bool {
	t.Helper()
	next, ok := p.w.Enter(limit)
	p.step(t, next, fmt.Sprintf("Enter(%d)", limit), ok, p.f.enter(limit))
	return ok
}

func (p *wordPair) leave(t *testing.T, waking, idle bool, limit int) lfsync.Action {
	t.Helper()
	next, act := p.w.Leave(waking, idle, limit)
	p.step(t, next, fmt.Sprintf("Leave(%v, %v, %d)", waking, idle, limit), act, p.f.leave(waking, idle, limit))
	return act
}

func (p *wordPair) shutdown(t *testing.T) {
	t.Helper()
	next, idle, first := p.w.Shutdown()
	wantIdle, wantFirst := p.f.shutdown()
	p.step(t, next, "Shutdown()", fmt.Sprint(idle, first), fmt.Sprint(wantIdle, wantFirst))
}

// step stores next and compares it with the fields.
func (p *wordPair) step(t *testing.T, next lfsync.Word, what string, got, want any) {
	t.Helper()
	if got != want || fieldsOf(next) != p.f {
		t.Fatalf("%s on %v = %v, %v; want %+v, %v", what, p.w, next, got, p.f, want)
	}
	if next != p.f.word() {
		t.Fatalf("%s on %v = %#08x, want %#08x", what, p.w, uint32(next), uint32(p.f.word()))
	}
	p.w = next
}

// FuzzWord makes transitions of any word with any arguments that the word allows. These
// include words that no scheduler reaches. It compares the word with the fields.
func FuzzWord(f *testing.F) {
	const full = uint32(maxWorkers)<<18 | uint32(maxWorkers)<<4
	f.Add(uint32(0), []byte{0, 1, 0, 3, 0, 1, 1})                                            // spawn, fail, spawn, begin
	f.Add(full|0b100, []byte{0, 0, 0, 1, 2, 1, 0, 2, 0, 4, 2, 0})                            // all are parked
	f.Add(full|0b001, []byte{0, 1, 255, 4, 0, 1, 0, 5, 1, 0, 0, 6})                          // the last worker that the word can count
	f.Add(uint32(maxWorkers)<<18, []byte{0, 0, 255, 255, 255, 3, 0, 255, 255, 255, 4, 0, 0}) // with a limit above the maximum
	f.Add(uint32(2)<<18|1<<4|0b110, []byte{1, 1, 5, 1, 6, 6, 5})                             // a signal, and a worker that leaves with it
	f.Add(uint32(2)<<18|1<<4, []byte{6, 0, 0, 0, 1, 8, 1, 6, 0, 7, 0, 0, 0, 1})              // linger, resumed, rest, linger, stop, wake
	f.Add(full|0b1101, []byte{0, 1, 1, 6, 0, 6, 1, 4, 1, 1, 8, 1})                           // all are parked, one lingers, one is waking
	f.Add(full|0b1000, []byte{5, 7, 7, 0, 8, 0})                                             // shutdown of all
	f.Fuzz(func(t *testing.T, start uint32, input []byte) {
		w := lfsync.Word(start)
		if w.Idle() == 0 || w.State() == lfsync.StateShutdown {
			w &^= lingeringBit // I5, I6
		}
		p := wordPair{w, fieldsOf(w)}
		tr := trace(input)
		limit := func() int {
			if n := tr.byte(); n < 128 {
				return p.f.spawned + int(n%4) - 1
			} else if n < 192 {
				return int(n)
			}
			return int(tr.uint16())
		}
		tr.steps(func() {
			op, flags := tr.below(9), tr.byte()
			waking, idle := flags&1 != 0, flags&2 != 0
			if !p.f.may(waking, idle) {
				waking, idle = false, false
			}
			switch op {
			case 0:
				p.notify(t, waking, limit())
			case 1:
				if idle || p.f.notified || p.f.idle < p.f.spawned || p.f.down() {
					p.wait(t, waking, idle)
				}
			case 2:
				if p.f.spawned > 0 {
					p.spawnFailed(t)
				}
			case 3:
				p.enter(t, limit())
			case 4:
				if p.f.spawned > 0 {
					p.leave(t, waking, idle, limit())
				}
			case 5:
				if flags%8 == 7 { // rarely, because it ends the trace
					p.shutdown(t)
				}
			case 6:
				if !p.f.lingering && !idle && (p.f.notified || p.f.idle < p.f.spawned || p.f.down()) {
					p.linger(t, waking)
				}
			case 7:
				p.stopLingering(t)
			case 8:
				if waking || p.f.down() {
					p.rest(t)
				}
			}
		})
	})
}

// workerCounts counts the workers that a word counts when all of them follow the
// protocol of the package.
type workerCounts struct {
	wordPair
	starting, searching, parked int
	waking, lingering           bool // one more worker each
	failed                      bool // a spawn has failed
}

// do performs an action.
func (c *workerCounts) do(t *testing.T, a lfsync.Action) {
	t.Helper()
	switch a {
	case lfsync.ActionSpawn:
		c.starting++
	case lfsync.ActionResume:
		if !c.lingering || c.waking {
			t.Fatalf("resume: the word is %v, the workers %+v", c.w, *c)
		}
		c.lingering, c.waking = false, true
	}
}

// follow moves a worker to the state that the outcome of its Wait names.
func (c *workerCounts) follow(o lfsync.Outcome) {
	switch o {
	case lfsync.OutcomeSearch:
		c.searching++
	case lfsync.OutcomeSearchWaking:
		c.waking = true
	case lfsync.OutcomePark:
		c.parked++
	case lfsync.OutcomeShutdown:
		c.searching++ // until it leaves
	}
}

// followLinger moves a worker to the state that the outcome of its Linger names.
func (c *workerCounts) followLinger(o lfsync.Outcome) {
	if o == lfsync.OutcomePark {
		c.lingering = true
		return
	}
	c.follow(o)
}

// check checks the invariants of the word. The labels are those of package sync.
func (c *workerCounts) check(t *testing.T) {
	t.Helper()
	w, waking, lingering := c.w, 0, 0
	if c.waking {
		waking = 1
	}
	if c.lingering {
		lingering = 1
	}
	bad := func(rule string) { t.Fatalf("%s: the word is %v, the workers %+v", rule, w, *c) }
	if w.Spawned() != c.starting+c.searching+c.parked+waking+lingering {
		bad("spawned")
	}
	if c.f.down() {
		if w.Idle() != 0 || !w.Notified() || w.Lingering() {
			bad("I5")
		}
		return
	}
	if w.Idle() != c.parked+lingering || w.Idle() > w.Spawned() {
		bad("I1")
	}
	if w.State() == lfsync.StateSignaled && !w.Notified() {
		bad("I2")
	}
	if c.waking != (w.State() == lfsync.StateWaking) {
		bad("I3")
	}
	if w.State() == lfsync.StatePending && w.Notified() && w.Idle() > 0 && !c.failed {
		bad("I4")
	}
	if w.Lingering() != c.lingering || c.lingering && w.Notified() && w.State() != lfsync.StateWaking {
		bad("I6")
	}
}

// FuzzWordProtocol makes the transitions of up to the highest number of workers in any
// order. It checks that the invariants of the word hold and that the word counts every
// worker.
func FuzzWordProtocol(f *testing.F) {
	f.Add(uint16(2), uint16(0), uint16(0), []byte{0, 1, 0, 4, 0, 1, 3, 0, 1, 5, 3})        // Z-072 from nothing
	f.Add(uint16(4), uint16(1), uint16(3), []byte{0, 3, 4, 0, 3, 4, 5, 0})                 // with three parked
	f.Add(uint16(maxWorkers), uint16(0), uint16(maxWorkers), []byte{0, 3, 4, 6, 1, 2, 10}) // the maximum
	f.Add(uint16(1<<16-1), uint16(maxWorkers), uint16(0), []byte{0, 7, 1, 2, 3, 0})        // with a limit above the maximum
	f.Add(uint16(3), uint16(2), uint16(1), []byte{0, 2, 8, 9, 10, 3, 7})                   // leave, then the end
	f.Add(uint16(3), uint16(2), uint16(1), []byte{11, 0, 14, 11, 0, 0, 14, 4, 3, 12})      // linger, resume, rest, and two tasks
	f.Add(uint16(3), uint16(2), uint16(1), []byte{11, 0, 11, 10, 13, 0, 3, 11, 16, 255})   // leave waking, stop, end beside a lingering worker
	f.Fuzz(func(t *testing.T, limit, searching, parked uint16, input []byte) {
		c := workerCounts{searching: int(searching) % (maxWorkers + 1)}
		c.parked = int(parked) % (maxWorkers + 1 - c.searching)
		c.w = lfsync.MakeWord(lfsync.StatePending, false, c.parked, c.searching+c.parked)
		c.f = fieldsOf(c.w)
		most := int(limit)
		tr := trace(input)
		tr.steps(func() {
			switch op := tr.below(17); {
			case op == 0: // a task became visible
				c.do(t, c.notify(t, false, most))
			case op == 1 && c.starting > 0: // a new worker begins
				c.starting--
				c.follow(c.wait(t, false, false))
			case op == 2 && c.searching > 0: // a worker finds nothing
				c.searching--
				c.follow(c.wait(t, false, false))
			case op == 3 && c.parked > 0: // a parked worker took a token, which may be stale
				c.parked--
				c.follow(c.wait(t, false, true))
			case op == 4 && c.waking: // the waking worker finds work
				c.waking = false
				c.searching++
				c.do(t, c.notify(t, true, most))
			case op == 5 && c.waking: // the waking worker finds nothing
				c.waking = false
				c.follow(c.wait(t, true, false))
			case op == 6 && c.starting > 0:
				c.starting--
				c.failed = true
				c.spawnFailed(t)
			case op == 7:
				if c.enter(t, most+tr.below(2)) {
					c.searching++
				}
			case op == 8 && c.searching > 0:
				c.searching--
				c.do(t, c.leave(t, false, false, most))
			case op == 9 && c.parked > 0:
				c.parked--
				c.do(t, c.leave(t, false, true, most))
			case op == 10 && c.waking:
				c.waking = false
				c.do(t, c.leave(t, true, false, most))
			case op == 11 && c.searching > 0 && !c.lingering: // a worker finds nothing and may linger
				c.searching--
				c.followLinger(c.linger(t, false))
			case op == 12 && c.waking && !c.lingering:
				c.waking = false
				c.followLinger(c.linger(t, true))
			case op == 13: // a taker without a task
				if c.stopLingering(t) {
					c.lingering = false
					c.parked++
				}
			case op == 14 && c.waking: // the waking worker finds one task
				if c.rest(t) {
					c.waking = false
					c.searching++
				}
			case op == 15 && c.lingering: // the lingering worker ends that and leaves
				c.lingering = !c.stopLingering(t)
				c.do(t, c.leave(t, false, true, most))
			case tr.byte() == 255:
				c.shutdown(t)
				if c.lingering {
					c.lingering = false
					c.parked++ // until it leaves
				}
			}
			c.check(t)
		})
	})
}
