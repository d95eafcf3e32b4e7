package pool_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/pool"
)

// The phases of a call.
const (
	queued = iota
	running
	done
)

// everyCallState calls yield for the states of a call that C1 to C8 permit, with every
// combination of the other bits.
func everyCallState(yield func(pool.CallState)) {
	for _, generation := range []uint64{0, 1, 1<<47 - 1} {
		for phase := queued; phase <= done; phase++ {
			for bits := range 1 << 11 {
				for k := pool.CauseNone; k < pool.NumCauses; k++ {
					has := func(bit int) bool { return bits&(1<<bit) != 0 }
					s := pool.CallState{
						Phase: phase, Claimed: has(0), Settled: has(1), Waiting: has(2),
						HasDone: has(3), Never: has(4), Awaited: has(5), Permit: has(6), Abandoned: has(7),
						Waits: has(8), NoLane: has(9), Over: has(10), Cause: k, Generation: generation,
					}
					byRunner := pool.CauseReturned <= k && k <= pool.CauseExited
					switch {
					case s.Claimed != (k != pool.CauseNone), s.Settled && !s.Claimed, s.Over && !s.Settled:
					case s.Never != (s.Claimed && phase == queued): // C3
					case (s.Permit || s.Abandoned) && phase != running: // C5
					case (s.Waits || s.NoLane) && phase != queued: // C6
					case byRunner && phase != done, phase == done && !s.Claimed:
					default:
						yield(s)
					}
				}
			}
		}
	}
}

// TestCallWord compares each transition of every state of a call with the table.
func TestCallWord(t *testing.T) {
	n := 0
	everyCallState(func(s pool.CallState) {
		n++
		w := pool.WordOf(s)
		if got := pool.StateOf(w); got != s {
			t.Fatalf("the word of %+v is that of %+v", s, got)
		}
		is := func(what string, got pool.CallWord, want pool.CallState) {
			t.Helper()
			if pool.StateOf(got) != want {
				t.Errorf("%s of %+v: got %+v, want %+v", what, s, pool.StateOf(got), want)
			}
		}
		says := func(what, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%s of %+v: got %s, want %s", what, s, got, want)
			}
		}
		if s.Phase == queued {
			for _, permit := range []bool{false, true} {
				next, run := pool.Take(w, permit)
				want := s
				if !s.Claimed {
					want.Phase, want.Permit = running, permit
					want.Waits, want.NoLane = false, false // C6
				}
				is("take", next, want)
				says("take", fmt.Sprint(run), fmt.Sprint(!s.Claimed))
			}
		}
		if s.Phase != done {
			next, duty, won := pool.Claim(w, pool.CauseAborted)
			want, wantDuty := s, ""
			if !s.Claimed {
				want.Claimed, want.Cause, wantDuty = true, pool.CauseAborted, "IT"
				if s.Phase == queued {
					want.Never, wantDuty = true, "FR"
				}
				if s.Permit {
					wantDuty = "IO"
				}
			}
			is("claim", next, want)
			says("claim", fmt.Sprint(duty, won), fmt.Sprint(wantDuty, !s.Claimed))
		}
		if s.Phase == running {
			for _, settle := range []bool{false, true} {
				next, duty, won := pool.Finish(w, pool.CauseFailed, settle)
				want, wantDuty := s, ""
				want.Phase, want.Permit, want.Abandoned = done, false, false
				switch {
				case s.Settled:
					wantDuty = "R"
				case !s.Claimed && settle:
					want.Claimed, want.Cause, want.Settled, wantDuty = true, pool.CauseFailed, true, "R"
				case !s.Claimed:
					want.Claimed, want.Cause, wantDuty = true, pool.CauseFailed, "R"
				}
				if s.Permit && s.Claimed {
					wantDuty += "N"
				}
				if s.Abandoned {
					wantDuty += "A"
				}
				if !s.Permit && !s.Claimed {
					wantDuty += "T"
				}
				is("finish", next, want)
				says("finish", fmt.Sprint(duty, won), fmt.Sprint(wantDuty, !s.Claimed))
			}
		}
		next, abandons := pool.Abandon(w)
		if can := s.Phase == running && !s.Abandoned; abandons != can {
			t.Errorf("abandon of %+v: %t", s, abandons)
		} else if can {
			want := s
			want.Abandoned = true
			is("abandon", next, want)
		}
		if s.Phase == running {
			next, duty := pool.Lose(w)
			want, wantDuty := s, ""
			want.Permit = false
			switch {
			case s.Permit && s.Claimed:
				wantDuty = "N"
			case s.Permit:
				wantDuty = "S"
			}
			is("lose", next, want)
			says("lose", duty, wantDuty)
		}
		if s.Claimed && !s.Settled {
			next, duty := pool.Settle(w)
			want, wantDuty := s, ""
			want.Settled = true
			if s.Phase == done && s.Cause > pool.CauseExited {
				wantDuty = "R"
			}
			is("settle", next, want)
			says("settle", duty, wantDuty)
		}
		if s.Settled {
			want := pool.CallState{Generation: (s.Generation + 1) % (1 << 47)}
			is("reset", pool.Reset(w), want)
		}
	})
	if n < 1000 {
		t.Errorf("the test has %d states, want 1000 or more", n)
	}
}

