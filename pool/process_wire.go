package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/transport"
)

// wire is the encoding of the types of a task, for lanes whose calls run in another process.
type wire[A, R any] struct {
	appendArg    func(dst []byte, arg A) ([]byte, transport.Tag, error)
	decodeArg    func(tag transport.Tag, src []byte) (A, error)
	appendResult func(dst []byte, result R) ([]byte, transport.Tag, error)
	decodeResult func(tag transport.Tag, src []byte) (R, error)
	shareResult  func(result R) ([]byte, bool) // without a copy, if R is a slice of bytes
}

// init makes the encodings. The error names the type that has none.
func (w *wire[A, R]) init(task string) error {
	a, errA := transport.TypeOf[A](nil)
	r, errR := transport.TypeOf[R](nil)
	if err := errors.Join(errA, errR); err != nil {
		return fmt.Errorf("pool: task %q: %w", task, err)
	}
	w.appendArg, w.decodeArg = codecOf(a)
	w.appendResult, w.decodeResult = codecOf(r)
	w.shareResult = func(result R) ([]byte, bool) { return r.Share(&result) }
	return nil
}

// codecOf returns the functions of a type. The bytes that the second one decodes belong to the value then.
func codecOf[T any](t *transport.Type[T]) (func([]byte, T) ([]byte, transport.Tag, error), func(transport.Tag, []byte) (T, error)) {
	add := func(dst []byte, v T) ([]byte, transport.Tag, error) { return t.Append(dst, &v) }
	read := func(tag transport.Tag, src []byte) (v T, err error) {
		if _, err = t.Borrow(tag, src, &v); err != nil {
			var none T
			v = none // its content is undefined
		}
		return v, err
	}
	return add, read
}

// untyped returns the encoding of a task for callers without types, which is that of its types.
func untyped[A, R any](w *wire[A, R]) wire[any, any] {
	return wire[any, any]{
		appendArg: func(dst []byte, arg any) ([]byte, transport.Tag, error) {
			a, _ := arg.(A) // as check has seen, or nil
			return w.appendArg(dst, a)
		},
		decodeResult: func(tag transport.Tag, src []byte) (any, error) {
			r, err := w.decodeResult(tag, src)
			if err != nil {
				return nil, err
			}
			return r, nil
		},
	}
}

// runsCode reports whether a payload with that tag is decoded by code of the program: a method or a codec.
func runsCode(tag transport.Tag) bool {
	tag &^= transport.TagNilBit
	return tag == transport.TagBinary || tag == transport.TagCoded
}

// request is what a call whose handler runs elsewhere sends. Its caller writes it before the call is accepted, but for
// the argument of a call of After. Then it is the runner's, but
// for at, which a goroutine that waits for the call loads.
type request struct {
	arg      []byte
	tag      transport.Tag
	done     <-chan struct{}                 // of the context of the caller
	deadline time.Time                       // of that context, or zero
	back     bool                            // the call has come back to the queue of the pool: see sharedQueue.space
	at       atomix.Pointer[processExecutor] // of the lane to whose process the call was sent last, or nil
}

// receive lets the caller, which waits for c or for the end of done, receive the answer of the process that has c. It returns
// after a short time without an answer.
func (c *call) receive(done <-chan struct{}) {
	if c.extra == nil || c.extra.request == nil {
		return
	}
	if e := c.extra.request.at.Load(); e != nil {
		e.receiveFor(c, done)
	}
}

// until returns the time at which the handler of a call with a request is to end, or zero.
func (c *call) until() time.Time {
	at, _ := c.untilOrTimeout()
	return at
}

// endOfTime returns the cause and the error with which a call ends at that time.
func (c *call) endOfTime() (Cause, error) {
	if _, isTimeout := c.untilOrTimeout(); isTimeout {
		return CauseTimedOut, errTimeout
	}
	return CauseContextEnded, context.DeadlineExceeded
}

// untilOrTimeout is until, and reports whether that is the end of the Timeout.
func (c *call) untilOrTimeout() (at time.Time, isTimeout bool) {
	at = c.extra.request.deadline
	if h, ok := c.ctx.(*callContext); ok && !h.deadline.IsZero() && (at.IsZero() || !at.Before(h.deadline)) {
		return h.deadline, true
	}
	return at, false
}

