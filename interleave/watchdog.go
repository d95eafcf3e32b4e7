package interleave

import (
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A watchdog gives up an exploration that makes no progress. The explorer waits for
// the running thread. A thread that blocks on a channel or on a lock of package sync
// never returns control, because the thread that would end its wait does not run.
// Progress is a new execution, or a step.
//
// # Giving up
//
// Control cannot be taken from a goroutine. The watchdog takes the identity of the
// holder of control out of the word running, by a compare-and-swap. After that the
// explorer is lost: it has lost the process, and its goroutines are no part of an
// exploration.
//
//   - Model operations of the blocked goroutine are plain operations, because enter
//     compares its identity with the word.
//   - Each change of the holder is a compare-and-swap from the holder before
//     (explorer.hold). The first one after the loss fails. The goroutine that wanted
//     control then ends or stops for ever. The fields of the explorer are its own, and
//     no later exploration uses them.
//   - The watchdog returns the result in place of the explorer and releases exclusive.
//     Until then it reads fields of the explorer. The goroutine has written these
//     fields before it blocked, and does not write them again before it gives control
//     away (explorer.lost).
//
// Each identity that a lost explorer compares with the word is that of a goroutine
// which still exists. It is therefore never the identity of a goroutine of a later
// exploration.
//
// A goroutine that continues after the loss runs the code of the program until it
// returns or yields, and then ends. Goroutines that it has kept waiting stay for ever.
type watchdog struct {
	x       *explorer
	e       *ending
	done    chan<- *ending
	timeout time.Duration
	output  io.Writer
	quit    chan struct{}
}

// hangTimeout is the time without progress after which an exploration is given up.
// Chosen: a thread of a model computes for microseconds.
var hangTimeout = 20 * time.Second

// hangOutput receives the report at once. The log of the test is not printed when the
// test waits for the blocked thread in another way.
var hangOutput io.Writer = os.Stderr

// newTicks returns a channel that receives a value after each period d, and a function
// that ends it.
var newTicks = func(d time.Duration) (ticks <-chan time.Time, stop func()) {
	t := time.NewTicker(d)
	return t.C, t.Stop
}

// startWatchdog starts the watchdog of the exploration. If it gives the exploration
// up, it sends an ending to done that replaces e.
func (x *explorer) startWatchdog(e *ending, done chan<- *ending) *watchdog {
	w := &watchdog{x: x, e: e, done: done, timeout: hangTimeout, output: hangOutput, quit: make(chan struct{})}
	go w.watch()
	return w
}

// stop ends the watchdog.
func (w *watchdog) stop() { close(w.quit) }

// looks is how many times in a row the watchdog sees no progress before it gives up.
// A single look would count the time in which the process was stopped.
const looks = 4

// watch looks for progress until the exploration ends.
//
//go:norace
func (w *watchdog) watch() {
	ticks, stop := newTicks(max(w.timeout/looks, 1))
	defer stop()
	last, idle := w.x.progress(), 0
	for {
		select {
		case <-w.quit:
			return
		case <-ticks:
		}
		if p := w.x.progress(); p != last {
			last, idle = p, 0
		} else if idle++; idle >= looks && w.giveUp() {
			return
		}
		syncOff()
		w.x.asked.Store(true)
		syncOn()
	}
}

// progress returns a number that changes with each execution, and with the next step
// after asked is set.
//
//go:norace
func (x *explorer) progress() uint64 {
	syncOff()
	defer syncOn()
	return execution.Load() + x.answers.Load()
}

// answer is called with the first step after asked is set.
//
//go:norace
func (x *explorer) answer() {
	syncOff()
	x.asked.Store(false)
	x.answers.Add(1)
	syncOn()
}

// giveUp ends the exploration in place of its explorer. It returns false when the
// goroutine that had control has given it away in between, or when the explorer
// itself is at work.
//
//go:norace
func (w *watchdog) giveUp() bool {
	x := w.x
	g := loadRunning()
	if g == 0 {
		return false
	}
	if !swapRunning(g, 0) {
		return false
	}
	syncOff()
	activeExplorer.Store(nil)
	syncOn()
	id := x.goroutine
	if x.current != nil {
		id = x.current.carrier.goroutine
	}
	lostGoroutines.add(id, x)
	e := w.lostEnding(stackOutside(id))
	f := e.result.Failure
	_, _ = fmt.Fprintf(w.output, "interleave: %s\n\n%s\n", f.Message, f.Stack)
	clearNotes()
	exclusive.Unlock()
	w.done <- e
	return true
}

// lostEnding returns the ending of an exploration that is given up. s is the stack of
// the goroutine that had control.
//
//go:norace
func (w *watchdog) lostEnding(s stack) *ending {
	x := w.x
	f := &Failure{Kind: Misuse, Schedule: formatSchedule(clone(x.schedule)), Stack: s.String()}
	name := "the body"
	switch t := x.current; {
	case t != nil:
		f.Thread = x.label(t)
		name = "thread " + f.Thread
		if x.phase == phaseUnwind {
			name = "a deferred function of " + name
		}
	case x.phase != phaseSetup:
		name = "a Final function"
	}
	if s.isBlocked() {
		f.Message = sprintf("%s has been blocked for more than %v (%s at %s): no thread runs while it waits, so it may block on a Sema or a Mutex of this package only", name, w.timeout, s.state(), s.position())
	} else {
		f.Message = sprintf("%s loops without a step or computes for longer than %v (at %s)", name, w.timeout, s.position())
	}
	// The lists are copied, because the race detector does not see that the explorer
	// has written them before.
	r := w.e.result
	r.Searches, r.Assumes = nil, nil
	if !x.tracing && x.ran == nil { // otherwise another run of the execution that failed
		r.Executions++
	}
	search := Search{Strategy: x.strategy, Preemptions: x.bound, Executions: r.Executions, Pruned: r.Pruned}
	for _, s := range w.e.result.Searches {
		s.Assumes = clone(s.Assumes)
		search.Executions -= s.Executions
		search.Pruned -= s.Pruned
		r.Searches = append(r.Searches, s)
	}
	r.Steps += x.steps
	f.Execution = r.Executions + r.Pruned
	r.add(search)
	r.Failure = f
	return &ending{result: r}
}

// hold makes the goroutine g the holder of control, or none if g is 0. It returns
// false when the exploration is lost.
//
//go:norace
func (x *explorer) hold(g uintptr) bool {
	if !swapRunning(x.holder, g) {
		return false
	}
	x.holder = g
	return true
}

// lost reports whether the watchdog has given the exploration up. Only the goroutine
// that has control may call it.
//
//go:norace
func (x *explorer) lost() bool { return loadRunning() != x.holder }

// stopForEver blocks the goroutine of a thread that gets control in a lost
// exploration.
func stopForEver() { select {} }

// endIfLost ends the goroutine of the explorer when the exploration is lost.
//
//go:norace
func (x *explorer) endIfLost() {
	if x.lost() {
		x.endLost()
	}
}

// endLost ends the goroutine of the explorer, and the carrier that has given it
// control if the thread on it has ended.
//
//go:norace
func (x *explorer) endLost() {
	lostGoroutines.remove(x)
	x.holder = noGoroutine // the goroutine of the holder before may end
	if t := x.current; t != nil && t.state == stateEnded && !t.carrier.retired {
		x.current = nil
		t.carrier.dismiss()
	}
	runtime.Goexit()
}

const noGoroutine = ^uintptr(0) // the identity of no goroutine

// lostGoroutines are the goroutines from which the watchdogs have taken control, and
// which have not given it away since.
var lostGoroutines lostSet

type lostSet struct {
	n         atomic.Int32
	mu        sync.Mutex
	explorers map[uint64]*explorer // by the number of the goroutine
}

// add adds a goroutine of a lost explorer.
func (l *lostSet) add(goroutine uint64, x *explorer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.explorers == nil {
		l.explorers = map[uint64]*explorer{}
	}
	l.explorers[goroutine] = x
	l.n.Store(int32(len(l.explorers)))
}

// remove removes the goroutine of an explorer.
func (l *lostSet) remove(x *explorer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.explorers, func(_ uint64, o *explorer) bool { return o == x })
	l.n.Store(int32(len(l.explorers)))
}

// endCaller ends the calling goroutine if it belongs to a lost exploration. Yield
// calls it: the loop that yields would wait for a thread that never runs again.
func (l *lostSet) endCaller() {
	if l.n.Load() == 0 {
		return
	}
	n := goroutineNumber()
	l.mu.Lock()
	_, ok := l.explorers[n]
	l.mu.Unlock()
	if ok {
		runtime.Goexit()
	}
}

// stackOutside returns the stack of a goroutine while it runs code of the program.
// Otherwise it waits a short time for it.
func stackOutside(goroutine uint64) (s stack) {
	prefix := fmt.Sprintf("goroutine %d ", goroutine)
	for range 100 {
		for text := range strings.SplitSeq(allStacks(), "\n\n") {
			if strings.HasPrefix(text, prefix) {
				s = parseStack(text)
			}
		}
		inside := slices.IndexFunc(s.frames, func(f frame) bool { return !isStandard(f.function) })
		if inside < 0 || !strings.HasPrefix(s.frames[inside].function, home) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return s
}

// allStacks returns the stacks of all goroutines.
func allStacks() string {
	for size := 1 << 20; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size || size >= 1<<26 {
			return string(buf[:n])
		}
	}
}

// goroutineNumber returns the number of the calling goroutine in stacks.
func goroutineNumber() (n uint64) {
	var buf [64]byte
	text := buf[:runtime.Stack(buf[:], false)]
	for _, c := range text[len("goroutine "):] {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + uint64(c-'0')
	}
	return n
}
