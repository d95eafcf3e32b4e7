package interleave_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
)

// The verdicts in this file depend on Options.Rounds, because the programs have
// loops that end by themselves: they count rounds of Yield, or timeouts.

// rounds returns options with n rounds.
func rounds(n int) interleave.Options { return interleave.Options{Rounds: n} }

// timeouts returns options with n rounds, in which timed waits may time out.
func timeouts(n int) interleave.Options { return interleave.Options{Rounds: n, Timeouts: true} }

// spinParkProgram has a waiter that looks at a flag a few times, with a Yield after
// each look, and then blocks until the flag is set. With oneLook, the waiter does not
// look at the flag after it has registered.
func spinParkProgram(oneLook bool, spins int) func(m *interleave.M) {
	return func(m *interleave.M) {
		var flag, waiting interleave.Bool
		var sema interleave.Sema
		sema.Init(1)
		m.Go("waiter", func() {
			for range spins {
				if flag.Load() {
					return
				}
				interleave.Yield()
			}
			if flag.Load() {
				return
			}
			waiting.Store(true)
			if !oneLook && flag.Load() && waiting.CompareAndSwap(true, false) {
				return
			}
			sema.Wait()
		})
		m.Go("setter", func() {
			flag.Store(true)
			if waiting.CompareAndSwap(true, false) {
				sema.Post()
			}
		})
	}
}

// giveUpProgram has a client that waits some rounds for a worker, and then gives up.
// A worker that begins after that is the fault.
func giveUpProgram(spins int) func(m *interleave.M) {
	return func(m *interleave.M) {
		var begun, gone interleave.Bool
		m.Go("client", func() {
			for range spins {
				if begun.Load() {
					return
				}
				interleave.Yield()
			}
			gone.Store(true)
		})
		m.Go("worker", func() {
			if gone.Load() {
				m.Fatalf("the client has given up")
			}
			begun.Store(true)
		})
	}
}

// claimProgram is the right form of giveUpProgram: client and worker claim the same
// word, so that one of them learns that it is late.
func claimProgram(spins int) func(m *interleave.M) {
	return func(m *interleave.M) {
		var word interleave.Int32
		var begun, gone interleave.Cell[bool]
		m.Go("client", func() {
			for range spins {
				if word.Load() == 1 {
					return
				}
				interleave.Yield()
			}
			gone.Set(word.CompareAndSwap(0, 2))
		})
		m.Go("worker", func() { begun.Set(word.CompareAndSwap(0, 1)) })
		m.Final(func() {
			if begun.Get() && gone.Get() {
				m.Fatalf("the worker has begun, and the client has given up")
			}
		})
	}
}

// tryTwiceProgram has a thread that tries a lock twice while another thread may hold
// it, and quits after two failures. A third thread must not begin after that.
func tryTwiceProgram(m *interleave.M) {
	var lock interleave.Mutex
	var held interleave.Cell[int]
	var gone interleave.Bool
	m.Go("try", func() {
		for range 2 {
			if lock.TryLock() {
				held.Set(1)
				lock.Unlock()
				return
			}
			interleave.Yield()
		}
		gone.Store(true)
	})
	m.Go("hold", func() {
		lock.Lock()
		held.Set(2)
		lock.Unlock()
	})
	m.Go("late", func() {
		if gone.Load() {
			m.Fatalf("the first thread has quit")
		}
	})
}

// lookTwiceProgram has a reader that looks at a word before and after a Yield. The
// wrong claim is that it sees the same.
func lookTwiceProgram(m *interleave.M) {
	var x interleave.Int32
	m.Go("reader", func() {
		before := x.Load()
		interleave.Yield()
		if after := x.Load(); after != before {
			m.Fatalf("saw %d, then %d", before, after)
		}
	})
	m.Go("writer", func() { x.Store(1) })
}

// pollProgram has a daemon that looks at two words, with a Yield after each look, and
// then raises a flag. The first word changes after the first look. With one round, the
// daemon waits for ever at its second Yield if it has passed the first one before the
// change. The wrong claim is that the flag is always raised.
func pollProgram(m *interleave.M) {
	var first, second interleave.Int32
	var flag interleave.Bool
	var begun interleave.Sema
	begun.Init(1)
	m.GoDaemon("poll", func() {
		first.Load()
		begun.Post()
		interleave.Yield()
		second.Load()
		interleave.Yield()
		flag.Store(true)
	})
	m.Go("writer", func() {
		begun.Wait()
		first.Store(1)
	})
	m.Final(func() {
		if !flag.Load() {
			m.Fatalf("the daemon has not passed both Yields")
		}
	})
}