// hasEnded reports whether the context of the caller has ended. It calls no method of the context, which may be one
// of the program.
func (r *request) hasEnded() bool { return isClosed(r.done) }

// encodeRequest makes the request of c, which its caller makes with ctx.
func (c *call) encodeRequest(ctx context.Context, x *extra) (*extra, error) {
	if x == nil {
		x = new(extra)
	}
	if x.request == nil {
		x.request = new(request)
	}
	x.blocked = nil // that of the last call in this memory
	x.request.done = ctx.Done()
	x.request.at.Store(nil)
	x.request.deadline, _ = ctx.Deadline()
	c.extra = x
	if c.flags&flagLater != 0 {
		return x, nil
	}
	return x, c.encodeArgument()
}

// encodeLater makes the request of a call of After, whose argument has come, if the call has one. Otherwise it calls drop
// and returns false. The error of a method that panics is that of the call, because no caller is there.
func (c *call) encodeLater(drop func(err error)) (ok bool) {
	if c.extra == nil || c.extra.request == nil {
		return true
	}
	encoded := false
	defer func() {
		if !encoded { // also after a Goexit
			drop(fmt.Errorf("pool: the encoding of the argument of task %q has not returned: %s", c.task.name, textOf(recover())))
		}
	}()
	err := c.encodeArgument()
	if encoded = true; err != nil {
		drop(err)
	}
	return err == nil
}

// encodeArgument encodes the argument.
func (c *call) encodeArgument() (err error) {
	r := c.extra.request
	if r.arg, r.tag, err = c.body.encode(c, r.arg[:0]); err != nil {
		return err
	}
	if most := c.pool().processes.link.PayloadPerValue; len(r.arg) > most {
		return fmt.Errorf("%w: the argument of task %q has %d bytes, and one value may have %d", transport.ErrPayloadTooLarge, c.task.name, len(r.arg), most)
	}
	c.body.forget(c)
	return nil
}

// encode is that of body.
func (f *Func[A, R]) encode(c *call, dst []byte) ([]byte, transport.Tag, error) {
	return f.wire.appendArg(dst, typedOf[A, R](c).arg)
}

// decode is that of body.
func (f *Func[A, R]) decode(c *call, tag transport.Tag, src []byte) (err error) {
	typedOf[A, R](c).result, err = f.wire.decodeResult(tag, src)
	return err
}

// drop is that of body.
func (f *Func[A, R]) drop(c *call) {
	var none R
	typedOf[A, R](c).result = none
}

// answer is the outcome of a handler in a worker process, as it crosses to the host.
type answer struct {
	cause   Cause
	tag     transport.Tag
	payload []byte
	shared  bool // payload is the result itself, and not in memory of the runner
}

// served is one call in a worker process.
type served struct {
	ctx  context.Context
	tag  transport.Tag
	arg  []byte
	room []byte // memory for the payload of the answer
}

// serve runs the handler of a call in a worker process. A panic and a Goexit are its outcome: see worker.run.
func (f *Func[A, R]) serve(s *served) answer {
	arg, err := f.wire.decodeArg(s.tag, s.arg)
	if err != nil {
		return failedAnswer(f.entry.table, CauseFailed, remoteError(err), s.room)
	}
	result, failed := f.run(s.ctx, arg)
	if failed != nil {
		return failedAnswer(f.entry.table, CauseFailed, failed, s.room)
	}
	if payload, ok := f.wire.shareResult(result); ok {
		return answer{CauseReturned, transport.TagBytes, payload, true}
	}
	payload, tag, err := f.wire.appendResult(s.room, result)
	if err != nil {
		return failedAnswer(f.entry.table, CauseFailed, remoteError(err), s.room)
	}
	return answer{CauseReturned, tag, payload, false}
}

// brokenAnswer is the answer of a handler of the task with that name that panicked with value, or called Goexit if
// value is nil.
func brokenAnswer(e *entry, value any, room []byte) answer {
	k := CausePanicked
	if value == nil {
		k = CauseExited
	}
	return failedAnswer(e.table, k, brokenError(e.name, value, debug.Stack()), room)
}

