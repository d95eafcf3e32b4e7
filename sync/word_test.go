package sync_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/internal/invariant"
	lfsync "github.com/lanewright/lanewright/sync"
)

const maxWorkers = lfsync.MaxWorkers

// TestWordGolden checks that each field has its fixed bits. Z-063, Z-064, Z-065, Z-066.
func TestWordGolden(t *testing.T) {
	tests := []struct {
		state               lfsync.State
		notified, lingering bool
		idle, spawned       int
		want                lfsync.Word
		text                string
	}{
		{lfsync.StatePending, false, false, 0, 0, 0x0000_0000, "pending idle=0 spawned=0"},
		{lfsync.StateWaking, false, false, 0, 0, 0x0000_0001, "waking idle=0 spawned=0"},
		{lfsync.StateSignaled, false, false, 0, 0, 0x0000_0002, "signaled idle=0 spawned=0"},
		{lfsync.StateShutdown, false, false, 0, 0, 0x0000_0003, "shutdown idle=0 spawned=0"},
		{lfsync.StatePending, true, false, 0, 0, 0x0000_0004, "pending notified idle=0 spawned=0"},
		{lfsync.StatePending, false, true, 0, 0, 0x0000_0008, "pending lingering idle=0 spawned=0"},
		{lfsync.StatePending, false, false, 1, 0, 0x0000_0010, "pending idle=1 spawned=0"},
		{lfsync.StatePending, false, false, 0, 1, 0x0004_0000, "pending idle=0 spawned=1"},
		{lfsync.StateSignaled, true, false, 2, 3, 0x000c_0026, "signaled notified idle=2 spawned=3"},
		{lfsync.StateSignaled, true, true, 2, 3, 0x000c_002e, "signaled notified lingering idle=2 spawned=3"},
		{lfsync.StatePending, false, false, maxWorkers, 0, 0x0003_fff0, "pending idle=16383 spawned=0"},
		{lfsync.StatePending, false, false, 0, maxWorkers, 0xfffc_0000, "pending idle=0 spawned=16383"},
		{lfsync.StateShutdown, true, false, maxWorkers, maxWorkers, 0xffff_fff7, "shutdown notified idle=16383 spawned=16383"},
		{lfsync.StateShutdown, true, true, maxWorkers, maxWorkers, 0xffff_ffff, "shutdown notified lingering idle=16383 spawned=16383"},
	}
	for _, tc := range tests {
		t.Run(tc.text, func(t *testing.T) {
			want := tc.want
			if tc.lingering {
				want -= 1 << 3 // MakeWord makes words without the bit
			}
			if got := lfsync.MakeWord(tc.state, tc.notified, tc.idle, tc.spawned); got != want {
				t.Errorf("MakeWord = %#08x, want %#08x", uint32(got), uint32(want))
			}
			if got, want := unpack(tc.want), (fields{tc.state, tc.notified, tc.lingering, tc.idle, tc.spawned}); got != want {
				t.Errorf("the accessors of %#08x return %+v, want %+v", uint32(tc.want), got, want)
			}
			if got := tc.want.String(); got != tc.text {
				t.Errorf("String = %q, want %q", got, tc.text)
			}
		})
	}
	if maxWorkers != 16383 {
		t.Errorf("MaxWorkers = %d, want 16383", maxWorkers)
	}
}

// TestWordPack checks that MakeWord and the lingering bit are the inverse of the accessors
// for all values of all fields. The fields therefore have all bits. Z-063.
func TestWordPack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := lfsync.Word(rapid.Uint32().Draw(t, "word"))
		if f := unpack(w).pack(); f != w {
			t.Fatalf("%#08x was packed as %#08x", uint32(w), uint32(f))
		}
	})
}

// generateWord generates any word in which the lingering worker is counted as idle (I6).
func generateWord(t *rapid.T, label string) lfsync.Word {
	w := lfsync.Word(rapid.Uint32().Draw(t, label))
	if w.Idle() == 0 {
		w &^= lfsync.LingeringBit
	}
	return w
}

// TestMakeWordMisuse checks that MakeWord panics for a field that does not fit. Z-066,
// V-14b.
func TestMakeWordMisuse(t *testing.T) {
	const counts = "sync: MakeWord: idle and spawned must be 0 to MaxWorkers"
	mustPanic(t, counts, func() { lfsync.MakeWord(lfsync.StatePending, false, maxWorkers+1, 0) })
	mustPanic(t, counts, func() { lfsync.MakeWord(lfsync.StatePending, false, 0, maxWorkers+1) })
	mustPanic(t, counts, func() { lfsync.MakeWord(lfsync.StatePending, false, -1, 0) })
	mustPanic(t, counts, func() { lfsync.MakeWord(lfsync.StatePending, false, 0, -1) })
	mustPanic(t, "sync: MakeWord: no such state", func() { lfsync.MakeWord(4, false, 0, 0) })
}