// lateProgram has a client that waits for a token with n timed waits, and then gives
// up. A poster that begins after that is the fault.
func lateProgram(n int) func(m *interleave.M) {
	return func(m *interleave.M) {
		var s interleave.Sema
		var gone interleave.Bool
		s.Init(1)
		m.Go("client", func() {
			for range n {
				if s.WaitFor(time.Second) {
					return
				}
			}
			gone.Store(true)
		})
		m.Go("poster", func() {
			if gone.Load() {
				m.Fatalf("the client has given up")
			}
			s.Post()
		})
	}
}

// answerProgram has a client that sends two requests, and waits for the answer to
// each for some time. With shared, both answers come by one semaphore, and the late
// answer to the first request is taken for that to the second one.
func answerProgram(shared bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		var requests interleave.Sema
		var answers [2]interleave.Sema
		var results [2]interleave.Cell[int]
		requests.Init(2)
		for i := range answers {
			answers[i].Init(2)
		}
		answer := func(i int) *interleave.Sema {
			if shared {
				return &answers[0]
			}
			return &answers[i]
		}
		m.GoDaemon("server", func() {
			for i := range results {
				requests.Wait()
				results[i].Set(1)
				answer(i).Post()
			}
		})
		m.Go("client", func() {
			for i := range results {
				requests.Post()
				if answer(i).WaitFor(time.Second) && results[i].Get() != 1 {
					m.Fatalf("the answer to request %d came before its result", i)
				}
			}
		})
	}
}

// leaveRule is the action of a waiter that times out.
type leaveRule int

const (
	passOn leaveRule = iota // leaves the list, and passes a signal on that it has got already
	keep                    // bug: drops a signal that it has got already
	stay                    // bug: stays in the list
)

// leaveProgram has a list of waiters under a lock: one that waits for some time, and
// one that waits without a limit. A signal wakes the first waiter of the list. The
// timed waiter passes the signal on, so that the other one always gets it.
func leaveProgram(rule leaveRule) func(m *interleave.M) {
	return func(m *interleave.M) {
		var lock interleave.Mutex
		var list interleave.Cell[[]*interleave.Sema]
		var pending interleave.Cell[int] // signals that found no waiter
		join := func() *interleave.Sema {
			s := new(interleave.Sema)
			s.Init(1)
			lock.Lock()
			if n := pending.Get(); n > 0 {
				pending.Set(n - 1)
				s.Post()
			} else {
				list.Set(append(list.Get(), s))
			}
			lock.Unlock()
			return s
		}
		signal := func() {
			lock.Lock()
			if l := list.Get(); len(l) > 0 {
				l[0].Post()
				list.Set(l[1:])
			} else {
				pending.Set(pending.Get() + 1)
			}
			lock.Unlock()
		}
		leave := func(s *interleave.Sema) bool {
			lock.Lock()
			defer lock.Unlock()
			l := list.Get()
			i := slices.Index(l, s)
			if i >= 0 {
				list.Set(slices.Delete(slices.Clone(l), i, i+1))
			}
			return i >= 0
		}
		m.Go("timed", func() {
			s := join()
			ok := s.WaitFor(time.Second)
			if !ok && rule != stay {
				ok = !leave(s) && rule != keep
			}
			if ok {
				signal()
			}
		})
		m.Go("waiter", func() { join().Wait() })
		m.Go("signal", signal)
	}
}

// TestTooFewRoundsAreNamed: the search with one round too few misses the bugs of
// bounded loops and of timed waits in a row, and its result names the rounds.
func TestTooFewRoundsAreNamed(t *testing.T) {
	tests := []struct {
		name string
		prog func(m *interleave.M)
		opts interleave.Options
	}{
		{"spin once", spinParkProgram(true, 1), rounds(interleave.None)},
		{"spin twice", spinParkProgram(true, 2), rounds(1)},
		{"spin 4 times", spinParkProgram(true, 4), rounds(3)},
		{"give up after two rounds", giveUpProgram(2), rounds(1)},
		{"two timed waits", lateProgram(2), timeouts(interleave.None)},
		{"three timed waits", lateProgram(3), timeouts(1)},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			for _, bound := range []int{1, interleave.All} {
				r := interleave.Explore(within(tc.opts, bound), tc.prog)
				wantComplete(t, r)
				if want := fmt.Sprintf("rounds=%d", max(tc.opts.Rounds, 0)); !slices.Equal(r.Assumes, []string{want}) {
					t.Errorf("bound %d: the result assumes %q, want %q", bound, r.Assumes, want)
				}
			}
		})
	}
}

var roundClassics = []classic{
	{
		name: "spin once, then park",
		prog: spinParkProgram(false, 1), opts: rounds(1),
		upTo: interleave.All,
	},
	{
		name: "spin twice, then park",
		prog: spinParkProgram(false, 2), opts: rounds(2),
		upTo: interleave.All,
	},
	{
		name: "spin once, then park: one look", wrong: interleave.Deadlock, least: 1,
		prog: spinParkProgram(true, 1), opts: rounds(1),
		why: "the waiter passes its Yield without a step of the setter, and stops between its last look and its registration",
	},
	{
		name: "spin twice, then park: one look", wrong: interleave.Deadlock, least: 1,
		prog: spinParkProgram(true, 2), opts: rounds(2),
		why: "the waiter passes both Yields without a step of the setter, and stops between its last look and its registration",
	},
	{
		name: "spin 4 times, then park: one look", wrong: interleave.Deadlock, least: 1,
		prog: spinParkProgram(true, 4), opts: rounds(4),
		why: "the waiter passes all Yields without a step of the setter, and stops between its last look and its registration",
	},
	{
		name: "claim or give up after two rounds",
		prog: claimProgram(2), opts: rounds(2),
		upTo: interleave.All,
	},
	{
		name: "give up after one round", wrong: interleave.Failed, least: 0,
		prog: giveUpProgram(1), opts: rounds(1),
		why: "the client gives up before the worker has taken a step, without a switch",
	},
	{
		name: "give up after two rounds", wrong: interleave.Failed, least: 0,
		prog: giveUpProgram(2), opts: rounds(2),
		why: "the client gives up before the worker has taken a step, without a switch",
	},
	{
		name: "quit after two failed tries", wrong: interleave.Failed, least: 1,
		prog: tryTwiceProgram, opts: rounds(1),
		why: "the holder stops with the lock, and the switch back to it is at a Yield",
	},
	{
		name: "two looks around a Yield see the same", wrong: interleave.Failed, least: 0,
		prog: lookTwiceProgram, opts: rounds(1),
		why: "the switch away from a thread at a Yield is no preemption, also if the thread could continue",
	},
	{
		name: "poll two words, then raise a flag", wrong: interleave.Failed, least: 0,
		prog: pollProgram, opts: rounds(1),
		why: "the daemon passes its first Yield without a change, and no preemption is needed for that",
	},
	{
		name: "one timed wait, then give up", wrong: interleave.Failed, least: 0,
		prog: lateProgram(1), opts: timeouts(1),
		why: "the client times out before the poster has taken a step, without a switch",
	},
	{
		name: "two timed waits, then give up", wrong: interleave.Failed, least: 0,
		prog: lateProgram(2), opts: timeouts(1),
		why: "the client times out twice before the poster has taken a step, without a switch",
	},
	{
		name: "three timed waits, then give up", wrong: interleave.Failed, least: 0,
		prog: lateProgram(3), opts: timeouts(2),
		why: "the client times out three times before the poster has taken a step, without a switch",
	},
	{
		name: "answers by two semaphores",
		prog: answerProgram(false), opts: timeouts(1),
		upTo: interleave.All,
	},
	{
		name: "answers by one semaphore", wrong: interleave.Failed, also: interleave.Race, least: 0,
		prog: answerProgram(true), opts: timeouts(1),
		why: "the client times out once, and its next token does not order the second result",
	},
	{
		name: "list of waiters, one of them timed",
		prog: leaveProgram(passOn), opts: timeouts(1),
		upTo: interleave.All,
	},
	{
		name: "list of waiters: a timed waiter stays", wrong: interleave.Deadlock, least: 0,
		prog: leaveProgram(stay), opts: timeouts(1),
		why: "the signal goes to a waiter that has timed out, and a timeout is no preemption",
	},
	{
		name: "list of waiters: a timed waiter drops its signal", wrong: interleave.Deadlock, least: 0,
		prog: leaveProgram(keep), opts: timeouts(1),
		why: "the waiter times out although its token is there",
	},
}
