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

// A scenario uses the packages under test and checks laws. Its name and a seed
// determine what it does. run returns when the scenario has ended; its caller detects a
// hang.
type scenario struct {
	name string
	run  func(r *round)
}

// A round is one run of a scenario: its random numbers, its violations, and its counts.
// It is a T of the law packages. Safe for concurrent use, apart from rng.
type round struct {
	name        string
	seed        uint64
	short       bool
	hangTimeout time.Duration
	rng         *rand.Rand // of the goroutine that runs the scenario

	workers sync.WaitGroup

	programs, calls, ops          atomic.Uint64
	deaths, lost, resent, doubles atomic.Uint64
	faults                        roundFaults

	mu       sync.Mutex
	failures []string
	extra    int                                // failures over maxFailures
	spawners map[*sched.Scheduler]*roundSpawner // of schedulers that have not ended
	stats    []sched.Stats                      // of schedulers that have ended
	pools    []*pool.Pool
}

// roundFaults are the counters of [Faults] during a round.
type roundFaults struct {
	spawnFailures, spawnPanics, panics, goexits, blocks, closes, shutdowns, cancels atomic.Uint64

	aborts, timeouts, pauses, resizes, leases, kills, floods atomic.Uint64
}

// maxFailures bounds the failures of a round that are kept. More are not worth reading.
const maxFailures = 5

func newRound(name string, seed uint64, c Config) *round {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return &round{
		name: name, seed: seed, short: c.Short, hangTimeout: c.HangTimeout,
		rng:      rand.New(rand.NewPCG(seed, h.Sum64())),
		spawners: map[*sched.Scheduler]*roundSpawner{},
	}
}

// Helper implements T.
func (r *round) Helper() {}

// Logf implements T and drops the text: the tests of the laws show it.
func (r *round) Logf(string, ...any) {}

// Errorf records a violation.
func (r *round) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failures) >= maxFailures {
		r.extra++
		return
	}
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// Failed reports whether a violation was recorded.
func (r *round) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

// must records err as a violation unless it is nil.
func (r *round) must(what string, err error) {
	if err != nil {
		r.Errorf("%s: %v", what, err)
	}
}

// want records err as a violation unless it is nil or one of the allowed errors.
func (r *round) want(what string, err error, allowed ...error) {
	if err != nil && !isAny(err, allowed...) {
		r.Errorf("%s: %v", what, err)
	}
}

// isAny reports whether err is one of list.
func isAny(err error, list ...error) bool {
	return slices.ContainsFunc(list, func(e error) bool { return errors.Is(err, e) })
}

// did adds n operations.
func (r *round) did(n int) { r.ops.Add(uint64(n)) }

// size returns n, or a sixteenth of n but at least 1 in a short round.
func (r *round) size(n int) int {
	if r.short {
		return max(1, n/16)
	}
	return n
}

// pick returns one of the numbers.
func (r *round) pick(ns ...int) int { return ns[r.rng.IntN(len(ns))] }

// guard calls fn and records a panic of it as a violation.
func (r *round) guard(what string, fn func()) {
	defer func() {
		if p := recover(); p != nil {
			r.Errorf("%s: panic: %v\n%s", what, p, debug.Stack())
		}
	}()
	fn()
}

// concurrently runs fn(0) to fn(n-1) on goroutines of their own and waits for them.
func (r *round) concurrently(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { r.guard("caller", func() { fn(i) }) })
	}
	wg.Wait()
}

// run runs sc and waits for it for up to hangTimeout.
func (r *round) run(sc scenario) {
	done := make(chan struct{})
	go func() {
		returned := false
		defer func() {
			if !returned {
				r.Errorf("the scenario was ended by Goexit")
			}
			close(done)
		}()
		r.guard("scenario", func() { sc.run(r) })
		if !r.Failed() {
			r.workers.Wait() // all workers end, and one of them may record a violation
		}
		returned = true
	}()
	timer := time.NewTimer(r.hangTimeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		r.reportHang()
	}
}

