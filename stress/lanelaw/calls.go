package lanelaw

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/stress/internal/harness"
	"github.com/lanewright/lanewright/transport"
)

// lawAfterUse returns a law that checks lanes after many goroutines have used them.
func lawAfterUse(check func(*trial)) func(*harness.Run, Kind) {
	return func(r *harness.Run, k Kind) {
		r.T.Helper()
		r.EachShape(func(operations int) {
			r.T.Helper()
			run := newTrial(r, k, operations, generateConfig(r))
			if run.await("calls have not ended", run.mixed(operations)...) && run.shutdown() {
				check(run)
			}
		})
	}
}

// lawCounts observes the counts while calls are made.
func lawCounts(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, operations, generateConfig(r))
		quit := make(chan struct{})
		observer := harness.Start(func() { run.observe(quit) })
		ok := run.await("calls have not ended", run.mixed(operations)...)
		close(quit)
		if ok && run.await("Counts has not returned", func() { <-observer }) && run.shutdown() {
			run.checkCounts(operations)
		}
	})
}

// observe compares snapshots of the counts until quit is closed.
func (run *trial) observe(quit <-chan struct{}) {
	var before Counts
	for {
		now := run.l.Counts()
		switch {
		case now.Accepted < before.Accepted || now.Ended < before.Ended:
			run.r.Record("the counts went from %+v to %+v", before, now)
		case now.Accepted > uint64(run.next.Load()): // loaded after the snapshot: it can only be higher
			run.r.Record("more calls were accepted than made: %+v", now)
		case now.Backlog < 0 || now.InFlight < 0 || uint64(now.Backlog+now.InFlight) != now.Accepted-now.Ended:
			run.r.Record("Backlog plus InFlight is not Accepted minus Ended: %+v", now)
		}
		before = now
		select {
		case <-quit:
			return
		case <-run.r.Expired():
			return
		default:
			runtime.Gosched()
		}
	}
}

// lawOrder has callers that each make many calls to one lane and wait for some of them.
func lawOrder(r *harness.Run, k Kind) {
	r.T.Helper()
	if !k.Ordered {
		r.Skipf("the lanes promise no order")
		return
	}
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, operations, pool.Config{Lanes: 1, Backlog: r.Between(1, 100)})
		var fns []func()
		harness.Divide(0, operations, r.Between(1, 6), func(lo, hi int) {
			rng := r.Split()
			fns = append(fns, func() {
				var calls []*callRecord
				for range hi - lo {
					if rng.IntN(20) == 0 {
						calls = append(calls, run.call(context.Background(), "call"))
					} else {
						calls = append(calls, run.start(context.Background(), "call", nil))
					}
				}
				run.inOrder(calls)
			})
		})
		if run.await("calls have not ended", fns...) {
			run.shutdown()
		}
	})
}

// inOrder waits for calls, and checks that their handlers were entered in the order of
// the list.
func (run *trial) inOrder(calls []*callRecord) {
	before := int64(0)
	for i, c := range calls {
		if !run.record(c) {
			return
		}
		position := c.position.Load()
		if position <= before {
			run.r.Record("call %d of a caller started before its call %d", i, i-1)
		}
		before = position
	}
}

// lawLimit fills a lane with running handlers, and then makes more calls.
func lawLimit(r *harness.Run, k Kind) {
	r.T.Helper()
	if k.Concurrency == 0 {
		r.Skipf("callers may run calls themselves")
		return
	}
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, operations+k.Concurrency, oneLane())
		busy, gate := run.occupy() // Concurrency handlers run at once
		if busy == nil {
			return
		}
		fns := append(run.mixed(operations), func() { close(gate) })
		if !run.await("calls have not ended", fns...) || !run.awaitOutcomes("calls have not ended", busy...) || !run.shutdown() {
			return
		}
		if most := int(run.most.Load()); most > k.Concurrency {
			r.Failf("%d handlers run at once in a lane of %d", most, k.Concurrency)
		}
	})
}

// lawIdle keeps handlers until no more than one other may run, and makes other calls meanwhile. These end: none of them
// waits behind a handler that is kept.
func lawIdle(r *harness.Run, k Kind) {
	r.T.Helper()
	if !k.Shared {
		r.Skipf("a call may wait at a lane while another lane is idle")
		return
	}
	r.EachShape(func(operations int) {
		r.T.Helper()
		c := pool.Config{Lanes: r.Between(2, 4), Backlog: pool.Unlimited}
		kept := c.Lanes*k.Concurrency - 1
		run := newTrial(r, k, operations+kept, c)
		gate, rng := make(chan struct{}), r.Split()
		var long []*callRecord
		keep := func() {
			for range kept {
				for range rng.IntN(50) {
					runtime.Gosched()
				}
				c := run.start(context.Background(), "call", gate)
				long = append(long, c)
				r.Hold(c.held)
			}
		}
		if !run.await("calls wait although a lane is idle", append(run.mixed(operations), keep)...) {
			return
		}
		close(gate)
		if run.awaitOutcomes("calls have not ended", long...) && run.shutdown() {
			run.checkOwn()
		}
	})
}

// lawFailures makes calls that fail in each way, concurrently with calls that succeed.
func lawFailures(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, operations, generateConfig(r))
		fns := run.mixed(operations)
		failing := []string{"error", "panic", "panic-error", "exit"}
		if !k.Exits {
			failing = failing[:3]
		}
		for range r.Between(1, 4) {
			rng := r.Split()
			fns = append(fns, func() {
				for n := 0; n < operations/8 && !r.IsExpired(); n++ {
					run.failure(failing[rng.IntN(len(failing))], fmt.Sprintf("failure %d", rng.IntN(100)))
				}
			})
		}
		fns = append(fns, func() { run.failure("error", "") }) // an error without a text is an error
		if run.await("calls have not ended", fns...) && run.shutdown() {
			run.checkOwn()
		}
	})
}

// failure makes a call that fails, and checks its error.
func (run *trial) failure(task, text string) {
	f := run.l.Go(context.Background(), task, text)
	select {
	case <-f.Done():
	case <-run.r.Expired():
		return
	}
	_, err := f.Wait(context.Background())
	want, broken := text, task != "error"
	if task == "exit" {
		want = pool.ErrGoexit.Error()
	}
	var failed *pool.RemoteError
	if !errors.As(err, &failed) {
		run.r.Record("the handler of %q failed with %q, and its call ended with %v", task, text, err)
		return
	}
	whole := want
	if failed.Type == "panic" && failed.Task != "" {
		whole = fmt.Sprintf("panic in task %q: %s", task, want)
	}
	switch {
	case failed.Message != want || err.Error() != whole:
		run.r.Record("the handler of %q failed with %q, and its call ended with %q, %q", task, text, failed.Message, err)
	case broken != (failed.Stack != ""):
		run.r.Record("the error of a handler of %q has the stack %q", task, failed.Stack)
	}
}

// lawUnknown calls tasks that do not exist.
func lawUnknown(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(int) {
		r.T.Helper()
		run := newTrial(r, k, 1, oneLane())
		ok := run.await("calls have not ended", func() {
			for _, name := range []string{"none", "", "toString", "Call", `a "quoted" name`} {
				_, err := run.l.Call(context.Background(), name, nil)
				var unknown *pool.UnknownTaskError
				if !errors.As(err, &unknown) || err.Error() != `Unknown task type "`+name+`"` || !errors.Is(err, pool.ErrNotStarted) {
					r.Record("a call of the unknown task %q ended with %v", name, err)
				}
			}
			run.call(context.Background(), "call")
		})
		if ok && run.shutdown() {
			run.checkOwn()
		}
	})
}

// lawPayloads sends values of many types and sizes and receives them back.
func lawPayloads(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, operations, generateConfig(r))
		var fns []func()
		for range r.Between(1, 4) {
			fns = append(fns, run.echoes)
		}
		if k.MaxPayload > 0 {
			fns = append(fns, func() { run.tooLarge(operations / 100) })
		}
		fns = append(fns, run.mixed(operations)...)
		if run.await("calls have not ended", fns...) && run.shutdown() {
			run.checkOwn()
		}
	})
}

