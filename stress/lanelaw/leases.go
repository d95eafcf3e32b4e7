package lanelaw

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/stress/internal/harness"
)

// LeasedLanes are lanes that a caller may have for itself. The errors are those of package pool.
type LeasedLanes interface {
	Lanes

	// Acquire leases the lane with that number, or any lane if the number is negative. It waits
	// until no handler occupies the lane. It returns the cause of ctx when that ends first.
	Acquire(ctx context.Context, lane int) (Lease, error)

	// AcquireID is Acquire of the lane that id names.
	AcquireID(ctx context.Context, id pool.LaneID) (Lease, error)
}

// Lease is a lane for its holder alone. Its methods are called concurrently.
type Lease interface {
	// ID names the lane until it is discarded.
	ID() pool.LaneID

	// Go is Go of [Lanes] on the lane. After the end of the lease the call ends with
	// pool.ErrLeaseOver.
	Go(ctx context.Context, task string, payload any) Future

	// Release gives the lane back. The calls that were made continue.
	Release()

	// Discard ends the calls that were made with reason, and gives the lane back under a new id.
	Discard(reason error)
}

// errDiscard is the reason with which the laws discard lanes, and errGivenUp the cause of a wait that
// is given up.
var (
	errDiscard = errors.New("the law discards the lane")
	errGivenUp = errors.New("the law gives up the wait")
)

// leaseRecord is a lease of a trial, with the record of its handlers.
type leaseRecord struct {
	Lease
	running atomic.Int64
}

// load counts the leases that callers are sure to have, and the running handlers of calls that came through
// none. They are in one word, so that each value of it is one that both had at the same time.
type load struct{ word atomic.Int64 }

// oneLease is what one lease adds to the word of load.
const oneLease = 1 << 32

// add adds to the two and returns them.
func (l *load) add(n int64) (leased, others int) {
	w := l.word.Add(n)
	return int(w / oneLease), int(w % oneLease)
}

// count adds to the load. As many others run as the lanes without a lease allow, or fewer.
func (run *trial) count(n int64) {
	leased, others := run.load.add(n)
	if run.lanes > 0 && others > (run.lanes-leased)*run.k.Concurrency {
		run.r.Record("%d handlers of others run beside %d leases of %d lanes", others, leased, run.lanes)
	}
}

// enterOn counts the entry into the handler of c, or its return.
func (run *trial) enterOn(c *callRecord, n int64) {
	switch {
	case c.lease == nil:
		run.count(n)
	case c.lease.running.Add(n) > int64(run.k.Concurrency):
		run.r.Record("more than %d handlers of a lease run", run.k.Concurrency)
	}
}

// newLeaseTrial makes that many lanes for a trial of leases, for at most the given number of calls.
func newLeaseTrial(r *harness.Run, k Kind, calls, lanes int) *trial {
	run := newTrial(r, k, calls, pool.Config{Lanes: lanes, Backlog: pool.Unlimited})
	run.lanes = lanes
	return run
}

// lawLeases runs check if the lanes have leases.
func lawLeases(check func(r *harness.Run, k Kind, operations int)) func(*harness.Run, Kind) {
	return func(r *harness.Run, k Kind) {
		r.T.Helper()
		if !k.Leases || k.Concurrency == 0 {
			r.Skipf("the lanes have no leases")
			return
		}
		r.EachShape(func(operations int) {
			r.T.Helper()
			check(r, k, operations)
		})
	}
}

// lease leases a lane, or any if the number is negative.
func (run *trial) lease(ctx context.Context, lane int) (*leaseRecord, error) {
	return run.has(run.leased().Acquire(ctx, lane))
}

// leaseFree leases a lane that no other goroutine uses for long. It returns nil after a violation.
func (run *trial) leaseFree(lane int) (l *leaseRecord) {
	run.r.T.Helper()
	var err error
	if !run.await("a free lane is not leased", func() { l, err = run.lease(context.Background(), lane) }) {
		return nil
	}
	if err != nil {
		run.r.Failf("a wait for a lease has ended with %v", err)
		return nil
	}
	return l
}

// leaseID leases the lane that id names.
func (run *trial) leaseID(ctx context.Context, id pool.LaneID) (*leaseRecord, error) {
	l, err := run.has(run.leased().AcquireID(ctx, id))
	if err == nil && l.ID() != id {
		run.r.Record("the lease of lane %v has lane %v", id, l.ID())
	}
	return l, err
}

func (run *trial) leased() LeasedLanes { return run.l.(LeasedLanes) } //nolint:forcetypeassert // Kind.Leases says so

// has counts a lease.
func (run *trial) has(l Lease, err error) (*leaseRecord, error) {
	if err != nil {
		return nil, err
	}
	run.count(oneLease)
	return &leaseRecord{Lease: l}, nil
}

// release ends a lease.
func (run *trial) release(l *leaseRecord) {
	run.count(-oneLease)
	l.Release()
}

// discard ends a lease and its calls.
func (run *trial) discard(l *leaseRecord) {
	run.count(-oneLease)
	l.Discard(errDiscard)
}

// startOn makes a call through a lease and returns its record.
func (run *trial) startOn(l *leaseRecord, hold chan struct{}) *callRecord {
	id, c := run.add("call", hold)
	c.lease = l
	c.future = l.Go(context.Background(), "call", id)
	return c
}

// lawExclusive makes calls, and calls through leases, from many goroutines. Each goroutine that waits for a
// lease gets it, or learns why not.
func lawExclusive(r *harness.Run, k Kind, operations int) {
	r.T.Helper()
	run := newLeaseTrial(r, k, operations+1, r.Between(1, 3))
	fns := run.mixed(operations / 2)
	harness.Divide(0, operations/2, r.Between(1, 6), func(lo, hi int) {
		rng := r.Split()
		fns = append(fns, func() {
			id := pool.LaneID{Generation: 1}
			for left := hi - lo; left > 0 && !r.IsExpired(); {
				n := min(left, 1+rng.IntN(8))
				left -= n
				run.lessee(rng, &id, n)
			}
		})
	})
	if run.await("calls or waits for leases have not ended", fns...) && run.shutdown() {
		run.checkOwn(errDiscard, pool.ErrAllLeased)
		run.checkOnce()
	}
}

// lessee leases a lane, makes n calls on it, and ends the lease. id is that of a lane that it had.
func (run *trial) lessee(rng *rand.Rand, id *pool.LaneID, n int) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	givesUp := rng.IntN(4) == 0
	if givesUp {
		yields := rng.IntN(20)
		go func() {
			for range yields {
				runtime.Gosched()
			}
			cancel(errGivenUp)
		}()
	}
	var l *leaseRecord
	var err error
	switch rng.IntN(3) {
	case 0:
		l, err = run.lease(ctx, -1)
	case 1:
		l, err = run.lease(ctx, rng.IntN(run.lanes))
	default:
		l, err = run.leaseID(ctx, *id)
	}
	switch {
	case givesUp && errors.Is(err, errGivenUp):
		return
	case errors.Is(err, pool.ErrLaneDiscarded): // by another goroutine
		l, err = run.lease(context.Background(), -1)
	}
	if err != nil {
		run.r.Record("a wait for a lease has ended with %v", err)
		return
	}
	*id = l.ID()
	calls := make([]*callRecord, n)
	for i := range calls {
		calls[i] = run.startOn(l, nil)
		if rng.IntN(4) == 0 {
			run.record(calls[i])
		}
	}
	if rng.IntN(4) == 0 {
		run.discard(l)
	} else {
		run.release(l)
	}
	for _, c := range calls {
		run.record(c)
	}
}

// lawReserves asks for a lease of a busy lane. One of its handlers returns only when the next one has been
// entered, unless none is. So a lane that takes the calls of others before the lease is never free.
func lawReserves(r *harness.Run, k Kind, operations int) {
	r.T.Helper()
	operations = max(operations, 4_000)
	run := newLeaseTrial(r, k, operations+2*k.Concurrency, 1)
	var calls []*callRecord
	start := func() { calls = append(calls, run.start(context.Background(), "call", make(chan struct{}))) }
	for range 2 * k.Concurrency { // as many run, and as many wait
		start()
	}
	lane := r.Between(-1, 0)
	var l *leaseRecord
	var err error
	asked := harness.Start(func() { l, err = run.lease(context.Background(), lane) })
	returned := 0
	if !run.await("a lane that is to be leased starts no call and is not leased", func() {
		for ; returned < operations && !closed(asked) && !r.IsExpired(); returned++ {
			for !closed(calls[returned].held) && !closed(asked) && !r.IsExpired() {
				runtime.Gosched()
			}
			before := run.entered.Load()
			close(calls[returned].hold)
			start()
			for yields := 0; yields < 1000 && run.entered.Load() == before && !closed(asked); yields++ {
				runtime.Gosched()
			}
		}
	}) {
		return
	}
	if !closed(asked) {
		r.Failf("a lease of a busy lane has not come, and the lane has started %d calls", run.entered.Load())
		return
	}
	if err != nil {
		r.Failf("a wait for a lease has ended with %v", err)
		return
	}
	entered := run.entered.Load()
	mine := run.startOn(l, nil)
	if !run.awaitOutcomes("a call through a lease has not ended", mine) {
		return
	}
	if n := run.entered.Load() - entered; n != 1 {
		r.Failf("a leased lane has started %d calls of others", n-1)
	}
	for _, c := range calls[returned:] {
		close(c.hold)
	}
	run.release(l)
	if run.awaitOutcomes("calls have not ended after a lease", calls...) && run.shutdown() {
		run.checkOwn(pool.ErrAllLeased) // of a call that came when the only lane was leased already
	}
}

