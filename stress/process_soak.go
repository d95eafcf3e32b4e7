package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/transport"
)

// processSoak is a pool of worker processes in a scenario, and the record of its calls.
type processSoak struct {
	r       *round
	p       *pool.Pool
	t       *processTasks
	c       pool.Config
	journal string // the path of the file
	ends    bool   // the pool is ended during the calls

	answered atomic.Int64 // calls with a result
	next     atomic.Int64
	calls    []processRecord

	lines, dropped atomic.Int64 // of the output: those that came, and those that did not
}

// processRecord records what happened to one call.
type processRecord struct {
	call     processCall
	ended    atomic.Int32 // outcomes that were seen
	err      atomic.Pointer[error]
	endsSoon atomic.Bool  // its caller or the pool may end it before its answer comes
	lines    atomic.Int64 // of its output
}

// newProcessSoak makes a pool for at most the given number of calls. It returns nil where no
// worker process can be started, and after a violation.
func newProcessSoak(r *round, dir string, c pool.Config, calls int) *processSoak {
	k := &processSoak{r: r, c: c, calls: make([]processRecord, calls), journal: filepath.Join(dir, fmt.Sprint("journal", r.rng.Uint64()))}
	j, err := openJournal(k.journal) // it exists before the first process
	if err == nil {
		err = j.file.Close()
	}
	if err != nil {
		r.must("the journal", err)
		return nil
	}
	k.t = newProcessTasks(nil)
	process := *c.Process
	process.Env = []string{journalVariable + "=" + k.journal}
	process.Output = k.output
	c.Process = &process
	c.OnEnd = func(pool.Ended) {} // the panics are those of the scenario, and the log would have each of them
	if k.p, err = pool.New(k.t.handlers, c); err != nil {
		if !errors.Is(err, errors.ErrUnsupported) {
			r.Errorf("New: %v\n%+v", err, *c.Process)
		}
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pools = append(r.pools, k.p)
	return k
}

// output counts a line of the output of a process. A crash of the process may have written the
// begin of the line.
func (k *processSoak) output(_ int, line []byte, _ bool) {
	text := string(line)
	var n int64
	if _, err := fmt.Sscanf(text, "child: %d lines of the output were dropped", &n); err == nil {
		k.dropped.Add(n)
		return
	}
	i := strings.Index(text, "flood ")
	if i < 0 {
		return
	}
	var id, number uint64
	var fill string
	if _, err := fmt.Sscanf(text[i:], floodLine, &id, &number, &fill); err != nil || fill != floodFill {
		return // the process died while it wrote the line
	}
	if id >= uint64(k.next.Load()) {
		k.r.Errorf("a line of the output of call %d, which was not made", id)
		return
	}
	k.lines.Add(1)
	k.calls[id].lines.Add(1)
}

// generate generates the argument of a call. It returns false when all calls were made.
func (k *processSoak) generate(rng *rand.Rand) (processCall, bool) {
	id := k.next.Add(1) - 1
	if id >= int64(len(k.calls)) {
		return processCall{}, false
	}
	c := processCall{ID: uint64(id), Action: processAction(rng.IntN(int(processActions))), Amount: rng.Uint64()}
	switch {
	case rng.IntN(3) > 0 || c.Action == processHangs && k.c.HardLimit == 0 || c.Action.ends() && rng.IntN(4) > 0:
		c.Action = processReturns
	case c.Action == processFloods:
		c.Amount = uint64([]int{1, 20, 200, 2000, k.r.size(20_000)}[rng.IntN(5)])
		k.r.faults.floods.Add(1)
	}
	k.calls[id].call = c
	return c, true
}

// funcOf returns a function that supports the action of the call.
func (k *processSoak) funcOf(c processCall) *pool.Func[processCall, uint64] {
	if c.Action == processAwaits || c.Amount%2 == 0 {
		return k.t.abortable
	}
	return k.t.work
}

// context returns a context for a call. It ends early at random, and always if the handler waits
// for that.
func (k *processSoak) context(rng *rand.Rand, c processCall) (context.Context, context.CancelFunc) {
	switch n := rng.IntN(8); {
	case n == 0 || c.Action == processAwaits:
		k.calls[c.ID].endsSoon.Store(true)
		k.r.faults.timeouts.Add(1)
		return context.WithTimeout(context.Background(), time.Duration(rng.IntN(5000))*time.Microsecond)
	case n == 1:
		k.calls[c.ID].endsSoon.Store(true)
		ctx, cancel := context.WithCancel(context.Background())
		k.r.faults.cancels.Add(1)
		time.AfterFunc(time.Duration(rng.IntN(1000))*time.Microsecond, cancel)
		return ctx, cancel
	}
	return context.WithCancel(context.Background())
}

// step makes calls of one form.
func (k *processSoak) step(rng *rand.Rand) {
	switch rng.IntN(12) {
	case 0, 1, 2:
		k.callBy(rng, func(ctx context.Context, c processCall) (uint64, error) { return k.funcOf(c).Call(ctx, c) })
	case 3:
		k.callBy(rng, func(ctx context.Context, c processCall) (uint64, error) { return k.funcOf(c).TryCall(ctx, c) }, pool.ErrBacklogFull)
	case 4:
		k.callBy(rng, k.observed)
	case 5:
		k.callBy(rng, k.after)
	case 6:
		lanes := k.p.Lanes()
		id := lanes[rng.IntN(len(lanes))].ID
		k.callBy(rng, func(ctx context.Context, c processCall) (uint64, error) { return pool.CallAt(ctx, id, k.funcOf(c), c) }, pool.ErrNoSuchLane)
	case 7:
		k.leased(rng)
	case 8, 9:
		k.blob(rng)
	default:
		k.futures(rng, 1+rng.IntN(60))
	}
}

// callBy generates a call, makes it by call with a context that may end early, and checks its
// outcome. more are further errors that the call may end with.
func (k *processSoak) callBy(rng *rand.Rand, call func(ctx context.Context, c processCall) (uint64, error), more ...error) {
	c, ok := k.generate(rng)
	if !ok {
		return
	}
	ctx, cancel := k.context(rng, c)
	defer cancel()
	v, err := call(ctx, c)
	k.check(c, v, err, more...)
}

// observed makes a call whose end a function learns of.
func (k *processSoak) observed(ctx context.Context, c processCall) (uint64, error) {
	f := k.funcOf(c).Go(ctx, c)
	told := make(chan struct{})
	f.OnDone(func() { close(told) }) // a second call would panic
	<-told
	return f.Wait(context.Background())
}

// after makes a call whose argument is the outcome of another call, which a process may lose.
func (k *processSoak) after(ctx context.Context, c processCall) (uint64, error) {
	k.calls[c.ID].endsSoon.Store(true)
	first := k.t.relay.Go(ctx, c)
	v, err := k.funcOf(c).After(ctx, first).Wait(context.Background())
	if _, lost := first.Wait(context.Background()); lost != nil && errors.Is(err, pool.ErrNotStarted) {
		return v, fmt.Errorf("%w: %w", errSoakAbort, pool.ErrNotStarted)
	}
	return v, err
}

// futures makes n calls, aborts some of them, and checks all outcomes.
func (k *processSoak) futures(rng *rand.Rand, n int) {
	type pending struct {
		c processCall
		f *pool.Future[uint64]
	}
	var list []pending
	for range n {
		c, ok := k.generate(rng)
		if !ok {
			break
		}
		ctx, cancel := k.context(rng, c)
		defer cancel()
		list = append(list, pending{c, k.funcOf(c).Go(ctx, c)})
	}
	var aborts sync.WaitGroup
	for _, u := range list {
		if rng.IntN(16) == 0 {
			k.calls[u.c.ID].endsSoon.Store(true)
			k.r.faults.aborts.Add(1)
			aborts.Go(func() { u.f.Abort(errSoakAbort) })
		}
	}
	for _, u := range list {
		v, err := u.f.Wait(context.Background())
		k.check(u.c, v, err)
	}
	aborts.Wait()
	for _, u := range list {
		v, err := u.f.Wait(context.Background())
		if first := k.calls[u.c.ID].err.Load(); err == nil && v != soakAnswer(u.c.ID) || fmt.Sprint(err) != fmt.Sprint(*first) {
			k.r.Errorf("the outcome of call %d has changed from %v to %d, %v", u.c.ID, *first, v, err)
		}
	}
}

// leased makes calls of a leased lane.
func (k *processSoak) leased(rng *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+rng.IntN(5000))*time.Microsecond)
	defer cancel()
	l, err := k.p.Acquire(ctx)
	if err != nil {
		k.r.want("Acquire", err, append(k.allowedErrors(), context.DeadlineExceeded)...)
		return
	}
	k.r.faults.leases.Add(1)
	var calls []processCall
	var futures []*pool.Future[uint64]
	for range rng.IntN(8) {
		c, ok := k.generate(rng)
		if !ok {
			break
		}
		ctx, cancel := k.context(rng, c)
		defer cancel()
		calls = append(calls, c)
		futures = append(futures, pool.GoOn(ctx, l, k.funcOf(c), c))
	}
	if rng.IntN(4) == 0 {
		for _, c := range calls {
			k.calls[c.ID].endsSoon.Store(true)
		}
		k.r.faults.kills.Add(1)
		l.Discard(nil)
	}
	for i, f := range futures {
		v, err := f.Wait(context.Background())
		k.check(calls[i], v, err, pool.ErrLeaseOver)
	}
	l.Release()
}

// blob sends a blob and receives another one, both of one of the sizes at which another tier
// carries them, or of up to the largest size and one byte more.
func (k *processSoak) blob(rng *rand.Rand) {
	c, ok := k.generate(rng)
	if !ok {
		return
	}
	c.Action = processReturns
	k.calls[c.ID].call = c
	most := k.c.Process.Payload.PerValue
	size := func() int {
		return []int{blobHead, 24, 25, 512, 513, 4 << 10, 64 << 10, most / 2, most - 1, most, most + 1}[rng.IntN(11)]
	}
	request, answer := size(), size()
	ctx, cancel := k.context(rng, c)
	defer cancel()
	got, err := k.t.blob.Call(ctx, newBlob(c.ID, answer, request))
	v := uint64(0)
	var remote *pool.RemoteError
	switch {
	case err == nil:
		if id, _, bad := readBlob(got); bad != nil || id != c.ID || len(got) != answer {
			k.r.Errorf("call %d, a blob of %d bytes for one of %d: the answer has %d bytes and is that of call %d: %v", c.ID, request, answer, len(got), id, bad)
		}
		v = soakAnswer(c.ID)
	case request > most && errors.Is(err, transport.ErrPayloadTooLarge) && errors.Is(err, pool.ErrNotStarted),
		answer > most && errors.As(err, &remote) && strings.Contains(remote.Message, "too large"):
		k.note(c, err)
		return
	}
	k.check(c, v, err)
}

// allowedErrors returns the errors that any call may end with.
func (k *processSoak) allowedErrors() []error {
	list := []error{pool.ErrAllLeased, pool.ErrLaneDiscarded, pool.ErrWorkerBoot, pool.ErrRestartIntensity}
	if k.ends {
		list = append(list, pool.ErrThreadClosed, pool.ErrPoolShutdown)
	}
	switch k.c.Overflow {
	case pool.Fail:
		list = append(list, pool.ErrBacklogFull)
	case pool.DropOldest:
		list = append(list, pool.ErrBacklogFull, pool.ErrDropped)
	}
	if k.c.HardLimit != 0 {
		list = append(list, pool.ErrHardLimit)
	}
	if k.c.Timeout != 0 {
		list = append(list, context.DeadlineExceeded)
	}
	return list
}

// note records the outcome of a call.
func (k *processSoak) note(c processCall, err error) {
	rec := &k.calls[c.ID]
	rec.ended.Add(1)
	rec.err.Store(&err)
	k.r.calls.Add(1)
	k.r.did(1)
}

// check checks the outcome of a call: the result or the error of its own handler, or an error of
// the pool.
func (k *processSoak) check(c processCall, v uint64, err error, more ...error) {
	k.note(c, err)
	rec := &k.calls[c.ID]
	notStarted := errors.Is(err, pool.ErrNotStarted)
	var remote *pool.RemoteError
	switch {
	case err == nil:
		k.answered.Add(1)
		if v != soakAnswer(c.ID) || !c.Action.returns() {
			k.r.Errorf("call %d, %d, has the result %d", c.ID, c.Action, v)
		}
	case errors.Is(err, pool.ErrWorkerLost):
		k.r.lost.Add(1)
		if notStarted {
			k.r.Errorf("call %d is lost and has not started: %v", c.ID, err)
		}
	case errors.As(err, &remote):
		k.answered.Add(1)
		k.checkRemote(c, remote)
	case isAny(err, more...) || isAny(err, k.allowedErrors()...):
	case rec.endsSoon.Load() && isAny(err, errSoakAbort, context.Canceled, context.DeadlineExceeded):
	case errors.Is(err, pool.ErrAbortSlotsExhausted) && notStarted:
	default:
		k.r.Errorf("call %d, %d, ended with %v", c.ID, c.Action, err)
	}
}

// returns reports whether a handler with that action may return a result.
func (a processAction) returns() bool {
	switch a {
	case processFails, processPanics, processGoexits, processHangs, processExits, processCrashes, processDies:
		return false
	}
	return true
}

// checkRemote checks the error of a handler.
func (k *processSoak) checkRemote(c processCall, err *pool.RemoteError) {
	ok := false
	switch c.Action {
	case processFails, processPanics:
		ok = errors.Is(err, errProcess) && strings.HasSuffix(err.Message, c.failure().Error())
	case processGoexits:
		ok = errors.Is(err, pool.ErrGoexit)
	}
	if !ok {
		k.r.Errorf("call %d, %d, ended with the error of a handler: %v", c.ID, c.Action, err)
	}
}

// end ends the pool, waits for its processes, and checks the records.
func (k *processSoak) end() {
	n, err := k.p.Terminate(context.Background())
	if k.r.must("Terminate", err); n != 0 {
		k.r.Errorf("Terminate left %d handlers", n)
	}
	m := k.p.Metrics()
	if m.Accepted != m.Ended || m.Backlog != 0 || m.InFlight != 0 || m.Detached != 0 || m.Waiting != 0 {
		k.r.Errorf("after the end of the pool: %+v", m)
	}
	for _, l := range m.Lanes {
		k.r.resent.Add(l.Resent)
		if l.Backlog != 0 || l.InFlight != 0 {
			k.r.Errorf("after the end of the pool: %+v", l)
		}
	}
	k.awaitPermits()
	for _, w := range k.p.Workers() {
		k.r.deaths.Add(uint64(w.Deaths))
		if w.Pid != 0 {
			k.r.Errorf("after the end of the pool: %+v", w)
		}
	}
	made := min(int(k.next.Load()), len(k.calls))
	counts, err := readJournal(k.journal, made)
	if err != nil {
		k.r.must("the journal", err)
		return
	}
	for id, n := range counts {
		k.checkCounts(&k.calls[id], n)
	}
	k.checkFloods(counts)
}

// awaitPermits waits until no call has a permit of a lane. A goroutine of the pool that decodes an
// answer may have one for a moment after the end of the pool.
func (k *processSoak) awaitPermits() {
	taken := func(l pool.LaneInfo) bool { return l.Overdue != 0 || len(l.Running) != 0 }
	for until := time.Now().Add(k.r.hangTimeout / 2); slices.ContainsFunc(k.p.Lanes(), taken); runtime.Gosched() {
		if time.Now().After(until) {
			k.r.Errorf("after the end of the pool: %+v", k.p.Lanes())
			return
		}
	}
}

// checkCounts compares the outcome of a call with what the processes have recorded.
func (k *processSoak) checkCounts(rec *processRecord, counts [events]int) {
	c, entered := rec.call, counts[eventEntered]
	if n := rec.ended.Load(); n != 1 {
		k.r.Errorf("call %d, %d, has %d outcomes", c.ID, c.Action, n)
		return
	}
	err := *rec.err.Load()
	var remote *pool.RemoteError
	switch {
	case entered > 1:
		k.r.doubles.Add(1)
		k.r.Errorf("the handler of call %d, %d, was entered %d times; the call ended with %v", c.ID, c.Action, entered, err)
	case entered == 0 && (err == nil || errors.As(err, &remote)):
		k.r.Errorf("call %d, %d, ended with %v, and its handler was not entered", c.ID, c.Action, err)
	case entered == 1 && errors.Is(err, pool.ErrNotStarted):
		k.r.Errorf("the handler of call %d, %d, was entered, and the call ended with %v", c.ID, c.Action, err)
	case counts[eventAnswered] == 1 && errors.Is(err, pool.ErrWorkerLost):
		k.r.Errorf("the answer of call %d was published, and the call ended with %v", c.ID, err)
	}
}

// checkFloods checks that the lines of the output of the processes have come, apart from those of
// which the pool says that they were dropped.
func (k *processSoak) checkFloods(counts [][events]int) {
	missing := func() (n int64) {
		for id := range counts {
			if rec := &k.calls[id]; counts[id][eventFlooded] == 1 {
				n += int64(rec.call.Amount) - rec.lines.Load()
			}
		}
		return n
	}
	for until := time.Now().Add(k.r.hangTimeout / 2); missing() > k.dropped.Load(); { // lines may come after the end of the process
		if time.Now().After(until) {
			k.r.Errorf("%d lines of output have not come, and %d were dropped", missing(), k.dropped.Load())
			return
		}
		<-time.After(time.Millisecond)
	}
	for id := range counts {
		if rec := &k.calls[id]; rec.call.Action == processFloods && rec.lines.Load() > int64(rec.call.Amount) {
			k.r.Errorf("call %d has written %d lines of output, and %d have come", id, rec.call.Amount, rec.lines.Load())
		}
	}
}
