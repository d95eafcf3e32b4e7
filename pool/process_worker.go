package pool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/crash"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/internal/process"
	lfsync "github.com/lanewright/lanewright/sync"
	"github.com/lanewright/lanewright/transport"
)

// WorkerOption is an option of [WorkerMain].
type WorkerOption func(w *worker)

// OnStart names a function that a worker process runs before it takes calls, if Process.Bootstrap of its host has that
// name. The worker is not ready if f fails or panics, and New returns the error.
func OnStart(name string, f func(ctx context.Context) error) WorkerOption {
	if f == nil {
		panic("pool: OnStart: nil function")
	}
	return func(w *worker) { w.hooks[name] = f }
}

// AllowNested lets handlers of a worker process make pools of their own, with processes as well, down to that depth: 1
// stands for the workers of the first program, 2 for their workers too. Without it [New] returns [ErrNestedWorker] in a
// worker.
func AllowNested(depth int) WorkerOption {
	return func(w *worker) { w.nested = depth }
}

// WorkerMain makes the process a worker, and never returns, if a pool has started it as one: see [Process]. It runs the
// handlers of h for the host, and ends the process with the pool. In any other process it returns at once. A program
// calls it first in main, after it has registered the handlers. A program that a pool has started, and that does not
// call WorkerMain, can make no pool.
//
// A handler has a goroutine to itself while it runs. The context of a handler has the deadline of the call and ends
// when the host has ended the call by its context or its time, and for an Abortable task when the host has ended it at
// all. Values of the context of the caller do not cross. The handler runs until the methods of the value of its panic
// have returned, such as Error. If such a method calls runtime.Goexit, the text of the panic is the type of the value.
func WorkerMain(h *Handlers, o ...WorkerOption) {
	end, ok, err := process.Attach()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "pool: WorkerMain:", err)
		os.Exit(exitNoWorker)
	case !ok:
		return
	}
	w := newWorker(h, end, o)
	code := w.serve()
	crash.At(crash.Exiting)
	os.Exit(code)
}

var errHookExit = errors.New("pool: Process.Bootstrap: the function has called runtime.Goexit")

// exitNoWorker is the exit code of a worker process that cannot work.
const exitNoWorker = 71

// workerDepth is how many pools of processes are above this process, and nestedDepth is that of AllowNested.
var workerDepth, nestedDepth atomix.Int32

// isWorker reports whether the process is a worker that must not make a pool.
func isWorker() bool {
	depth := workerDepth.Load()
	return depth > nestedDepth.Load() || depth == 0 && child.IsChild() // it has not called WorkerMain
}

// worker is the part of a worker process that answers calls.
//
// Roles:
//
//	service   the goroutine of WorkerMain. It parks until there is something to receive, and makes a runner the leader
//	runner    runs a handler, and publishes its answer. It then becomes the leader, or runs the next call that waits, or
//	          waits itself
//	leader    the runner that has the turn of the link. It receives all messages, and runs the first of the calls that
//	          wait itself, while the turn is lent. While answers wait for space, it gives the turn to the service, which
//	          publishes them
//
// Invariants:
//
//	J1  while the leader runs a handler, the service takes the turn for an urgent message and makes another runner the
//	    leader. So an abort reaches a handler that runs, and a call that may run beside others does not wait for them
//	J2  the leader acknowledges a message before it runs the call. So an answer comes after the acknowledgement of its
//	    request, and a host with at most 31 calls under way finds a free slot for the next
//	J3  a call is marked as started before its handler is entered, and not if its time was over before
//	J4  as many handlers run as the host has said last, at most. The other calls wait in the order in which they have
//	    come. None waits while fewer handlers run and no goroutine is about to look: the leader looks after it has
//	    received, and a runner after its handler has returned
//
// A runner that comes back from a handler is the leader again if the turn is still lent. So neither this call
// nor the next one needs a switch to another goroutine.
type worker struct {
	h       *Handlers
	end     *transport.WorkerEnd
	entries []*entry
	names   []string
	hooks   map[string]func(ctx context.Context) error
	nested  int
	fault   error // of the handlers
	aborts  *transport.AbortSet

	mu    park.Mutex
	calls [transport.Slots]*workerCall // that run, by the index in their id; with mu
	waits []*workerCall                // that have come and do not run: J4; with mu
	runs  int                          // how many calls run; with mu
	limit int                          // how many may, as the host says; with mu
	idle  []*workerRunner              // with mu
	late  []lateAnswer                 // with mu

	hasLate   atomix.Bool     // late has answers; stored with mu, before WakeOwn
	isEnding  atomix.Bool     // stored before a look at calls
	lastEnded *lfsync.Parker  // of the service, which waits for the last call
	isRaised  bool            // more handlers may run than at the last look; of the receiver
	batch     []workerMessage // of the receiver
	read      func(m *transport.Message, bad error)
}

// workerMessage is a copy of a message of the host.
type workerMessage struct {
	head transport.Header
	arg  []byte // nil if it is a call with the payload in the header
	bad  error
}

// workerCall is a call that runs, or is about to.
type workerCall struct {
	head    transport.Header
	arg     []byte // in the header, or a copy
	entry   *entry
	ctx     callContext
	stop    context.CancelFunc // ends the deadline; nil: there is none
	signals bool               // it has an id of aborts
}

// lateAnswer is an answer for which there was no space.
type lateAnswer struct {
	head    transport.Header
	payload []byte
}

// workerRunner is a goroutine that runs handlers one after another.
type workerRunner struct {
	parker *lfsync.Parker
	next   *workerCall // nil: it becomes the leader
	room   []byte
}

// newWorker returns a worker with the handlers of h.
func newWorker(h *Handlers, end *transport.WorkerEnd, options []WorkerOption) *worker {
	w := &worker{h: h, end: end, lastEnded: lfsync.NewParker(), hooks: map[string]func(ctx context.Context) error{}}
	for _, o := range options {
		o(w)
	}
	if h == nil {
		w.h = new(Handlers)
	}
	w.h.worker.Store(true)
	if _, w.fault = w.h.byName(); w.fault == nil {
		w.entries, w.names, w.fault = w.h.bindAll()
	}
	w.read = func(m *transport.Message, bad error) {
		var arg []byte
		if bad == nil && (m.Len > transport.ValueBytes || m.Flags&transport.FlagNotice != 0) {
			arg, bad = m.Append(nil)
		}
		w.batch = append(w.batch, workerMessage{m.Header, arg, bad})
	}
	w.aborts, _ = transport.NewAbortSet(transport.Slots, make([]atomix.Uint32, 1)) // the capacity is valid
	return w
}

// serve answers calls until the host closes its end, and returns the exit code.
func (w *worker) serve() int {
	workerDepth.Store(1)
	w.end.Greet(digestOf(w.names))
	return w.work()
}

// work is serve after the greeting.
func (w *worker) work() int {
	for {
		want := transport.Published
		if w.publishLate() {
			want |= transport.Freed
		}
		switch v := w.end.ParkUntil(want, 0); {
		case v&transport.Closed != 0:
			w.stop()
			return 0
		case v&transport.Published != 0:
			w.end.Pass(func() { w.start(nil) }) // J1
		}
	}
}

// lead receives messages and runs calls on r, which has the turn, until it has given the turn up.
func (w *worker) lead(r *workerRunner) {
	for {
		n, err := w.receive()
		if err != nil {
			fmt.Fprintln(os.Stderr, "pool: WorkerMain:", err)
			os.Exit(exitNoWorker)
		}
		hasNext := r.next != nil
		if !hasNext {
			r.next = w.next()
		}
		if hasNext || n > 1 || w.isRaised { // J4
			w.isRaised = false
			w.startOthers()
		}
		switch {
		case w.publishLate():
			w.handOver(r)
			return
		case r.next != nil:
			switch v := w.end.Lend(); { // messages that have come are received first
			case v == 0 && !w.runLent(r):
				return
			case v&transport.Closed != 0: // the service does not wait for the handler
				w.handOver(r)
				return
			}
		case n == 0:
			switch v := w.end.Spin(); {
			case v&transport.Closed != 0:
				w.handOver(r)
				return
			case v == 0 && w.end.Return():
				return
			}
		}
	}
}

// handOver gives the turn of r to the service. Another runner runs the call that r has.
func (w *worker) handOver(r *workerRunner) {
	if r.next != nil {
		w.start(r.next)
		r.next = nil
	}
	w.end.HandOver()
}

// runLent runs the next call of r, which has lent the turn, and reports whether r has the turn again.
func (w *worker) runLent(r *workerRunner) bool {
	w.run(r)
	return w.end.Resume()
}

// receive takes the messages that have come, and returns how many there were. The calls among them wait then.
func (w *worker) receive() (n int, err error) {
	w.batch = w.batch[:0]
	if n, err = w.end.Drain(w.read); err != nil {
		return n, err
	}
	for i := range w.batch { // J2
		w.take(&w.batch[i])
	}
	clear(w.batch) // the arguments belong to the handlers
	return n, nil
}

// next returns the next call that waits, if one more may run. The caller runs its handler. next answers the calls before
// it that cannot be started.
func (w *worker) next() *workerCall {
	for {
		c, isLate := w.leave()
		switch {
		case c == nil:
			return nil
		case isLate:
			w.refuse(c)
			continue
		}
		err := w.end.Start(c.head.ID) // J3
		if err == nil {
			return c
		}
		w.complete(c, failedAnswer(w.h, CauseFailed, remoteError(err), nil))
	}
}

// leave takes the next call that waits, if one more may run. The call runs then, unless its time is over.
func (w *worker) leave() (c *workerCall, isLate bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waits) == 0 || w.runs >= w.limit || w.isEnding.Load() {
		return nil, false
	}
	c = w.waits[0]
	w.waits = slices.Delete(w.waits, 0, 1)
	if c.head.Deadline != 0 {
		left := time.Duration(c.head.Deadline - w.end.Now()) // first: the context does not end before
		if left <= 0 {
			return c, true
		}
		c.ctx.parent, c.stop = context.WithTimeout(c.ctx.parent, left)
	}
	if c.entry.opts.Abortable {
		var id transport.AbortID
		if id, c.signals = w.aborts.Acquire(); c.signals {
			c.ctx.signal = AbortSignal{w.aborts, id}
		}
	}
	w.runs++
	w.calls[uint32(c.head.ID)] = c
	return c, false
}

// startOthers lets other runners run the calls that wait and may run.
func (w *worker) startOthers() {
	for c := w.next(); c != nil; c = w.next() {
		w.start(c)
	}
}

// start lets a runner run c, or makes it the leader if c is nil.
func (w *worker) start(c *workerCall) {
	w.mu.Lock()
	var r *workerRunner
	if n := len(w.idle); n > 0 {
		r = w.idle[n-1]
		w.idle = w.idle[:n-1]
	}
	w.mu.Unlock()
	if r != nil {
		r.next = c
		r.parker.Unpark()
		return
	}
	r = &workerRunner{parker: lfsync.NewParker(), next: c}
	spawnRunner(func() { r.loop(w) })
}

// stop asks the handlers of Abortable tasks to stop, and returns when all handlers have returned. The host kills the
// process if that takes too long.
func (w *worker) stop() {
	w.isEnding.Store(true)
	w.mu.Lock()
	for _, c := range w.calls {
		if c != nil && c.entry.opts.Abortable {
			w.interrupt(c)
		}
	}
	w.mu.Unlock()
	for w.hasCalls() {
		w.lastEnded.Park()
	}
	w.end.Close()
}

// hasCalls reports whether a call runs.
func (w *worker) hasCalls() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runs != 0
}

// take takes a message. A call waits then.
func (w *worker) take(m *workerMessage) {
	switch {
	case m.bad != nil:
		w.answer(&m.head, failedAnswer(w.h, CauseFailed, remoteError(m.bad), nil))
	case m.head.Flags&transport.FlagNotice != 0:
		w.notice(m)
	case m.head.Flags&transport.FlagPing != 0:
		w.send(transport.Header{ID: m.head.ID, Flags: transport.FlagPing, Tag: transport.TagNil}, nil)
	case int(m.head.Fn) >= len(w.entries):
		w.answer(&m.head, failedAnswer(w.h, CauseFailed, remoteError(transport.ErrBadFunction), nil))
	default:
		if _, ok := callIndex(m.head.ID); !ok {
			w.answer(&m.head, failedAnswer(w.h, CauseFailed, remoteError(transport.ErrBadCall), nil))
			return
		}
		c := &workerCall{head: m.head, arg: m.arg, entry: w.entries[m.head.Fn]}
		c.ctx.parent = context.Background()
		if c.arg == nil {
			c.arg = c.head.Value[:c.head.Len] // the argument may be these bytes
		}
		w.mu.Lock()
		w.waits = append(w.waits, c)
		w.mu.Unlock()
	}
}

// refuse answers a call whose handler is not entered, because the call has ended.
func (w *worker) refuse(c *workerCall) {
	w.send(transport.Header{ID: c.head.ID, Flags: transport.FlagReject, Meta: uint32(CauseContextEnded), Tag: transport.TagNil}, nil)
}

// notice takes a message that is no call.
func (w *worker) notice(m *workerMessage) {
	switch m.head.Meta {
	case noticeSetup:
		text := m.arg
		go func() { w.ready(text) }() // the leader waits for no code of the program here
	case noticeEnded, noticeDropped:
		if c := w.endCall(m.head.ID, m.head.Meta == noticeEnded); c != nil {
			w.refuse(c)
		}
	case noticeLimit:
		w.setLimit(int(uint32(m.head.ID)))
		w.isRaised = true
	}
}

// setLimit says how many handlers may run.
func (w *worker) setLimit(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = n
}

// endCall lets the handler of the call with that id learn that its call has ended, if learns is true. It returns the call if
// that waits: the call leaves the queue then.
func (w *worker) endCall(id uint64, learns bool) *workerCall {
	w.mu.Lock()
	defer w.mu.Unlock()
	is := func(c *workerCall) bool { return c != nil && c.head.ID == id }
	if i, ok := callIndex(id); ok && is(w.calls[i]) {
		if learns {
			w.interrupt(w.calls[i])
		}
		return nil
	}
	i := slices.IndexFunc(w.waits, is)
	if i < 0 {
		return nil // it is answered
	}
	c := w.waits[i]
	w.waits = slices.Delete(w.waits, i, i+1)
	return c
}

// ready prepares the process for calls, and says so, or why it is not ready.
func (w *worker) ready(text []byte) {
	var s setup
	err := errors.Join(w.fault, json.Unmarshal(text, &s))
	isOther := w.end.Digest() != digestOf(w.names)
	defer func() { // also if the hook has called Goexit
		var g greeting
		if err != nil {
			g.Error = shortened(err.Error())
		}
		if isOther {
			g.Tasks = w.names[:min(len(w.names), maxTasksSaid)]
		}
		out, _ := json.Marshal(g) // strings only
		w.send(transport.Header{Flags: transport.FlagNotice, Meta: noticeReady, Tag: transport.TagBytes}, out)
		crash.At(crash.ReadyPublished)
	}()
	if err == nil && !isOther {
		w.setLimit(s.Concurrency) // before the greeting, and so before the first call
		workerDepth.Store(int32(s.Depth))
		nestedDepth.Store(int32(w.nested))
		err = errHookExit
		err = w.runHook(s.Bootstrap)
	}
}

// maxTasksSaid is how many tasks a greeting names, and maxSaid how long a text may be, so that the greeting has space.
const (
	maxTasksSaid = 100
	maxSaid      = 4 << 10
)

// shortened returns the begin of a long text.
func shortened(text string) string {
	if len(text) > maxSaid {
		return strings.ToValidUTF8(text[:maxSaid], "") + "..."
	}
	return text
}

// runHook runs the function of OnStart with that name.
func (w *worker) runHook(name string) (err error) {
	f := w.hooks[name]
	switch {
	case name == "":
		return nil
	case f == nil:
		return fmt.Errorf("pool: Process.Bootstrap: the worker has no function %q of OnStart", name)
	}
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("pool: Process.Bootstrap: %q has panicked: %s", name, textOf(value))
		}
	}()
	return f(context.Background())
}

// callIndex returns the index in the id of a call, and whether the host has a call with that index.
func callIndex(id uint64) (index uint32, ok bool) {
	index = uint32(id)
	return index, index < transport.Slots
}

// loop runs handlers one after another. A handler that calls Goexit ends it.
func (r *workerRunner) loop(w *worker) {
	defer func() { // after a Goexit: another runner takes the place of this one
		if w.end.Resume() {
			w.start(nil)
		} else if c := w.next(); c != nil {
			w.start(c)
		}
	}()
	for {
		if r.next == nil {
			w.lead(r)
		} else if w.run(r); w.end.Resume() {
			continue // as the leader
		}
		if r.next = w.next(); r.next != nil { // J4
			continue
		}
		w.mu.Lock()
		w.idle = append(w.idle, r)
		w.mu.Unlock()
		r.parker.Park()
	}
}

// run runs the handler of the next call of r, and answers the call. The methods of the value of a panic belong to the
// handler: the call runs until they have returned.
func (w *worker) run(r *workerRunner) {
	c := r.next
	var a answer
	var value any // of a panic; nil: the handler has called Goexit
	returned, isDescribed := false, false
	defer func() {
		if !returned && !isDescribed { // a method of the value has called Goexit
			a = brokenAnswer(c.entry, fmt.Sprintf("%T", value), r.room[:0])
		}
		w.complete(c, a)
		if !a.shared && cap(a.payload) > cap(r.room) && cap(a.payload) <= maxRoom {
			r.room = a.payload
		}
	}()
	defer func() {
		if !returned {
			value = recover()
			a = brokenAnswer(c.entry, value, r.room[:0])
			isDescribed = true
		}
	}()
	r.next = nil
	a = c.entry.serve(&served{ctx: &c.ctx, tag: c.head.Tag, arg: c.arg, room: r.room[:0]})
	returned = true
}

// maxRoom is the largest memory for answers that a goroutine keeps.
const maxRoom = 64 << 10

// interrupt lets the handler of c learn that its call has ended. The caller has mu.
func (w *worker) interrupt(c *workerCall) {
	if c.signals {
		w.aborts.Abort(c.ctx.signal.id)
	}
	c.ctx.end(context.Canceled)
}

// complete answers the call c, which does not run any more.
func (w *worker) complete(c *workerCall, a answer) {
	w.forget(c)
	w.answer(&c.head, a)
	c.end() // after the answer, which may be memory that the handler uses again when its context has ended
}

// forget ends what the call c has for its handler, which has returned.
func (w *worker) forget(c *workerCall) {
	w.mu.Lock()
	w.calls[uint32(c.head.ID)] = nil
	w.runs--
	c.arg = nil // the handler may have kept the context
	if c.signals {
		w.aborts.Release(c.ctx.signal.id)
	}
	w.mu.Unlock()
	if w.isEnding.Load() {
		w.lastEnded.Unpark()
	}
}

// end ends the context of the handler.
func (c *workerCall) end() {
	c.ctx.end(nil)
	if c.stop != nil {
		c.stop()
	}
}

// answer sends the answer to the call with that header.
func (w *worker) answer(to *transport.Header, a answer) {
	head := transport.Header{Fn: to.Fn, ID: to.ID, Tag: a.tag}
	if a.cause != CauseReturned {
		head.Flags, head.Meta = transport.FlagReject, uint32(a.cause)
	}
	w.send(head, a.payload)
}

// send sends a message, or leaves it to the leader or the service if there is no space.
func (w *worker) send(head transport.Header, payload []byte) {
	switch err := w.publish(&head, payload); {
	case err == nil || errors.Is(err, transport.ErrClosed): // the host does not listen any more
	case errors.Is(err, transport.ErrPayloadTooLarge):
		k := CauseFailed
		if head.Flags&transport.FlagReject != 0 {
			k = Cause(head.Meta)
		}
		text := fmt.Sprintf("%v: the answer has %d bytes; it begins with %.100q", err, len(payload), payload)
		w.answer(&head, failedAnswer(w.h, k, &RemoteError{Message: text, cause: err}, nil))
	default:
		w.mu.Lock()
		w.late = append(w.late, lateAnswer{head, append([]byte(nil), payload...)})
		w.hasLate.Store(true)
		w.mu.Unlock()
		w.end.WakeOwn()
	}
}

// publish sends a message.
func (w *worker) publish(head *transport.Header, payload []byte) error {
	slot, ok := w.end.Claim()
	if !ok {
		return transport.ErrArenaFull // or no slot is free, or the end is closed
	}
	return w.end.Publish(slot, head, payload)
}

// publishLate sends the answers for which there was no space, and reports whether some are left. The caller has the turn.
func (w *worker) publishLate() (left bool) {
	if !w.hasLate.Load() {
		return false
	}
	w.end.NoteFreed() // before the attempts, which may find no space
	w.mu.Lock()
	list := w.late
	w.late = nil
	w.hasLate.Store(false)
	w.mu.Unlock()
	for i := range list {
		err := w.publish(&list[i].head, list[i].payload)
		if err == nil || errors.Is(err, transport.ErrClosed) {
			continue
		}
		w.mu.Lock()
		w.late = append(list[i:], w.late...)
		w.hasLate.Store(true)
		w.mu.Unlock()
		return true
	}
	return false
}