// closed reports whether ch is closed.
func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// lawDiscard discards leased lanes whose handlers are held. It also checks the ends of leases, and of waits
// when the lanes end.
func lawDiscard(r *harness.Run, k Kind, operations int) {
	r.T.Helper()
	n := k.Concurrency
	rounds := max(1, operations/200)
	run := newLeaseTrial(r, k, rounds*(2*n+2)+1, 1)
	r.Shape += fmt.Sprintf(", %d leases", rounds)
	for range rounds {
		if !run.discardHeld(n) || r.Failed() {
			return
		}
	}
	l := run.leaseFree(0)
	if l == nil {
		return
	}
	lane := r.Between(-1, 0)
	ask := func() {
		if _, err := run.leased().Acquire(context.Background(), lane); !errors.Is(err, pool.ErrPoolShutdown) {
			r.Record("a wait for a lease of ended lanes has ended with %v", err)
		}
	}
	asked := harness.Start(ask)
	run.count(-oneLease)
	run.l.Close()
	if run.await("a wait for a lease has not ended with its lanes", func() { <-asked }) {
		l.Release()
		run.refuses()
		run.checkOwn(errDiscard, pool.ErrLeaseOver, pool.ErrPoolShutdown)
		run.checkOnce()
	}
}

// discardHeld discards a lane with n held handlers and n calls that wait. Other goroutines wait for the lane.
func (run *trial) discardHeld(n int) bool {
	run.r.T.Helper()
	gate := make(chan struct{})
	l := run.leaseFree(0)
	if l == nil {
		return false
	}
	id := l.ID()
	var held, waits []*callRecord
	for range n {
		held = append(held, run.startOn(l, gate))
	}
	if !run.await("a leased lane does not start calls", func() {
		for _, c := range held {
			run.r.Hold(c.held)
		}
	}) {
		return false
	}
	for range n {
		waits = append(waits, run.startOn(l, nil))
	}
	asked := harness.Start(func() {
		got, err := run.leased().AcquireID(context.Background(), id)
		if err == nil {
			got.Release()
		}
		if !errors.Is(err, pool.ErrLaneDiscarded) {
			run.r.Record("a wait for a lane that was discarded has ended with %v", err)
		}
	})
	for range run.r.Between(0, 100) {
		runtime.Gosched() // the other goroutine may wait by now
	}
	run.discard(l)
	if !run.awaitOutcomes("the calls of a discarded lane have not ended", append(held, waits...)...) ||
		!run.await("a wait for a discarded lane has not ended", func() { <-asked }) {
		return false
	}
	for i := range held {
		run.wantEnd("a running call of a discarded lane", held[i], errDiscard, true)
		run.wantEnd("a waiting call of a discarded lane", waits[i], errDiscard, false)
	}
	late := run.startOn(l, nil)
	other := run.start(context.Background(), "call", nil)
	if !run.awaitOutcomes("a call after a Discard has not ended", late, other) {
		return false
	}
	run.wantEnd("a call through a lease that is over", late, pool.ErrLeaseOver, false)
	if other.err != nil {
		run.r.Failf("a call of a lane after a Discard ended with %v", other.err)
	}
	again := run.leaseFree(-1)
	if again == nil {
		return false
	}
	if again.ID() == id {
		run.r.Failf("lane %v was discarded, and then a lease has the same id", id)
		return false
	}
	run.release(again)
	close(gate)
	return run.await("the handlers of a discarded lane have not returned", func() {
		for l.running.Load() > 0 && !run.r.IsExpired() {
			runtime.Gosched()
		}
	})
}
