package interleave

import (
	"math/bits"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Result is the result of an exploration.
type Result struct {
	// Executions is the number of executions that were run to their end.
	Executions int
	// Pruned is the number of executions that sleep sets abandoned, because
	// each of them would have repeated an execution up to the order of
	// independent steps.
	Pruned int
	// Steps is the number of steps in all executions.
	Steps int
	// Preemptions is the bound that was in force, or All. If the search has
	// deepened, it is the bound of the Failure, or otherwise the highest bound whose
	// search was complete: All if that search has left out no execution.
	Preemptions int
	// Complete reports that the search has run every execution with at most
	// Preemptions preemptions, except those that [Options.Reduce] leaves out, and
	// that none has failed. It rests on Assumes, and on the definition of a step:
	// see "What is left out" in the text of the package.
	Complete bool
	// Assumes lists the options that have limited the search that Preemptions and
	// Complete describe, in addition to Preemptions:
	//
	//	rounds=1      Options.Rounds is 1 and has held back a thread
	//	daemons=4     daemons have woken each other 4 times in a row, and then one was held back
	//	timeouts=off  a thread has come to a WaitFor, which does not time out without Options.Timeouts
	//	reduce=on     Options.Reduce: threads share plain memory in Cells only, and channels by WaitDone only
	//	crash=absent  no thread has had the name in Options.Crash
	Assumes []string
	// Searches has one entry for each bound of a search that deepens, followed
	// by one for the random executions. Otherwise it has one entry.
	Searches []Search
	// Failure is the first execution that failed, or nil.
	Failure *Failure
}

// Search is the part of an exploration with one strategy and one bound.
type Search struct {
	// Strategy has picked the executions.
	Strategy Strategy
	// Executions is the number of executions that were run to their end.
	Executions int
	// Pruned is the number of executions that were abandoned.
	Pruned int
	// Preemptions is the bound. It is All if there was none, or if a search that
	// deepens has left out no execution.
	Preemptions int
	// Complete has the meaning of [Result.Complete].
	Complete bool
	// Assumes has the meaning of [Result.Assumes].
	Assumes []string

	leftOut bool // the bound, Options.Rounds or Options.Timeouts has left out an execution
	absent  bool // no thread has had the name in Options.Crash
}

// String returns the text that [Check] prints of a search.
func (s Search) String() string {
	bound := "all"
	if s.Preemptions != All {
		bound = itoa(s.Preemptions)
	}
	text := sprintf("executions=%d pruned=%d preemptions=%s complete=%t", s.Executions, s.Pruned, bound, s.Complete)
	for _, a := range s.Assumes {
		text += " " + a
	}
	if s.Strategy != DFS {
		text += sprintf(" strategy=%v", s.Strategy)
	}
	return text
}

// M builds the program of one execution. The body gets it as its argument.
//
// Its methods panic when a goroutine calls them that is no thread of the program.
type M struct{ x *explorer }

// inside returns the explorer for a method of M, which only a goroutine that has
// control may call.
//
//go:norace
func (m *M) inside(method string) *explorer {
	if enter() != m.x {
		lostGoroutines.endCaller()
		panic("interleave: M." + method + ": called by a goroutine that is no thread of the program")
	}
	return m.x
}

// Go makes a thread of the program that runs f. A thread made in the body
// starts when the body has returned. A thread made by another thread starts
// when that thread has reached its next step or its end. A thread that starts runs
// to its first step at once. Threads are numbered from 0 in the order of their
// creation. The name is for reports and for [Options.Crash].
//
//go:norace
func (m *M) Go(name string, f func()) { m.inside("Go").launch(name, f, false) }

// GoDaemon makes a thread as Go does. Unlike other threads, a daemon may still be
// blocked at the end of the execution, such as a worker that waits for tasks. A
// daemon that polls with [Yield] is blocked while nothing changes. Daemons that wake each
// other at their Yields are blocked in the end as well: see "What is left out" in the text
// of the package.
//
//go:norace
func (m *M) GoDaemon(name string, f func()) { m.inside("GoDaemon").launch(name, f, true) }

// Final adds a function that is called at the end of the execution. Every thread
// has then ended or crashed, or is a daemon that waits. Model types are
// plain memory in a Final function. The functions are called in the order in
// which they were added. None is called when the execution has already failed.
//
//go:norace
func (m *M) Final(f func()) {
	x := m.inside("Final")
	x.finals = append(x.finals, f)
}

// Fatalf fails the execution and ends the calling thread, body or Final
// function. The deferred functions of the caller still run.
//
//go:norace
func (m *M) Fatalf(format string, args ...any) {
	m.inside("Fatalf").fatal(sprintf(format, args...))
}

// Crashed reports whether the thread named by [Options.Crash] has stopped
// before its end. Call it in a Final function.
//
//go:norace
func (m *M) Crashed() bool { return m.x.crashed }

// Name gives a model object a name for reports. object is a pointer to it.
//
//go:norace
func (m *M) Name(object any, name string) { m.x.nameObject(object, name) }

// A phase is the part of an execution that runs.
type phase uint8

const (
	phaseOff    phase = iota
	phaseSetup        // the body runs
	phaseRun          // threads run
	phaseFinal        // Final runs
	phaseUnwind       // the explorer ends the remaining threads
)

// An explorer runs one exploration.
//
// Roles:
//
//	explorer  the goroutine of the exploration: it runs the body and Final, and
//	          it gets control when no thread can have it
//	thread    a thread of the program: it runs on a carrier
//
// Control is with one of them at a time. The holder of control owns all fields.
//
// Every method that threads call is go:norace. The fields change hands together
// with control, and the hand-over is hidden from the race detector. The detector
// would report a race on each field without go:norace. If the hand-over were not
// hidden, the detector would report no race of the program.
type explorer struct {
	opts     Options
	strategy Strategy // of the current search
	body     func(*M)
	m        M
	g        uintptr // identity of the goroutine of the exploration

	// The watchdog, see watchdog.go.
	goroutine uint64        // the number of the goroutine of the exploration in stacks
	holder    uintptr       // the identity that the explorer has stored in running last
	asked     atomic.Bool   // set by the watchdog
	answers   atomic.Uint64 // the steps that have found asked set

	// The threads of this execution. A uint64 is a set of threads: bit i stands
	// for threads[i].
	records    []*thread // of all executions; threads is a prefix of it
	threads    []*thread
	carriers   []*carrier
	finals     []func()
	local      any           // the variable of Local of the body and of Final
	current    *thread       // the thread that has control; nil: the explorer
	next       *thread       // the thread that gets control next; nil: the explorer
	from       *thread       // while unstarted: the thread that announced a step last, or nil
	unstarted  bool          // at least one thread has not been started
	starting   bool          // a new thread is running to its first step
	live       uint64        // have announced a step, and have neither ended nor crashed
	atWait     uint64        // live, and the step can block
	atYield    uint64        // live, and the step is a Yield
	awake      uint64        // another thread has changed an object of the read set
	overtaken  uint64        // another thread has come to a step or its end since the round began
	refreshed  uint64        // another thread has changed an object since the last timeout
	daemons    uint64        // made by GoDaemon
	blind      uint64        // daemons that have read no object in their round
	chained    uint64        // daemons for which a round with too many links would be a reason to continue
	held       bool          // Options.Rounds has held a thread back in this search
	cut        bool          // maxLinks has held a daemon back in this search
	untimed    bool          // a timed wait of this search could not time out: no Options.Timeouts
	sleep      uint64        // the sleep set
	control    chan struct{} // Baton: a value sent gives control to the explorer
	objects    objects
	phase      phase
	crashName  string // Options.Crash
	crashed    bool
	crashNamed bool // a thread of this search has had the name crashName
	bound      int  // preemptions of an execution, or All
	limited    bool // the bound has left out an execution of this search
	steps      int
	preempted  int // preemptions in this execution
	schedule   []choice
	failure    *Failure
	pruned     bool // a sleep set has ended this execution

	// Depth-first search.
	nodes []node // the path; those from depth on are of the execution before
	depth int    // nodes passed in this execution

	// The log of the steps, see unsteady.go.
	log     []uint64
	logged  int // entries of this execution
	repeats int // entries that must repeat those of the execution before

	// The reduction, see reduce.go.
	events   []transition // of this execution, then of the one before
	happened int          // events of this execution
	settled  int          // events whose clocks and races are known
	chosenAt int          // the node at which the current thread was chosen, or -1
	pending  transition   // a step that was not taken

	// PCT and Random.
	rng     uint64
	changes []int // the steps at which the running thread loses its priority; -1: done
	longest int   // steps of the longest execution so far
	lowest  int64 // priority of the thread that yielded last

	// Replay.
	replaying bool
	script    []choice
	entry     int // the next entry of script

	// Foreign goroutines, see stray.go.
	strayed      bool                // one has used a model object during an execution
	outsideUses  [maxOutside]address // objects that the body and Final have used
	outsideCount int

	// Shorter failures: see report_shrink.go.
	follow *follower // the execution follows this plan
	ran    *plan     // the execution records its plan here

	// Reports.
	tracing bool
	trace   trace
	values  map[any]string     // the name of each pointer value
	names   map[address]string // the names that M.Name gave
	last    map[access]string  // the position of the last access of this kind
	helpers map[string]bool    // the functions that have called Helper
	types   map[uint32]string  // the type of each object, when tracing
	races   int                // races that the race detector has reported so far
}

var (
	exclusive      sync.Mutex // held while an exploration runs
	activeExplorer atomic.Pointer[explorer]
)

// enter returns the exploration that the calling goroutine is part of, or nil.
// When no exploration runs it may delay the caller, see delayAtomics.
//
//go:norace
func enter() *explorer { return enterFor(nil) }

// enterFor is enter for an operation on the model object at p. A foreign goroutine
// notes the object, see stray.go.
//
//go:norace
func enterFor(p address) *explorer {
	x := activeExplorer.Load()
	switch {
	case x == nil:
		delayAtomics()
	case loadRunning() == self():
		// The caller has control. It had control when it loaded the explorer as
		// well, since a goroutine gets control in hold only.
		return x
	default:
		stray(p)
	}
	return nil
}

// Active reports whether the caller is part of an exploration. The body, the
// threads and the Final functions are.
func Active() bool { return enter() != nil }

// Go makes a thread of the program from inside a running thread, as [M.Go] does.
// Outside an exploration it starts a goroutine.
func Go(name string, f func()) { spawn(name, f, false) }

// GoDaemon makes a daemon from inside a running thread, as [M.GoDaemon] does.
// Outside an exploration it starts a goroutine.
func GoDaemon(name string, f func()) { spawn(name, f, true) }

// spawn makes a thread, or starts a goroutine outside an exploration.
//
//go:norace
func spawn(name string, f func(), daemon bool) {
	if x := enter(); x != nil {
		x.launch(name, f, daemon)
		return
	}
	go f()
}

// launch makes a thread unless the execution has ended.
//
//go:norace
func (x *explorer) launch(name string, f func(), daemon bool) {
	switch x.phase {
	case phaseSetup, phaseRun:
		x.spawn(x.current, name, f, daemon)
	case phaseFinal:
		panic("interleave: Go: called from Final")
	default:
		// phaseUnwind: a deferred function makes a thread after the end of the
		// execution. No step of it would run.
	}
}

// Choose returns a number from 0 to n-1. A depth-first search tries each of them;
// PCT and Random pick one. Choose stands for a decision that the program does not
// make: whether a call fails, an external value, an order that is not fixed. It
// is no step. Outside an exploration it returns 0. It panics when n is less than
// 1.
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

// Yield states that the calling thread waits until another thread changes an object
// that it has read since its last Yield. Each round of a loop that waits without a
// [Sema] or a [Mutex] calls it. In an exploration the thread continues after such a
// change, and without one at most [Options.Rounds] times in a row. A thread that has
// read no object since its last Yield continues when another thread has come to its next
// step or its end, unless it has only come from one Yield to the next. A write of the
// value that is there already is no change. The switch to another thread
// is no preemption. If the thread can never continue, the execution is a [Deadlock], or a
// [Misuse] if the thread has read no object.
// Outside an exploration Yield is [runtime.Gosched].
//
// A loop that ends by itself, such as one that spins a few rounds and then parks, calls
// [Pause]: with Yield the explorer would not run the executions in which the loop makes
// more than Options.Rounds rounds before a change.
//
//go:norace
func Yield() {
	x := enter()
	if x == nil {
		lostGoroutines.endCaller()
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

// Pause is called in each round of a loop that ends by itself, such as one that
// spins a few rounds and then parks. Outside an exploration Pause is
// [runtime.Gosched]. In an exploration it does nothing. Between two rounds the
// explorer then runs any number of steps of other threads, as between all steps.
// The number can be 0 in every round, so the loop may end before another thread
// takes a step. With [Yield] it is 0 in at most [Options.Rounds] rounds in a row.
//
// A loop that ends only by a step of another thread calls Yield. With Pause its
// rounds could go on for ever, which the explorer reports as a [Livelock].
//
//go:norace
func Pause() {
	x := enter()
	if x == nil {
		runtime.Gosched()
		return
	}
	x.limitUnwind()
}

// Explore runs the program that body builds, once for each execution. The
// strategy picks the interleaving of the steps in each execution. Explore ends
// when an execution fails, when the search is complete, or when it reaches a
// limit of the options. It reports invalid options as a [Failure] of kind
// [Misuse].
//
// body is called once for each execution and must do the same each time. It
// creates the state and the threads ([M.Go]), and it adds the checks for the end
// ([M.Final]). The body, the threads and the Final functions never run at the
// same time.
//
// One exploration runs in a process at a time: Explore blocks until it is the
// only one. It panics inside an exploration.
func Explore(o Options, body func(m *M)) Result {
	return explore(o, body, nil)
}

// explore is Explore. If trace is not nil, a replay that does not fail stores its
// steps there.
func explore(o Options, body func(m *M), trace *string) Result {
	if enter() != nil {
		panic("interleave: Explore: called from inside an exploration")
	}
	r := Result{Preemptions: o.bound()}
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
	// The exploration has a goroutine of its own, because a goroutine that is
	// locked to a thread of the operating system cannot end coroutines.
	done := make(chan *ending, 1)
	go func() {
		exclusive.Lock()
		e := &ending{result: r, exited: true}
		if !selfKnown && lostGoroutines.n.Load() > 0 {
			exclusive.Unlock()
			e.exited = false
			e.result.Failure = &Failure{Kind: Misuse, Message: "a thread of an earlier exploration is still blocked, and this architecture cannot distinguish it from the threads of this one"}
			done <- e
			return
		}
		x := newExplorer(o, body, script)
		dog := x.startWatchdog(e, done)
		defer func() {
			x.endIfLost()
			x.close()
			dog.stop()
			exclusive.Unlock()
			done <- e
		}()
		x.explore(&e.result)
		if trace != nil && x.replaying && e.result.Failure == nil {
			x.rerun()
			e.trace = x.formatTrace()
		}
		e.exited = false
	}()
	e := <-done
	if e.exited {
		runtime.Goexit()
	}
	if trace != nil {
		*trace = e.trace
	}
	return e.result
}

// An ending is what an exploration returns. The explorer or its watchdog makes it.
type ending struct {
	result Result
	trace  string
	exited bool // by a Goexit of the body or of a Final function
}

// newExplorer returns an explorer for the calling goroutine.
func newExplorer(o Options, body func(m *M), script []choice) *explorer {
	x := &explorer{
		opts:      o,
		strategy:  o.Strategy,
		body:      body,
		g:         self(),
		goroutine: goroutineNumber(),
		control:   make(chan struct{}, 1),
		crashName: o.Crash,
		replaying: o.Replay != "",
		script:    script,
		longest:   firstLength,
		races:     raceErrors(),
	}
	x.m.x = x
	syncOff()
	activeExplorer.Store(x)
	syncOn()
	return x
}

const firstLength = 16 // chosen: the length of an execution, before the first has run

// explore runs the searches of the options.
func (x *explorer) explore(r *Result) {
	began := time.Now()
	var deadline time.Time
	if x.opts.Budget > 0 {
		deadline = began.Add(x.opts.Budget)
	}
	var s Search // the one that r describes
	switch {
	case x.opts.deepens():
		s = x.deepen(r, began.Add(x.opts.searchTime()), deadline)
	default:
		s = x.search(x.opts.Strategy, x.opts.bound(), deadline, r)
		r.add(s)
	}
	// A search that has left out executions may have left out those with the thread.
	if r.Failure == nil && s.Complete && s.absent && !s.leftOut {
		r.Complete = false
		for i := range r.Searches {
			r.Searches[i].Complete = false
		}
		r.Failure = &Failure{Kind: Misuse, Message: sprintf("no thread of the %d executions has the name in Options.Crash: %s", r.Executions, x.crashName)}
	}
}

// crashAbsent reports whether no execution of the current search had a thread with the name
// in Options.Crash.
func (x *explorer) crashAbsent() bool {
	return x.crashName != "" && !x.crashNamed && !x.replaying
}

// deepen searches with 0 preemptions, with 1, with 2 and so on until no execution
// is left out or the time last has come. It then runs executions of PCT until the end. It
// returns the complete search with the highest bound, or one that is not complete.
func (x *explorer) deepen(r *Result, last, end time.Time) (best Search) {
	for bound := 0; ; bound++ {
		s := x.search(DFS, bound, last, r)
		if s.Complete && !x.limited {
			s.Preemptions = All
		}
		r.add(s)
		if s.Complete {
			best = s
		}
		if r.Failure != nil || s.Preemptions == All {
			return best
		}
		if !s.Complete || time.Now().After(last) || x.opts.Executions > 0 && r.Executions+r.Pruned >= x.opts.Executions {
			break
		}
	}
	if x.opts.Executions == 0 || r.Executions+r.Pruned < x.opts.Executions {
		r.add(x.search(PCT, All, end, r))
	}
	if r.Failure == nil {
		r.Preemptions, r.Complete, r.Assumes = best.Preemptions, best.Complete, best.Assumes
	}
	return best
}

// add adds the entry of a search.
func (r *Result) add(s Search) {
	r.Searches = append(r.Searches, s)
	r.Preemptions, r.Complete, r.Assumes = s.Preemptions, s.Complete, s.Assumes
}

// leastPreemptions returns the number of preemptions that a failure has at least, by the
// searches so far.
func (r *Result) leastPreemptions() int {
	least := 0
	for _, s := range r.Searches {
		if s.Complete {
			least = max(least, s.Preemptions+1)
		}
	}
	return least
}

// search runs executions with one strategy and one bound until one fails, the search
// is complete, or a limit is reached. It adds the numbers of executions and steps and the
// failure to r.
func (x *explorer) search(strategy Strategy, bound int, deadline time.Time, r *Result) (s Search) {
	x.strategy, x.bound = strategy, bound
	x.forgetPath()
	x.limited, x.held, x.cut, x.untimed, x.crashNamed = false, false, false, false, false
	s = Search{Strategy: strategy, Preemptions: bound}
	limit := x.opts.Executions
	if limit == 0 && strategy != DFS {
		limit = defaultExecutions
	}
	checked := 0
	defer func() {
		if x.held {
			s.Assumes = append(s.Assumes, "rounds="+itoa(x.opts.Rounds))
		}
		if x.cut {
			s.Assumes = append(s.Assumes, "daemons="+itoa(maxLinks))
		}
		if x.untimed {
			s.Assumes = append(s.Assumes, "timeouts=off")
		}
		if x.opts.Reduce && x.opts.Replay == "" {
			s.Assumes = append(s.Assumes, "reduce=on")
		}
		if x.crashAbsent() {
			s.Assumes = append(s.Assumes, "crash=absent")
		}
		s.leftOut, s.absent = x.limited || x.held || x.untimed, x.crashAbsent()
	}()
	for n := 0; ; n++ {
		if strategy != DFS && !x.replaying {
			x.seedExecution(uint64(n))
		}
		x.execute()
		r.Steps += x.steps
		if x.failure == nil && x.pruned {
			r.Pruned++
			s.Pruned++
		} else {
			r.Executions++
			s.Executions++
		}
		x.longest = max(x.longest, x.steps)
		if x.failure == nil && strategy == DFS && x.depth < len(x.nodes) {
			x.unsteady("the execution has ended earlier")
		}
		if x.failure != nil {
			f := x.failure
			if strategy != DFS && !x.replaying {
				f = x.shrink(f, r.leastPreemptions())
			}
			r.Failure = x.explain(f, r.Executions+r.Pruned)
			return s
		}
		if x.replaying {
			return s
		}
		if strategy == DFS && !x.backtrack() {
			s.Complete = true
			return s
		}
		count := n + 1
		if strategy == DFS {
			count = r.Executions + r.Pruned
		}
		if limit > 0 && count >= limit {
			return s
		}
		if checked += 32 + x.steps; !deadline.IsZero() && checked >= 4096 {
			checked = 0
			if time.Now().After(deadline) {
				return s
			}
		}
	}
}

// execute runs one execution.
//
//go:norace
func (x *explorer) execute() {
	x.reset()
	execution.Add(1)
	x.phase = phaseSetup
	x.hold(x.g)
	x.guard("the body", x.callBody)
	x.endIfLost()
	x.phase = phaseRun
	if x.failure == nil {
		x.runThreads()
	}
	if x.failure == nil && x.opts.Reduce && !x.replaying {
		x.findRaces()
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
		x.endIfLost()
		if x.failure == nil && x.replaying && x.entry < len(x.script) {
			x.replayMismatch(executionEnded)
		}
	}
	x.unwind()
	x.checkStray()
	x.release()
	x.phase = phaseOff
}

// callBody calls the body.
//
//go:norace
func (x *explorer) callBody() { x.body(&x.m) }

// callFinals calls the Final functions.
//
//go:norace
func (x *explorer) callFinals() {
	for _, f := range x.finals {
		f()
	}
}

// reset clears the state of the previous execution.
//
//go:norace
func (x *explorer) reset() {
	x.threads = x.records[:0]
	x.finals = nil
	x.local = nil
	x.current, x.next, x.from = nil, nil, nil
	x.unstarted, x.starting = false, false
	x.live, x.atWait, x.atYield, x.sleep = 0, 0, 0, 0
	x.awake, x.overtaken, x.refreshed, x.chained = 0, 0, 0, 0
	x.logged = 0
	x.happened = 0
	x.objects.reset()
	x.outsideCount = 0
	x.crashed = false
	x.steps, x.preempted = 0, 0
	x.schedule = x.schedule[:0]
	x.failure = nil
	x.pruned = false
	x.depth = 0
	x.entry = 0
	x.lowest = 0
}

// runThreads runs the threads until none can take a step.
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
		t.out.load()
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
		t.in.add()
		x.next = t
		t.carrier.resume()
	}
	x.unstarted = false // the loop has also started the threads that these made
	x.starting = false
}

// discard ends a carrier that has retired. Its stack keeps the memory reachable
// that the threads on it used.
func (x *explorer) discard(c *carrier) {
	x.carriers = slices.DeleteFunc(x.carriers, func(o *carrier) bool { return o == c })
	c.dismiss()
}

// returned records that the explorer has control.
//
//go:norace
func (x *explorer) returned() {
	if x.next != nil && x.failure == nil {
		// Only a call of resume follows, so the next thread takes control from the last
		// one. A compare-and-swap for the explorer in between would be a large part of
		// the cost of a switch.
		x.endIfLost()
	} else if !x.hold(x.g) {
		x.endLost()
	}
	x.current = nil
}

// release ends an execution: no goroutine has control.
//
//go:norace
func (x *explorer) release() {
	if !x.hold(0) {
		x.endLost()
	}
}

// unwind ends the remaining threads.
//
//go:norace
func (x *explorer) unwind() {
	x.phase = phaseUnwind
	for _, t := range x.threads {
		if t.state == stateLive || t.state == stateCrashed {
			t.killed = true
			t.in.add()
			x.next = nil
			t.carrier.resume()
			t.out.load()
		}
	}
}

// close ends the carriers. It also runs when the body or a Final function has
// called Goexit, as t.FailNow does.
//
//go:norace
func (x *explorer) close() {
	if x.phase != phaseOff {
		x.unwind()
		x.release()
	}
	syncOff()
	activeExplorer.Store(nil)
	syncOn()
	if x.strayed {
		clearNotes()
	}
	for _, c := range x.carriers {
		c.dismiss()
	}
}

// A fatalPanic is the value with which Fatalf panics in the body and in Final.
type fatalPanic struct{}

// guard calls the body or the Final functions on the goroutine of the
// exploration. A panic fails the execution.
func (x *explorer) guard(where string, f func()) {
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(fatalPanic); ok {
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
	x.failNow(f)
}

// failNow fails the execution and ends the caller.
//
//go:norace
func (x *explorer) failNow(f *Failure) {
	x.fail(f)
	if x.current == nil {
		panic(fatalPanic{})
	}
	x.abort()
}

// abort ends the thread that has control after it has failed the execution.
//
//go:norace
func (x *explorer) abort() {
	x.phase = phaseUnwind
	runtime.Goexit()
}

// fail records the failure of this execution. The first failure counts.
//
//go:norace
func (x *explorer) fail(f *Failure) {
	if x.failure == nil {
		f.Schedule = formatSchedule(x.schedule)
		f.Preemptions = x.preempted
		x.failure = f
	}
}

// ready reports whether the thread could take its step now without a timeout.
//
//go:norace
func (x *explorer) ready(t *thread) bool {
	switch t.op.kind {
	case opWait, opWaitFor:
		return len(t.sema.tokens) > 0
	case opWaitDone:
		return len(t.sema.tokens) > 0 || closed(t.done)
	case opLock:
		return !x.objects.list[t.op.obj].locked
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

// enabled returns the set of threads that can take a step. timeouts are those of
// them whose step would be a timeout.
//
//go:norace
func (x *explorer) enabled() (set, timeouts uint64) {
	set = x.live
	var late uint64 // could time out, and have used up their rounds; or are at the end of a chain
	for w := (x.atWait | x.atYield) & x.live; w != 0; w &= w - 1 {
		t := x.threads[bits.TrailingZeros64(w)]
		switch {
		case t.op.kind == opYield:
			if !x.mayContinue(t) {
				set &^= t.bit
				x.held = true
				if x.chained&t.bit != 0 {
					x.cut = true
					late |= t.bit
				}
			}
		case x.ready(t):
		case t.op.kind != opWaitFor || !x.opts.Timeouts:
			set &^= t.bit
		case x.mayTimeOut(t):
			timeouts |= t.bit
		default:
			set &^= t.bit
			late |= t.bit
		}
	}
	if late != 0 {
		x.held = true
		if set == 0 && !x.onlyDaemons() {
			return late, late & x.atWait // the timers fire
		}
	}
	return set, timeouts
}
