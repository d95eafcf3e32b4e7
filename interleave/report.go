package interleave

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
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
	Livelock Kind = "livelock" // more steps than Options.MaxSteps
	Race     Kind = "race"     // accesses to plain memory are not ordered
	Unsteady Kind = "unsteady" // the program is not deterministic
	Misuse   Kind = "misuse"   // the options are invalid, or do not fit the program
)

// Failure is an execution that failed.
type Failure struct {
	Kind      Kind   // the kind of failure
	Message   string // the failure in one line
	Thread    string // the thread that failed, if there is one
	Execution int    // the number of the execution, from 1
	Schedule  string // for Options.Replay
	Trace     string // the steps of the execution, one per line
	Stack     string // the stack of a panic
}

// Error returns the message, the schedule, and the steps.
func (f *Failure) Error() string {
	var b strings.Builder
	b.WriteString("interleave: ")
	b.WriteString(f.Message)
	if f.Schedule != "" {
		fmt.Fprintf(&b, "\nexecution %d, schedule %s", f.Execution, f.Schedule)
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
	if f.Kind == Misuse || f.Kind == Unsteady {
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
	default:
		f.Message += " (the second run of this execution was different: the program depends on more than the order of its steps and Choose)"
	}
	f.Trace = strings.Join(x.trace, "")
	return f
}

// rerun runs the execution of the script and records its steps. It uses
// coroutines with either backend, because the functions that record are not
// hidden from the race detector.
func (x *explorer) rerun() {
	x.opts.Backend = Coroutines
	for _, t := range x.records {
		t.carrier = nil
	}
	x.tracing = true
	x.trace = nil
	clear(x.helpers)
	x.execute()
}

// note adds a line to the trace. t is nil for the body and Final.
func (x *explorer) note(t *thread, text string) {
	if x.phase == phaseUnwind {
		return
	}
	name, where := "-", ""
	if t != nil {
		name = x.label(t)
	}
	if where = x.caller(); where != "" {
		where = "  " + where
	}
	x.trace = append(x.trace, fmt.Sprintf("%16s  %s%s\n", name, text, where))
}

// noteStep adds the last step of the running thread to the trace.
func (x *explorer) noteStep(text string) {
	t := x.current
	if t == nil || x.phase != phaseRun {
		return
	}
	where := ""
	if t.where != "" {
		where = "  " + t.where
	}
	x.trace = append(x.trace, fmt.Sprintf("%5d %10s  %s%s\n", x.steps, x.label(t), text, where))
}

// noteOp adds a step on a model object to the trace. typ is the type of the
// object.
func (x *explorer) noteOp(typ, text string) {
	if x.current != nil {
		if x.types == nil {
			x.types = map[uint32]string{}
		}
		x.types[x.current.op.obj] = typ
		x.noteStep(x.objectName(typ, x.current.op.obj) + "." + text)
	}
}

// noteAtomic adds a step on an atomic to the trace. args are the arguments of
// format, followed by the result if there is one.
func (x *explorer) noteAtomic(w any, format string, args ...any) {
	n := strings.Count(format, "%s")
	s := make([]any, len(args))
	for i, a := range args {
		s[i] = x.value(a)
	}
	text := fmt.Sprintf(format, s[:n]...)
	if len(s) > n {
		text += " = " + s[n].(string)
	}
	typ := strings.TrimPrefix(reflect.TypeOf(w).String(), "*atomic.")
	typ, _, _ = strings.Cut(typ, "[")
	x.noteOp(typ, text)
}

// noteCell adds an access to a Cell to the trace.
func (x *explorer) noteCell(a access) {
	if x.last == nil {
		x.last = map[access]string{}
	}
	x.last[a] = x.caller()
	text := ".Get()"
	if a.write {
		text = ".Set()"
	}
	x.note(x.threads[a.thread], x.objectName("Cell", a.obj)+text)
}

// value formats a value. Pointers are numbered, so that each report of an
// execution has the same text.
func (x *explorer) value(v any) string {
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Pointer {
		if r.CanUint() && r.Uint() > 9 {
			return fmt.Sprintf("%#x", v)
		}
		return fmt.Sprint(v)
	}
	if r.IsNil() {
		return "nil"
	}
	if s, ok := x.names[addressOfAny(v)]; ok {
		return "&" + s
	}
	s, ok := x.values[v]
	if !ok {
		if x.values == nil {
			x.values = map[any]string{}
		}
		s = "p" + itoa(len(x.values)+1)
		x.values[v] = s
	}
	return s
}

// nameObject is M.Name.
func (x *explorer) nameObject(object any, name string) {
	if reflect.ValueOf(object).Kind() != reflect.Pointer {
		panic("interleave: M.Name: object is not a pointer")
	}
	if !x.tracing {
		return
	}
	if x.names == nil {
		x.names = map[address]string{}
	}
	x.names[addressOfAny(object)] = name
}

// objectName returns the name of a model object in reports.
//
//go:norace
func (x *explorer) objectName(typ string, obj uint32) string {
	if s, ok := x.names[x.objects.list[obj].p]; ok {
		return s
	}
	return typ + "#" + itoa(int(obj))
}

// home is the path of this package, as a prefix of the names of its functions.
var home = reflect.TypeFor[M]().PkgPath() + "."

// Helper marks the calling function as a helper. The positions in a report are
// then those of the calls of that function, as with Helper of a testing.T. A
// package that wraps operations of this package calls it in each wrapper.
// Outside the execution that a report is made of, Helper does nothing.
//
//go:norace
func Helper() {
	if loadRunning() == 0 {
		return // without the delay of enter, which is for operations
	}
	if x := enter(); x != nil && x.tracing {
		x.markHelper()
	}
}

// markHelper records the name of the function that has called Helper.
func (x *explorer) markHelper() {
	var pc [1]uintptr
	if runtime.Callers(3, pc[:]) == 0 {
		return
	}
	f, _ := runtime.CallersFrames(pc[:]).Next()
	if x.helpers == nil {
		x.helpers = map[string]bool{}
	}
	x.helpers[f.Function] = true
}

// caller returns the file and line of the call into this package. It leaves out
// functions that have called Helper. The result is empty when no other function
// is between this package and the start of the thread.
func (x *explorer) caller() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if f.Function == threadRun {
			return ""
		}
		if !strings.HasPrefix(f.Function, home) && !x.helpers[f.Function] {
			if f.File == "" {
				return ""
			}
			return filepath.Base(f.File) + ":" + itoa(f.Line)
		}
		if !more {
			return ""
		}
	}
}

// threadRun is the name of (*thread).run, which calls the function of a thread.
var threadRun = home + "(*thread).run"

func itoa(n int) string { return strconv.Itoa(n) }

func sprint(v any) string { return fmt.Sprint(v) }

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }
