package interleave_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
)

// TestSpinnerWithoutStoreIsDeadlock: a loop that waits for a store that no thread makes
// is a deadlock, whose message names the object. It is one at once: the spinner takes
// one more round for each of Options.Rounds.
func TestSpinnerWithoutStoreIsDeadlock(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, rounds := range []int{interleave.None, 1, 5} {
			o.Rounds, o.Replay = rounds, ""
			program := func(m *interleave.M) {
				var l spinLock
				m.Name(&l.word, "lock")
				m.Go("holder", func() { l.lock() })
				m.Go("spinner", func() { l.lock() })
			}
			r := interleave.Explore(o, program)
			wantFailure(t, r, interleave.Deadlock, "thread spinner waits in Yield for a change of lock")
			want := 2 + 2*max(rounds, 0)
			if r.Executions != 1 || r.Steps != want {
				t.Errorf("%d rounds: %d executions with %d steps, want 1 with %d", rounds, r.Executions, r.Steps, want)
			}
			o.Replay = r.Failure.Schedule
			wantFailure(t, interleave.Explore(o, program), interleave.Deadlock, "spinner")
		}
	})
}

// TestChangeWakesYield: a thread passes its Yield without a round when another thread
// has changed an object that it has read since its last Yield. A store of the value that
// is there already, a change by the thread itself and a change of another object do not
// wake it.
func TestChangeWakesYield(t *testing.T) {
	for _, tc := range []struct {
		name  string
		step  func(x, y *interleave.Int32)
		wakes bool
	}{
		{"Store", func(x, _ *interleave.Int32) { x.Store(2) }, true},
		{"Store of the same value", func(x, _ *interleave.Int32) { x.Store(1) }, false},
		{"Swap", func(x, _ *interleave.Int32) { x.Swap(2) }, true},
		{"Swap of the same value", func(x, _ *interleave.Int32) { x.Swap(1) }, false},
		{"Add", func(x, _ *interleave.Int32) { x.Add(1) }, true},
		{"Add of 0", func(x, _ *interleave.Int32) { x.Add(0) }, false},
		{"And", func(x, _ *interleave.Int32) { x.And(0) }, true},
		{"And of the same value", func(x, _ *interleave.Int32) { x.And(1) }, false},
		{"Or", func(x, _ *interleave.Int32) { x.Or(2) }, true},
		{"Or of the same value", func(x, _ *interleave.Int32) { x.Or(1) }, false},
		{"CompareAndSwap", func(x, _ *interleave.Int32) { x.CompareAndSwap(1, 2) }, true},
		{"CompareAndSwap of the same value", func(x, _ *interleave.Int32) { x.CompareAndSwap(1, 1) }, false},
		{"CompareAndSwap that fails", func(x, _ *interleave.Int32) { x.CompareAndSwap(5, 2) }, false},
		{"Load", func(x, _ *interleave.Int32) { x.Load() }, false},
		{"Store to another object", func(_, y *interleave.Int32) { y.Store(2) }, false},
		{"two changes that restore the value", func(x, _ *interleave.Int32) { x.Store(2); x.Store(1) }, true},
	} {
		eachBackend(t, func(t *testing.T, o interleave.Options) {
			t.Helper()
			o.Rounds = interleave.None
			passed := 0
			r := interleave.Explore(o, func(m *interleave.M) {
				var x, y interleave.Int32
				x.Store(1)
				first := true
				m.GoDaemon("waiter", func() {
					if x.Load() == 1 && first {
						first = false
						interleave.Yield()
						passed++
					}
				})
				m.Go("other", func() { tc.step(&x, &y) })
			})
			wantComplete(t, r)
			if (passed > 0) != tc.wakes {
				t.Errorf("%s: the waiter has passed its Yield in %d executions, want wakes = %t", tc.name, passed, tc.wakes)
			}
			if !slices.Equal(r.Assumes, []string{"rounds=0"}) {
				t.Errorf("%s: the result assumes %q", tc.name, r.Assumes)
			}
		})
	}
	// The thread's own change.
	o := interleave.Options{Preemptions: interleave.All, Rounds: interleave.None}
	wantFailure(t, interleave.Explore(o, func(m *interleave.M) {
		var x interleave.Int32
		m.Go("alone", func() {
			x.Add(1)
			interleave.Yield()
		})
	}), interleave.Deadlock, "Yield for a change of")
}

// TestYieldWithoutReadsWaitsForAnyThread: a thread that has read nothing since its last
// Yield continues when any other thread has come to a step. The other thread has come to its
// first one.
func TestYieldWithoutReadsWaitsForAnyThread(t *testing.T) {
	for _, others := range []int{0, 1} {
		passed := 0
		o := interleave.Options{Preemptions: interleave.All, Rounds: interleave.None}
		r := interleave.Explore(o, func(m *interleave.M) {
			var x interleave.Int32
			m.GoDaemon("waiter", func() {
				interleave.Yield()
				passed++
			})
			for range others {
				m.Go("other", func() { x.Store(0) })
			}
		})
		wantComplete(t, r)
		if passed != 2*others { // before the step of the other thread, and after it
			t.Errorf("with %d other threads the waiter has passed its Yield in %d executions", others, passed)
		}
	}
}

// TestYieldWithoutReadsSeesEnd: a thread that has read nothing since its last Yield
// continues when another thread has come to its end, or to a step that blocks for ever.
func TestYieldWithoutReadsSeesEnd(t *testing.T) {
	for _, blocks := range []bool{false, true} {
		eachBackend(t, func(t *testing.T, o interleave.Options) {
			t.Helper()
			r := interleave.Explore(o, func(m *interleave.M) {
				var a interleave.Int32
				var s interleave.Sema
				s.Init(1)
				done := make(chan struct{})
				m.Go("waiter", func() {
					for !isClosed(done) {
						interleave.Yield()
					}
				})
				m.GoDaemon("closer", func() {
					a.Load()
					interleave.Yield()
					close(done)
					if blocks {
						s.Wait()
					}
				})
				m.Go("writer", func() { a.Store(1) })
			})
			wantComplete(t, r)
		})
	}
}

// TestYieldWithoutReadsSeesCloseBeforeItsStep: a thread that polls a channel, takes a step
// and yields continues if the channel was closed after it has polled and before the step.
func TestYieldWithoutReadsSeesCloseBeforeItsStep(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.Rounds = interleave.None
		r := interleave.Explore(o, func(m *interleave.M) {
			var beats, n interleave.Int32
			done := make(chan struct{})
			m.Go("waiter", func() {
				for !isClosed(done) {
					beats.Store(1)
					interleave.Yield()
				}
			})
			m.Go("closer", func() {
				n.Load()
				n.Load()
				close(done)
			})
		})
		wantComplete(t, r)
	})
}

// TestDeadlockWithBlindYieldIsMisuse: a thread that waits at a Yield and has read nothing since
// its last Yield may wait for a change that the explorer does not see. The execution is no
// deadlock then, whether that change comes or not, and whether that thread is a daemon or not.
func TestDeadlockWithBlindYieldIsMisuse(t *testing.T) {
	for _, tc := range []struct {
		name, waits string
		body        func(m *interleave.M)
	}{
		{"a close between two Yields", "thread w waits in Yield at await_test.go:", func(m *interleave.M) {
			done := make(chan struct{})
			m.Go("w", func() {
				for !isClosed(done) {
					interleave.Yield()
				}
			})
			m.Go("c", func() {
				interleave.Yield()
				close(done)
				interleave.Yield()
			})
		}},
		{"no close", "thread w waits in Yield at await_test.go:", func(m *interleave.M) {
			m.Go("w", func() {
				for {
					interleave.Yield()
				}
			})
		}},
		{"a daemon that would post", "thread t waits in Wait of Sema#0; daemon w waits too; daemon c waits too", func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			done := make(chan struct{})
			m.GoDaemon("w", func() {
				for !isClosed(done) {
					interleave.Yield()
				}
				s.Post()
			})
			m.GoDaemon("c", func() {
				interleave.Yield()
				close(done)
				for {
					interleave.Yield()
				}
			})
			m.Go("t", s.Wait)
		}},
	} {
		for _, strategy := range []interleave.Strategy{interleave.DFS, interleave.PCT, interleave.Random} {
			o := interleave.Options{Strategy: strategy, Preemptions: interleave.All}
			r := interleave.Explore(o, tc.body)
			wantFailure(t, r, interleave.Misuse, "thread w has read no object since its last Yield")
			wantFailure(t, r, interleave.Misuse, "use Sema.WaitDone: "+tc.waits)
			if r.Failure.Thread != "w" || !strings.Contains(r.Failure.Trace, "Yield") {
				t.Errorf("%s, %v: thread %q, trace\n%s", tc.name, strategy, r.Failure.Thread, r.Failure.Trace)
			}
			o.Replay = r.Failure.Schedule
			wantFailure(t, interleave.Explore(o, tc.body), interleave.Misuse, "thread w has read no object")
		}
	}
}

// TestOrdersOfYieldAreExplored: another thread may run between a Yield and the next step
// of its thread. It sees the channel closed before that step.
func TestOrdersOfYieldAreExplored(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		r := interleave.Explore(o, func(m *interleave.M) {
			var a, b interleave.Int32
			done := make(chan struct{})
			m.Go("closer", func() {
				a.Load()
				interleave.Yield()
				close(done)
				b.Store(1)
			})
			m.Go("writer", func() { a.Store(1) })
			m.Go("poller", func() {
				if b.Load() == 0 && isClosed(done) {
					m.Fatalf("closed before the store")
				}
			})
		})
		wantFailure(t, r, interleave.Failed, "closed before the store")
	})
}

// isClosed reports whether the channel is closed.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// TestDaemonsTimeOutAfterOthers: a daemon whose wait can time out does so after the last
// step of the others as well, within Rounds, and the result names that bound.
func TestDaemonsTimeOutAfterOthers(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.Timeouts = true
		most := 0
		r := interleave.Explore(o, func(m *interleave.M) {
			var s interleave.Sema
			var n interleave.Int32
			s.Init(1)
			late := 0
			m.GoDaemon("monitor", func() {
				for !s.WaitFor(time.Second) {
					late++
				}
			})
			m.Go("t", func() { n.Add(1) })
			m.Final(func() { most = max(most, late) })
		})
		wantComplete(t, r)
		if most != 4 { // two before the change by t, and two after it
			t.Errorf("the monitor has timed out %d times, want 4", most)
		}
		if !slices.Equal(r.Assumes, []string{"rounds=1"}) {
			t.Errorf("the result assumes %q", r.Assumes)
		}
	})
}

// TestDaemonsEndBesideEachOther: daemons that time out and change objects do not prolong
// an execution for ever.
func TestDaemonsEndBesideEachOther(t *testing.T) {
	for _, strategy := range []interleave.Strategy{interleave.DFS, interleave.PCT, interleave.Random} {
		o := interleave.Options{Strategy: strategy, Preemptions: interleave.All, Timeouts: true, Executions: 1000}
		r := interleave.Explore(o, func(m *interleave.M) {
			var never, work interleave.Sema
			never.Init(1)
			work.Init(1)
			m.GoDaemon("monitor", func() {
				for !never.WaitFor(time.Second) {
					work.Post()
				}
			})
			m.GoDaemon("worker", func() {
				for {
					work.Wait()
				}
			})
			var n interleave.Int32
			m.Go("t", func() { n.Add(1) })
		})
		if r.Failure != nil || strategy == interleave.DFS && !r.Complete {
			t.Errorf("%v: complete = %t, failure %v", strategy, r.Complete, r.Failure)
		}
	}
}

// TestDaemonBesideThreadThatCanRunIsLivelock: an execution in which only a daemon takes
// steps is a livelock and no deadlock, as long as another thread could take a step.
func TestDaemonBesideThreadThatCanRunIsLivelock(t *testing.T) {
	spin := func(m *interleave.M) {
		var n interleave.Int32
		m.GoDaemon("daemon", func() {
			for {
				n.Load()
			}
		})
	}
	for name, other := range map[string]func(m *interleave.M){
		"store": func(m *interleave.M) {
			var n interleave.Int32
			m.Go("t", func() { n.Store(1) })
		},
		"end": func(m *interleave.M) {
			var n interleave.Int32
			m.Go("t", func() { n.Store(1) })
			m.Go("spawns", func() {
				n.Load()
				interleave.GoDaemon("late", func() { n.Load() })
			})
		},
		"post": func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			m.Go("client", s.Wait)
			m.Go("server", func() { s.Post() })
		},
		"timer": func(m *interleave.M) {
			var s interleave.Sema
			s.Init(1)
			m.Go("t", func() {
				for range 4 {
					s.WaitFor(time.Second)
				}
			})
		},
	} {
		for maxSteps := 1; maxSteps < 12; maxSteps++ {
			r := interleave.Explore(interleave.Options{Timeouts: true, MaxSteps: maxSteps}, func(m *interleave.M) {
				spin(m)
				other(m)
			})
			if r.Failure == nil || r.Failure.Kind != interleave.Livelock {
				t.Errorf("%s, %d steps: got %v, want a livelock", name, maxSteps, r.Failure)
			}
		}
	}
}

// TestDeadlockBesideDaemonThatTimesOut: a thread that waits for ever is a deadlock, although
// a daemon beside it times out again and again.
func TestDeadlockBesideDaemonThatTimesOut(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.Timeouts = true
		r := interleave.Explore(o, func(m *interleave.M) {
			var s, never interleave.Sema
			s.Init(1)
			never.Init(1)
			m.GoDaemon("monitor", func() {
				for !s.WaitFor(time.Second) {
				}
			})
			m.Go("t", func() { never.Wait() })
		})
		wantFailure(t, r, interleave.Deadlock, "thread t waits in Wait of ")
		if !strings.HasSuffix(r.Failure.Message, "; the last 10000 steps are those of daemons") {
			t.Errorf("the message is %q", r.Failure.Message)
		}
	})
}

// TestRoundBeginsBeforeChange: a round that begins before a change and ends after it is
// explored with one round, and not without rounds. The waiter loads two words, and the
// writer sets the first and then the second. A waiter that sees the second word alone has
// begun its round before the writer.
func TestRoundBeginsBeforeChange(t *testing.T) {
	for _, rounds := range []int{interleave.None, 1} {
		torn := 0
		o := interleave.Options{Preemptions: interleave.All, Rounds: rounds}
		r := interleave.Explore(o, func(m *interleave.M) {
			var a, b interleave.Int32
			m.Go("waiter", func() {
				for first := true; ; first = false {
					x, y := a.Load(), b.Load()
					if y == 1 {
						if x == 0 && !first {
							torn++
						}
						return
					}
					interleave.Yield()
				}
			})
			m.Go("writer", func() {
				a.Store(1)
				b.Store(1)
			})
		})
		wantComplete(t, r)
		if (torn > 0) != (rounds == 1) {
			t.Errorf("%d rounds: the waiter has seen the second word alone %d times after a Yield", rounds, torn)
		}
	}
}

// TestOnlyChangesEndRow: steps of other threads that only read do not give a thread
// further rounds, so threads that spin at the same time do not allow each other to
// spin for ever.
func TestOnlyChangesEndRow(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.Preemptions = interleave.None
		o.Rounds = 2
		rounds := 0
		r := interleave.Explore(o, func(m *interleave.M) {
			var l spinLock
			counts := make([]int, 3)
			for i := range counts {
				m.GoDaemon("spinner", func() {
					for !l.word.CompareAndSwap(1, 2) {
						counts[i]++
						interleave.Yield()
					}
				})
			}
			m.Final(func() { rounds = max(rounds, slices.Max(counts)) })
		})
		wantComplete(t, r)
		if rounds != 3 {
			t.Errorf("a spinner took %d rounds, want 3", rounds)
		}
	})
}

// TestRoundForgetsEarlierReads: a change of an object that a thread has read before its last
// Yield, and not since, does not wake the thread.
func TestRoundForgetsEarlierReads(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.Preemptions, o.Rounds = interleave.All, interleave.None
		most := 0
		r := interleave.Explore(o, func(m *interleave.M) {
			var before, now interleave.Int32
			rounds := 0
			m.GoDaemon("waiter", func() {
				before.Load()
				interleave.Yield()
				for now.Load() == 0 {
					rounds++
					interleave.Yield()
				}
			})
			m.Go("writer", func() {
				for i := range int32(4) {
					before.Store(i + 1)
				}
			})
			m.Final(func() { most = max(most, rounds) })
		})
		wantComplete(t, r)
		if most != 1 {
			t.Errorf("the waiter has read the second word %d times, want 1", most)
		}
	})
}

// TestPollingDaemonEndsWithOthers: a daemon that polls with Yield does not prolong an
// execution, and is no livelock.
func TestPollingDaemonEndsWithOthers(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		finals := 0
		r := interleave.Explore(o, func(m *interleave.M) {
			var stop interleave.Bool
			var n interleave.Int32
			for range 2 {
				m.GoDaemon("poller", func() {
					for !stop.Load() {
						interleave.Yield()
					}
				})
			}
			m.Go("t", func() { n.Add(1) })
			m.Final(func() { finals++ })
		})
		wantComplete(t, r)
		if finals != r.Executions {
			t.Errorf("%d of %d executions reached their end", finals, r.Executions)
		}
	})
}

// daemonPairs are pairs of daemons that poll and keep each other awake.
var daemonPairs = []struct {
	name string
	run  func(own, other *interleave.Int32)
}{
	{"each changes what the other reads", func(own, other *interleave.Int32) {
		other.Load()
		own.Add(1)
	}},
	{"each changes what it has read", func(own, other *interleave.Int32) {
		own.Add(1)
		other.Add(1)
	}},
	{"each reads nothing", func(own, _ *interleave.Int32) { own.Store(1) }},
}

// startDaemonPair makes the two daemons of a pair.
func startDaemonPair(m *interleave.M, run func(own, other *interleave.Int32)) {
	words := new([2]interleave.Int32)
	for i := range words {
		m.GoDaemon("poller", func() {
			for {
				run(&words[i], &words[1-i])
				interleave.Yield()
			}
		})
	}
}

// TestDaemonsThatWakeEachOtherEnd: daemons that poll, and change what others of them poll,
// end with the other threads, and the result names the number of wakes in a row that the
// search has allowed. They do not keep a thread from running either.
func TestDaemonsThatWakeEachOtherEnd(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.Preemptions, o.Rounds = interleave.None, interleave.None
		for _, pair := range daemonPairs {
			t.Run(pair.name, func(t *testing.T) {
				finals := 0
				r := interleave.Explore(o, func(m *interleave.M) {
					startDaemonPair(m, pair.run)
					var n interleave.Int32
					m.Go("t", func() { n.Add(1) })
					m.Final(func() { finals++ })
				})
				wantComplete(t, r)
				if finals != r.Executions || !slices.Contains(r.Assumes, "daemons=4") {
					t.Errorf("%d of %d executions reached their end, and the result assumes %q", finals, r.Executions, r.Assumes)
				}
				for _, strategy := range []interleave.Strategy{interleave.PCT, interleave.Random} {
					r := interleave.Explore(interleave.Options{Strategy: strategy, Backend: o.Backend, Executions: 100}, func(m *interleave.M) {
						startDaemonPair(m, pair.run)
					})
					if r.Failure != nil {
						t.Errorf("%v: %v", strategy, r.Failure)
					}
				}
			})
		}
	})
}

// TestDaemonsServeUntilOthersEnd: daemons that wake each other are held back only while they
// are not needed. A thread that waits for a later round of them is in no deadlock.
func TestDaemonsServeUntilOthersEnd(t *testing.T) {
	const rounds = 30
	r := interleave.Explore(interleave.Options{Preemptions: interleave.None, Executions: 100}, func(m *interleave.M) {
		var words [2]interleave.Int32
		var done interleave.Sema
		done.Init(1)
		for i := range words {
			m.GoDaemon("poller", func() {
				for {
					words[1-i].Load()
					if words[i].Add(1) == rounds {
						done.Post()
					}
					interleave.Yield()
				}
			})
		}
		m.Go("client", done.Wait)
	})
	if r.Failure != nil {
		t.Fatal(r.Failure)
	}
}

