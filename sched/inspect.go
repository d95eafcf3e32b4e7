package sched

import (
	"cmp"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lanewright/lanewright/internal/park"
)

// Running describes one callback that runs: see [Scheduler.Inspect]. The JSON name of a field
// is its name with a small first letter.
type Running struct {
	// Function is the name of the function of the callback. For [Scheduler.Go], [Group.Go]
	// and [ForkJoin] it is the function that they were called with. It is empty if the
	// stack of the goroutine has a form that Inspect does not know.
	Function string `json:"function"`

	// OnTop has the names of the functions of the tasks that run on top of the waits of the
	// callback, outermost first.
	OnTop []string `json:"onTop,omitempty"`

	// Since is a time at which the callback ran already. For a callback that holds the place
	// that it has begun with, it is the time of the first Inspect that has seen it there, and
	// otherwise the time of this Inspect. In both cases it is the time since when the goroutine
	// waits, in whole minutes, if that is earlier. It may be earlier than the start of the
	// callback by the time that the worker took to find the task.
	Since time.Time `json:"since"`

	// State is the state of the goroutine as the Go runtime names it: runnable, running,
	// chan receive, select, sync.Mutex.Lock, IO wait, and others. A goroutine that computes
	// is runnable, because Inspect stops it. The caller of Inspect is running.
	State string `json:"state"`

	// Goroutine is the number of the goroutine in the stack traces of the Go runtime.
	Goroutine uint64 `json:"goroutine"`

	// Place is the index of the place that the callback holds, as [Worker.ID] returns it.
	// It is -1 if the callback has released its place or has one beyond MaxWorkers.
	Place int `json:"place"`

	// Blocked states that the callback has released its place. It is inside
	// [Worker.Blocking] or a wait, or has returned from there.
	Blocked bool `json:"blocked"`
}

// Inspect returns the callbacks of s that run now, with their functions, by the index of their
// place: those with the index -1 are first. It is for a program that looks for the
// reason why tasks stay queued or a Shutdown does not return. Safe for concurrent use.
//
// The result is a snapshot. A callback that begins, ends, or takes or releases a place at this
// moment may be missing, or be listed as it was a moment before. A call of [ForkJoin] that runs
// without the scheduler, because that has ended, is not listed.
//
// Inspect reads the stacks of all goroutines as [runtime.Stack] does, and the program stops for
// that time: 6 to 9 ms for 1,000 goroutines and 120 ms for 10,000 if each stack has a few calls,
// and up to 50 times as long if each has a hundred (amd64). Of more than 100 calls in
// a stack the runtime prints the first and the last 50, so names may be missing there. Inspect
// reads 256 MiB of stacks at most. While nothing is inspected, tasks pay nothing. Afterwards each
// worker makes one call more between two tasks until the callbacks that Inspect has found on a
// place have ended.
func (s *Scheduler) Inspect() []Running {
	s.init()
	s.inspection.mu.Lock()
	defer s.inspection.mu.Unlock()
	held := s.markHeld()
	text, complete := s.inspection.dump()
	address := fmt.Sprintf("%p", s)
	complete = complete && showsInspector(text, address)
	all := callbacksIn(text, address, func(worker string) bool { return held[worker].p != nil })
	now := time.Now()
	list := make([]Running, 0, len(all))
	for _, c := range all {
		if len(c.functions) == 0 { // a worker without a task
			continue
		}
		r := Running{Function: c.functions[0], State: c.state, Goroutine: c.goroutine, Since: now, Place: -1, Blocked: true}
		if len(c.functions) > 1 {
			r.OnTop = c.functions[1:]
		}
		if o := held[c.worker]; o.p != nil {
			r.Place, r.Blocked = o.p.id(s), false
			if o.lasts() {
				r.Since = s.inspection.since[o.p]
			}
		}
		if waits := now.Add(-c.waits); waits.Before(r.Since) {
			r.Since = waits
		}
		list = append(list, r)
	}
	for worker, o := range held {
		if !complete && o.lasts() && !slices.ContainsFunc(all, func(c found) bool { return c.worker == worker }) {
			list = append(list, Running{Since: s.inspection.since[o.p], Place: o.p.id(s)})
		}
	}
	slices.SortStableFunc(list, func(a, b Running) int { return cmp.Compare(a.Place, b.Place) })
	return list
}

// The error of a Shutdown names at most maxNamed functions and maxNameBytes bytes of each. A
// program with more than maxStopped goroutines, each with a deep stack, would stop for more than
// about 100 ms, so the error names none. The numbers are chosen.
const (
	maxNamed     = 4
	maxNameBytes = 120
	maxStopped   = 256
)

// runningNames returns the names of the functions that run, for the text of an error: in
// parentheses, or "" if there is none.
func (s *Scheduler) runningNames() string {
	if park.Explored() || runtime.NumGoroutine() > maxStopped {
		return ""
	}
	var names []string
	times := map[string]int{}
	for _, r := range s.Inspect() {
		name := strings.Join(append([]string{r.Function}, r.OnTop...), " > ")
		if name == "" {
			continue
		}
		if times[name]++; times[name] == 1 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(times[b], times[a]), cmp.Compare(a, b))
	})
	text := make([]string, 0, maxNamed+1)
	for i, name := range names {
		if i == maxNamed {
			text = append(text, "and others")
			break
		}
		n := times[name]
		if len(name) > maxNameBytes {
			name = "..." + name[len(name)-maxNameBytes:]
		}
		if n > 1 {
			name = strconv.Itoa(n) + " times " + name
		}
		text = append(text, name)
	}
	return " (" + strings.Join(text, ", ") + ")"
}

// An inspection finds the functions of callbacks in the stacks of all goroutines, and learns by
// marks on the places whether a callback is the one that the last inspection has found.
//
// Roles:
//
//	inspector  marks each held place, reads the stacks, and then looks at the marks again. A
//	           lock admits one at a time
//	holder     of a place: removes the mark between two tasks, and when it leaves the place.
//	           So does the claimant of a lingering worker (see linger.go)
//
// State:
//
//	inspected  of a place: the mark. Stored true by the inspector, and swapped to false by
//	           both roles
//	attention  of the scheduler: counts the marked places among others. While it is 0,
//	           workers do not look for a mark between two tasks
//	since      the time of each mark. Only the inspector accesses it
//
// Invariants:
//
//	I1  while a mark stays and the holder is the same, no task has ended there
//	I2  no free place is marked, except while the inspector marks it or its holder leaves
//
// Happens-before edges:
//
//	E1  store of the mark  ->  load of holder by the inspector, and
//	    store of 0 to holder  ->  load of the mark by the holder that leaves
//	    either the inspector sees that the place is free, or the holder sees the mark
//	    (needs sequential consistency)
//
// Progress: the steps of a holder are wait-free.
//
// Rejected:
//
//   - A store of the task by each worker that enters one. An atomic store costs as much as the
//     push and the pop of a task together, and a plain one is a data race.
//   - Stores that an Inspect asks for. A callback that hangs began before the first Inspect, so
//     its function would stay unknown.
//   - The goroutine profile, which stops the program for a shorter time. It has no arguments,
//     and only these show the worker and the scheduler of a stack. Labels would show them as
//     well, but a goroutine sets its own labels only, those of a caller of Do belong to the
//     caller, and a goroutine that a task starts inherits them.
type inspection struct {
	mu    park.Mutex
	since map[*place]time.Time
	size  int // of the last dump, in bytes
}

// An occupant is the worker that holds p at the mark of an inspection.
type occupant struct {
	p      *place
	holder uintptr
}

// lasts reports whether no task has ended on the place since the mark. The callback that the
// inspector has found there between the mark and now is one and the same.
func (o occupant) lasts() bool { return o.p.holder.Load() == o.holder && o.p.inspected.Load() } // I1

// markHeld marks each held place that has no mark, and returns the held places by their workers. It
// leaves out the place of the lingering worker.
func (s *Scheduler) markHeld() map[string]occupant {
	if s.inspection.since == nil {
		s.inspection.since = make(map[*place]time.Time)
	}
	held := make(map[string]occupant)
	s.places.each(func(p *place) {
		if l := s.lingerer.Load(); l != nil && l.kept.Load() == p {
			return // no callback runs there
		}
		holder, first := s.mark(p)
		if holder == 0 {
			return
		}
		if first {
			s.inspection.since[p] = time.Now()
		}
		held["0x"+strconv.FormatUint(uint64(holder), 16)] = occupant{p, holder}
	})
	return held
}

// mark marks p if it is held and has no mark. It returns the holder, and whether the mark is new.
func (s *Scheduler) mark(p *place) (holder uintptr, first bool) {
	if p.holder.Load() == 0 {
		return 0, false
	}
	if first = !p.inspected.Load(); first {
		p.inspected.Store(true) // E1
		s.attention.Add(1)
	}
	if holder = p.holder.Load(); holder == 0 { // E1
		p.unmark(s) // I2
	}
	return holder, first
}

// unmark removes the mark from p, if there is one.
func (p *place) unmark(s *Scheduler) {
	if p.inspected.Load() && p.inspected.Swap(false) { // E1
		s.attention.Add(-1)
	}
}

// id returns what Worker.ID returns for the worker that holds p.
func (p *place) id(s *Scheduler) int {
	if p.index >= s.max {
		return -1
	}
	return p.index
}

// maxDump is the size of the text of all stacks from which on Inspect reads a part of it, in
// bytes. It is chosen: 1 KiB is common for a goroutine, and 11 KiB is common for a stack of a
// hundred calls.
const maxDump = 256 << 20

// dump returns the stacks of all goroutines as text. complete reports that it has all calls of
// all stacks. runtime.Stack takes as long for a buffer that is too small as for one that is large
// enough, so the size of the last dump is a guess.
func (in *inspection) dump() (text string, complete bool) {
	if park.Explored() { // the threads of a model share goroutines
		return "", false
	}
	for size := max(64<<10+runtime.NumGoroutine()<<11, in.size+in.size/4); ; size *= 4 {
		size = min(size, maxDump)
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size || size == maxDump {
			in.size = n
			text = string(buf[:n])
			return text, n < size && !strings.Contains(text, elided)
		}
	}
}

// showsInspector reports whether the first stack of the text is that of an Inspect of the scheduler
// with the address s. Otherwise the runtime prints stacks in an unknown form.
func showsInspector(text, s string) bool {
	first, _, _ := strings.Cut(text, "\n\n")
	return slices.ContainsFunc(parseFrames(first), func(f stackFrame) bool {
		return f.name == ownPrefix+"(*Scheduler).Inspect" && f.arg(0) == s
	})
}

// A found is a worker that the stack of a goroutine shows, with its callback.
type found struct {
	worker    string // the address as the runtime prints it
	goroutine uint64
	state     string
	waits     time.Duration // of the goroutine, at least
	functions []string      // of the callback and of the tasks on top of its waits; empty: none runs
}

// callbacksIn returns the workers of the scheduler with the address s that the text of stacks
// shows. holds reports whether a worker holds a place of the scheduler.
//
// The runtime prints the arguments of each function that is not inlined. It adds a question mark to
// one that was not stored to the stack for certain. The functions below keep the scheduler and the
// worker alive and never assign to them, so that their values are exact. Each of them is noinline
// or defers a call, so a profile of the program does not inline it either.
func callbacksIn(text, s string, holds func(worker string) bool) (all []found) {
	for stack := range strings.SplitSeq(text, "\n\n") {
		head, rest, _ := strings.Cut(stack, "\n")
		g, ok := parseHead(head)
		if !ok {
			continue
		}
		first := len(all)
		scheduler := ""
		owner := map[string]string{} // the scheduler of each worker: that of the outermost frame that shows it
		worker := func(w string) *found {
			if _, known := owner[w]; !known {
				owner[w] = scheduler
			}
			if w == "" || owner[w] != s && !holds(w) {
				return nil
			}
			for i := range all[first:] {
				if f := &all[first+i]; f.worker == w {
					return f
				}
			}
			g.worker = w
			all = append(all, g)
			return &all[len(all)-1]
		}
		frames := parseFrames(rest)
		for i, f := range slices.Backward(frames) {
			switch f.name {
			case ownPrefix + "(*Scheduler).runLoops":
				scheduler = f.arg(0)
				worker(f.arg(1))
			case ownPrefix + "(*Scheduler).doHere", ownPrefix + "(*Scheduler).drainHere",
				ownPrefix + "(*Scheduler).runAsWaiter":
				scheduler = f.arg(0)
			case ownPrefix + "(*Worker).work", ownPrefix + "(*Worker).doOne",
				ownPrefix + "(*Worker).runNested", ownPrefix + "(*Worker).beforePark":
				if w, name := worker(f.arg(0)), calledAbove(frames[:i]); w != nil && name != "" {
					w.functions = append(w.functions, name)
				}
			case ownPrefix + "(*Scheduler).runRoot":
				scheduler = f.arg(0)
				if w, name := worker(f.arg(1)), calledAbove(frames[:i]); w != nil && name != "" {
					w.functions = append(w.functions, name)
				}
			}
		}
	}
	return all
}

