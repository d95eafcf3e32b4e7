//go:build interleave

package pool_test

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/transport"
)

// far is a pool of process lanes in an exploration. A call has a number, which is its argument and its result.
type far struct {
	m        *interleave.M
	p        *pool.Pool
	f        *pool.Func[int, int]
	begun    note8
	answered note8
	errs     [8]error
	called   [8]int
	allowed  []error                    // nil stands for none
	forges   bool                       // processes send answers to no call
	slow     func(n int)                // before the answer to call n
	holds    bool                       // the first process of a lane answers no call
	hasty    bool                       // processes die as soon as the host has closed its end
	life     func(lane, number int) int // how many steps a process does before it dies; below 0: it does not die
}

// note8 counts what processes do, each of which has memory of its own.
type note8 struct{ n [8]int }

//go:norace
func (c *note8) add(i int) int {
	c.n[i]++
	return c.n[i]
}

//go:norace
func (c *note8) get(i int) int { return c.n[i] }

// newFar makes a pool, and then runs the program.
func newFar(m *interleave.M, c pool.Config, life func(lane, number int) int, program func(w *far)) {
	w := &far{m: m, life: life}
	pool.ModelProcesses(w.life, w.process)
	var h pool.Handlers
	w.f = pool.RemoteFunc[int, int](&h, "f", pool.TaskOptions{Abortable: true})
	c.Process = &pool.Process{Payload: pool.Payload{Initial: 512, Max: 512}}
	m.Final(w.check)
	var err error
	if w.p, err = pool.New(&h, c); err != nil {
		m.Fatalf("New: %v", err)
	}
	program(w)
}

// forever is the life of a process that does not die.
func forever(int, int) int { return -1 }

// process is a worker process. Its steps are: it has received a call, it has marked it as started, the handler has begun,
// the answer is published.
func (w *far) process(lane, number int, end *transport.WorkerEnd, killed func() bool) {
	left := w.life(lane, number)
	dies := func() bool {
		left--
		return left == -1 || killed() || w.hasty && end.PeerClosed()
	}
	for {
		var calls []transport.Header
		_, err := end.Drain(func(m *transport.Message, bad error) {
			if bad != nil {
				w.m.Fatalf("a bad request: %v", bad)
			}
			if m.Flags == 0 {
				b, _ := m.Append(nil)
				copy(m.Value[:], b)
				calls = append(calls, m.Header)
			}
		})
		if err != nil {
			w.m.Fatalf("Drain = %v", err)
		}
		for i := range calls {
			h := &calls[i]
			n := int(binary.NativeEndian.Uint64(h.Value[:8]))
			if dies() {
				return
			}
			if err := end.Start(h.ID); err != nil {
				w.m.Fatalf("Start = %v", err)
			}
			if dies() {
				return
			}
			if w.begun.add(n) > 1 {
				w.m.Fatalf("call %d has begun twice", n)
			}
			if dies() {
				return
			}
			if w.holds && number == 1 {
				continue
			}
			if w.slow != nil {
				w.slow(n)
				if dies() {
					return
				}
			}
			slot, ok := end.Claim()
			if !ok {
				w.m.Fatalf("no slot for an answer")
			}
			answer := transport.Header{ID: h.ID, Tag: h.Tag}
			if err := end.Publish(slot, &answer, h.Value[:8]); err != nil && !errors.Is(err, transport.ErrClosed) {
				w.m.Fatalf("Publish = %v", err)
			}
			w.answered.add(n)
			if w.forges {
				for _, id := range []uint64{h.ID, h.ID - 1<<32} { // once more, and to the call before with the permit
					if slot, ok := end.Claim(); ok {
						_ = end.Publish(slot, &transport.Header{ID: id, Tag: h.Tag}, make([]byte, 8))
					}
				}
			}
			if dies() {
				return
			}
		}
		if killed() {
			return
		}
		if len(calls) == 0 && end.WaitUntil(transport.Published, 0)&transport.Closed != 0 {
			return
		}
	}
}

