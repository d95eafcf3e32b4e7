package pool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Handler is a task whose types are not known before it is called. It may return a
// *Future[any], which the lane waits for: the outcome of that is the outcome of the
// call then.
type Handler func(ctx context.Context, payload any) (any, error)

// Handlers is the table of the tasks of a pool. [Register] and Handle fill it, and
// [New] binds it to the pool: each table makes one pool. The zero Handlers is empty and
// ready to use. It is not safe for concurrent use before New, and not to be changed
// afterwards.
type Handlers struct {
	entries []*entry // in the order of registration
	bound   atomix.Pointer[Pool]
	failed  atomix.Pointer[BootstrapError] // of the last New that failed so
	errors  map[string]error               // see RegisterError
	worker  atomix.Bool                    // this process runs the tasks as a worker: see WorkerMain
}

// TaskOptions configures one task. The zero TaskOptions is the default.
type TaskOptions struct {
	// Abortable lets a running call know that it was aborted, by its context and by [AbortSignal].
	// Without it the context of a handler ends with that of its caller and with the Timeout only,
	// and not by Future.Abort, Close, Discard or a hard limit. A call takes one of
	// Config.AbortCapacity slots from when it is accepted until its handler returns, or until it
	// ends before that was entered.
	Abortable bool
	// Timeout takes the place of Config.Timeout when it is not 0.
	Timeout time.Duration
	// Prompt is the promise that the handler returns soon after its context ends. A call that its
	// context or a Timeout may end then runs on its caller as other calls do, where that saves the
	// hand-off, and returns when the handler does. Without it such a call always runs on another
	// goroutine, because its caller has to return at the end of the context.
	Prompt bool
	// Remote keeps calls away from the goroutines of their callers: they run on a worker,
	// or, where CallerRuns or the inline lane would have callers run them, on a goroutine
	// of their own. Handlers that call runtime.Goexit need it, as that would end the
	// caller; so do those that must not see the caller's stack.
	Remote bool
}

// timeout returns the time that a call has in pool p, or 0.
func (o *TaskOptions) timeout(p *Pool) time.Duration {
	if o.Timeout != 0 {
		return o.Timeout
	}
	return p.config.Timeout
}

// entry is one task of a table.
type entry struct {
	table *Handlers
	name  string
	opts  TaskOptions
	isNil bool
	any   *Func[any, any]        // the task for callers without types
	takes reflect.Type           // what those may give it, besides nil; nil: anything
	marks *marks                 // nil without Config.Labels and Config.Trace; set by New before the first call
	ends  *[taskStripes]taskEnds // set by New before the first call

	number uint16                 // of the task among those of a pool of processes, in the order of their names
	remote bool                   // it has no handler in this process: see RemoteFunc
	bind   func() error           // makes the encodings of its types
	serve  func(s *served) answer // runs the handler in a worker process
}

// pool returns the pool of the task, or why it has none.
func (e *entry) pool() (*Pool, error) {
	if p := e.table.bound.Load(); p != nil {
		return p, nil
	}
	if e.table.worker.Load() {
		return nil, ErrNestedWorker
	}
	if failed := e.table.failed.Load(); failed != nil {
		return nil, &unboundError{failed}
	}
	return nil, ErrUnbound
}

// taskStripes is how many counters of the same thing a task has. Lanes with different numbers use
// different ones, as far as there are, so that they do not write to the same line of memory. It is
// a power of two.
const taskStripes = 8

// taskEnds counts the calls of a task by the cause of their end.
type taskEnds struct {
	counts [causes]atomix.Uint64
	_      lfsync.Pad
}

// countEnd counts the end of a call of the task. l is the lane that counts it as well, or nil.
func (e *entry) countEnd(l *lane, k Cause) {
	stripe := 0
	if l != nil {
		stripe = l.index & (taskStripes - 1)
	}
	e.ends[stripe].counts[k].Add(1)
}

// info returns the counts of the task.
func (e *entry) info() TaskInfo {
	t := TaskInfo{Task: e.name}
	for i := range e.ends {
		for k := CauseReturned; k < causes; k++ {
			*t.Ends.of(k) += e.ends[i].counts[k].Load()
		}
	}
	return t
}

// maxTasks is how many tasks fit the 16 bits of a header.
const maxTasks = 1 << 16

// pingName is the name that every worker answers by itself.
const pingName = "request"

