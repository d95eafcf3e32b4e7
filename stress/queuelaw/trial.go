package queuelaw

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

// A value says who pushed it, as which of its values, and in which attempt: one
// that was refused is not pushed again, so that it is known if it comes out.
func valueOf(producer, seq, try int) uint64 {
	return uint64(producer)<<48 | uint64(uint32(seq))<<16 | uint64(uint16(try))
}

func producerOf(v uint64) int { return int(v >> 48) }
func seqOf(v uint64) int      { return int(uint32(v >> 16)) }

func describe(v uint64) string {
	return fmt.Sprintf("value %d of producer %d (attempt %d)", seqOf(v), producerOf(v), uint16(v))
}

// maxMisses is how many Pops in a row find nothing before a consumer ends,
// once the producers have ended. What is left then is taken by one goroutine.
const maxMisses = 64

// trial is one queue in use.
type trial struct {
	r     *harness.Run
	q     Queue
	shape Shape
	users []*user

	// notes holds what each producer wrote for each of its values before its
	// first attempt. It is plain memory: a queue that users a value over without
	// ordering the two is found by the race detector.
	notes [][]uint64

	producing        atomic.Int32 // producers that have not ended
	accepted, popped atomic.Int64 // values so far
	closed           atomic.Bool  // Close has returned
	returned         []uint64     // by Close
}

// newTrial draws a shape and makes the queue and its users.
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

// concur uses the queue from all users at once, and from the others, and takes
// what is left then. It reports whether all ended.
func (run *trial) concur(others ...func()) bool {
	run.r.T.Helper()
	fns := others
	for _, h := range run.users {
		fns = append(fns, h.use)
	}
	return run.ends(harness.Start(fns...)) && run.ends(harness.Start(run.drain))
}

// ends waits for users that use the queue.
func (run *trial) ends(done <-chan struct{}) bool {
	run.r.T.Helper()
	return run.r.Await(done, func() string {
		return fmt.Sprintf("the queue is stuck: %d producers have not ended, %d values were accepted and %d popped",
			run.producing.Load(), run.accepted.Load(), run.popped.Load())
	})
}

// drain takes what is left, through every consumer in turn until all of them
// find nothing.
func (run *trial) drain() {
	for again := true; again && !run.r.IsExpired(); {
		again = false
		for _, h := range run.users {
			// A queue that makes values up would never be empty.
			for h.pop != nil && run.popped.Load() <= 2*run.accepted.Load() && h.take() {
				again = true
			}
		}
	}
}

// fill pushes, from all producers in turn, until a value is refused or none is
// left.
func (run *trial) fill() {
	for i := 0; int(run.accepted.Load()) < run.todo() && !run.r.IsExpired(); i++ {
		h := run.users[i%run.shape.Producers] // all have as many
		if !h.giveOne() {
			return
		}
	}
}

// todo returns how many values the producers have in all.
func (run *trial) todo() int {
	return run.shape.Producers * run.users[0].todo
}

// out yields all values that came out, by Pop and by Close.
func (run *trial) out() iter.Seq[uint64] {
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

// checkOnce checks that what came out had been accepted, and nothing twice.
func (run *trial) checkOnce() {
	run.r.T.Helper()
	waits := make(map[uint64]bool) // accepted: has it still to come out?
	for _, h := range run.users {
		for _, v := range h.accepted {
			waits[v] = true
		}
	}
	for v := range run.out() {
		if first, accepted := waits[v]; !accepted {
			run.r.Failf("%s came out and had not been accepted", describe(v))
		} else if !first {
			run.r.Failf("%s came out twice", describe(v))
		}
		waits[v] = false
	}
}

// checkLost checks that what was accepted came out.
func (run *trial) checkLost() {
	run.r.T.Helper()
	out := make(map[uint64]bool)
	for v := range run.out() {
		out[v] = true
	}
	var lost []uint64
	for _, h := range run.users {
		for _, v := range h.accepted {
			if !out[v] {
				lost = append(lost, v)
			}
		}
	}
	if len(lost) > 0 {
		run.r.Failf("%d of %d accepted values were lost; the first is %s", len(lost), run.accepted.Load(), describe(lost[0]))
	}
}

// checkOrder checks that each consumer got the values of each producer in order.
func (run *trial) checkOrder() {
	run.r.T.Helper()
	for _, h := range run.users {
		last := make(map[int]uint64)
		for _, v := range h.popped {
			p := producerOf(v)
			if before, ok := last[p]; ok && seqOf(v) < seqOf(before) {
				run.r.Failf("a consumer got %s after %s", describe(v), describe(before))
			}
			last[p] = v
		}
	}
}

// checkRefuses checks that a closed queue takes nothing.
func (run *trial) checkRefuses() {
	run.r.T.Helper()
	for _, h := range run.users[:run.shape.Producers] {
		if h.push.Push(valueOf(h.producer, h.todo, 0)) {
			run.r.Failf("a closed queue accepted a value of producer %d", h.producer)
		}
	}
}

// user is one goroutine that uses a queue, and its handles.
type user struct {
	run  *trial
	rng  *rand.Rand
	push Producer // nil: pops only
	pop  Consumer // nil: pushes only

	producer, todo, burst int
	sent, tries           int

	accepted, popped []uint64
}

// use pushes and pops until there is nothing more to do.
func (h *user) use() {
	misses, pushing := 0, h.push != nil && h.todo > 0
	for !h.run.r.IsExpired() && (pushing || h.pop != nil && misses < maxMisses) {
		progress := false
		if pushing {
			progress, pushing = h.give(1 + h.rng.IntN(h.burst))
		}
		if h.pop != nil {
			for range 1 + h.rng.IntN(h.burst) {
				if !h.take() {
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

// give pushes up to n values, until one is refused. It reports whether any was
// accepted, and whether there are more to push; a closed queue gets no more.
func (h *user) give(n int) (some, more bool) {
	closed := h.run.closed.Load()
	before := h.sent
	n = min(n, h.todo-h.sent)
	if b, ok := h.push.(BatchProducer); ok && h.rng.IntN(2) == 0 {
		h.giveBatch(b, n)
	} else {
		for i := 0; i < n && h.giveOne(); i++ {
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

// next is the value to push next, with its note written.
func (h *user) next(seq int) uint64 {
	if note := &h.run.notes[h.producer][seq]; *note == 0 {
		*note = valueOf(h.producer, seq, 1)
	}
	return valueOf(h.producer, seq, h.tries)
}

func (h *user) giveOne() bool {
	v := h.next(h.sent)
	if !h.push.Push(v) {
		h.tries++
		return false
	}
	h.gave(v)
	return true
}

func (h *user) giveBatch(b BatchProducer, n int) {
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
		h.gave(v)
	}
}

func (h *user) gave(v uint64) {
	h.sent++
	h.accepted = append(h.accepted, v)
	h.run.accepted.Add(1)
}

// take pops a value and reports whether there was one.
func (h *user) take() bool {
	v, ok := h.pop.Pop()
	if !ok {
		return false
	}
	h.popped = append(h.popped, v)
	h.run.popped.Add(1)
	if p, seq := producerOf(v), seqOf(v); p < len(h.run.notes) && seq < len(h.run.notes[p]) {
		if h.run.notes[p][seq] != valueOf(p, seq, 1) {
			h.run.r.Record("%s came out and what its producer wrote before the push did not show", describe(v))
		}
	}
	return true
}