// TestWordNames checks that states, actions and outcomes print their names. Unknown values
// print their numbers.
func TestWordNames(t *testing.T) {
	got := fmt.Sprint(
		[]lfsync.State{0, 1, 2, 3, 4},
		[]lfsync.Action{0, 1, 2, 3, 4},
		[]lfsync.Outcome{0, 1, 2, 3, 4},
	)
	want := "[pending waking signaled shutdown State(4)] [none wake spawn resume Action(4)]" +
		" [search search waking park shutdown Outcome(4)]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// fields is an unpacked word. The reference model of the transitions works on fields.
type fields struct {
	state               lfsync.State
	notified, lingering bool
	idle, spawned       int
}

func unpack(w lfsync.Word) fields {
	return fields{w.State(), w.Notified(), w.Lingering(), w.Idle(), w.Spawned()}
}

func (f fields) pack() lfsync.Word {
	w := lfsync.MakeWord(f.state, f.notified, f.idle, f.spawned)
	if f.lingering {
		w |= lfsync.LingeringBit
	}
	return w
}

// onTokens is the number of idle workers that do not linger.
func (f fields) onTokens() int { return f.idle - b2i(f.lingering) }

// args are the arguments of a transition.
type args struct {
	waking, idle bool
	limit        int
}

// row is one row of a transition table. The first row whose condition holds applies. The
// conditions are those of the final algorithm of the article (Z-085, Z-086) with its
// corrections.
type row struct {
	name string
	when func(fields, args) bool
	then func(*fields)
	out  any
}

func always(fields, args) bool { return true }
func same(*fields)             {}

// canWake reports whether a wake may be started: none is in flight, or the wake in
// flight is that of the caller. Z-067, Z-069, Z-070.
func canWake(f fields, a args) bool { return f.state == lfsync.StatePending || a.waking }

// illegal is the outcome of a call that the protocol excludes.
type illegal struct{}

var notifyTable = []row{
	{"shutdown", func(f fields, _ args) bool { return f.state == lfsync.StateShutdown }, same, lfsync.ActionNone},
	{"not the waking worker", func(f fields, a args) bool { return a.waking && f.state != lfsync.StateWaking }, same, illegal{}},
	{"resume the lingering one", func(f fields, a args) bool { return canWake(f, a) && f.lingering }, func(f *fields) {
		f.state, f.notified, f.lingering, f.idle = lfsync.StateWaking, false, false, f.idle-1
	}, lfsync.ActionResume},
	{"wake one", func(f fields, a args) bool { return canWake(f, a) && f.idle > 0 }, func(f *fields) {
		f.state, f.notified = lfsync.StateSignaled, true
	}, lfsync.ActionWake}, // Z-073, Z-082
	{"spawn one", func(f fields, a args) bool { return canWake(f, a) && f.spawned < a.limit && f.spawned < maxWorkers }, func(f *fields) {
		f.state, f.notified, f.spawned = lfsync.StateSignaled, true, f.spawned+1
	}, lfsync.ActionSpawn}, // Z-074
	{"no worker to pass the role to", func(_ fields, a args) bool { return a.waking }, func(f *fields) {
		f.state, f.notified = lfsync.StatePending, true
	}, lfsync.ActionNone},
	{"keep the notification", always, func(f *fields) { f.notified = true }, lfsync.ActionNone}, // Z-076, Z-077
}

var waitTable = []row{
	{"shutdown", func(f fields, _ args) bool { return f.state == lfsync.StateShutdown }, same, lfsync.OutcomeShutdown},
	{"not the waking worker", func(f fields, a args) bool { return a.waking && (a.idle || f.state != lfsync.StateWaking) }, same, illegal{}},
	{"no worker parked on a token", func(f fields, a args) bool { return a.idle && f.onTokens() == 0 }, same, illegal{}},
	{"signal, parked", func(f fields, a args) bool { return f.notified && f.state == lfsync.StateSignaled && a.idle }, func(f *fields) {
		f.notified, f.idle, f.state = false, f.idle-1, lfsync.StateWaking
	}, lfsync.OutcomeSearchWaking}, // Z-068, Z-083
	{"signal, not parked", func(f fields, _ args) bool { return f.notified && f.state == lfsync.StateSignaled }, func(f *fields) {
		f.notified, f.state = false, lfsync.StateWaking
	}, lfsync.OutcomeSearchWaking},
	{"notified, waking", func(f fields, a args) bool { return f.notified && a.waking }, func(f *fields) {
		f.notified = false
	}, lfsync.OutcomeSearchWaking}, // Z-079
	{"notified, parked", func(f fields, a args) bool { return f.notified && a.idle }, func(f *fields) {
		f.notified, f.idle = false, f.idle-1
	}, lfsync.OutcomeSearch}, // Z-080, Z-083
	{"notified", func(f fields, _ args) bool { return f.notified }, func(f *fields) { f.notified = false }, lfsync.OutcomeSearch}, // Z-079
	{"stay parked", func(_ fields, a args) bool { return a.idle }, same, lfsync.OutcomePark},
	{"more workers wait than exist", func(f fields, _ args) bool { return f.idle >= f.spawned }, same, illegal{}},
	{"park, waking", func(_ fields, a args) bool { return a.waking }, func(f *fields) {
		f.idle, f.state = f.idle+1, lfsync.StatePending
	}, lfsync.OutcomePark}, // Z-071, Z-081
	{"park", always, func(f *fields) { f.idle++ }, lfsync.OutcomePark}, // Z-081
}

var lingerTable = []row{
	{"another worker lingers", func(f fields, _ args) bool { return f.lingering }, same, illegal{}},
	{"shutdown", func(f fields, _ args) bool { return f.state == lfsync.StateShutdown }, same, lfsync.OutcomeShutdown},
	{"not the waking worker", func(f fields, a args) bool { return a.waking && f.state != lfsync.StateWaking }, same, illegal{}},
	{"signal", func(f fields, _ args) bool { return f.notified && f.state == lfsync.StateSignaled }, func(f *fields) {
		f.notified, f.state = false, lfsync.StateWaking
	}, lfsync.OutcomeSearchWaking},
	{"notified, waking", func(f fields, a args) bool { return f.notified && a.waking }, func(f *fields) {
		f.notified = false
	}, lfsync.OutcomeSearchWaking},
	{"notified", func(f fields, _ args) bool { return f.notified }, func(f *fields) { f.notified = false }, lfsync.OutcomeSearch},
	{"more workers wait than exist", func(f fields, _ args) bool { return f.idle >= f.spawned }, same, illegal{}},
	{"linger, waking", func(_ fields, a args) bool { return a.waking }, func(f *fields) {
		f.idle, f.lingering, f.state = f.idle+1, true, lfsync.StatePending
	}, lfsync.OutcomePark},
	{"linger", always, func(f *fields) { f.idle, f.lingering = f.idle+1, true }, lfsync.OutcomePark},
}

var stopLingeringTable = []row{
	{"no worker lingers", func(f fields, _ args) bool { return !f.lingering }, same, false},
	{"stop", always, func(f *fields) { f.lingering = false }, true},
}

var restTable = []row{
	{"shutdown", func(f fields, _ args) bool { return f.state == lfsync.StateShutdown }, same, false},
	{"not the waking worker", func(f fields, _ args) bool { return f.state != lfsync.StateWaking }, same, illegal{}},
	{"notified", func(f fields, _ args) bool { return f.notified }, same, false},
	{"rest", always, func(f *fields) { f.state = lfsync.StatePending }, true},
}

var spawnFailedTable = []row{
	{"no worker counted", func(f fields, _ args) bool { return f.spawned == 0 }, same, illegal{}},
	{"signal unclaimed", func(f fields, _ args) bool { return f.state == lfsync.StateSignaled }, func(f *fields) {
		f.state, f.spawned = lfsync.StatePending, f.spawned-1
	}, nil}, // Z-061, Z-075
	{"signal claimed", always, func(f *fields) { f.spawned-- }, nil},
}

var enterTable = []row{
	{"shutdown", func(f fields, _ args) bool { return f.state == lfsync.StateShutdown }, same, false},
	{"limit reached", func(f fields, a args) bool { return f.spawned >= a.limit || f.spawned == maxWorkers }, same, false},
	{"enter", always, func(f *fields) { f.spawned++ }, true},
}

// leaveTable subtracts the leaver and then applies the rows of notifyTable when the leaver
// has work to pass on.
var leaveTable = []row{
	{"no worker counted", func(f fields, _ args) bool { return f.spawned == 0 }, same, illegal{}},
	{"shutdown", func(f fields, _ args) bool { return f.state == lfsync.StateShutdown }, func(f *fields) { f.spawned-- }, lfsync.ActionNone}, // Z-090
	{"not the waking worker", func(f fields, a args) bool { return a.waking && (a.idle || f.state != lfsync.StateWaking) }, same, illegal{}},
	{"no worker parked on a token", func(f fields, a args) bool { return a.idle && f.onTokens() == 0 }, same, illegal{}},
	{"waking, resume", func(f fields, a args) bool { return a.waking && f.lingering }, func(f *fields) {
		f.spawned, f.notified, f.lingering, f.idle = f.spawned-1, false, false, f.idle-1
	}, lfsync.ActionResume},
	{"waking, wake", func(f fields, a args) bool { return a.waking && f.idle > 0 }, func(f *fields) {
		f.spawned, f.state, f.notified = f.spawned-1, lfsync.StateSignaled, true
	}, lfsync.ActionWake},
	{"waking, spawn", func(f fields, a args) bool { return a.waking && f.spawned <= a.limit }, func(f *fields) {
		f.state, f.notified = lfsync.StateSignaled, true
	}, lfsync.ActionSpawn},
	{"waking, no worker", func(_ fields, a args) bool { return a.waking }, func(f *fields) {
		f.spawned, f.state, f.notified = f.spawned-1, lfsync.StatePending, true
	}, lfsync.ActionNone},
	{"signal, resume", func(f fields, a args) bool {
		return a.idle && f.notified && f.state != lfsync.StateWaking && f.lingering
	}, func(f *fields) {
		f.spawned, f.idle, f.state, f.notified, f.lingering = f.spawned-1, f.idle-2, lfsync.StateWaking, false, false
	}, lfsync.ActionResume},
	{"signal, wake", func(f fields, a args) bool {
		return a.idle && f.notified && f.state != lfsync.StateWaking && f.idle > 1
	}, func(f *fields) {
		f.spawned, f.idle, f.state = f.spawned-1, f.idle-1, lfsync.StateSignaled
	}, lfsync.ActionWake},
	{"signal, spawn", func(f fields, a args) bool {
		return a.idle && f.notified && f.state != lfsync.StateWaking && f.spawned <= a.limit
	}, func(f *fields) {
		f.idle, f.state = f.idle-1, lfsync.StateSignaled
	}, lfsync.ActionSpawn},
	{"signal, no worker", func(f fields, a args) bool { return a.idle && f.notified && f.state != lfsync.StateWaking }, func(f *fields) {
		f.spawned, f.idle, f.state = f.spawned-1, f.idle-1, lfsync.StatePending
	}, lfsync.ActionNone},
	{"parked", func(_ fields, a args) bool { return a.idle }, func(f *fields) { f.spawned, f.idle = f.spawned-1, f.idle-1 }, lfsync.ActionNone},
	{"busy", always, func(f *fields) { f.spawned-- }, lfsync.ActionNone},
}

type shutdownResult struct {
	idle  int
	first bool
}

var transitions = []struct {
	name  string
	table []row
	call  func(lfsync.Word, args) (lfsync.Word, any)
}{
	{"Notify", notifyTable, func(w lfsync.Word, a args) (lfsync.Word, any) {
		next, act := w.Notify(a.waking, a.limit)
		return next, act
	}},
	{"Wait", waitTable, func(w lfsync.Word, a args) (lfsync.Word, any) {
		next, out := w.Wait(a.waking, a.idle)
		return next, out
	}},
	{"Linger", lingerTable, func(w lfsync.Word, a args) (lfsync.Word, any) {
		next, out := w.Linger(a.waking)
		return next, out
	}},
	{"StopLingering", stopLingeringTable, func(w lfsync.Word, _ args) (lfsync.Word, any) {
		next, ok := w.StopLingering()
		return next, ok
	}},
	{"Rest", restTable, func(w lfsync.Word, _ args) (lfsync.Word, any) {
		next, ok := w.Rest()
		return next, ok
	}},
	{"SpawnFailed", spawnFailedTable, func(w lfsync.Word, _ args) (lfsync.Word, any) { return w.SpawnFailed(), nil }},
	{"Enter", enterTable, func(w lfsync.Word, a args) (lfsync.Word, any) {
		next, ok := w.Enter(a.limit)
		return next, ok
	}},
	{"Leave", leaveTable, func(w lfsync.Word, a args) (lfsync.Word, any) {
		next, act := w.Leave(a.waking, a.idle, a.limit)
		return next, act
	}},
}

// checkTransition compares one call with the table and returns the name of the row that
// applied.
func checkTransition(tb rapid.TB, name string, table []row, call func(lfsync.Word, args) (lfsync.Word, any), w lfsync.Word, a args) string {
	tb.Helper()
	f := unpack(w)
	for _, r := range table {
		if !r.when(f, a) {
			continue
		}
		if r.out == (illegal{}) {
			if invariant.Enabled && !panics(func() { call(w, a) }) {
				tb.Fatalf("%s of %v with %+v: row %q: no assertion failed", name, w, a, r.name)
			}
			return r.name
		}
		r.then(&f)
		next, out := call(w, a)
		if next != f.pack() || out != r.out {
			tb.Fatalf("%s of %v with %+v: row %q:\ngot  %v (%#08x), %v\nwant %+v, %v", name, w, a, r.name, next, uint32(next), out, f, r.out)
		}
		return r.name
	}
	tb.Fatalf("%s of %v with %+v: no row applies", name, w, a)
	return ""
}

// panics reports whether f panics.
func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// TestWordTable checks that every transition agrees with its table for all states, all
// flags, and counts at their limits. Each row applies at least once. Z-062, Z-067 to Z-071,
// Z-073, Z-074, Z-076, Z-077, Z-079 to Z-083, Z-085, Z-086, Z-089, Z-090. V-14b, V-15b.
func TestWordTable(t *testing.T) {
	counts := []int{0, 1, 2, maxWorkers - 1, maxWorkers}
	limits := []int{-1, 0, 1, 2, 3, maxWorkers - 1, maxWorkers, maxWorkers + 1, 1 << 20}
	flags := []bool{false, true}
	for _, tr := range transitions {
		t.Run(tr.name, func(t *testing.T) {
			used := map[string]int{}
			check := func(w lfsync.Word) {
				for _, limit := range limits {
					for _, waking := range flags {
						for _, wasIdle := range flags {
							used[checkTransition(t, tr.name, tr.table, tr.call, w, args{waking, wasIdle, limit})]++
						}
					}
				}
			}
			for s := range lfsync.State(4) {
				for _, notified := range flags {
					for _, idle := range counts {
						for _, spawned := range counts {
							check(fields{s, notified, false, idle, spawned}.pack())
							if idle > 0 { // I6
								check(fields{s, notified, true, idle, spawned}.pack())
							}
						}
					}
				}
			}
			for _, r := range tr.table {
				if used[r.name] == 0 {
					t.Errorf("row %q never applied", r.name)
				}
			}
		})
	}
}

// TestWordTableRandom checks that every transition agrees with its table for any word.
func TestWordTableRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := generateWord(t, "word")
		a := args{
			rapid.Bool().Draw(t, "waking"), rapid.Bool().Draw(t, "idle"),
			rapid.IntRange(-1, maxWorkers+1).Draw(t, "limit"),
		}
		for _, tr := range transitions {
			checkTransition(t, tr.name, tr.table, tr.call, w, a)
		}
	})
}

// TestWordNeedsNothing checks that the check of the fast path holds exactly when Notify
// would change nothing and return ActionNone. The only exceptions are words that are shut
// down without a notification, which do not occur. Z-077.
func TestWordNeedsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := generateWord(t, "word")
		if rapid.Bool().Draw(t, "low") {
			f := fields{w.State(), w.Notified(), w.Lingering(), rapid.IntRange(0, 1).Draw(t, "idle"), rapid.IntRange(0, 3).Draw(t, "spawned")}
			f.lingering = f.lingering && f.idle > 0 // I6
			w = f.pack()
		}
		limit := rapid.IntRange(0, 4).Draw(t, "limit")
		next, act := w.Notify(false, limit)
		nothing := next == w && act == lfsync.ActionNone
		if w.State() == lfsync.StateShutdown && !w.Notified() {
			nothing = false
		}
		if got := lfsync.NeedsNothing(w, limit); got != nothing {
			t.Fatalf("needsNothing = %v for %v with limit %d; Notify returns %v, %v", got, w, limit, next, act)
		}
	})
}

// TestWordShutdown checks that the first shutdown of any state requires one wake token for
// each idle worker that does not linger. Later shutdowns change nothing. Z-088.
func TestWordShutdown(t *testing.T) {
	check := func(f fields) {
		w := f.pack()
		next, n, first := w.Shutdown()
		want := shutdownResult{f.onTokens(), true}
		if f.state == lfsync.StateShutdown {
			if next != w || n != 0 || first {
				t.Errorf("Shutdown of %v = %v, %d, %v: want no change", w, next, n, first)
			}
			return
		}
		if got := (shutdownResult{n, first}); got != want {
			t.Errorf("Shutdown of %v = %+v, want %+v", w, got, want)
		}
		if got, want := unpack(next), (fields{lfsync.StateShutdown, true, false, 0, maxWorkers}); got != want {
			t.Errorf("Shutdown of %v leaves %+v, want %+v", w, got, want)
		}
	}
	for s := range lfsync.State(4) {
		for _, notified := range []bool{false, true} {
			for _, idle := range []int{0, 1, 2, maxWorkers} {
				check(fields{s, notified, false, idle, maxWorkers})
				if idle > 0 {
					check(fields{s, notified, true, idle, maxWorkers})
				}
			}
		}
	}
}