// echoes sends values of each type and of many sizes.
func (run *trial) echoes() {
	values := []any{
		nil, true, false, -1, int64(-1) << 63, uint8(255), ^uint64(0), 1.5, float32(-0.25), complex(1, -2), "é\x00\xff",
		time.Duration(-7),
		[]int{1, -2, 3},
		[]float64{0.5},
	}
	for _, n := range []int{0, 1, 63, 511, 512, 513, 4096, 64 << 10, 1 << 20} {
		if run.k.MaxPayload == 0 || n <= run.k.MaxPayload {
			values = append(values, strings.Repeat("x", n), make([]byte, n))
		}
	}
	for _, v := range values {
		if run.r.IsExpired() {
			return
		}
		got, err := run.l.Call(context.Background(), "echo", v)
		if err != nil || !reflect.DeepEqual(got, v) {
			run.r.Record("a %T came back as a %T, or with another value: %v", v, got, err)
		}
	}
}

// tooLarge sends a payload of the largest size and a larger one, n times.
func (run *trial) tooLarge(n int) {
	fits := make([]byte, run.k.MaxPayload)
	for range max(1, n) {
		if run.r.IsExpired() {
			return
		}
		if _, err := run.l.Call(context.Background(), "echo", fits); err != nil {
			run.r.Record("a payload of %d bytes was refused: %v", len(fits), err)
		}
		_, err := run.l.Call(context.Background(), "echo", make([]byte, len(fits)+1))
		if !errors.Is(err, transport.ErrPayloadTooLarge) {
			run.r.Record("a payload of %d bytes is too large, and its call ended with %v", len(fits)+1, err)
		}
	}
}

// maxDepth is the depth of the deepest nested calls. Where the identity of a goroutine is read
// from its stack trace (see internal/park), each call takes time in proportion to its depth:
// depth 1,000 took ten times as long as depth 300, and found nothing else.
const maxDepth = 300

// lawNested nests calls: one nest of the maximum depth, and many small ones
// concurrently.
func lawNested(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, operations, generateConfig(r))
		var fns []func()
		for i := range r.Between(1, 4) {
			rng := r.Split()
			fns = append(fns, func() {
				if i == 0 {
					run.nest(maxDepth)
				}
				for left := operations / 4; left > 0 && !r.IsExpired(); {
					depth := 1 + rng.IntN(20)
					left -= depth
					run.nest(depth)
				}
			})
		}
		if run.await("nested calls have not ended", fns...) {
			run.shutdown()
		}
	})
}

// nest makes a call that nests to the given depth.
func (run *trial) nest(depth int) {
	got, err := run.l.Call(context.Background(), "nest", uint64(depth))
	switch {
	case run.k.Nested != nil && (err == nil || !strings.Contains(err.Error(), run.k.Nested.Error())):
		run.r.Record("a nested call was not refused with %q: %v, %v", run.k.Nested, got, err)
	case run.k.Nested == nil && (err != nil || got != any(uint64(depth))):
		run.r.Record("calls nested to %d: %v, %v", depth, got, err)
	}
}

// lawPing pings a lane without calls, and a lane with calls.
func lawPing(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, operations, oneLane())
		var answered atomic.Int64
		pings := func() {
			for n := 0; n < operations/10 && !r.IsExpired(); n++ {
				if err := run.l.Ping(context.Background()); err != nil {
					r.Record("a ping ended with %v", err)
				}
				answered.Add(1)
			}
		}
		stuck := "calls and pings have not ended"
		if !run.await("pings of a lane without work have not ended", pings) || !run.await(stuck, append(run.mixed(operations), pings, pings)...) || !run.shutdown() {
			return
		}
		if n := run.entered.Load(); n != int64(operations) {
			r.Failf("%d calls and %d pings entered %d handlers", operations, answered.Load(), n)
		}
		run.checkOwn()
	})
}