// TestHeldBackDaemonIsNotForgotten: a daemon that has read nothing is held back between its arrival
// at the first step of a round and that step. It continues when no thread could take a step
// otherwise, because the change that it was held back from may be what another thread waits for.
func TestHeldBackDaemonIsNotForgotten(t *testing.T) {
	for last := 1; last <= 8; last++ {
		r := interleave.Explore(interleave.Options{Preemptions: 2, Executions: 50_000}, func(m *interleave.M) {
			var y, z interleave.Int32
			var ack, never interleave.Sema
			ack.Init(1)
			never.Init(1)
			closed := make(chan struct{}) // read and closed without a step
			m.GoDaemon("answers", func() {
				for {
					select {
					case <-closed:
						ack.Post()
						return
					default:
					}
					z.Store(1)
					interleave.Yield()
				}
			})
			m.GoDaemon("closes", func() {
				for n := 1; ; n++ {
					y.Store(1)
					if n == last {
						close(closed)
						never.Wait()
					}
					interleave.Yield()
				}
			})
			m.Go("client", ack.Wait)
		})
		if r.Failure != nil {
			t.Errorf("closed in round %d: %v", last, r.Failure)
		}
	}
}

// TestChangeRenewsDaemons: a daemon that a thread other than a daemon has woken begins a new
// chain. The relay and the server are not held back, although they wake each other more
// often than the search allows in a row.
func TestChangeRenewsDaemons(t *testing.T) {
	const requests = 20
	r := interleave.Explore(interleave.Options{Preemptions: interleave.None, Executions: 1000}, func(m *interleave.M) {
		var client, relay interleave.Int32
		var acks interleave.Sema
		acks.Init(1)
		m.GoDaemon("relay", func() {
			for {
				relay.Store(client.Load())
				interleave.Yield()
			}
		})
		m.GoDaemon("server", func() {
			served := int32(0)
			for {
				if n := relay.Load(); n != served {
					served = n
					acks.Post()
				}
				interleave.Yield()
			}
		})
		m.Go("client", func() {
			for range requests {
				client.Add(1)
				acks.Wait()
			}
		})
	})
	if r.Failure != nil || slices.Contains(r.Assumes, "daemons=4") {
		t.Errorf("the failure is %v, and the result assumes %q", r.Failure, r.Assumes)
	}
}

// TestMutualWakeUpsLeaveOthersRunning: two threads that wake each other at their Yields
// do not hide the thread that they wait for: the first execution of the search ends.
func TestMutualWakeUpsLeaveOthersRunning(t *testing.T) {
	o := interleave.Options{Preemptions: interleave.None, Executions: 20}
	r := interleave.Explore(o, func(m *interleave.M) {
		var stop interleave.Bool
		var spins interleave.Int32
		for range 2 {
			m.Go("poller", func() {
				for !stop.Load() {
					spins.Add(1)
					interleave.Yield()
				}
			})
		}
		m.Go("stop", func() {
			interleave.Yield()
			stop.Store(true)
		})
	})
	if r.Failure != nil {
		t.Fatal(r.Failure)
	}
}

// TestTimeoutsInRow: a thread times out Options.Rounds times in a row after a first
// timeout, without a change by another thread in between.
func TestTimeoutsInRow(t *testing.T) {
	for _, tc := range []struct{ rounds, waits, most int }{
		{interleave.None, 3, 1}, {1, 3, 2}, {2, 3, 3}, {5, 3, 3},
	} {
		eachBackend(t, func(t *testing.T, o interleave.Options) {
			t.Helper()
			o.Timeouts, o.Rounds = true, tc.rounds
			most := 0
			r := interleave.Explore(o, func(m *interleave.M) {
				var s interleave.Sema
				var began interleave.Bool
				s.Init(1)
				// The threads share row in an atomic that is no step.
				var row atomic.Int32
				lost := int32(0)
				m.Go("waiter", func() {
					for range tc.waits {
						if s.WaitFor(time.Second) {
							return
						}
						row.Add(1)
					}
				})
				m.Go("poster", func() {
					began.Load() // the poster may start late
					lost = row.Load()
					s.Post()
				})
				m.Final(func() { most = max(most, int(lost)) })
			})
			wantComplete(t, r)
			if most != tc.most {
				t.Errorf("%d rounds: %d timeouts before the first change, want %d", tc.rounds, most, tc.most)
			}
			if held := tc.rounds < 2; held != (len(r.Assumes) > 0) {
				t.Errorf("%d rounds: the result assumes %q", tc.rounds, r.Assumes)
			}
		})
	}
}

// TestChangeAllowsTimeoutsAgain: after a change by another thread, a thread times out as
// often in a row as before the change.
func TestChangeAllowsTimeoutsAgain(t *testing.T) {
	for _, rounds := range []int{interleave.None, 1, 2} {
		eachBackend(t, func(t *testing.T, o interleave.Options) {
			t.Helper()
			o.Timeouts, o.Rounds = true, rounds
			want := max(rounds, 0) + 1
			before, after := 0, 0
			r := interleave.Explore(o, func(m *interleave.M) {
				var s interleave.Sema
				var x interleave.Int32
				s.Init(1)
				// The threads share row in an atomic that is no step.
				var row atomic.Int32
				first, last := 0, 0
				m.Go("waiter", func() {
					for range 2*want + 1 {
						if s.WaitFor(time.Second) {
							return
						}
						row.Add(1)
					}
				})
				m.Go("poster", func() {
					x.Store(1)
					first = int(row.Load())
					s.Post()
					last = int(row.Load())
				})
				m.Final(func() {
					before = max(before, first)
					if first == want {
						after = max(after, last-first)
					}
				})
			})
			wantComplete(t, r)
			if before != want || after != want {
				t.Errorf("%d rounds: %d timeouts before the change and %d after it, want %d", rounds, before, after, want)
			}
		})
	}
}

// TestCompleteNamesRounds: a complete search names Options.Rounds if and only if a
// thread was held back.
func TestCompleteNamesRounds(t *testing.T) {
	with := func(body func(m *interleave.M)) string {
		_, r, line := check(t, "assumes", interleave.Options{Preemptions: interleave.All, Rounds: 3}, body)
		wantComplete(t, r)
		return line
	}
	line := with(func(m *interleave.M) {
		var l spinLock
		for range 2 {
			m.Go("t", func() { l.lock(); l.unlock() })
		}
	})
	if !strings.Contains(line, "complete=true rounds=3\n") {
		t.Errorf("a model with a spin lock printed %q", line)
	}
	line = with(func(m *interleave.M) {
		var x interleave.Int32
		for range 2 {
			m.Go("t", func() { x.Add(1) })
		}
	})
	if !strings.Contains(line, "complete=true\n") {
		t.Errorf("a model without a Yield printed %q", line)
	}
}

// TestCloseAfterYieldIsSeen: a channel that a thread closes between its Yield and its next
// step is seen closed before that step, by a thread in WaitDone.
func TestCloseAfterYieldIsSeen(t *testing.T) {
	for _, reduce := range []bool{false, true} {
		eachBackend(t, func(t *testing.T, o interleave.Options) {
			t.Helper()
			o.Reduce = reduce
			seen := map[int32]bool{}
			r := interleave.Explore(o, func(m *interleave.M) {
				var s interleave.Sema
				var w interleave.Int32
				s.Init(1)
				done := make(chan struct{})
				m.Go("closer", func() {
					w.Load()
					interleave.Yield()
					close(done)
					w.Store(1)
				})
				var got int32
				m.Go("waiter", func() {
					s.WaitDone(done)
					got = w.Load()
				})
				m.Final(func() { seen[got] = true })
			})
			wantComplete(t, r)
			if !seen[0] || !seen[1] {
				t.Errorf("reduce = %t: the waiter has loaded %v, want 0 and 1", reduce, seen)
			}
		})
	}
}

// TestPassingYieldIsNoStep: threads that only yield do not wake each other. The number of
// wakes in a row among daemons is not needed for that.
func TestPassingYieldIsNoStep(t *testing.T) {
	yields := func() {
		for {
			interleave.Yield()
		}
	}
	r := interleave.Explore(interleave.Options{Preemptions: interleave.All}, func(m *interleave.M) {
		m.GoDaemon("t", yields)
		m.GoDaemon("t", yields)
	})
	wantComplete(t, r)
	if !slices.Equal(r.Assumes, []string{"rounds=1"}) {
		t.Errorf("the result assumes %q", r.Assumes)
	}
	r = interleave.Explore(interleave.Options{Preemptions: interleave.All}, func(m *interleave.M) {
		m.Go("t", yields)
		m.Go("t", yields)
	})
	wantFailure(t, r, interleave.Misuse, "has read no object since its last Yield")
}