// traceStep is one step of a golden trace.
type traceStep struct {
	what string
	do   func(lfsync.Word) (lfsync.Word, any)
	out  any
	word string
}

func notify(waking bool, limit int) func(lfsync.Word) (lfsync.Word, any) {
	return func(w lfsync.Word) (lfsync.Word, any) {
		next, act := w.Notify(waking, limit)
		return next, act
	}
}

func wait(waking, idle bool) func(lfsync.Word) (lfsync.Word, any) {
	return func(w lfsync.Word) (lfsync.Word, any) {
		next, out := w.Wait(waking, idle)
		return next, out
	}
}

func linger(waking bool) func(lfsync.Word) (lfsync.Word, any) {
	return func(w lfsync.Word) (lfsync.Word, any) {
		next, out := w.Linger(waking)
		return next, out
	}
}

func stopLingering(w lfsync.Word) (lfsync.Word, any) {
	next, ok := w.StopLingering()
	return next, ok
}

func rest(w lfsync.Word) (lfsync.Word, any) {
	next, ok := w.Rest()
	return next, ok
}

func leave(waking, idle bool, limit int) func(lfsync.Word) (lfsync.Word, any) {
	return func(w lfsync.Word) (lfsync.Word, any) {
		next, act := w.Leave(waking, idle, limit)
		return next, act
	}
}

func spawnFailed(w lfsync.Word) (lfsync.Word, any) { return w.SpawnFailed(), nil }