// ownPrefix begins the names of the functions of this package.
var ownPrefix = reflect.TypeFor[Scheduler]().PkgPath() + "."

// ownModule begins the names of the packages of this module.
var ownModule = strings.TrimSuffix(ownPrefix, "sched.")

// calledAbove returns the name of the function of the user that the function below frames has
// called, or "" if it has called another one. The innermost frame is the first one.
func calledAbove(frames []stackFrame) string {
	byUser := false // the next function is one that the user has passed
	for _, f := range slices.Backward(frames) {
		name, own := strings.CutPrefix(f.name, ownPrefix)
		if !own {
			if f.name == elided || !byUser && isInternal(f.name) {
				return ""
			}
			return f.name
		}
		switch {
		case byUser && isExported(name): // such as a method Wait that was passed to Group.Go
			return f.name
		case name == "(*Worker).runInstrumented":
		case name == "callFunc", name == "runFunc", name == "runFork[...]", name == "forkJoinOn[...]",
			name == "runScope", name == "runScopeOf[...]", strings.HasPrefix(name, "(*Scheduler).Go."),
			strings.HasPrefix(name, "forkJoin[...]."), strings.HasPrefix(name, "forkJoinAsTask[...]."):
			byUser = true
		default:
			return ""
		}
	}
	return ""
}

// isExported reports whether the function with that name, such as (*Group).Wait, is exported.
func isExported(name string) bool {
	name = strings.TrimPrefix(name[strings.LastIndexByte(name, ')')+1:], ".")
	first, _ := utf8.DecodeRuneInString(name)
	return unicode.IsUpper(first)
}

// isInternal reports whether name is a function that a worker calls itself, between two tasks.
func isInternal(name string) bool {
	if rest, ok := strings.CutPrefix(name, ownModule); ok {
		for _, p := range []string{"internal/", "sync.", "mpsc.", "runqueue."} {
			if strings.HasPrefix(rest, p) {
				return true
			}
		}
		return false
	}
	return strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "runtime/") || strings.HasPrefix(name, "reflect.")
}

// parseHead reads the first line of a stack, such as
//
//	goroutine 18 [chan receive, 3 minutes, locked to thread]:
//
// With GODEBUG=tracebacklabels=1 the labels of the goroutine follow the state.
func parseHead(line string) (g found, ok bool) {
	if head, _, labelled := strings.Cut(line, " labels:{"); labelled {
		line = head + "]"
	}
	number, rest, _ := strings.Cut(strings.TrimPrefix(line, "goroutine "), " ")
	g.goroutine, _ = strconv.ParseUint(number, 10, 64)
	_, rest, _ = strings.Cut(rest, "[")
	rest, _, ok = strings.Cut(rest, "]")
	g.state, rest, _ = strings.Cut(rest, ", ")
	for part := range strings.SplitSeq(rest, ", ") {
		if n, isWait := strings.CutSuffix(part, " minutes"); isWait {
			minutes, _ := strconv.Atoi(n)
			g.waits = time.Duration(minutes) * time.Minute
		}
	}
	return g, ok && g.goroutine != 0
}

// A stackFrame is one call of a stack.
type stackFrame struct {
	name string
	args string
}

// elided ends the line with which the runtime replaces the calls in the middle of a deep stack. A
// frame with this name stands for them.
const elided = " frames elided..."

// parseFrames reads the calls of a stack, the innermost one first.
func parseFrames(text string) (frames []stackFrame) {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasSuffix(line, elided) {
			frames = append(frames, stackFrame{name: elided})
		}
		if i := strings.LastIndexByte(line, '('); i > 0 && line[0] != '\t' && !strings.HasPrefix(line, "created by ") {
			frames = append(frames, stackFrame{line[:i], strings.TrimSuffix(line[i+1:], ")")})
		}
	}
	return frames
}

// arg returns argument i as the runtime prints it, or "" if that is not exact. The arguments
// before it are single words.
func (f stackFrame) arg(i int) string {
	args := strings.SplitN(f.args, ", ", i+2)
	if i >= len(args) || !strings.HasPrefix(args[i], "0x") || strings.HasSuffix(args[i], "?") {
		return ""
	}
	return args[i]
}
