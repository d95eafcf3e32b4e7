package interleave

import (
	"math/bits"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// Result is what an exploration has found.
type Result struct {
	// Executions is how many executions were run to their end.
	Executions int
	// Pruned is how many were given up because sleep sets knew the rest.
	Pruned int
	// Steps is the number of steps in all of them.
	Steps int
	// Preemptions is the bound that was in force, or All.
	Preemptions int
	// Complete says that no execution is left within the bound.
	Complete bool
	// Failure is the first execution that went wrong, or nil.
	Failure *Failure
}

// M is the program under exploration, while the body builds it.
type M struct{ x *explorer }

// Go makes a thread of the program. It runs f once the body has returned; a
// thread made by a running thread begins when its maker takes its next step.
// Threads have numbers from 0 in the order in which they are made; the name is
// for reports and for [Options.Crash].
//
//go:norace
func (m *M) Go(name string, f func()) { m.x.launch(name, f, false) }

// GoDaemon is as Go for a thread that may still be blocked when all others
// have ended, such as a worker that waits for work.
//
//go:norace
func (m *M) GoDaemon(name string, f func()) { m.x.launch(name, f, true) }

// Final adds a function that is called when the execution is over: every
// thread has ended, waits for ever if it is a daemon, or has crashed. Model
// types are plain memory in it. Functions are called in the order in which
// they were added; none is called for an execution that has already failed.
//
//go:norace
func (m *M) Final(f func()) { m.x.finals = append(m.x.finals, f) }

// Fatalf fails the execution and ends the calling thread, body or Final, the
// deferred functions of which still run.
//
//go:norace
func (m *M) Fatalf(format string, args ...any) {
	m.x.fatal(sprintf(format, args...))
}

// Crashed reports whether the thread named by [Options.Crash] has stopped
// before its end. It is meant for Final.
//
//go:norace
func (m *M) Crashed() bool { return m.x.crashed }

// Name gives a model object a name in reports. object is a pointer to it.
//
//go:norace
func (m *M) Name(object any, name string) { m.x.nameObject(object, name) }

type phase uint8

const (
	phaseOff    phase = iota
	phaseSetup        // the body runs
	phaseRun          // threads run
	phaseFinal        // Final runs
	phaseUnwind       // threads that have not ended are made to
)

// An explorer runs one exploration.
//
// All of its functions that threads call are hidden from the race detector:
// what they touch changes hands with control, which the race detector is not
// told about, so that it judges the program by the program's own
// synchronization.
type explorer struct {
	opts     Options
	strategy Strategy
	body     func(*M)
	m        M
	g        uintptr // identity of the goroutine that explores

	// The threads of this execution, and sets of them as bits.
	records    []*thread
	threads    []*thread
	carriers   []*carrier
	finals     []func()
	current    *thread // nil: the explorer itself
	next       *thread // who gets control next; nil: the explorer
	from       *thread // with unstarted: who is to be asked next
	unstarted  bool    // threads were made that have not been started
	starting   bool    // one of them is running to its first step
	live       uint64  // announced a step and neither ended nor crashed
	atWait     uint64  // of those: at a step that can be unable to go on
	atYield    uint64  // at a Yield, and nobody else has taken a step since
	hasYielded uint64  // have yielded or timed out at least once
	timedOut   uint64  // has timed out, and nobody else has taken a step since
	sleep      uint64  // for sleep sets
	control    chan struct{}
	objects    objects
	phase      phase
	crashName  string
	crashed    bool
	crashNamed bool // a thread with the name of crashName was seen
	steps      int
	preempted  int
	schedule   []choice
	failure    *Failure
	pruned     bool

	// Depth-first search.
	nodes []node
	depth int

	// PCT and Random.
	rng     uint64
	changes []int // steps at which the running thread loses its priority
	longest int   // steps of the longest execution so far
	lowest  int64 // priority of the thread that yielded last

	// Replay.
	replaying bool
	script    []choice
	entry     int

	// Reports.
	tracing bool
	trace   []string
	values  map[any]string     // pointers by number
	names   map[address]string // what Name said
	last    map[access]string  // where a thread touched a Cell
	races   int
}

var (
	exclusive      sync.Mutex // held while an exploration runs
	activeExplorer *explorer  // valid for goroutines that enter returns it to
)

// enter returns the exploration that the calling goroutine is part of, or nil. Where none
// goes on it may delay the caller: see delayAtomics.
//
//go:norace
func enter() *explorer {
	g := loadRunning()
	switch {
	case g == 0:
		delayAtomics()
	case g == self():
		return activeExplorer
	}
	return nil
}

// Active reports whether the caller is part of an exploration: in its body, in
// one of its threads, or in Final.
func Active() bool { return enter() != nil }

// Go makes a thread of the program from inside a running thread; see [M.Go].
// Outside an exploration it starts a goroutine.
func Go(name string, f func()) { spawn(name, f, false) }

// GoDaemon makes a daemon from inside a running thread; see [M.GoDaemon].
// Outside an exploration it starts a goroutine.
func GoDaemon(name string, f func()) { spawn(name, f, true) }

//go:norace
func spawn(name string, f func(), daemon bool) {
	if x := enter(); x != nil {
		x.launch(name, f, daemon)
		return
	}
	go f()
}

//go:norace
func (x *explorer) launch(name string, f func(), daemon bool) {
	switch x.phase {
	case phaseSetup, phaseRun:
		x.spawn(x.current, name, f, daemon)
	case phaseFinal:
		panic("interleave: Go: called from Final")
	default:
		// The execution is over: the thread would have nobody to run with.
	}
}

// Choose returns a number from 0 to n-1, and the exploration tries each of
// them: for a call that may fail, a value from outside, an order that is not
// fixed. Outside an exploration it returns 0. It is no step.
//
//go:norace
func Choose(n int) int {
	if n < 1 {
		panic("interleave: Choose: n is less than 1")
	}
	x := enter()
	if x == nil || x.phase == phaseUnwind || n == 1 {
		return 0
	}
	v := x.choose(n)
	if x.tracing {
		x.note(x.current, sprintf("Choose(%d) = %d", n, v))
	}
	return v
}

// Yield says that the calling thread can do nothing useful before another
// thread has taken a step. Each round of a loop that waits without a [Sema]
// has to call it. The thread is not scheduled again until another one has
// taken a step, unless there is none that could; turning to another one is no
// preemption. Outside an exploration it is [runtime.Gosched].
//
//go:norace
func Yield() {
	x := enter()
	if x == nil {
		runtime.Gosched()
		return
	}
	t := x.current
	if t == nil || x.phase != phaseRun {
		x.limitUnwind()
		return
	}
	t.step(opYield, 0)
	if x.tracing {
		x.noteStep("Yield")
	}
}

// Explore runs the program that body builds again and again, each time with
// another interleaving of the steps of its threads, until one fails, all have
// been run, or the options say stop.
//
// body is called once for each execution, and must do the same each time. It
// builds the state, makes the threads with [M.Go], and says with [M.Final]
// what must hold at the end. Everything is called on one goroutine at a time.
//
// Only one exploration runs at a time; others wait. It must not be called
// from inside an exploration.
func Explore(o Options, body func(m *M)) Result {
	return explore(o, body, nil)
}

// explore is Explore. A replay leaves its steps in trace.
func explore(o Options, body func(m *M), trace *string) Result {
	if enter() != nil {
		panic("interleave: Explore: called from inside an exploration")
	}
	r := Result{Preemptions: All}
	if o.Strategy == DFS {
		r.Preemptions = o.Preemptions
	}
	if err := o.check(); err != nil {
		r.Failure = &Failure{Kind: Misuse, Message: err.Error()}
		return r
	}
	var script []choice
	if o.Replay != "" {
		var err error
		if script, err = parseSchedule(o.Replay); err != nil {
			r.Failure = &Failure{Kind: Misuse, Message: err.Error()}
			return r
		}
	}
	// The exploration has a goroutine of its own, since coroutines cannot be
	// ended from one that is locked to a thread of the operating system.
	left := true // by a Goexit of the body or Final
	done := make(chan struct{})
	go func() {
		defer close(done)
		exclusive.Lock()
		defer exclusive.Unlock()
		x := newExplorer(o, body, script)
		defer x.close()
		x.explore(&r)
		if trace != nil && x.replaying && r.Failure == nil {
			x.rerun()
			*trace = strings.Join(x.trace, "")
		}
		left = false
	}()
	<-done
	if left {
		runtime.Goexit()
	}
	return r
}

func newExplorer(o Options, body func(m *M), script []choice) *explorer {
	x := &explorer{
		opts:      o,
		strategy:  o.Strategy,
		body:      body,
		g:         self(),
		control:   make(chan struct{}, 1),
		crashName: o.Crash,
		replaying: o.Replay != "",
		script:    script,
		longest:   firstLength,
		races:     raceErrors(),
	}
	x.m.x = x
	activeExplorer = x
	return x
}

const firstLength = 16 // steps that the first execution of PCT is taken to have

// explore runs executions until there is reason to stop.
func (x *explorer) explore(r *Result) {
	dog := startWatchdog()
	defer dog.stop()
	var deadline time.Time
	if x.opts.Budget > 0 {
		deadline = time.Now().Add(x.opts.Budget)
	}
	checked := 0
	for n := 0; ; n++ {
		dog.progress(n)
		if x.strategy != DFS && !x.replaying {
			x.seedExecution(uint64(n))
		}
		x.execute()
		r.Steps += x.steps
		if x.failure == nil && x.pruned {
			r.Pruned++
		} else {
			r.Executions++
		}
		x.longest = max(x.longest, x.steps)
		if x.failure != nil {
			r.Failure = x.explain(x.failure, r.Executions+r.Pruned)
			return
		}
		if x.replaying {
			return
		}
		if x.strategy == DFS {
			if x.depth < len(x.nodes) { // the execution before went further
				x.unsteady()
				r.Failure = x.explain(x.failure, r.Executions+r.Pruned)
				return
			}
			if !x.backtrack() {
				r.Complete = true
				break
			}
		}
		if x.opts.Executions > 0 && n+1 >= x.opts.Executions {
			break
		}
		if checked += 32 + x.steps; !deadline.IsZero() && checked >= 4096 {
			checked = 0
			if time.Now().After(deadline) {
				break
			}
		}
	}
	if x.crashName != "" && !x.crashNamed {
		r.Complete = false
		r.Failure = &Failure{Kind: Misuse, Message: "no thread has the name in Options.Crash: " + x.crashName}
	}
}

// execute runs one execution.
//
//go:norace
func (x *explorer) execute() {
	x.reset()
	x.phase = phaseSetup
	storeRunning(x.g)
	x.guard("the body", x.callBody)
	x.phase = phaseRun
	if x.failure == nil {
		x.runThreads()
	}
	if raceBuild && x.failure == nil {
		if n := raceErrors(); n > x.races {
			x.fail(&Failure{Kind: Race, Message: "the race detector has reported a data race in this execution, see its report above"})
		}
		x.races = raceErrors()
	}
	if x.failure == nil && !x.pruned {
		x.phase = phaseFinal
		x.guard("Final", x.callFinals)
	}
	x.unwind()
	storeRunning(0)
	x.phase = phaseOff
}

//go:norace
func (x *explorer) callBody() { x.body(&x.m) }

//go:norace
func (x *explorer) callFinals() {
	for _, f := range x.finals {
		f()
	}
}

//go:norace
func (x *explorer) reset() {
	x.threads = x.records[:0]
	x.finals = nil
	x.current, x.next, x.from = nil, nil, nil
	x.unstarted, x.starting = false, false
	x.live, x.atWait, x.atYield, x.timedOut, x.sleep = 0, 0, 0, 0, 0
	x.hasYielded = 0
	x.objects.reset()
	x.crashed = false
	x.steps, x.preempted = 0, 0
	x.schedule = x.schedule[:0]
	x.failure = nil
	x.pruned = false
	x.depth = 0
	x.entry = 0
	x.lowest = 0
}

// runThreads runs the threads until none can go on.
//
//go:norace
func (x *explorer) runThreads() {
	for {
		if x.unstarted {
			x.start()
			if x.failure == nil {
				x.next = x.decide(x.from)
			}
			x.from = nil
		}
		if x.next == nil || x.failure != nil {
			break
		}
		x.next.carrier.resume()
	}
	for _, t := range x.threads {
		t.out.Load()
	}
}

// start runs new threads to their first step.
//
//go:norace
func (x *explorer) start() {
	x.unstarted = false
	x.starting = true
	for i := 0; i < len(x.threads) && x.failure == nil; i++ {
		t := x.threads[i]
		if t.state != stateNew {
			continue
		}
		if t.name == x.crashName {
			x.crashNamed = true
		}
		if t.carrier != nil && t.carrier.retired {
			x.discard(t.carrier)
			t.carrier = nil
		}
		if t.carrier == nil {
			t.carrier = x.newCarrier()
		}
		t.carrier.t = t
		t.in.Add(1)
		x.next = t
		t.carrier.resume()
	}
	x.unstarted = false // those that were made meanwhile had their turn in the loop
	x.starting = false
}

// discard ends a carrier that has retired, whose stack keeps what the threads on it had
// alive.
func (x *explorer) discard(c *carrier) {
	x.carriers = slices.DeleteFunc(x.carriers, func(o *carrier) bool { return o == c })
	c.dismiss()
}

// returned notes that the explorer has control.
//
//go:norace
func (x *explorer) returned() {
	x.current = nil
	storeRunning(x.g)
}

// unwind ends the threads that have not ended.
//
//go:norace
func (x *explorer) unwind() {
	x.phase = phaseUnwind
	for _, t := range x.threads {
		if t.state == stateLive || t.state == stateCrashed {
			t.killed = true
			t.in.Add(1)
			x.next = nil
			t.carrier.resume()
			t.out.Load()
		}
	}
}

// close ends the carriers. It also runs when the body or Final has left by
// Goexit, as t.FailNow does.
//
//go:norace
func (x *explorer) close() {
	if x.phase != phaseOff {
		x.unwind()
	}
	storeRunning(0)
	activeExplorer = nil
	for _, c := range x.carriers {
		c.dismiss()
	}
}

// A stop is what Fatalf panics with outside the threads.
type stop struct{}

// guard calls the body or a Final function on the goroutine of the explorer.
func (x *explorer) guard(where string, f func()) {
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(stop); ok {
				return
			}
			x.fail(&Failure{Kind: Panic, Message: where + " panicked: " + sprint(v), Stack: string(debug.Stack())})
		}
	}()
	f()
}

// fatal fails the execution and ends the caller.
//
//go:norace
func (x *explorer) fatal(message string) {
	t := x.current
	if x.phase == phaseUnwind {
		runtime.Goexit()
	}
	f := &Failure{Kind: Failed, Message: message}
	if t != nil {
		f.Thread = x.label(t)
	}
	x.fail(f)
	if t == nil {
		panic(stop{})
	}
	x.abort()
}

// abort ends the thread that runs after the execution has failed.
//
//go:norace
func (x *explorer) abort() {
	x.phase = phaseUnwind
	runtime.Goexit()
}

// fail records what is wrong with this execution. The first finding counts.
//
//go:norace
func (x *explorer) fail(f *Failure) {
	if x.failure == nil {
		f.Schedule = formatSchedule(x.schedule)
		x.failure = f
	}
}

// ready reports whether the thread could take its step now.
//
//go:norace
func (x *explorer) ready(t *thread) bool {
	switch t.op.kind {
	case opWait, opWaitFor:
		return len(t.sema.tokens) > 0
	case opWaitDone:
		return len(t.sema.tokens) > 0 || closed(t.done)
	}
	return true
}

// closed reports whether the channel is closed.
//
//go:norace
func closed(done <-chan struct{}) bool {
	syncOff()
	defer syncOn()
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// enabled returns the threads that can take a step, and those of them whose
// step would be a timeout.
//
//go:norace
func (x *explorer) enabled() (set, timeouts uint64) {
	set = x.live
	for w := x.atWait & x.live; w != 0; w &= w - 1 {
		t := x.threads[bits.TrailingZeros64(w)]
		if x.ready(t) {
			continue
		}
		if t.op.kind == opWaitFor && x.opts.Timeouts {
			timeouts |= t.bit
		} else {
			set &^= t.bit
		}
	}
	return set, timeouts
}