// replay applies the steps to w and compares each result.
func replay(t *testing.T, w lfsync.Word, steps []traceStep) {
	t.Helper()
	for i, s := range steps {
		next, out := s.do(w)
		if out != s.out || next.String() != s.word {
			t.Fatalf("step %d, %s, on %v:\ngot  %v, %v\nwant %v, %v", i+1, s.what, w, next, out, s.word, s.out)
		}
		w = next
	}
}

// TestWordSpawnFails checks that after each failed spawn the next notify spawns again. A
// decrement alone would give spawn, none, none. Z-061, Z-075, X-31.
func TestWordSpawnFails(t *testing.T) {
	replay(t, 0, []traceStep{
		{"notify", notify(false, 2), lfsync.ActionSpawn, "signaled notified idle=0 spawned=1"},
		{"the spawn fails", spawnFailed, nil, "pending notified idle=0 spawned=0"},
		{"notify", notify(false, 2), lfsync.ActionSpawn, "signaled notified idle=0 spawned=1"},
		{"the spawn fails", spawnFailed, nil, "pending notified idle=0 spawned=0"},
		{"notify", notify(false, 2), lfsync.ActionSpawn, "signaled notified idle=0 spawned=1"},
		{"T1 starts and finds the notification", wait(false, false), lfsync.OutcomeSearchWaking, "waking idle=0 spawned=1"},
		{"T1 found a task", notify(true, 2), lfsync.ActionSpawn, "signaled notified idle=0 spawned=2"},
		{"the spawn fails", spawnFailed, nil, "pending notified idle=0 spawned=1"},
		{"notify, while T1 is busy", notify(false, 2), lfsync.ActionSpawn, "signaled notified idle=0 spawned=2"},
		{"T1 takes the notification", wait(false, false), lfsync.OutcomeSearchWaking, "waking idle=0 spawned=2"},
		{"the spawn fails late", spawnFailed, nil, "waking idle=0 spawned=1"},
		{"T1 parks", wait(true, false), lfsync.OutcomePark, "pending idle=1 spawned=1"},
	})
}

// TestWordScenario checks that the seven steps of the article give its words and actions.
// There are four workers. Three of them are parked at first, and T1 runs. Z-058, Z-059,
// Z-072.
func TestWordScenario(t *testing.T) {
	replay(t, lfsync.MakeWord(lfsync.StatePending, false, 3, 4), []traceStep{
		{"1: T1 schedules and wakes T2", notify(false, 4), lfsync.ActionWake, "signaled notified idle=3 spawned=4"},
		{"2: T1 schedules again: a wake-up is in flight", notify(false, 4), lfsync.ActionNone, "signaled notified idle=3 spawned=4"},
		{"3: T2 wakes and is the waking worker", wait(false, true), lfsync.OutcomeSearchWaking, "waking idle=2 spawned=4"},
		{"3: T1 schedules while T2 searches", notify(false, 4), lfsync.ActionNone, "waking notified idle=2 spawned=4"},
		{"4: T2 found a task and wakes T3", notify(true, 4), lfsync.ActionWake, "signaled notified idle=2 spawned=4"},
		{"5: T3 wakes and is the waking worker", wait(false, true), lfsync.OutcomeSearchWaking, "waking idle=1 spawned=4"},
		{"6: T3 found none and parks: no worker wakes T4", wait(true, false), lfsync.OutcomePark, "pending idle=2 spawned=4"},
		{"7: T1 schedules and wakes a worker again", notify(false, 4), lfsync.ActionWake, "signaled notified idle=2 spawned=4"},
	})
}

// TestWordLingers checks that the lingering worker is woken first and without a signal.
// Once it is taken, it is an idle worker as any other.
func TestWordLingers(t *testing.T) {
	t.Run("a task at a time", func(t *testing.T) {
		replay(t, lfsync.MakeWord(lfsync.StateWaking, false, 1, 2), []traceStep{
			{"T1 found none and lingers", linger(true), lfsync.OutcomePark, "pending lingering idle=2 spawned=2"},
			{"a notifier resumes T1", notify(false, 2), lfsync.ActionResume, "waking idle=1 spawned=2"},
			{"T1 found a task and sees no other", rest, true, "pending idle=1 spawned=2"},
			{"T1 lingers again", linger(false), lfsync.OutcomePark, "pending lingering idle=2 spawned=2"},
		})
	})
	t.Run("two tasks", func(t *testing.T) {
		replay(t, lfsync.MakeWord(lfsync.StatePending, false, 1, 2), []traceStep{
			{"T1 lingers", linger(false), lfsync.OutcomePark, "pending lingering idle=2 spawned=2"},
			{"a notifier resumes T1", notify(false, 2), lfsync.ActionResume, "waking idle=1 spawned=2"},
			{"a notifier: a wake-up is in flight", notify(false, 2), lfsync.ActionNone, "waking notified idle=1 spawned=2"},
			{"T1 found a task, but tasks were announced", rest, false, "waking notified idle=1 spawned=2"},
			{"T1 wakes T2", notify(true, 2), lfsync.ActionWake, "signaled notified idle=1 spawned=2"},
		})
	})
	t.Run("the waking worker resumes it", func(t *testing.T) {
		replay(t, lfsync.MakeWord(lfsync.StateWaking, false, 1, 3), []traceStep{
			{"T2 lingers", linger(false), lfsync.OutcomePark, "waking lingering idle=2 spawned=3"},
			{"notify", notify(false, 3), lfsync.ActionNone, "waking notified lingering idle=2 spawned=3"},
			{"T1 found a task", notify(true, 3), lfsync.ActionResume, "waking idle=1 spawned=3"},
		})
	})
	t.Run("a taker without a task", func(t *testing.T) {
		replay(t, lfsync.MakeWord(lfsync.StatePending, false, 0, 1), []traceStep{
			{"T1 lingers", linger(false), lfsync.OutcomePark, "pending lingering idle=1 spawned=1"},
			{"T1 is taken", stopLingering, true, "pending idle=1 spawned=1"},
			{"no worker lingers", stopLingering, false, "pending idle=1 spawned=1"},
			{"notify", notify(false, 1), lfsync.ActionWake, "signaled notified idle=1 spawned=1"},
			{"T1 takes the signal", wait(false, true), lfsync.OutcomeSearchWaking, "waking idle=0 spawned=1"},
		})
	})
	t.Run("a notification instead", func(t *testing.T) {
		replay(t, lfsync.MakeWord(lfsync.StateSignaled, true, 1, 2), []traceStep{
			{"T1 takes the signal of T2", linger(false), lfsync.OutcomeSearchWaking, "waking idle=1 spawned=2"},
		})
	})
}