// Handle adds a task without types.
func (h *Handlers) Handle(name string, fn Handler, o ...TaskOptions) {
	Register(h, name, fn, o...)
}

// HandleAll adds a task for each name of m, in the order of the names.
func (h *Handlers) HandleAll(m map[string]Handler, o ...TaskOptions) {
	for _, name := range slices.Sorted(maps.Keys(m)) { // the errors of New then have the same order each time
		h.Handle(name, m[name], o...)
	}
}

// Register adds the task fn to h, and returns the function that calls it once a pool
// was made of h. At most one TaskOptions may be given. A fault of a name, a function
// or the options is an error of New. With A and R both any it is Handle: a result
// that is a *Future[any] is waited for.
func Register[A, R any](h *Handlers, name string, fn func(ctx context.Context, arg A) (R, error), o ...TaskOptions) *Func[A, R] {
	if len(o) > 1 {
		panic("pool: Register: more than one TaskOptions")
	}
	e := &entry{table: h, name: name, isNil: fn == nil}
	if len(o) == 1 {
		e.opts = o[0]
	}
	h.entries = append(h.entries, e)
	f := newFunc(e, fn)
	e.serve = f.serve
	if g, ok := any(f).(*Func[any, any]); ok {
		g.resolve = true
		e.any = g
		e.bind = func() error { return f.wire.init(e.name) }
	} else {
		e.any = newFunc(e, func(ctx context.Context, payload any) (any, error) {
			arg, _ := payload.(A) // as check has seen, or nil
			return fn(ctx, arg)
		})
		e.takes = reflect.TypeFor[A]()
		e.bind = func() error {
			err := f.wire.init(e.name)
			e.any.wire = untyped(&f.wire)
			return err
		}
	}
	return f
}

// checkLocal returns an error if a task has no handler in this process.
func (h *Handlers) checkLocal() error {
	var errs []error
	for _, e := range h.entries {
		if e.remote {
			errs = append(errs, fmt.Errorf("%w: %q, and Config.Process is nil", ErrRemoteOnly, e.name))
		}
	}
	return errors.Join(errs...)
}

// check returns the error of a call without types whose payload the task does not take.
func (e *entry) check(payload any) error {
	t := reflect.TypeOf(payload)
	if t == nil || e.takes == nil || t == e.takes || e.takes.Kind() == reflect.Interface && t.Implements(e.takes) {
		return nil
	}
	return fmt.Errorf("%w: task %q takes %v, not %T", ErrPayloadType, e.name, e.takes, payload)
}

// byName returns the tasks of the table by their names, or what is wrong with them.
func (h *Handlers) byName() (map[string]*entry, error) {
	var errs []error
	if n := len(h.entries); n > maxTasks {
		return nil, fmt.Errorf("%w: %d", ErrTooManyTasks, n)
	}
	byName := make(map[string]*entry, len(h.entries))
	for _, e := range h.entries {
		if e.isNil {
			errs = append(errs, fmt.Errorf("%w: %q", ErrNilHandler, e.name))
		}
		if e.opts.Timeout < 0 {
			errs = append(errs, fmt.Errorf("pool: TaskOptions.Timeout of %q: %v is negative", e.name, e.opts.Timeout))
		}
		if e.name == pingName {
			errs = append(errs, ErrReservedName)
		}
		if byName[e.name] != nil {
			errs = append(errs, fmt.Errorf("%w: %q", ErrDuplicateName, e.name))
		}
		byName[e.name] = e
	}
	return byName, errors.Join(errs...)
}

// marks are the name of a task as profiles and traces show it.
type marks struct {
	labels *pprof.LabelSet // nil without Config.Labels
	region string          // empty without Config.Trace
}

// marksOf returns the marks of the task with that name, or nil if the configuration has none.
func (c *Config) marksOf(task string) *marks {
	if !c.Labels && !c.Trace {
		return nil
	}
	m := new(marks)
	if c.Labels {
		labels := pprof.Labels("task", task)
		m.labels = &labels
	}
	if c.Trace {
		m.region = "task " + task
	}
	return m
}

// around calls fn, which runs a handler, between the marks.
func (m *marks) around(ctx context.Context, fn func(ctx context.Context)) {
	if m.region != "" {
		defer trace.StartRegion(ctx, m.region).End()
	}
	if m.labels != nil {
		pprof.Do(ctx, *m.labels, fn)
		return
	}
	fn(ctx)
}