// errorRecord is a RemoteError as it crosses to another process.
type errorRecord struct {
	Message string         `json:"message,omitempty"`
	Task    string         `json:"task,omitempty"`
	Type    string         `json:"type,omitempty"`
	Stack   string         `json:"stack,omitempty"`
	Fields  map[string]any `json:"fields,omitempty"`
	Is      []string       `json:"is,omitempty"` // the names of the errors that it is: see RegisterError
}

// knownErrors are the errors that keep their identity across processes without RegisterError.
var knownErrors = map[string]error{
	"context.Canceled":                context.Canceled,
	"context.DeadlineExceeded":        context.DeadlineExceeded,
	"pool.ErrGoexit":                  ErrGoexit,
	"pool.ErrNestedWorker":            ErrNestedWorker,
	"pool.ErrRemoteOnly":              ErrRemoteOnly,
	"transport.ErrUnsupportedPayload": transport.ErrUnsupportedPayload,
	"transport.ErrPayloadTooLarge":    transport.ErrPayloadTooLarge,
	"transport.ErrBadPayload":         transport.ErrBadPayload,
	"transport.ErrBadTag":             transport.ErrBadTag,
}

// RegisterError gives a sentinel error a name, by which it keeps its identity across processes: an error of a handler
// that is the sentinel, as errors.Is says, is the sentinel in the host as well. The worker and the host register the
// same name. RegisterError panics if the sentinel is nil or the name is taken. It is called before New and WorkerMain.
func RegisterError(h *Handlers, name string, sentinel error) {
	if sentinel == nil {
		panic("pool: RegisterError: nil error")
	}
	if h.errors[name] != nil || knownErrors[name] != nil {
		panic(fmt.Sprintf("pool: RegisterError: the name %q is taken", name))
	}
	if h.errors == nil {
		h.errors = map[string]error{}
	}
	h.errors[name] = sentinel
}

// sentinels calls yield for each error with a name.
func (h *Handlers) sentinels(yield func(name string, sentinel error) bool) {
	for _, known := range []map[string]error{knownErrors, h.errors} {
		for _, name := range slices.Sorted(maps.Keys(known)) {
			if !yield(name, known[name]) {
				return
			}
		}
	}
}

// failedAnswer is the answer of a handler that has ended with cause k and that error. A record that cannot be encoded
// loses its fields.
func failedAnswer(h *Handlers, k Cause, failed *RemoteError, room []byte) answer {
	r := errorRecord{failed.Message, failed.Task, failed.Type, failed.Stack, failed.Fields, nil}
	for name, sentinel := range h.sentinels {
		if isError(failed, sentinel) {
			r.Is = append(r.Is, name)
		}
	}
	text, err := json.Marshal(&r)
	if err != nil {
		r.Fields = nil
		text, _ = json.Marshal(&r) // strings only
	}
	return answer{k, transport.TagError, append(room, text...), false}
}

// isError is errors.Is. A panic of a method of err counts as no.
func isError(err, target error) (is bool) {
	defer func() {
		if recover() != nil {
			is = false
		}
	}()
	return errors.Is(err, target)
}

// sentinelErrors is what the error of a handler in another process was there.
type sentinelErrors []error

func (sentinelErrors) Error() string     { return "pool: the error of a handler in another process" }
func (e sentinelErrors) Unwrap() []error { return e }

// decodeError reads the record of an error that a worker process has sent.
func (h *Handlers) decodeError(src []byte) (*RemoteError, error) {
	var r errorRecord
	if err := json.Unmarshal(src, &r); err != nil {
		return nil, fmt.Errorf("%w: the record of an error: %w", transport.ErrBadPayload, err)
	}
	e := &RemoteError{Message: r.Message, Task: r.Task, Type: r.Type, Stack: r.Stack, Fields: r.Fields}
	var is sentinelErrors
	for _, name := range r.Is {
		switch sentinel := h.errors[name]; {
		case sentinel != nil:
			is = append(is, sentinel)
		case knownErrors[name] != nil:
			is = append(is, knownErrors[name])
		}
	}
	if is != nil {
		e.cause = is
	}
	return e, nil
}