// TestWordLeaves checks that Leave passes on the work that only the leaver would have done.
func TestWordLeaves(t *testing.T) {
	t.Run("the role of the waking worker", func(t *testing.T) {
		replay(t, lfsync.MakeWord(lfsync.StateWaking, false, 1, 2), []traceStep{
			{"leave", leave(true, false, 2), lfsync.ActionWake, "signaled notified idle=1 spawned=1"},
		})
	})
	t.Run("the role of the waking worker, to the lingering one", func(t *testing.T) {
		replay(t, fields{lfsync.StateWaking, true, true, 2, 3}.pack(), []traceStep{
			{"leave", leave(true, false, 3), lfsync.ActionResume, "waking idle=1 spawned=2"},
		})
	})
	t.Run("a signal in flight", func(t *testing.T) {
		replay(t, lfsync.MakeWord(lfsync.StatePending, false, 2, 2), []traceStep{
			{"notify", notify(false, 2), lfsync.ActionWake, "signaled notified idle=2 spawned=2"},
			{"leave", leave(false, true, 2), lfsync.ActionWake, "signaled notified idle=1 spawned=1"},
			{"leave", leave(false, true, 2), lfsync.ActionSpawn, "signaled notified idle=0 spawned=1"},
		})
	})
	t.Run("a signal that a failed spawn took back", func(t *testing.T) {
		replay(t, lfsync.MakeWord(lfsync.StatePending, false, 0, 2), []traceStep{
			{"notify", notify(false, 3), lfsync.ActionSpawn, "signaled notified idle=0 spawned=3"},
			{"T1 takes the notification", wait(false, false), lfsync.OutcomeSearchWaking, "waking idle=0 spawned=3"},
			{"T1 parks", wait(true, false), lfsync.OutcomePark, "pending idle=1 spawned=3"},
			{"notify", notify(false, 3), lfsync.ActionWake, "signaled notified idle=1 spawned=3"},
			{"the spawn fails", spawnFailed, nil, "pending notified idle=1 spawned=2"},
			{"T1 leaves", leave(false, true, 3), lfsync.ActionSpawn, "signaled notified idle=0 spawned=2"},
		})
	})
}

// simWorker is a worker of the simulation. It is at one step of the protocol in the
// documentation of the package.
type simWorker struct {
	at     string // "spawning", "begin", "look", "found", "rest", "notify", "wait", "parked", "again", "lingering", "resumed", "ended", "left look"
	waking bool
	idle   bool // counted as idle
}

// simulation runs the protocol of the package on words alone, one transition at a time.
// Its queue is a count of tasks.
type simulation struct {
	w        lfsync.Word
	limit    int
	queue    int // tasks that are visible
	tokens   int
	pushed   int // notifiers between their push and their notify
	workers  []*simWorker
	posts    int // shutdown tokens that are not posted yet
	done     int
	noWorker bool // the last notifier learned that there is no worker
	failed   bool // a spawn has failed
	lingers  bool // workers may linger, and rest
}

func (s *simulation) act(t rapid.TB, a lfsync.Action) {
	s.noWorker = false
	switch a {
	case lfsync.ActionWake:
		s.tokens++
	case lfsync.ActionSpawn:
		s.workers = append(s.workers, &simWorker{at: "spawning"})
	case lfsync.ActionResume:
		w := s.lingering(t)
		w.at, w.waking, w.idle = "resumed", true, false
	case lfsync.ActionNone:
	default:
		t.Fatalf("unknown action %v", a)
	}
}

// registered returns the worker that lingers. A taken worker counts until its taker has
// unparked it. registered returns nil when the register is empty.
func (s *simulation) registered() *simWorker {
	for _, w := range s.workers {
		if w.at == "lingering" || w.at == "resumed" || w.at == "ended" {
			return w
		}
	}
	return nil
}

// lingering returns the worker that the caller has just taken.
func (s *simulation) lingering(t rapid.TB) *simWorker {
	w := s.registered()
	if w == nil || w.at != "lingering" {
		t.Fatalf("a goroutine took %v, which does not linger: %v", w, s.w)
	}
	return w
}

// linger makes w wait or linger and reports whether it could. It can when w waits and the
// register is empty.
func (s *simulation) linger(t rapid.TB, w *simWorker) bool {
	if !s.lingers || w.at != "wait" || s.registered() != nil {
		return false
	}
	next, out := s.w.Linger(w.waking)
	s.w = next
	if s.follow(t, w, out); out == lfsync.OutcomePark {
		w.at = "lingering"
	}
	return true
}

// stopLingering takes the lingering worker, and reports whether there was one.
func (s *simulation) stopLingering(t rapid.TB) bool {
	next, ok := s.w.StopLingering()
	s.w = next
	if ok {
		s.lingering(t).at = "ended"
	}
	return ok
}

// shutdown makes the transition Shutdown.
func (s *simulation) shutdown(t rapid.TB) {
	lingering := s.w.Lingering()
	next, idle, first := s.w.Shutdown()
	if !first && (idle != 0 || next != s.w) {
		t.Fatalf("a second shutdown changed %v to %v, %d", s.w, next, idle)
	}
	s.w = next
	s.posts += idle
	if lingering {
		s.lingering(t).at = "ended"
	}
}

// follow moves w to the step that the outcome of its Wait names.
func (s *simulation) follow(t rapid.TB, w *simWorker, out lfsync.Outcome) {
	switch out {
	case lfsync.OutcomeSearch:
		w.at, w.waking, w.idle = "look", false, false
	case lfsync.OutcomeSearchWaking:
		w.at, w.waking, w.idle = "look", true, false
	case lfsync.OutcomePark:
		w.at, w.waking, w.idle = "parked", false, true
	case lfsync.OutcomeShutdown:
		s.leave(t, w)
	}
}

