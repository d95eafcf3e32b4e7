package stress

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
)

// A scenario does something to the packages under test, decided by a seed, and
// checks laws. It blocks until it is through: whoever plays it notices a hang.
type scenario struct {
	name string
	play func(r *round)
}

// A round is one play of a scenario: where it draws from, what it reports to, and
// what it has to count. It is a [T]. Safe for concurrent use, other than rng.
type round struct {
	name        string
	seed        uint64
	short       bool
	hangTimeout time.Duration
	rng         *rand.Rand // of the goroutine that plays

	workers sync.WaitGroup

	programs, calls, ops atomic.Uint64
	faults               roundFaults

	mu       sync.Mutex
	failures []string
	extra    int // failures beyond maxFailures
	schedule map[*sched.Scheduler]*roundSpawner
	stats    []sched.Stats // of the schedulers that have ended
	pools    []*pool.Pool
}

// roundFaults are the [Faults] of a round.
type roundFaults struct {
	spawnFailures, spawnPanics, panics, goexits, blocks, closes, shutdowns, cancels atomic.Uint64

	aborts, timeouts, pauses, resizes, leases atomic.Uint64
}

// maxFailures is how many failures of a round are worth reading.
const maxFailures = 5

func newRound(name string, seed uint64, c Config) *round {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return &round{
		name: name, seed: seed, short: c.Short, hangTimeout: c.HangTimeout,
		rng:      rand.New(rand.NewPCG(seed, h.Sum64())),
		schedule: map[*sched.Scheduler]*roundSpawner{},
	}
}

// Helper is there for [T].
func (r *round) Helper() {}

// Logf is there for [T]. What laws log is of use only next to a failure that the
// test of that law would show.
func (r *round) Logf(string, ...any) {}

// Errorf reports a violation.
func (r *round) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failures) >= maxFailures {
		r.extra++
		return
	}
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// Failed reports whether there was a violation.
func (r *round) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

// must reports an error that must not be.
func (r *round) must(what string, err error) {
	if err != nil {
		r.Errorf("%s: %v", what, err)
	}
}

// want reports an error that is neither nil nor one of those allowed.
func (r *round) want(what string, err error, allowed ...error) {
	if err != nil && !isAny(err, allowed...) {
		r.Errorf("%s: %v", what, err)
	}
}

// isAny reports whether err is one of list.
func isAny(err error, list ...error) bool {
	return slices.ContainsFunc(list, func(e error) bool { return errors.Is(err, e) })
}

// did counts n operations.
func (r *round) did(n int) { r.ops.Add(uint64(n)) }

// size returns n, or a fraction of it, one at least, in a short round.
func (r *round) size(n int) int {
	if r.short {
		return max(1, n/16)
	}
	return n
}

// pick returns one of several numbers.
func (r *round) pick(ns ...int) int { return ns[r.rng.IntN(len(ns))] }

// guard runs fn and reports a panic of it.
func (r *round) guard(what string, fn func()) {
	defer func() {
		if p := recover(); p != nil {
			r.Errorf("%s: panic: %v\n%s", what, p, debug.Stack())
		}
	}()
	fn()
}

// together runs fn(0) to fn(n-1) on goroutines of their own and waits for them.
func (r *round) together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { r.guard("caller", func() { fn(i) }) })
	}
	wg.Wait()
}

// play plays sc, for as long as hangTimeout lasts.
func (r *round) play(sc scenario) {
	done := make(chan struct{})
	go func() {
		returned := false
		defer func() {
			if !returned {
				r.Errorf("the scenario was ended by Goexit")
			}
			close(done)
		}()
		r.guard("scenario", func() { sc.play(r) })
		if !r.Failed() {
			r.workers.Wait() // they all end, and may have something to say
		}
		returned = true
	}()
	timer := time.NewTimer(r.hangTimeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		r.hung()
	}
}

// hung reports what is stuck.
func (r *round) hung() {
	var b strings.Builder
	fmt.Fprintf(&b, "hung: not through after %v\n", r.hangTimeout)
	r.mu.Lock()
	for s := range r.schedule {
		fmt.Fprintf(&b, "scheduler, MaxWorkers %d: %+v\n", s.MaxWorkers(), s.Stats())
	}
	for _, p := range r.pools {
		if m := p.Metrics(); m.Accepted != m.Ended || m.Outside > 0 {
			fmt.Fprintf(&b, "pool: %+v\n", m)
		}
	}
	r.mu.Unlock()
	r.Errorf("%s\n%s", &b, stuckGoroutines())
}

// maxDump bounds a dump of goroutines, in bytes.
const maxDump = 16 << 10

