package interleave

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"unicode/utf8"
)

// A trace is the record of one execution for reports.
type trace struct {
	events    []event
	last      int // the thread that took the last step, or -1
	preempted int // preemptions before the last step
}

// An event is one line of a trace: a step, an access to a Cell, a result of
// Choose, or a crash.
type event struct {
	thread int    // -1: the body or Final
	step   int    // the number of the step; 0: the event is no step
	mark   string // of a step: that another thread took the step before
	where  string
	text   string
}

// The marks of a step before which the explorer has switched threads.
const (
	markPreempted = ">>" // the other thread could continue
	markSwitched  = ">"  // the other thread has ended, or could not continue
)

// note adds an event that is no step. t is nil for the body and Final.
func (x *explorer) note(t *thread, text string) {
	if x.phase == phaseUnwind {
		return
	}
	e := event{thread: -1, where: x.caller(), text: text}
	if t != nil {
		e.thread = t.id
	}
	x.trace.events = append(x.trace.events, e)
}

// noteStep adds the last step of the running thread to the trace.
func (x *explorer) noteStep(text string) {
	t, tr := x.current, &x.trace
	if t == nil || x.phase != phaseRun {
		return
	}
	e := event{thread: t.id, step: x.steps, where: t.where, text: text}
	switch {
	case x.preempted > tr.preempted:
		e.mark = markPreempted
	case tr.last >= 0 && tr.last != t.id:
		e.mark = markSwitched
	}
	tr.last, tr.preempted = t.id, x.preempted
	tr.events = append(tr.events, e)
}

// formatTrace returns the trace of the last execution as a table: a header with
// the names of the threads, and one line for each event. The number and the
// position of an event are at the left. Its text begins in the column of its
// thread and may continue over the columns to the right, which are empty in this
// line.
func (x *explorer) formatTrace() string {
	columns, titles, widths := x.columns()
	position := len("position")
	for _, e := range x.trace.events {
		position = max(position, utf8.RuneCountInString(e.where))
	}
	var b strings.Builder
	line := func(mark, step, where string, column int, text string) {
		fmt.Fprintf(&b, "%2s %5s  %-*s  ", mark, step, position, where)
		for _, w := range widths[:column] {
			fmt.Fprintf(&b, "%-*s", w, "|")
		}
		b.WriteString(text)
		b.WriteByte('\n')
	}
	switch row, fits := headerRow(titles, widths); {
	case len(titles) == 0:
		return ""
	case fits:
		line("", "step", "position", 0, row)
	default: // each title on a line of its own
		for i, title := range titles[:len(titles)-1] {
			line("", "", "", i, title)
		}
		line("", "step", "position", len(titles)-1, titles[len(titles)-1])
	}
	for _, e := range x.trace.events {
		step := ""
		if e.step > 0 {
			step = itoa(e.step)
		}
		line(e.mark, step, e.where, columns[e.thread+1], e.text)
	}
	return b.String()
}

// columns assigns a column to each thread that has an event, in the order of the
// threads, after the body. columns[i+1] is the column of thread i. A column is
// as wide as its longest text, within a limit.
func (x *explorer) columns() (columns []int, titles []string, widths []int) {
	columns = make([]int, len(x.threads)+1)
	longest := make([]int, len(columns)) // 0: no event
	for _, e := range x.trace.events {
		longest[e.thread+1] = max(longest[e.thread+1], utf8.RuneCountInString(e.text))
	}
	for i, n := range longest {
		if n == 0 {
			continue
		}
		title := "-" // the body and Final
		if i > 0 {
			title = x.threads[i-1].name + "(" + itoa(i-1) + ")"
		}
		columns[i] = len(titles)
		titles = append(titles, title)
		widths = append(widths, max(n, utf8.RuneCountInString(title))+len("  "))
	}
	const offset, least = 48, 3 // chosen: the last column begins this far to the right of the first; a column has at least this width
	for i := range widths {
		widths[i] = min(widths[i], max(offset/max(len(widths)-1, 1), least))
	}
	return columns, titles, widths
}

// headerRow returns the titles in one line. fits reports whether each title is
// narrower than its column.
func headerRow(titles []string, widths []int) (row string, fits bool) {
	for i, title := range titles {
		if i == len(titles)-1 {
			row += title
			break
		}
		if utf8.RuneCountInString(title) >= widths[i] {
			return "", false
		}
		row += fmt.Sprintf("%-*s", widths[i], title)
	}
	return row, true
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