// TestCallWordHistories takes steps of a runner and of three goroutines that end the call in
// any order. In each generation the handler is entered once at most, and the outcome has one
// writer. The things that the call holds are released once. The handler counts as overdue while
// its call has ended and it has a permit.
func TestCallWordHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := pool.WordOf(pool.CallState{Generation: 1<<47 - 2})
		for range 3 {
			var entered, claims, settles, forgets, releases, overdue int
			claimer := -1 // the number of the goroutine that has to settle; the runner is 3
			count := func(duty string) {
				for _, letter := range duty {
					switch letter {
					case 'F':
						forgets++
					case 'R':
						releases++
					case 'O':
						overdue++
					case 'N':
						overdue--
					}
				}
			}
			atOnce := rapid.Bool().Draw(t, "at once")
			permit := rapid.Bool().Draw(t, "permit")
			taken, skipped, finished := false, false, false
			for !(settles == 1 && (finished || skipped)) {
				switch who := rapid.IntRange(0, 6).Draw(t, "who"); {
				case who < 3 && claimer == who && settles == 0:
					next, duty := pool.Settle(w)
					w, settles = next, settles+1
					count(duty)
				case who < 3 && claimer < 0 && !finished:
					next, duty, won := pool.Claim(w, pool.CauseAborted+pool.Cause(who))
					if w = next; won {
						claimer, claims = who, claims+1
						count(duty)
					}
				case who == 3 && !taken && !skipped:
					next, run := pool.Take(w, permit)
					if w = next; run {
						taken, entered = true, entered+1
					} else {
						skipped = true
					}
				case who == 3 && taken && !finished:
					next, duty, won := pool.Finish(w, pool.CauseReturned, atOnce)
					w, finished = next, true
					count(duty)
					if won {
						claims++
						if claimer = 3; atOnce {
							settles++
						}
					}
				case who == 4 && claimer == 3 && settles == 0:
					next, duty := pool.Settle(w)
					w, settles = next, settles+1
					count(duty)
				case who == 6:
					next, duty := pool.Lose(w)
					w = next
					count(duty)
				}
				s := pool.StateOf(w)
				if (overdue == 1) != (s.Phase == running && s.Claimed && s.Permit) || overdue < 0 {
					t.Fatalf("%d handlers are overdue: %+v", overdue, s)
				}
			}
			s := pool.StateOf(w)
			if entered > 1 || claims != 1 || settles != 1 || releases != 1 ||
				forgets != 1-entered || s.Never != (entered == 0) {
				t.Fatalf("entered %d, claimed %d, settled %d, forgot %d, released %d: %+v",
					entered, claims, settles, forgets, releases, s)
			}
			w = pool.Reset(w)
		}
	})
}