// reportHang records that the scenario is hung, with the schedulers, the pools and the
// stacks.
func (r *round) reportHang() {
	var b strings.Builder
	fmt.Fprintf(&b, "hung: not finished after %v\n", r.hangTimeout)
	r.mu.Lock()
	for s := range r.spawners {
		fmt.Fprintf(&b, "scheduler, MaxWorkers %d: %+v\n", s.MaxWorkers(), s.Stats())
	}
	for _, p := range r.pools {
		if m := p.Metrics(); m.Accepted != m.Ended || m.Detached > 0 {
			fmt.Fprintf(&b, "pool: %+v\n", m)
			if workers := p.Workers(); workers != nil {
				fmt.Fprintf(&b, "workers: %+v\n", workers)
			}
		}
	}
	r.mu.Unlock()
	r.Errorf("%s\n%s", &b, stuckGoroutines())
}

// maxDump bounds a dump of goroutines, in bytes.
const maxDump = 16 << 10

// stuckGoroutines returns the stacks of the goroutines of this module. It shows one of
// several equal stacks.
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
		key := withoutArguments(stack)
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

// withoutArguments returns a stack without the arguments of its calls.
func withoutArguments(stack string) string {
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

// A spawnFault is what a Spawner does on one call.
type spawnFault int

const (
	spawnWorks spawnFault = iota
	spawnFails
	spawnPanics
)

// errNoSpawn is the error, or the panic value, of a failing Spawner.
var errNoSpawn = errors.New("no worker now")

// roundSpawner starts the workers of one scheduler, counts its calls, and records a
// worker that panics.
type roundSpawner struct {
	r               *round
	fault           func(call uint64) spawnFault // nil: every call succeeds
	calls           atomic.Uint64
	started, failed atomic.Uint64
	spare           int // places that may have been made for a stall that was not counted in the end
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

// open makes a scheduler whose counters the round collects. fault determines which
// spawns fail; nil means none.
func (r *round) open(c sched.Config, fault func(call uint64) spawnFault) *sched.Scheduler {
	sp := &roundSpawner{r: r, fault: fault}
	if c.StallAfter > 0 {
		sp.spare = 1
	}
	c.Spawner = sp
	s, err := sched.New(c)
	if err != nil {
		panic(err) // a mistake in the scenario
	}
	r.mu.Lock()
	r.spawners[s] = sp
	r.mu.Unlock()
	return s
}

// end shuts s down and checks its counters. It expects the given number of callbacks;
// -1 means any number.
func (r *round) end(s *sched.Scheduler, want int) {
	r.must("Shutdown", s.Shutdown(context.Background()))
	r.checkEnded(s, want)
}

// checkEnded checks the counters of a scheduler that has ended.
func (r *round) checkEnded(s *sched.Scheduler, want int) {
	st := s.Stats()
	r.mu.Lock()
	sp := r.spawners[s]
	delete(r.spawners, s)
	r.stats = append(r.stats, st)
	r.mu.Unlock()
	if want >= 0 && st.Executed != uint64(want) {
		r.Errorf("%d callbacks were entered, want %d: %+v", st.Executed, want, st)
	}
	if st.Workers != 0 || st.Parked != 0 || st.Held != 0 || st.Places > s.MaxWorkers()+int(st.Stalls)+sp.spare || st.EmptyWakes > st.Wakes {
		r.Errorf("after the end, MaxWorkers %d: %+v", s.MaxWorkers(), st)
	}
	if started, failed := sp.started.Load(), sp.failed.Load(); st.Spawns != started || st.SpawnFailures != failed {
		r.Errorf("the Spawner succeeded %d times and failed %d times: %+v", started, failed, st)
	}
}

// addStats adds the counters of one scheduler, those that only grow.
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

// addTo adds the counts and violations of the round to a report.
func (r *round) addTo(to *Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, st := range r.stats {
		to.addStats(st)
	}
	for s := range r.spawners { // of a hung round
		to.addStats(s.Stats())
	}
	to.Scenarios++
	to.Programs += r.programs.Load()
	to.Calls += r.calls.Load()
	to.Operations += r.ops.Load()
	to.Deaths += r.deaths.Load()
	to.Lost += r.lost.Load()
	to.Resent += r.resent.Load()
	to.Doubles += r.doubles.Load()
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
	f.Kills += r.faults.kills.Load()
	f.Floods += r.faults.floods.Load()
	if len(r.failures) == 0 {
		return
	}
	text := strings.TrimRight(strings.Join(r.failures, "\n"), "\n")
	if r.extra > 0 {
		text += fmt.Sprintf("\n... and %d more", r.extra)
	}
	to.Violations = append(to.Violations, Violation{Scenario: r.name, Seed: r.seed, Short: r.short, Text: text})
}