// step takes one step of w, and reports whether w could take one. A step of a worker that was
// taken is that of its taker, which unparks it.
func (s *simulation) step(t rapid.TB, w *simWorker, fail bool) bool {
	switch w.at {
	case "spawning":
		if fail {
			s.w = s.w.SpawnFailed()
			s.failed = true
			s.remove(w)
			s.noWorker = s.noWorker || s.w.Spawned() == 0
			return true
		}
		w.at = "begin"
	case "look":
		w.at = "wait"
		if s.queue > 0 {
			s.queue--
			w.at = "found"
		}
	case "found":
		if w.waking && s.lingers && s.queue == 0 {
			w.at = "rest"
			break
		}
		s.passOn(t, w)
	case "rest":
		next, ok := s.w.Rest()
		s.w, w.waking = next, !ok
		if !ok {
			w.at = "notify"
			break
		}
		s.passOn(t, w)
	case "notify":
		s.passOn(t, w)
	case "begin", "wait", "again":
		next, out := s.w.Wait(w.waking, w.idle)
		s.w = next
		s.follow(t, w, out)
	case "lingering":
		return false
	case "resumed":
		w.at = "look"
	case "ended":
		w.at = "again"
	case "parked":
		if s.tokens == 0 {
			return false
		}
		s.tokens--
		w.at = "again"
	case "left look":
		s.remove(w)
		if s.queue > 0 {
			s.pushed++
		}
	}
	return true
}

// passOn passes the role of w on, if w is the waking worker. Then w runs its task.
func (s *simulation) passOn(t rapid.TB, w *simWorker) {
	if w.waking {
		next, act := s.w.Notify(true, s.limit)
		s.w, w.waking = next, false
		s.act(t, act)
	}
	s.done++
	w.at = "look"
}

// leave makes w leave. w may be at any step except lingering and running a task.
func (s *simulation) leave(t rapid.TB, w *simWorker) {
	next, act := s.w.Leave(w.waking, w.idle, s.limit)
	s.w = next
	if !w.waking && !w.idle {
		w.at = "left look"
	} else {
		s.remove(w)
	}
	s.act(t, act)
}

func (s *simulation) remove(w *simWorker) {
	s.workers = slices.DeleteFunc(s.workers, func(o *simWorker) bool { return o == w })
}

// notify is the second half of a push.
func (s *simulation) notify(t rapid.TB) {
	s.pushed--
	next, act := s.w.Notify(false, s.limit)
	s.w = next
	s.act(t, act)
}

// stranded fails the test when a task is queued although no worker will run it and no
// notifier has learned that. It is called when no step is left.
func (s *simulation) stranded(t rapid.TB) {
	if s.w.State() == lfsync.StateShutdown {
		if len(s.workers) != 0 {
			t.Fatalf("%d workers outlive the shutdown: %v", len(s.workers), s.w)
		}
	} else if s.queue > 0 && (s.w.Spawned() > 0 || !s.noWorker) {
		t.Fatalf("%d tasks are stranded: %v", s.queue, s.w)
	}
}

// check fails the test when the word violates an invariant or disagrees with the workers.
func (s *simulation) check(t rapid.TB) {
	f := fields{state: s.w.State(), notified: s.w.Notified()}
	waking := 0
	for _, w := range s.workers {
		if w.at != "left look" {
			f.spawned++
		}
		if w.at == "lingering" {
			f.lingering = true
		}
		if w.idle {
			f.idle++
		}
		if w.waking {
			waking++
		}
	}
	down := s.w.State() == lfsync.StateShutdown
	if down {
		f.idle = 0
	}
	if got := unpack(s.w); got != f {
		t.Fatalf("the word is %+v, the workers give %+v", got, f)
	}
	if !down && waking != b2i(s.w.State() == lfsync.StateWaking) {
		t.Fatalf("%d waking workers, and the word is %v", waking, s.w) // I3, Z-059
	}
	if (s.w.State() == lfsync.StateSignaled || down) && !s.w.Notified() {
		t.Fatalf("not notified: %v", s.w) // I2, I5
	}
	if s.w.Idle() > s.w.Spawned() {
		t.Fatalf("more idle than spawned: %v", s.w) // I1
	}
	if s.w.State() == lfsync.StatePending && s.w.Notified() && s.w.Idle() > 0 && (!s.failed || s.w.Lingering()) {
		t.Fatalf("notified, and no wake-up is in flight: %v", s.w) // I4, I6
	}
	if s.w.Lingering() && (s.w.Idle() == 0 || s.w.State() == lfsync.StateSignaled) {
		t.Fatalf("lingering: %v", s.w) // I6
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestWordProtocol checks in random schedules of the protocol that the word is true after
// each step. No task is stranded at the end. A task may stay queued only when no worker
// exists and a notifier has learned that. Spawns fail, workers linger, leave and enter, and
// a shutdown occurs. Z-058, Z-059, Z-076, Z-080, Z-083, Z-092.
func TestWordProtocol(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &simulation{limit: rapid.IntRange(1, 4).Draw(t, "limit"), lingers: rapid.Bool().Draw(t, "workers may linger")}
		failing := rapid.Bool().Draw(t, "spawns may fail")
		ending := rapid.Bool().Draw(t, "shutdown allowed")
		scheduled := 0
		pick := func(t *rapid.T) *simWorker {
			if len(s.workers) == 0 {
				t.Skip("no worker")
			}
			return s.workers[rapid.IntRange(0, len(s.workers)-1).Draw(t, "worker")]
		}
		step := func(t *rapid.T) {
			if !s.step(t, pick(t), failing && rapid.Bool().Draw(t, "fail")) {
				t.Skip("blocked")
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(*rapid.T) {
				s.queue++
				s.pushed++
				scheduled++
			},
			"notify": func(t *rapid.T) {
				if s.pushed == 0 {
					t.Skip("no push is pending")
				}
				s.notify(t)
			},
			"step":  step,
			"step2": step,
			"step3": step,
			"linger": func(t *rapid.T) {
				if !s.linger(t, pick(t)) {
					t.Skip("cannot linger now")
				}
			},
			"stop lingering": func(t *rapid.T) {
				if !s.stopLingering(t) {
					t.Skip("no worker lingers")
				}
			},
			"enter": func(t *rapid.T) {
				next, ok := s.w.Enter(s.limit)
				s.w = next
				if ok {
					s.workers = append(s.workers, &simWorker{at: "look"})
				}
			},
			"leave": func(t *rapid.T) {
				w := pick(t)
				switch w.at {
				case "look", "wait", "parked", "again":
					s.leave(t, w)
				default:
					t.Skip("cannot leave now")
				}
			},
			"shutdown": func(t *rapid.T) {
				if !ending {
					t.Skip("not now")
				}
				s.shutdown(t)
			},
			"post": func(t *rapid.T) {
				if s.posts == 0 {
					t.Skip("nothing to post")
				}
				s.posts--
				s.tokens++
			},
			"": func(t *rapid.T) { s.check(t) },
		})

		// Take steps until no worker can take one.
		s.tokens += s.posts
		for again := true; again; {
			again = false
			for s.pushed > 0 {
				s.notify(t)
				s.check(t)
			}
			for _, w := range slices.Clone(s.workers) {
				if slices.Contains(s.workers, w) && s.step(t, w, false) {
					again = true
				}
				s.check(t)
			}
			again = again || s.pushed > 0
		}
		s.stranded(t)
		if s.queue == 0 && s.done != scheduled {
			t.Fatalf("ran %d tasks of %d", s.done, scheduled)
		}
	})
}