// stuckGoroutines returns the stacks of the goroutines of this module. Of those
// with the same stack it shows one.
func stuckGoroutines() string {
	buf := make([]byte, 4<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var order []string
	head, count := map[string]string{}, map[string]int{}
	for g := range strings.SplitSeq(string(buf), "\n\n") {
		first, stack, _ := strings.Cut(g, "\n")
		if !strings.Contains(stack, "/lanewright/") || strings.Contains(stack, "stuckGoroutines") {
			continue
		}
		key := stackShape(stack)
		if count[key]++; count[key] == 1 {
			order = append(order, key)
			head[key] = first + "\n" + stack
		}
	}
	var b strings.Builder
	for _, key := range order {
		if n := count[key]; n > 1 {
			fmt.Fprintf(&b, "%d goroutines such as ", n)
		}
		fmt.Fprintf(&b, "%s\n\n", head[key])
		if b.Len() > maxDump {
			b.WriteString("... and more\n")
			break
		}
	}
	return b.String()
}

// stackShape returns a stack without the arguments of its calls.
func stackShape(stack string) string {
	var b strings.Builder
	for line := range strings.Lines(stack) {
		if i := strings.LastIndexByte(line, '('); i >= 0 && !strings.HasPrefix(line, "\t") {
			line = line[:i]
		} else if i := strings.LastIndex(line, " in goroutine "); i >= 0 {
			line = line[:i]
		}
		b.WriteString(line)
	}
	return b.String()
}

// A spawnFault says what a Spawner does.
type spawnFault int

const (
	spawnWorks spawnFault = iota
	spawnFails
	spawnPanics
)

// errNoSpawn is what a Spawner fails with, and panics with.
var errNoSpawn = errors.New("no worker now")

// roundSpawner starts the workers of one scheduler, counts what it does, and
// reports when one of them crashes.
type roundSpawner struct {
	r               *round
	fault           func(call uint64) spawnFault // nil: always works
	calls           atomic.Uint64
	started, failed atomic.Uint64
	spare           int // places that may be made for a stall which is none in the end
}

func (sp *roundSpawner) Spawn(run func()) error {
	call := sp.calls.Add(1)
	if sp.fault != nil {
		switch sp.fault(call) {
		case spawnFails:
			sp.failed.Add(1)
			sp.r.faults.spawnFailures.Add(1)
			return errNoSpawn
		case spawnPanics:
			sp.failed.Add(1)
			sp.r.faults.spawnPanics.Add(1)
			panic(errNoSpawn)
		}
	}
	sp.started.Add(1)
	sp.r.workers.Go(func() { sp.r.guard("worker", run) })
	return nil
}

// open makes a scheduler that counts into the round. Its workers are started as
// fault says, which may be nil.
func (r *round) open(c sched.Config, fault func(call uint64) spawnFault) *sched.Scheduler {
	sp := &roundSpawner{r: r, fault: fault}
	if c.StallAfter > 0 {
		sp.spare = 1
	}
	c.Spawner = sp
	s, err := sched.New(c)
	if err != nil {
		panic(err) // the scenario is at fault
	}
	r.mu.Lock()
	r.schedule[s] = sp
	r.mu.Unlock()
	return s
}

// end shuts s down, and checks that nothing is left of it and that it ran want
// callbacks; -1: any number.
func (r *round) end(s *sched.Scheduler, want int) {
	r.must("Shutdown", s.Shutdown(context.Background()))
	r.atRest(s, want)
}

// atRest checks the counters of a scheduler that has ended.
func (r *round) atRest(s *sched.Scheduler, want int) {
	st := s.Stats()
	r.mu.Lock()
	sp := r.schedule[s]
	delete(r.schedule, s)
	r.stats = append(r.stats, st)
	r.mu.Unlock()
	if want >= 0 && st.Executed != uint64(want) {
		r.Errorf("%d callbacks were entered, want %d: %+v", st.Executed, want, st)
	}
	if st.Workers != 0 || st.Parked != 0 || st.Held != 0 || st.Places > s.MaxWorkers()+int(st.Stalls)+sp.spare || st.EmptyWakes > st.Wakes {
		r.Errorf("after the end, MaxWorkers %d: %+v", s.MaxWorkers(), st)
	}
	if started, failed := sp.started.Load(), sp.failed.Load(); st.Spawns != started || st.SpawnFailures != failed {
		r.Errorf("the Spawner worked %d times and failed %d times: %+v", started, failed, st)
	}
}

// addStats adds the counters that only grow.
func (to *Report) addStats(st sched.Stats) {
	to.Tasks += st.Executed
	to.Steals += st.Steals
	to.Spilled += st.Spilled
	to.Refilled += st.Refilled
	to.Promoted += st.Promoted
	to.Wakes += st.Wakes
	to.EmptyWakes += st.EmptyWakes
	to.Parks += st.Parks
	to.Spawns += st.Spawns
	to.SpawnFailures += st.SpawnFailures
	to.Stalls += st.Stalls
}

// addTo adds what the round has counted and found.
func (r *round) addTo(to *Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, st := range r.stats {
		to.addStats(st)
	}
	for s := range r.schedule { // of a round that hangs
		to.addStats(s.Stats())
	}
	to.Played++
	to.Programs += r.programs.Load()
	to.Calls += r.calls.Load()
	to.Operations += r.ops.Load()
	f := &to.Faults
	f.SpawnFailures += r.faults.spawnFailures.Load()
	f.SpawnPanics += r.faults.spawnPanics.Load()
	f.Panics += r.faults.panics.Load()
	f.Goexits += r.faults.goexits.Load()
	f.Blocks += r.faults.blocks.Load()
	f.Closes += r.faults.closes.Load()
	f.Shutdowns += r.faults.shutdowns.Load()
	f.Cancels += r.faults.cancels.Load()
	f.Aborts += r.faults.aborts.Load()
	f.Timeouts += r.faults.timeouts.Load()
	f.Pauses += r.faults.pauses.Load()
	f.Resizes += r.faults.resizes.Load()
	f.Leases += r.faults.leases.Load()
	if len(r.failures) == 0 {
		return
	}
	text := strings.TrimRight(strings.Join(r.failures, "\n"), "\n")
	if r.extra > 0 {
		text += fmt.Sprintf("\n... and %d more", r.extra)
	}
	to.Violations = append(to.Violations, Violation{Scenario: r.name, Seed: r.seed, Short: r.short, Text: text})
}