// check is the law of all models: each call has ended once. It has begun once if it has a result, and has not begun if
// its error says so. The pool holds nothing in the end.
func (w *far) check() {
	for n, err := range w.errs {
		began := w.begun.get(n)
		switch {
		case w.called[n] > 1, w.called[n] == 0 && began > 0:
			w.m.Fatalf("call %d has ended %d times", n, w.called[n])
		case w.called[n] == 0:
		case err == nil && began != 1, began > 1, began == 1 && errors.Is(err, pool.ErrNotStarted):
			w.m.Fatalf("call %d: %v, and has begun %d times", n, err, began)
		case w.answered.get(n) > 0 && errors.Is(err, pool.ErrWorkerLost):
			w.m.Fatalf("call %d: %v, although the process has answered", n, err)
		case (errors.Is(err, pool.ErrWorkerLost) || errors.Is(err, pool.ErrHardLimit)) && errors.Is(err, pool.ErrNotStarted):
			w.m.Fatalf("call %d: %v", n, err)
		}
	}
	for n, err := range w.errs {
		if !slices.ContainsFunc(w.allowed, func(a error) bool { return errors.Is(err, a) }) {
			w.m.Fatalf("call %d: %v", n, err)
		}
	}
	if s := w.p.Busy(); s != "" {
		w.m.Fatalf("%s", s)
	}
}

// call makes call n, and waits.
func (w *far) call(n int) { w.ended(n)(w.f.Call(background, n)) }

// start makes call n, and returns what waits for it.
func (w *far) start(n int) (future *pool.Future[int], wait func()) {
	future = w.f.Go(background, n)
	return future, func() { w.ended(n)(future.Await()) }
}

// ended takes the outcome of call n.
func (w *far) ended(n int) func(int, error) {
	return func(result int, err error) {
		w.called[n]++
		w.errs[n] = err
		if err == nil && result != n {
			w.m.Fatalf("call %d: result %d", n, result)
		}
	}
}

// outAndIn takes lane 1 out, and puts it in again.
func (w *far) outAndIn() {
	for _, lanes := range []int{1, 2} {
		if err := w.p.Resize(background, lanes); err != nil {
			w.m.Fatalf("Resize(%d) = %v", lanes, err)
		}
	}
}

// only makes it an error in the end when a call has none of these errors. A nil stands for none.
func (w *far) only(allowed ...error) {
	w.allowed = allowed
}

// inFar explores a program over a pool of process lanes: all executions without a preemption, and some thousands that
// PCT draws. An execution has several hundred steps, and with one preemption there are too many to go through.
func inFar(t *testing.T, name string, c pool.Config, life func() func(lane, number int) int, program func(w *far)) {
	t.Helper()
	drawFar(t, name+"-pct", c, life, program)
	exploreFar(t, name, interleave.Options{Preemptions: interleave.None, Timeouts: true}, c, life, program)
}

// drawFar is inFar for programs with more executions: PCT draws some thousands.
func drawFar(t *testing.T, name string, c pool.Config, life func() func(lane, number int) int, program func(w *far)) {
	t.Helper()
	exploreFar(t, name, interleave.Options{Strategy: interleave.PCT, Seed: 1, Depth: 4, Executions: 3_000, Timeouts: true}, c, life, program)
}

func exploreFar(t *testing.T, name string, o interleave.Options, c pool.Config, life func() func(lane, number int) int, program func(w *far)) {
	t.Helper()
	if r := interleave.Check(t, name, o, func(m *interleave.M) { newFar(m, c, life(), program) }); r.Failure != nil {
		t.FailNow()
	}
}

// always returns life.
func always(life func(lane, number int) int) func() func(lane, number int) int {
	return func() func(lane, number int) int { return life }
}

