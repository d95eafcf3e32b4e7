package interleave

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is the kind of a failure.
type Kind string

// The kinds of failures.
const (
	Failed   Kind = "failed"   // the program called Fatalf
	Panic    Kind = "panic"    // a thread, the body or a Final function panicked, or misused a Mutex
	Deadlock Kind = "deadlock" // a thread that is no daemon waits for ever
	Livelock Kind = "livelock" // the execution has not ended after Options.MaxSteps steps, and is no Deadlock
	Race     Kind = "race"     // accesses to plain memory are not ordered
	Unsteady Kind = "unsteady" // the program is not deterministic
	Misuse   Kind = "misuse"   // the options are invalid, or the program breaks a rule of a model
)

// Failure is an execution that failed. That of PCT and Random is replaced by one with
// fewer preemptions and the same Kind, if there is one: see "Reading a failure" in
// the text of the package.
type Failure struct {
	Kind      Kind   // the kind of failure
	Message   string // the failure in one line
	Thread    string // the thread that failed, if there is one
	Execution int    // the number of the execution that failed first, from 1
	Schedule  string // for Options.Replay
	Trace     string // the steps of the execution, as a table
	Stack     string // the stack of a panic or of a misuse

	// Preemptions is the number of preemptions in the execution. A preemption
	// is a switch away from a thread that could take its step, unless the step is
	// a Yield or a timeout.
	Preemptions int

	hasSteps bool // of a misuse: the report shows the steps
}

// Error returns the message, the schedule, and the steps.
func (f *Failure) Error() string {
	var b strings.Builder
	b.WriteString("interleave: ")
	b.WriteString(f.Message)
	if f.Schedule != "" {
		fmt.Fprintf(&b, "\nexecution %d, %s, schedule %s", f.Execution, count(f.Preemptions, "preemption"), f.Schedule)
	}
	if f.Trace != "" {
		b.WriteString("\n")
		b.WriteString(shorten(strings.TrimSuffix(f.Trace, "\n")))
	}
	if f.Stack != "" {
		b.WriteString("\n\n")
		b.WriteString(f.Stack)
	}
	return b.String()
}

// count returns a number with its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return itoa(n) + " " + noun
}

// shorten removes lines from the middle of a long trace.
func shorten(trace string) string {
	const head, tail = 100, 200
	lines := strings.Split(trace, "\n")
	out := len(lines) - head - tail
	if out <= 0 {
		return trace
	}
	return strings.Join(lines[:head], "\n") +
		fmt.Sprintf("\n      ... %d lines ...\n", out) +
		strings.Join(lines[head+out:], "\n")
}

// explain completes a failure. It runs the execution again and records its steps.
func (x *explorer) explain(f *Failure, execution int) *Failure {
	f.Execution = execution
	if f.Kind == Misuse && !f.hasSteps || f.Kind == Unsteady {
		return f
	}
	script, err := parseSchedule(f.Schedule)
	if err != nil {
		panic("interleave: a schedule of its own cannot be read: " + err.Error())
	}
	x.script = script
	x.replaying = true
	x.rerun()
	switch g := x.failure; {
	case g != nil && g.Kind == f.Kind && g.Schedule == f.Schedule:
		f.Message, f.Stack = g.Message, g.Stack
	case raceBuild && f.Kind == Race:
		// The race detector reports each race once.
	case f.Kind == Misuse && f.Thread == "":
		// The foreign goroutine need not do the same again.
	default:
		f.Message += " (the second run of this execution was different: the program depends on more than the order of its steps and Choose)"
	}
	f.Trace = x.formatTrace()
	return f
}

// useCoroutines changes the backend of the executions that follow.
func (x *explorer) useCoroutines() {
	x.opts.Backend = Coroutines
	for _, t := range x.records {
		t.carrier = nil
	}
}

// rerun runs the execution of the script and records its steps. It uses
// coroutines with either backend, because the functions that record are not
// hidden from the race detector.
func (x *explorer) rerun() {
	x.useCoroutines()
	x.tracing = true
	x.trace = trace{last: -1}
	clear(x.helpers)
	x.execute()
}

func itoa(n int) string { return strconv.Itoa(n) }

func sprint(v any) string { return fmt.Sprint(v) }

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }
