package queuelaw

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

// valueOf returns the value of a push: the producer, the sequence number of the value,
// and the attempt. A producer pushes a refused value again as another attempt, so that
// a refused attempt is recognized when it is popped.
func valueOf(producer, seq, try int) uint64 {
	return uint64(producer)<<48 | uint64(uint32(seq))<<16 | uint64(uint16(try))
}

func producerOf(v uint64) int { return int(v >> 48) }
func seqOf(v uint64) int      { return int(uint32(v >> 16)) }

func describe(v uint64) string {
	return fmt.Sprintf("value %d of producer %d (attempt %d)", seqOf(v), producerOf(v), uint16(v))
}

// maxMisses is the number of consecutive Pops without a value after which a consumer
// returns, once the producers have returned. One goroutine then drains the queue.
const maxMisses = 64

// trial is one queue under test, with the goroutines that use it.
type trial struct {
	r     *harness.Run
	q     Queue
	shape Shape
	users []*user

	// notes holds, by producer, what the producer writes for each value before its
	// first attempt. It is plain memory: when a queue does not order the push before
	// the pop, the race detector reports it.
	notes [][]uint64

	producing        atomic.Int32 // producers that have not returned
	accepted, popped atomic.Int64 // values so far
	closed           atomic.Bool  // Close has returned
	returned         []uint64     // by Close
}

// newTrial generates a shape and makes the queue and its users.
func newTrial(r *harness.Run, k Kind, operations int) *trial {
	few := func(limit int) int {
		if limit == 0 || limit > 4 {
			limit = 4
		}
		return r.Between(1, limit)
	}
	s := Shape{Producers: few(k.MaxProducers), Consumers: few(k.MaxConsumers)}
	if k.Owned {
		s.Consumers = max(s.Consumers, s.Producers)
	}
	each := max(1, operations/s.Producers)
	burst := []int{1, 8, 64, 640}[r.Rand.IntN(4)]
	r.Shape = fmt.Sprintf("%d producers of %d values each, %d consumers, bursts of up to %d", s.Producers, each, s.Consumers, burst)

	run := &trial{r: r, q: k.New(s), shape: s}
	run.producing.Store(int32(s.Producers))
	for i := range s.Producers {
		h := &user{run: run, rng: r.Split(), push: run.q.Producer(i), producer: i, todo: each, burst: burst}
		run.users = append(run.users, h)
		run.notes = append(run.notes, make([]uint64, each))
	}
	for i := range s.Consumers {
		if k.Owned && i < s.Producers {
			run.users[i].pop = run.q.Consumer(i)
			continue
		}
		run.users = append(run.users, &user{run: run, rng: r.Split(), pop: run.q.Consumer(i), burst: burst})
	}
	return run
}

// useConcurrently runs all users and the other functions at the same time and then
// drains the queue. It reports whether all of them returned.
func (run *trial) useConcurrently(others ...func()) bool {
	run.r.T.Helper()
	fns := others
	for _, h := range run.users {
		fns = append(fns, h.use)
	}
	return run.await(harness.Start(fns...)) && run.await(harness.Start(run.drain))
}

// await waits for goroutines that use the queue.
func (run *trial) await(done <-chan struct{}) bool {
	run.r.T.Helper()
	return run.r.Await(done, func() string {
		return fmt.Sprintf("the queue is stuck: %d producers have not returned, %d values were accepted and %d popped",
			run.producing.Load(), run.accepted.Load(), run.popped.Load())
	})
}

// drain pops through every consumer in turn, until all of them find nothing.
func (run *trial) drain() {
	for again := true; again && !run.r.IsExpired(); {
		again = false
		for _, h := range run.users {
			// The bound ends the loop for a queue that returns values without end.
			for h.pop != nil && run.popped.Load() <= 2*run.accepted.Load() && h.popOne() {
				again = true
			}
		}
	}
}

// fill pushes from all producers in turn, until the queue refuses a value or none is
// left.
func (run *trial) fill() {
	for i := 0; int(run.accepted.Load()) < run.total() && !run.r.IsExpired(); i++ {
		h := run.users[i%run.shape.Producers] // all producers have the same number of values
		if !h.pushOne() {
			return
		}
	}
}

// total returns the number of values of all producers.
func (run *trial) total() int {
	return run.shape.Producers * run.users[0].todo
}

// results yields all values that Pop or Close returned.
func (run *trial) results() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for _, h := range run.users {
			for _, v := range h.popped {
				if !yield(v) {
					return
				}
			}
		}
		for _, v := range run.returned {
			if !yield(v) {
				return
			}
		}
	}
}

// checkOnce checks that each returned value was accepted, and that no value was
// returned twice.
func (run *trial) checkOnce() {
	run.r.T.Helper()
	pending := make(map[uint64]bool) // accepted: it was not returned yet
	for _, h := range run.users {
		for _, v := range h.accepted {
			pending[v] = true
		}
	}
	for v := range run.results() {
		if first, accepted := pending[v]; !accepted {
			run.r.Failf("%s was returned and had not been accepted", describe(v))
		} else if !first {
			run.r.Failf("%s was returned twice", describe(v))
		}
		pending[v] = false
	}
}

// checkLost checks that each accepted value was returned.
func (run *trial) checkLost() {
	run.r.T.Helper()
	seen := make(map[uint64]bool)
	for v := range run.results() {
		seen[v] = true
	}
	var lost []uint64
	for _, h := range run.users {
		for _, v := range h.accepted {
			if !seen[v] {
				lost = append(lost, v)
			}
		}
	}
	if len(lost) > 0 {
		run.r.Failf("%d of %d accepted values were lost; the first is %s", len(lost), run.accepted.Load(), describe(lost[0]))
	}
}

// checkOrder checks that each consumer popped the values of each producer in order.
func (run *trial) checkOrder() {
	run.r.T.Helper()
	for _, h := range run.users {
		last := make(map[int]uint64)
		for _, v := range h.popped {
			p := producerOf(v)
			if before, ok := last[p]; ok && seqOf(v) < seqOf(before) {
				run.r.Failf("a consumer popped %s after %s", describe(v), describe(before))
			}
			last[p] = v
		}
	}
}

// checkRefuses checks that a closed queue accepts no value.
func (run *trial) checkRefuses() {
	run.r.T.Helper()
	for _, h := range run.users[:run.shape.Producers] {
		if h.push.Push(valueOf(h.producer, h.todo, 0)) {
			run.r.Failf("a closed queue accepted a value of producer %d", h.producer)
		}
	}
}

// user is one goroutine that uses a queue, with its handles.
type user struct {
	run  *trial
	rng  *rand.Rand
	push Producer // nil: pops only
	pop  Consumer // nil: pushes only

	producer, todo, burst int
	sent, tries           int

	accepted, popped []uint64
}

// use pushes and pops in bursts until all values are pushed and the consumer finds
// nothing any more.
func (h *user) use() {
	misses, pushing := 0, h.push != nil && h.todo > 0
	for !h.run.r.IsExpired() && (pushing || h.pop != nil && misses < maxMisses) {
		progress := false
		if pushing {
			progress, pushing = h.pushBurst(1 + h.rng.IntN(h.burst))
		}
		if h.pop != nil {
			for range 1 + h.rng.IntN(h.burst) {
				if !h.popOne() {
					break
				}
				progress = true
			}
		}
		if progress {
			misses = 0
			continue
		}
		if h.run.producing.Load() == 0 {
			misses++
		}
		runtime.Gosched()
	}
}

// pushBurst pushes up to n values, until the queue refuses one. It reports whether the
// queue accepted a value, and whether the user has more values to push. A user pushes
// no more to a queue that was closed before the burst.
func (h *user) pushBurst(n int) (some, more bool) {
	closed := h.run.closed.Load()
	before := h.sent
	n = min(n, h.todo-h.sent)
	if b, ok := h.push.(BatchProducer); ok && h.rng.IntN(2) == 0 {
		h.pushBatch(b, n)
	} else {
		for i := 0; i < n && h.pushOne(); i++ {
		}
	}
	some = h.sent > before
	if closed && some {
		h.run.r.Record("a closed queue accepted %s", describe(h.accepted[h.sent-1]))
	}
	if more = h.sent < h.todo && !closed; !more {
		h.run.producing.Add(-1)
	}
	return some, more
}

// next writes the note of a value and returns the value.
func (h *user) next(seq int) uint64 {
	if note := &h.run.notes[h.producer][seq]; *note == 0 {
		*note = valueOf(h.producer, seq, 1)
	}
	return valueOf(h.producer, seq, h.tries)
}

// pushOne pushes the next value and reports whether the queue accepted it.
func (h *user) pushOne() bool {
	v := h.next(h.sent)
	if !h.push.Push(v) {
		h.tries++
		return false
	}
	h.pushed(v)
	return true
}

// pushBatch pushes up to n values at once.
func (h *user) pushBatch(b BatchProducer, n int) {
	vs := make([]uint64, n)
	for i := range vs {
		vs[i] = h.next(h.sent + i)
	}
	taken := b.PushAll(vs)
	if taken < 0 || taken > n {
		h.run.r.Record("PushAll of %d values returned %d", n, taken)
		taken = n
	}
	if taken < n {
		h.tries++
	}
	for _, v := range vs[:taken] {
		h.pushed(v)
	}
}

// pushed counts a value that the queue accepted.
func (h *user) pushed(v uint64) {
	h.sent++
	h.accepted = append(h.accepted, v)
	h.run.accepted.Add(1)
}

// popOne pops a value and reports whether there was one.
func (h *user) popOne() bool {
	v, ok := h.pop.Pop()
	if !ok {
		return false
	}
	h.popped = append(h.popped, v)
	h.run.popped.Add(1)
	if p, seq := producerOf(v), seqOf(v); p < len(h.run.notes) && seq < len(h.run.notes[p]) {
		if h.run.notes[p][seq] != valueOf(p, seq, 1) {
			h.run.r.Record("%s was popped, and its consumer did not see what the producer wrote before the push", describe(v))
		}
	}
	return true
}
