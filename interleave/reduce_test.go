package interleave_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// readers has one writer of n words and n readers, each of which reads one word. Each
// reader is ordered before or after the write of its word: there are 2^n traces.
func readers(n int) func(m *interleave.M) {
	return func(m *interleave.M) {
		words := make([]interleave.Int32, n)
		for i := range words {
			m.Go("reader", func() { words[i].Load() })
		}
		m.Go("writer", func() {
			for i := range words {
				words[i].Store(1)
			}
		})
	}
}

// independent has n threads of four steps each, on objects of their own.
func independent(n int) func(m *interleave.M) {
	return func(m *interleave.M) {
		words := make([]interleave.Int32, n)
		for i := range words {
			m.Go("t", func() {
				for range 4 {
					words[i].Add(1)
				}
			})
		}
	}
}

// lastZero is the program of Abdulla and others: n threads each increase one word of an
// array, and a reader looks for the last word that is zero.
func lastZero(n int) func(m *interleave.M) {
	return func(m *interleave.M) {
		words := make([]interleave.Int32, n+1)
		m.Go("reader", func() {
			for i := n; i > 0 && words[i].Load() != 0; i-- {
			}
		})
		for i := 1; i <= n; i++ {
			m.Go("t", func() { words[i].Store(words[i-1].Load() + 1) })
		}
	}
}

// parentAndChild has a thread that stores to four words and then makes a thread that stores
// to the same words, and n other threads.
func parentAndChild(n int) func(m *interleave.M) {
	return func(m *interleave.M) {
		var words [4]interleave.Int32
		others := make([]interleave.Int32, n)
		storeAll := func() {
			for i := range words {
				words[i].Store(1)
			}
		}
		m.Go("parent", func() {
			storeAll()
			interleave.Go("child", storeAll)
		})
		for i := range others {
			m.Go("other", func() { others[i].Store(1) })
		}
	}
}

// TestReductionRunsEachTraceOnce: with Reduce, each class of executions that differ only in
// the order of independent steps is run once, and no more executions are abandoned than
// are run.
func TestReductionRunsEachTraceOnce(t *testing.T) {
	for _, tc := range []struct {
		name   string
		body   func(m *interleave.M)
		traces int
	}{
		{"readers(2)", readers(2), 4},
		{"readers(8)", readers(8), 256},
		{"independent(8)", independent(8), 1},
		{"lastzero(6)", lastZero(6), 144},
		{"parent and child", parentAndChild(2), 1},
	} {
		eachBackend(t, func(t *testing.T, o interleave.Options) {
			t.Helper()
			o.Reduce = true
			r := interleave.Explore(o, tc.body)
			wantComplete(t, r)
			t.Logf("%s: %d executions, %d abandoned", tc.name, r.Executions, r.Pruned)
			if r.Executions != tc.traces || r.Pruned > r.Executions {
				t.Errorf("%s: %d executions and %d abandoned, want %d and at most as many", tc.name, r.Executions, r.Pruned, tc.traces)
			}
		})
	}
}

// TestReductionRefusesBlindYield: with Reduce, a thread that yields and has read nothing since
// its last Yield is a misuse, since every step of another thread lets it continue.
func TestReductionRefusesBlindYield(t *testing.T) {
	for name, f := range map[string]func(x *interleave.Int32){
		"at the start":       func(*interleave.Int32) { interleave.Yield() },
		"after a store":      func(x *interleave.Int32) { x.Store(1); interleave.Yield() },
		"after a Yield":      func(x *interleave.Int32) { x.Load(); interleave.Yield(); interleave.Yield() },
		"without a new read": func(x *interleave.Int32) { x.Load(); interleave.Yield(); x.Store(1); interleave.Yield() },
	} {
		r := interleave.Explore(interleave.Options{Reduce: true}, func(m *interleave.M) {
			var x interleave.Int32
			m.Go("blind", func() { f(&x) })
			m.Go("other", func() { x.Add(1) })
		})
		if r.Failure == nil {
			t.Fatalf("%s: got no failure", name)
		}
		wantFailure(t, r, interleave.Misuse, "thread blind calls Yield")
	}
}

// TestReductionIsAssumed: a search with Options.Reduce says in its line that it rests on the
// rule of that option.
func TestReductionIsAssumed(t *testing.T) {
	for _, tc := range []struct {
		o       interleave.Options
		assumes []string
		line    string
	}{
		{interleave.Options{Reduce: true}, []string{"reduce=on"}, "model two executions=1 pruned=0 preemptions=all complete=true reduce=on\n"},
		{interleave.Options{Preemptions: interleave.All}, nil, "preemptions=all complete=true\n"},
	} {
		f, r, out := check(t, "two", tc.o, independent(2))
		if len(f.errors) != 0 {
			t.Fatal(f.errors)
		}
		if !slices.Equal(r.Assumes, tc.assumes) || !strings.HasSuffix(out, tc.line) {
			t.Errorf("reduce=%t: assumes %q, printed %q", tc.o.Reduce, r.Assumes, out)
		}
	}
}

// TestReductionTrustsPlainMemory: two threads whose steps use different objects, and which share
// plain memory outside Cells, have one order with Options.Reduce. The failure of the other order
// is found without the reduction, and with it if the memory is in an atomic. The result names
// the assumption.
func TestReductionTrustsPlainMemory(t *testing.T) {
	order := func(plain bool) func(m *interleave.M) {
		return func(m *interleave.M) {
			var words [2]interleave.Int32
			var text string // in the order of the threads
			var first interleave.Int32
			for i := range words {
				m.Go("t", func() {
					words[i].Add(1)
					if plain {
						text += string(rune('a' + i))
					} else {
						first.CompareAndSwap(0, int32(i+1))
					}
				})
			}
			m.Final(func() {
				if text == "ba" || first.Load() == 2 {
					m.Fatalf("the second thread was first")
				}
			})
		}
	}
	for _, tc := range []struct {
		plain, reduce, fails bool
	}{
		{true, false, true},
		{true, true, false},
		{false, false, true},
		{false, true, true},
	} {
		r := interleave.Explore(interleave.Options{Preemptions: interleave.All, Reduce: tc.reduce}, order(tc.plain))
		if tc.fails {
			wantFailure(t, r, interleave.Failed, "the second thread was first")
			continue
		}
		wantComplete(t, r)
		if r.Executions != 1 || !slices.Equal(r.Assumes, []string{"reduce=on"}) {
			t.Errorf("%d executions, assumes %q", r.Executions, r.Assumes)
		}
	}
}

// TestReductionTrustsChannels: an order of two threads in which one polls a channel that the other one closes is left out
// with Options.Reduce, because neither is a step.
func TestReductionTrustsChannels(t *testing.T) {
	for _, reduce := range []bool{false, true} {
		r := interleave.Explore(interleave.Options{Preemptions: interleave.All, Reduce: reduce}, func(m *interleave.M) {
			var words [2]interleave.Int32
			ch, saw := make(chan struct{}), false
			m.Go("closes", func() {
				words[0].Add(1)
				close(ch)
			})
			m.Go("polls", func() {
				words[1].Add(1)
				select {
				case <-ch:
					saw = true
				default:
				}
			})
			m.Final(func() {
				if !saw {
					m.Fatalf("the poll was first")
				}
			})
		})
		if !reduce {
			wantFailure(t, r, interleave.Failed, "the poll was first")
			continue
		}
		wantComplete(t, r)
		if r.Executions != 1 || !slices.Equal(r.Assumes, []string{"reduce=on"}) {
			t.Errorf("%d executions, assumes %q", r.Executions, r.Assumes)
		}
	}
}
