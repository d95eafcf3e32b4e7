//go:build interleave

package pool_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/transport"
)

// near is a worker process in an exploration, whose host is a thread of the model. A call has a number, which is its
// argument and its result.
type near struct {
	m        *interleave.M
	host     *transport.HostEnd
	limit    note             // of the handlers that run
	runs     interleave.Int32 // handlers
	begun    note8
	answered note8
	refused  note8
	reused   [8]byte
	got      int // answers
	pongs    int
	do       func(w *near, n int)
	begins   [2]interleave.Sema
}

// newNear makes a worker, and the thread of its host. The worker is a daemon, so a call that it leaves is a deadlock of the
// host.
func newNear(m *interleave.M, limit int, do func(w *near, n int), program func(w *near)) {
	w := &near{m: m, do: do}
	for i := range w.begins {
		w.begins[i].Init(1)
	}
	l, err := transport.NewLink(transport.Config{PayloadInitial: 512, PayloadMax: 512, Spin: -1, Functions: 2})
	if err != nil {
		m.Fatalf("NewLink: %v", err)
	}
	w.host = l.Host()
	var h pool.Handlers
	pool.Register(&h, "f", func(_ context.Context, n int) (int, error) {
		if n := int(w.runs.Add(1)); n > w.limit.add(0) {
			m.Fatalf("%d handlers run", n)
		}
		defer w.runs.Add(-1)
		if w.begun.add(n) > 1 {
			m.Fatalf("call %d has begun twice", n)
		}
		if w.do != nil {
			w.do(w, n)
		}
		return n, nil
	}, pool.TaskOptions{Abortable: true})
	pool.Register(&h, "reuses", func(ctx context.Context, n int) ([]byte, error) {
		w.begun.add(n)
		w.fill(reusedByte)
		done := ctx.Done()
		interleave.Go("user", func() { // uses the memory of the result again when the context has ended
			var never interleave.Sema
			never.Init(1)
			never.WaitDone(done)
			w.fill(0)
		})
		return w.reused[:], nil
	})
	m.GoDaemon("service", func() { pool.Work(&h, l.Worker()) })
	m.Go("host", func() {
		w.setLimit(limit)
		program(w)
	})
}

// reusedByte is each byte of the result of the task "reuses".
const reusedByte = 7

// fill writes the memory of that result. The race detector does not see the order of the writes and the copy.
//
//go:norace
func (w *near) fill(b byte) {
	for i := range w.reused {
		w.reused[i] = b
	}
}

// id returns the id of call n.
func (w *near) id(n int) uint64 { return transport.CallID(n, uint32(n)+1) }

// publish sends a message.
func (w *near) publish(h transport.Header, payload []byte) {
	slot, ok := w.host.Claim()
	if !ok {
		w.m.Fatalf("no slot")
	}
	if err := w.host.Publish(slot, &h, payload); err != nil {
		w.m.Fatalf("Publish: %v", err)
	}
}

// call sends call n.
func (w *near) call(n int) { w.callUntil(n, 0) }

// callUntil sends call n, whose time is over at that time of the clock of both ends, if it is not zero.
func (w *near) callUntil(n int, deadline int64) {
	w.publish(transport.Header{ID: w.id(n), Tag: transport.TagInt, Deadline: deadline}, binary.NativeEndian.AppendUint64(nil, uint64(n)))
	if w.limit.add(0) > 1 {
		w.host.Urge()
	}
}

// end sends the notice that call n has ended.
func (w *near) end(n int, notice uint32) {
	w.publish(transport.Header{Flags: transport.FlagNotice, Meta: notice, ID: w.id(n), Tag: transport.TagNil}, nil)
}

// setLimit sends the notice that so many handlers may run. They are not fewer than before.
func (w *near) setLimit(n int) {
	w.limit.add(n - w.limit.add(0))
	w.publish(transport.Header{Flags: transport.FlagNotice, Meta: pool.NoticeLimit, ID: uint64(n), Tag: transport.TagNil}, nil)
}

// await receives until that many calls have been answered in all.
func (w *near) await(calls int) { w.receiveUntil(func() bool { return w.got >= calls }) }

// ping waits until the worker has received all messages before.
func (w *near) ping() {
	w.publish(transport.Header{Flags: transport.FlagPing, Tag: transport.TagNil}, nil)
	pongs := w.pongs
	w.receiveUntil(func() bool { return w.pongs > pongs })
}

// receiveUntil receives until done returns true.
func (w *near) receiveUntil(done func() bool) {
	for !done() {
		if _, err := w.host.Drain(w.receive); err != nil {
			w.m.Fatalf("Drain: %v", err)
		}
		if !done() {
			w.host.WaitUntil(transport.Published, 0)
		}
	}
}