// onceAt makes the first process of lane 0 die after a number of steps below n, and no other process.
func onceAt(n int) func() func(lane, number int) int {
	return func() func(lane, number int) int {
		at := interleave.Choose(n)
		return func(lane, number int) int {
			if lane == 0 && number == 1 {
				return at
			}
			return -1
		}
	}
}

// TestModelProcess has process lanes. S1 to S6 of processExecutor.
func TestModelProcess(t *testing.T) {
	// The service is parked, and learns of the order only from the caller that receives in its place.
	exploreFar(t, "process-order-pct", interleave.Options{Strategy: interleave.PCT, Seed: 1, Depth: 4, Executions: many, Timeouts: true}, pool.Config{Lanes: 1}, always(forever), func(w *far) {
		w.only(nil, pool.ErrLaneDiscarded)
		w.holds = true
		interleave.Go("one", func() { w.call(0) })
		interleave.Go("closer", func() { _ = w.p.Discard(pool.LaneID{Lane: 0, Generation: 1}, nil) })
	})
	inFar(t, "process-calls", pool.Config{Lanes: 1}, always(forever), func(w *far) {
		w.only(nil)
		interleave.Go("one", func() { w.call(0) })
		interleave.Go("other", func() { w.call(1) })
	})
	inFar(t, "process-permits", pool.Config{Lanes: 1, Concurrency: 2}, always(forever), func(w *far) {
		w.only(nil)
		interleave.Go("caller", func() {
			_, first := w.start(0)
			_, second := w.start(1)
			_, third := w.start(2)
			first()
			second()
			third()
		})
	})
	ahead := 0
	burst := func(w *far) { // the answer to a call lets the host send two others
		w.only(nil, pool.ErrWorkerLost)
		interleave.Go("caller", func() {
			var waits [5]func()
			for n := range waits {
				_, waits[n] = w.start(n)
			}
			for _, wait := range waits {
				wait()
				ahead = max(ahead, w.p.Sent(0))
			}
		})
	}
	inFar(t, "process-ahead", pool.Config{Lanes: 1}, always(forever), burst)
	if ahead < 2 {
		t.Errorf("%d calls at once were not answered, at most", ahead)
	}
	ahead = 0
	inFar(t, "process-not-ahead-of-a-limit", pool.Config{Lanes: 1, HardLimit: time.Hour}, always(forever), burst)
	if ahead > 1 {
		t.Errorf("%d calls at once were not answered, with a limit", ahead)
	}
	inFar(t, "process-not-ahead-after-slow-answers", pool.Config{Lanes: 1}, always(forever), func(w *far) {
		now := note{1}
		pool.SetTicks(func() uint64 { return uint64(now.add(0)) })
		w.slow = func(n int) {
			if n >= 2 {
				now.add(1 << 28)
			}
		}
		w.m.Final(func() { // a last call that was sent ahead would leave it as it was
			if n := w.p.Ahead(0); n != 0 {
				w.m.Fatalf("%d calls may be sent ahead after slow answers", n)
			}
		})
		burst(w)
	})
	pool.SetTicks(func() uint64 { return 1 })
	drawFar(t, "process-ahead-death-pct", pool.Config{Lanes: 1}, onceAt(12), burst)
	drawFar(t, "process-balance-pct", pool.Config{Lanes: 2}, always(forever), burst)
	drawFar(t, "process-ahead-concurrency-pct", pool.Config{Lanes: 1}, always(forever), func(w *far) {
		burst(w)
		interleave.Go("setter", func() {
			for _, n := range []int{2, 1} {
				if err := w.p.SetConcurrency(n); err != nil {
					w.m.Fatalf("SetConcurrency: %v", err)
				}
			}
		})
	})
	drawFar(t, "process-ahead-lease-pct", pool.Config{Lanes: 1}, always(forever), func(w *far) {
		burst(w)
		w.only(nil, pool.ErrAllLeased)
		interleave.Go("leaser", func() {
			lease, err := w.p.Acquire(background)
			if err != nil {
				w.m.Fatalf("Acquire: %v", err)
			}
			if n := w.p.Sent(0); n != 0 {
				w.m.Fatalf("%d calls are under way in a leased lane", n)
			}
			lease.Release()
		})
	})
	drawFar(t, "process-ahead-close-pct", pool.Config{Lanes: 1}, always(forever), func(w *far) {
		burst(w)
		w.only(nil, pool.ErrThreadClosed, pool.ErrPoolShutdown)
		interleave.Go("closer", func() { _ = w.p.Close() })
	})
	inFar(t, "process-forged", pool.Config{Lanes: 1}, always(forever), func(w *far) {
		w.only(nil)
		w.forges = true
		interleave.Go("caller", func() {
			w.call(1)
			w.call(2)
		})
	})
	inFar(t, "process-death", pool.Config{Lanes: 1}, onceAt(5), func(w *far) {
		w.only(nil, pool.ErrWorkerLost)
		interleave.Go("one", func() { w.call(0) })
		interleave.Go("other", func() { w.call(1) })
	})
	drawFar(t, "process-death-alone-pct", pool.Config{Lanes: 2}, always(func(lane, number int) int { // the other lane runs all calls
		switch {
		case lane == 1:
			return -1
		case number == 1:
			return 0
		}
		return pool.NoProcess
	}), func(w *far) {
		w.only(nil, pool.ErrWorkerLost)
		interleave.Go("one", func() { w.call(0) })
		interleave.Go("other", func() { w.call(1) })
	})
	drawFar(t, "process-death-lanes-pct", pool.Config{Lanes: 2}, onceAt(4), func(w *far) {
		w.only(nil, pool.ErrWorkerLost)
		interleave.Go("one", func() { w.call(0) })
		interleave.Go("other", func() { w.call(1) })
	})
	inFar(t, "process-close", pool.Config{Lanes: 1}, always(forever), func(w *far) {
		w.only(nil, pool.ErrThreadClosed, pool.ErrPoolShutdown)
		interleave.Go("one", func() { w.call(0) })
		interleave.Go("closer", func() { _ = w.p.Close() })
	})
	inFar(t, "process-discard", pool.Config{Lanes: 1}, onceAt(4), func(w *far) {
		w.only(nil, pool.ErrWorkerLost, pool.ErrLaneDiscarded)
		interleave.Go("one", func() { w.call(0) })
		interleave.Go("closer", func() {
			id := pool.LaneID{Lane: 0, Generation: 1}
			if err := w.p.Discard(id, nil); err != nil && !errors.Is(err, pool.ErrLaneDiscarded) {
				w.m.Fatalf("Discard = %v", err)
			}
			if got := w.p.Lanes()[0].ID.Generation; got != 2 {
				w.m.Fatalf("generation %d", got)
			}
		})
	})
	drawFar(t, "process-discard-queue-pct", pool.Config{Lanes: 1}, always(forever), func(w *far) {
		w.only(nil, pool.ErrLaneDiscarded)
		for n := range 3 {
			interleave.Go("caller", func() { w.call(n) })
		}
		interleave.Go("closer", func() { _ = w.p.Discard(pool.LaneID{Lane: 0, Generation: 1}, nil) })
	})
	inFar(t, "process-abort", pool.Config{Lanes: 1}, always(forever), func(w *far) {
		w.only(nil, pool.ErrAborted)
		interleave.Go("caller", func() {
			first, wait := w.start(0)
			interleave.Go("aborter", func() { first.End(pool.ErrAborted) })
			wait()
			w.call(1)
		})
	})
	inFar(t, "process-limit", pool.Config{Lanes: 1, HardLimit: time.Hour}, onceAt(4), func(w *far) {
		w.only(nil, pool.ErrHardLimit, pool.ErrWorkerLost)
		fire := w.p.LimitClock()
		interleave.Go("one", func() { w.call(0) })
		interleave.Go("timer", fire)
	})
	// The first process dies before it has started the call, which comes back while the timer is at any step.
	exploreFar(t, "process-limit-back-pct", interleave.Options{Strategy: interleave.PCT, Seed: 1, Depth: 3, Executions: 3_000, Timeouts: true}, pool.Config{Lanes: 1, HardLimit: time.Hour}, onceAt(1), func(w *far) {
		w.only(nil, pool.ErrHardLimit)
		fire := w.p.LimitClock()
		interleave.Go("one", func() { w.call(0) })
		interleave.Go("timer", fire)
	})
	inFar(t, "process-named", pool.Config{Lanes: 1}, onceAt(4), func(w *far) {
		w.only(nil, pool.ErrWorkerLost, pool.ErrLaneDiscarded)
		id := pool.LaneID{Lane: 0, Generation: 1}
		interleave.Go("one", func() { w.ended(0)(pool.CallAt(background, id, w.f, 0)) })
		interleave.Go("other", func() { w.call(1) })
	})
	// No call is lost: S8.
	exploreFar(t, "process-out-pct", interleave.Options{Strategy: interleave.PCT, Seed: 1, Depth: 5, Executions: many, Timeouts: true}, pool.Config{Lanes: 2}, always(forever), func(w *far) {
		w.only(nil)
		w.hasty = true
		interleave.Go("one", func() { w.call(0) })
		interleave.Go("other", func() { w.call(1) })
		interleave.Go("resizer", w.outAndIn)
	})
	drawFar(t, "process-out-death-pct", pool.Config{Lanes: 2}, onceAt(5), func(w *far) {
		w.only(nil, pool.ErrWorkerLost)
		interleave.Go("one", func() { w.call(0) })
		interleave.Go("other", func() { w.call(1) })
		interleave.Go("resizer", w.outAndIn)
	})
	drawFar(t, "process-out-named-pct", pool.Config{Lanes: 2}, always(forever), func(w *far) {
		w.only(nil, pool.ErrNoSuchLane, pool.ErrLaneDiscarded)
		id := pool.LaneID{Lane: 1, Generation: 1}
		interleave.Go("one", func() { w.ended(0)(pool.CallAt(background, id, w.f, 0)) })
		interleave.Go("other", func() { w.call(1) })
		interleave.Go("resizer", func() { _ = w.p.Resize(background, 1) })
	})
	inFar(t, "process-context", pool.Config{Lanes: 1}, onceAt(4), func(w *far) {
		w.only(nil, pool.ErrWorkerLost, context.Canceled)
		ctx, cancel := context.WithCancel(background)
		interleave.Go("one", func() { w.ended(0)(w.f.Call(ctx, 0)) })
		interleave.Go("canceller", cancel)
	})
}

// TestModelProcessRetires has a process lane that Resize has taken out while a lease has it. The lease ends between two
// looks of the service: at the calls of the lane, and at its lease. So a sender may have a call through the lease for the
// process that the service retires. The call is lost in one of about a thousand executions if the service does not wait
// for it. S8 of processExecutor.
func TestModelProcessRetires(t *testing.T) {
	exploreFar(t, "process-out-lease-pct", interleave.Options{Strategy: interleave.PCT, Seed: 1, Depth: 5, Executions: 10_000, Timeouts: true}, pool.Config{Lanes: 2}, always(forever), func(w *far) {
		w.only(nil, pool.ErrLaneDiscarded, pool.ErrLeaseOver)
		w.hasty = true
		w.slow = func(int) { interleave.Yield() } // the service may close the link before the answer
		lease, err := w.p.AcquireLane(background, 1)
		if err != nil {
			w.m.Fatalf("AcquireLane: %v", err)
		}
		if err := w.p.Resize(background, 1); err != nil {
			w.m.Fatalf("Resize: %v", err)
		}
		interleave.Go("holder", func() { w.ended(0)(pool.CallOn(background, lease, w.f, 0)) })
		interleave.Go("closer", lease.Release)
	})
}