// world is a state that TestWordProtocolAll explores: a simulation, and the number of
// times that each optional event may still occur.
type world struct {
	simulation
	pushes, fails, leaves, enters, shutdowns, stops int
}

// key is equal for worlds that differ only in the order of their workers.
func (s *world) key() string {
	workers := make([]string, len(s.workers))
	for i, w := range s.workers {
		workers[i] = fmt.Sprint(*w)
	}
	slices.Sort(workers)
	return fmt.Sprint(uint32(s.w), s.queue, s.tokens, s.pushed, s.posts, s.noWorker, s.failed, workers,
		s.pushes, s.fails, s.leaves, s.enters, s.shutdowns, s.stops)
}

// next calls f with each world that is one step away, and reports whether a step is
// certain to occur.
func (s *world) next(t rapid.TB, f func(*world)) (bound bool) {
	fork := func(g func(*world)) {
		c := *s
		c.workers = make([]*simWorker, len(s.workers))
		for i, w := range s.workers {
			clone := *w
			c.workers[i] = &clone
		}
		g(&c)
		f(&c)
	}
	if s.pushed > 0 {
		bound = true
		fork(func(c *world) { c.notify(t) })
	}
	if s.posts > 0 {
		bound = true
		fork(func(c *world) { c.posts--; c.tokens++ })
	}
	for i, w := range s.workers {
		if w.at != "lingering" && (w.at != "parked" || s.tokens > 0) {
			bound = true
			fork(func(c *world) { c.step(t, c.workers[i], false) })
		}
		if s.lingers && w.at == "wait" && s.registered() == nil {
			fork(func(c *world) { c.linger(t, c.workers[i]) })
		}
		if w.at == "spawning" && s.fails > 0 {
			fork(func(c *world) { c.fails--; c.step(t, c.workers[i], true) })
		}
		if slices.Contains([]string{"look", "wait", "parked", "again"}, w.at) && s.leaves > 0 {
			fork(func(c *world) { c.leaves--; c.leave(t, c.workers[i]) })
		}
	}
	if s.pushes > 0 {
		fork(func(c *world) { c.pushes--; c.queue++; c.pushed++ })
	}
	if next, ok := s.w.Enter(s.limit); ok && s.enters > 0 {
		fork(func(c *world) { c.enters--; c.w = next; c.workers = append(c.workers, &simWorker{at: "look"}) })
	}
	if s.w.State() != lfsync.StateShutdown && s.shutdowns > 0 {
		fork(func(c *world) { c.shutdowns--; c.shutdown(t) })
	}
	if s.w.Lingering() && s.stops > 0 {
		fork(func(c *world) { c.stops--; c.stopLingering(t) })
	}
	return bound
}

// TestWordProtocolAll checks that the laws of TestWordProtocol hold in all schedules of
// small worlds.
func TestWordProtocolAll(t *testing.T) {
	tests := []struct {
		name  string
		world world
	}{
		{"two workers, three tasks", world{simulation{limit: 2}, 3, 0, 0, 0, 0, 0}},
		{"three workers, three tasks", world{simulation{limit: 3}, 3, 0, 0, 0, 0, 0}},
		{"failing spawns", world{simulation{limit: 2}, 3, 2, 0, 0, 0, 0}},
		{"leavers", world{simulation{limit: 2}, 2, 0, 2, 1, 0, 0}},
		{"leavers and failing spawns", world{simulation{limit: 2}, 3, 1, 1, 1, 0, 0}},
		{"shutdown", world{simulation{limit: 3}, 2, 1, 0, 0, 1, 0}},
		{"shutdown and leavers", world{simulation{limit: 2}, 2, 0, 1, 1, 1, 0}},
		{"a lingering worker, three tasks", world{simulation{limit: 3, lingers: true}, 3, 0, 0, 0, 0, 1}},
		{"a lingering worker and failing spawns", world{simulation{limit: 2, lingers: true}, 3, 1, 0, 0, 0, 1}},
		{"a lingering worker and leavers", world{simulation{limit: 2, lingers: true}, 2, 0, 2, 1, 0, 1}},
		{"a lingering worker and a shutdown", world{simulation{limit: 2, lingers: true}, 2, 0, 1, 0, 1, 1}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			seen := map[string]bool{}
			todo := []*world{&tc.world}
			for len(todo) > 0 {
				s := todo[len(todo)-1]
				todo = todo[:len(todo)-1]
				bound := s.next(t, func(c *world) {
					c.check(t)
					if k := c.key(); !seen[k] {
						seen[k] = true
						todo = append(todo, c)
					}
				})
				if !bound {
					s.stranded(t)
				}
			}
			t.Logf("%d worlds", len(seen))
		})
	}
}