// receive takes a message of the worker.
func (w *near) receive(m *transport.Message, bad error) {
	n := int(uint32(m.ID))
	switch {
	case bad != nil:
		w.m.Fatalf("a bad message: %v", bad)
	case m.Flags&transport.FlagPing != 0:
		w.pongs++
		return
	case m.ID != w.id(n):
		w.m.Fatalf("an answer to %x", m.ID)
	case w.answered.add(n) > 1:
		w.m.Fatalf("call %d is answered twice", n)
	case m.Flags&transport.FlagReject != 0 && pool.Cause(m.Meta) == pool.CauseContextEnded:
		w.refused.add(n)
	}
	if m.Tag == transport.TagBytes {
		if got, err := m.Append(nil); err != nil || bytes.Count(got, []byte{reusedByte}) != len(w.reused) {
			w.m.Fatalf("the result has become %v, %v", got, err)
		}
	}
	if (w.begun.get(n) == 0) != (w.refused.get(n) == 1) {
		w.m.Fatalf("call %d has begun %d times, and is refused %d times", n, w.begun.get(n), w.refused.get(n))
	}
	w.got++
}

// inNear explores a program of a host: all executions without a preemption, and those that PCT draws.
func inNear(t *testing.T, name string, limit int, do func(w *near, n int), program func(w *near)) {
	t.Helper()
	exploreNear(t, name, interleave.Options{Preemptions: interleave.None}, limit, do, program)
	exploreNear(t, name+"-pct", interleave.Options{Strategy: interleave.PCT, Seed: 1, Depth: 4, Executions: 10_000}, limit, do, program)
}

func exploreNear(t *testing.T, name string, o interleave.Options, limit int, do func(w *near, n int), program func(w *near)) {
	t.Helper()
	if r := interleave.Check(t, name, o, func(m *interleave.M) { newNear(m, limit, do, program) }); r.Failure != nil {
		t.FailNow()
	}
}

// TestModelWorker: a worker runs at most as many handlers as its host says, and answers each call once. It runs no call that
// has ended before. J1 to J4 of worker.
func TestModelWorker(t *testing.T) {
	inNear(t, "worker-one-at-a-time", 1, nil, func(w *near) {
		for n := range 3 {
			w.call(n)
		}
		w.await(3)
	})
	meet := func(w *near, n int) { // the handlers of the first two calls wait for each other
		if n < 2 {
			w.begins[1-n].Post()
			w.begins[n].Wait()
		}
	}
	inNear(t, "worker-two-at-once", 2, meet, func(w *near) {
		for n := range 3 {
			w.call(n)
		}
		w.await(3)
	})
	inNear(t, "worker-goexit", 1, func(_ *near, n int) {
		if n == 0 {
			runtime.Goexit()
		}
	}, func(w *near) {
		w.call(0)
		w.call(1)
		w.await(2)
	})
	inNear(t, "worker-ended-call", 1, nil, func(w *near) {
		w.call(0)
		w.call(1)
		w.end(1, pool.NoticeEnded)
		w.await(2)
	})
	first := func(w *near, n int) { // the handler of the first call waits for the host
		if n == 0 {
			w.begins[0].Wait()
		}
	}
	drop := func(w *near, notice uint32) {
		w.call(0)
		w.call(1)
		w.end(1, notice)
		w.ping()
		w.begins[0].Post()
		w.await(2)
		if w.begun.get(1) != 0 {
			w.m.Fatalf("a call has begun after its end")
		}
	}
	inNear(t, "worker-ended-behind", 1, first, func(w *near) { drop(w, pool.NoticeEnded) })
	inNear(t, "worker-dropped-behind", 1, first, func(w *near) { drop(w, pool.NoticeDropped) })
	inNear(t, "worker-reused-result", 1, nil, func(w *near) {
		w.publish(transport.Header{Fn: 1, ID: w.id(0), Tag: transport.TagInt}, binary.NativeEndian.AppendUint64(nil, 0))
		w.await(1)
	})
	inNear(t, "worker-late-call", 1, nil, func(w *near) { // without a notice: the worker alone knows
		w.callUntil(0, 1)
		w.call(1)
		w.await(2)
		if w.begun.get(0) != 0 {
			w.m.Fatalf("a call has begun after its time")
		}
	})
	inNear(t, "worker-raise", 1, func(w *near, n int) { // the handlers of the last two calls wait for each other
		if n > 0 {
			meet(w, n-1)
		}
	}, func(w *near) {
		for n := range 3 {
			w.call(n)
		}
		w.setLimit(3)
		w.await(3)
	})
	inNear(t, "worker-beside", 2, nil, func(w *near) { // a call comes while handlers run
		w.call(0)
		w.call(1)
		w.await(1)
		w.call(2)
		w.await(3)
	})
}
