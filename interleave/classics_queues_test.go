package interleave_test

import (
	"slices"

	"github.com/lanewright/lanewright/interleave"
)

// msQueue is the queue of Michael and Scott (1996). Its nodes are collected.
type msQueue struct {
	head, tail interleave.Pointer[msNode]

	msBugs
}

type msBugs struct {
	storesLink bool // push links its node by a store
	storesHead bool // pop moves the head by a store
	strictTail bool // push does not help a tail that is behind, and waits for it
}

type msNode struct {
	next  interleave.Pointer[msNode]
	value int
}

func newMSQueue(bugs msBugs) *msQueue {
	q := &msQueue{msBugs: bugs}
	n := new(msNode)
	q.head.Store(n)
	q.tail.Store(n)
	return q
}

func (q *msQueue) push(value int) {
	n := &msNode{value: value}
	for {
		t := q.tail.Load()
		next := t.next.Load()
		switch {
		case next != nil && q.strictTail:
			interleave.Yield()
			continue
		case next != nil:
			q.tail.CompareAndSwap(t, next)
			continue
		case q.storesLink:
			t.next.Store(n)
		case !t.next.CompareAndSwap(nil, n):
			continue
		}
		q.tail.CompareAndSwap(t, n)
		return
	}
}

// pop takes the oldest value, or returns 0 when there is none.
func (q *msQueue) pop() int {
	for {
		h, t := q.head.Load(), q.tail.Load()
		next := h.next.Load()
		if next == nil {
			return 0
		}
		if h == t {
			q.tail.CompareAndSwap(t, next)
			continue
		}
		if q.storesHead {
			q.head.Store(next)
			return next.value
		}
		if q.head.CompareAndSwap(h, next) {
			return next.value
		}
	}
}

// msProgram checks that each value is popped once.
func msProgram(bugs msBugs, pushers, poppers int, crash bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		q := newMSQueue(bugs)
		got := make([]int, poppers)
		if poppers > pushers {
			q.push(pushers + 1)
		}
		for i := range pushers {
			m.Go([]string{"push", "push too"}[i], func() { q.push(i + 1) })
		}
		for i := range poppers {
			m.Go("pop", func() { got[i] = q.pop() })
		}
		m.Final(func() {
			if crash {
				return
			}
			for v := q.pop(); v != 0; v = q.pop() {
				got = append(got, v)
			}
			checkOnce(m, got, max(pushers, poppers))
		})
	}
}

// checkOnce fails the execution unless got has each value from 1 to n once. A 0 is a
// pop that found nothing.
func checkOnce(m *interleave.M, got []int, n int) {
	var times [8]int
	for _, v := range got {
		if v != 0 {
			times[v]++
		}
	}
	for v := 1; v <= n; v++ {
		if times[v] != 1 {
			m.Fatalf("value %d was taken %d times: %v", v, times[v], got)
		}
	}
}

// indexStack is the stack of Treiber (1986) over the indexes of an array, as a free
// list is. The head has the index in its low byte and a tag in the bits of tags: each
// change of the head adds one to the tag.
type indexStack struct {
	head interleave.Uint32
	next [4]interleave.Uint32
	tags uint32
}

func (s *indexStack) set(head, index uint32) uint32 {
	return (head+1<<8)&(s.tags<<8) | index
}

func (s *indexStack) push(index uint32) {
	for {
		h := s.head.Load()
		s.next[index].Store(h & 255)
		if s.head.CompareAndSwap(h, s.set(h, index)) {
			return
		}
	}
}

// pop returns 0 when the stack is empty.
func (s *indexStack) pop() uint32 {
	for {
		h := s.head.Load()
		if h&255 == 0 {
			return 0
		}
		if s.head.CompareAndSwap(h, s.set(h, s.next[h&255].Load())) {
			return h & 255
		}
	}
}

// indexProgram has a stack of the indexes 3, 2 and 1, a thread that pops one, and a
// thread that pops some and pushes the first of them again.
func indexProgram(tags uint32, pops int) func(m *interleave.M) {
	return func(m *interleave.M) {
		s := &indexStack{tags: tags}
		for i := range uint32(3) {
			s.push(3 - i)
		}
		var one uint32
		var some []uint32
		m.Go("pop", func() { one = s.pop() })
		m.Go("again", func() {
			for range pops {
				some = append(some, s.pop())
			}
			if some[0] != 0 {
				s.push(some[0])
				some[0] = 0
			}
		})
		m.Final(func() {
			got := []int{int(one)}
			for _, v := range some {
				got = append(got, int(v))
			}
			for range 4 {
				got = append(got, int(s.pop()))
			}
			checkOnce(m, got, 3)
		})
	}
}

// spscProgram is a ring between one producer and one consumer.
type spscProgram struct {
	values int

	offByOne     bool // bug: the producer fills one slot more than there are
	earlyPublish bool // bug: the producer stores the tail before the slot
	earlyRelease bool // bug: the consumer stores the head before it reads the slot
}

func (p spscProgram) body(m *interleave.M) {
	const capacity = 2
	var slots [capacity]interleave.Cell[int]
	var head, tail interleave.Uint32
	limit := uint32(capacity)
	if p.offByOne {
		limit++
	}
	m.Go("producer", func() {
		for t := range uint32(p.values) {
			for t-head.Load() >= limit {
				interleave.Yield()
			}
			if p.earlyPublish {
				tail.Store(t + 1)
			}
			slots[t%capacity].Set(int(t))
			if !p.earlyPublish {
				tail.Store(t + 1)
			}
		}
	})
	m.Go("consumer", func() {
		for h := range uint32(p.values) {
			for tail.Load() == h {
				interleave.Yield()
			}
			if p.earlyRelease {
				head.Store(h + 1)
			}
			if got := slots[h%capacity].Get(); got != int(h) {
				m.Fatalf("took %d as value %d", got, h)
			}
			if !p.earlyRelease {
				head.Store(h + 1)
			}
		}
	})
}

// sequenceRing is the bounded queue of Vyukov (2010): each slot has a sequence number
// that says for which push or pop it is ready.
type sequenceRing struct {
	push, pop interleave.Uint32
	slots     [2]struct {
		sequence interleave.Uint32
		value    interleave.Cell[int]
	}

	earlySequence bool // bug: a push stores the sequence number before the value
	storesPush    bool // bug: a push claims its slot by a store
}

func (q *sequenceRing) put(value int) bool {
	for {
		at := q.push.Load()
		s := &q.slots[at%2]
		switch d := int32(s.sequence.Load() - at); {
		case d < 0:
			return false
		case d > 0:
			continue
		case q.storesPush:
			q.push.Store(at + 1)
		case !q.push.CompareAndSwap(at, at+1):
			continue
		}
		if q.earlySequence {
			s.sequence.Store(at + 1)
			s.value.Set(value)
		} else {
			s.value.Set(value)
			s.sequence.Store(at + 1)
		}
		return true
	}
}

func (q *sequenceRing) take() int {
	for {
		at := q.pop.Load()
		s := &q.slots[at%2]
		switch d := int32(s.sequence.Load() - (at + 1)); {
		case d < 0:
			return 0
		case d > 0:
			continue
		case !q.pop.CompareAndSwap(at, at+1):
			continue
		}
		v := s.value.Get()
		s.sequence.Store(at + 2)
		return v
	}
}

func sequenceProgram(earlySequence, storesPush bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		q := &sequenceRing{earlySequence: earlySequence, storesPush: storesPush}
		q.slots[1].sequence.Store(1)
		got := make([]int, 1)
		for i := range 2 {
			m.Go("put", func() {
				if !q.put(i + 1) {
					m.Fatalf("the empty queue is full")
				}
			})
		}
		m.Go("take", func() { got[0] = q.take() })
		m.Final(func() {
			for v := q.take(); v != 0; v = q.take() {
				got = append(got, v)
			}
			checkOnce(m, got, 2)
		})
	}
}

// linkProgram is the queue of Vyukov with many producers and one consumer. A push
// swaps the tail and then links its node. While the link of one push is missing, the
// consumer cannot reach the nodes of later pushes. With empty, it takes the missing
// link for an empty queue, which contradicts a push that has ended.
func linkProgram(empty bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		var tail interleave.Pointer[msNode]
		var ended interleave.Bool
		head := new(msNode)
		tail.Store(head)
		push := func(v int) {
			n := &msNode{value: v}
			tail.Swap(n).next.Store(n)
		}
		m.Go("push", func() { push(1) })
		m.Go("push too", func() {
			push(2)
			ended.Store(true)
		})
		m.Go("pop", func() {
			if !ended.Load() {
				return
			}
			next := head.next.Load()
			for next == nil && !empty {
				interleave.Yield()
				next = head.next.Load()
			}
			if next == nil {
				m.Fatalf("empty, although a push has ended")
			}
		})
	}
}

// chaseLev is the deque of Chase and Lev (2005), without growth. One owner pushes
// and pops at the bottom, thieves steal at the top.
type chaseLev struct {
	top, bottom interleave.Int32
	slots       [4]interleave.Int32

	chaseLevBugs
}

type chaseLevBugs struct {
	storesTop   bool // the owner takes the last value by a store to the top
	topFirst    bool // the owner loads the top before it lowers the bottom
	bottomFirst bool // a thief loads the bottom before the top
	lateRead    bool // a thief reads the slot after it has moved the top
}

func (d *chaseLev) push(v int) {
	b := d.bottom.Load()
	d.slots[b%4].Store(int32(v))
	d.bottom.Store(b + 1)
}

func (d *chaseLev) pop() int {
	b := d.bottom.Load() - 1
	var t int32
	if d.topFirst {
		t = d.top.Load()
		d.bottom.Store(b)
	} else {
		d.bottom.Store(b)
		t = d.top.Load()
	}
	if t > b {
		d.bottom.Store(b + 1)
		return 0
	}
	v := int(d.slots[b%4].Load())
	if t < b {
		return v
	}
	if d.storesTop {
		d.top.Store(t + 1)
	} else if !d.top.CompareAndSwap(t, t+1) {
		v = 0
	}
	d.bottom.Store(b + 1)
	return v
}

func (d *chaseLev) steal() int {
	var t, b int32
	if d.bottomFirst {
		b = d.bottom.Load()
		t = d.top.Load()
	} else {
		t = d.top.Load()
		b = d.bottom.Load()
	}
	if t >= b {
		return 0
	}
	if d.lateRead {
		if !d.top.CompareAndSwap(t, t+1) {
			return 0
		}
		return int(d.slots[t%4].Load())
	}
	v := int(d.slots[t%4].Load())
	if !d.top.CompareAndSwap(t, t+1) {
		return 0
	}
	return v
}

// chaseLevProgram has a deque of values. The owner pops pops times and then pushes
// four values if wraps is set, and the thief steals steals times.
func chaseLevProgram(bugs chaseLevBugs, values, pops, steals int, wraps bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		d := &chaseLev{chaseLevBugs: bugs}
		pushed := values
		for v := range values {
			d.push(v + 1)
		}
		var popped, stolen []int
		m.Go("owner", func() {
			for range pops {
				popped = append(popped, d.pop())
			}
			for i := 0; wraps && i < 4; i++ {
				if b := d.bottom.Load(); b-d.top.Load() < 4 {
					pushed++
					d.push(pushed)
				}
			}
		})
		m.Go("thief", func() {
			for range steals {
				stolen = append(stolen, d.steal())
			}
		})
		m.Final(func() {
			got := slices.Concat(popped, stolen)
			for range 8 {
				got = append(got, d.pop())
			}
			checkOnce(m, got, pushed)
		})
	}
}

// sortedList is the list of Harris (2001). A link has the index of the next node and,
// in its lowest bit, the mark of a deleted node. The keys are the indexes.
type sortedList struct {
	next [5]interleave.Uint32 // 0 is the head; a link to 0 is the end

	noMark bool // bug: a deleted node is not marked
}

// find returns the last node before key, and the node after that one.
func (l *sortedList) find(key uint32) (before, at uint32) {
again:
	before = 0
	at = l.next[0].Load() >> 1
	for at != 0 {
		next := l.next[at].Load()
		switch {
		case next&1 != 0:
			if !l.next[before].CompareAndSwap(at<<1, next&^1) {
				goto again
			}
		case at >= key:
			return before, at
		default:
			before = at
		}
		at = next >> 1
	}
	return before, 0
}

func (l *sortedList) insert(key uint32) {
	for {
		before, at := l.find(key)
		l.next[key].Store(at << 1)
		if l.next[before].CompareAndSwap(at<<1, key<<1) {
			return
		}
	}
}

func (l *sortedList) remove(key uint32) {
	for {
		before, at := l.find(key)
		if at != key {
			return
		}
		next := l.next[key].Load()
		if !l.noMark && (next&1 != 0 || !l.next[key].CompareAndSwap(next, next|1)) {
			continue
		}
		if l.next[before].CompareAndSwap(key<<1, next) || !l.noMark {
			return
		}
	}
}

// keys returns the keys of the list.
func (l *sortedList) keys() []uint32 {
	var keys []uint32
	for at := l.next[0].Load() >> 1; at != 0; at = l.next[at].Load() >> 1 {
		if l.next[at].Load()&1 == 0 {
			keys = append(keys, at)
		}
	}
	return keys
}

// listProgram runs two operations on a list with the keys 1 and 3.
func listProgram(noMark bool, want []uint32, first, second func(l *sortedList)) func(m *interleave.M) {
	return func(m *interleave.M) {
		l := &sortedList{noMark: noMark}
		l.insert(1)
		l.insert(3)
		m.Go("first", func() { first(l) })
		m.Go("second", func() { second(l) })
		m.Final(func() {
			if got := l.keys(); !slices.Equal(got, want) {
				m.Fatalf("the list has the keys %v, want %v", got, want)
			}
		})
	}
}

func listInsert(key uint32) func(l *sortedList) { return func(l *sortedList) { l.insert(key) } }
func listRemove(key uint32) func(l *sortedList) { return func(l *sortedList) { l.remove(key) } }

var queueClassics = []classic{
	{
		name: "michael-scott queue",
		prog: msProgram(msBugs{}, 1, 1, false),
		upTo: interleave.All,
	},
	{
		name: "michael-scott queue, two pushes and two pops",
		prog: msProgram(msBugs{}, 2, 2, false),
		upTo: 3,
	},
	{
		name: "michael-scott queue, a push crashes",
		prog: msProgram(msBugs{}, 2, 1, true),
		opts: interleave.Options{Crash: "push"},
		upTo: 3,
	},
	{
		name: "michael-scott queue, a push crashes: no help", wrong: interleave.Deadlock, least: 0,
		prog: msProgram(msBugs{strictTail: true}, 2, 0, true),
		opts: interleave.Options{Crash: "push"},
		why:  "a push that crashes between link and tail stops the next push, and a crash is no preemption",
	},
	{
		name: "michael-scott queue: link by a store", wrong: interleave.Failed, least: 1,
		prog: msProgram(msBugs{storesLink: true}, 2, 1, false),
		why:  "the first push stops before its store and overwrites the link of the second one",
	},
	{
		name: "michael-scott queue: head by a store", wrong: interleave.Failed, least: 1,
		prog: msProgram(msBugs{storesHead: true}, 1, 2, false),
		why:  "the first pop stops before its store, and both take the same value",
	},
	{
		name: "index stack with tags",
		prog: indexProgram(1<<24-1, 3),
		upTo: interleave.All,
	},
	{
		name: "index stack: no tags", wrong: interleave.Failed, least: 1,
		prog: indexProgram(0, 2),
		why:  "the pop stops before its CompareAndSwap, and the head comes back with another successor",
	},
	{
		name: "index stack with tags of one bit, three changes",
		prog: indexProgram(1, 2),
		upTo: interleave.All,
	},
	{
		name: "index stack: tags of one bit", wrong: interleave.Failed, least: 1,
		prog: indexProgram(1, 3),
		why:  "the pop stops before its CompareAndSwap, and four changes bring the tag back",
	},
	{
		name: "spsc ring",
		prog: spscProgram{values: 3}.body,
		upTo: interleave.All,
	},
	{
		name: "spsc ring: off by one", wrong: interleave.Failed, also: interleave.Race, least: 0,
		prog: spscProgram{values: 3, offByOne: true}.body,
		why:  "the producer overwrites the first value without a switch",
	},
	{
		name: "spsc ring: early publish", wrong: interleave.Race, also: interleave.Failed, least: 0,
		prog: spscProgram{values: 3, earlyPublish: true}.body,
		why:  "the tail does not order the slot in any order",
	},
	{
		name: "spsc ring: early release", wrong: interleave.Race, also: interleave.Failed, least: 1,
		prog: spscProgram{values: 3, earlyRelease: true}.body,
		why:  "the consumer stops after its release, and a release of the next slot would order its read",
	},
	{
		name: "sequence ring",
		prog: sequenceProgram(false, false),
		upTo: interleave.All,
	},
	{
		name: "sequence ring: early sequence", wrong: interleave.Race, also: interleave.Failed, least: 0,
		prog: sequenceProgram(true, false),
		why:  "the sequence number does not order the value in any order",
	},
	{
		name: "sequence ring: claim by a store", wrong: interleave.Race, also: interleave.Failed, least: 1,
		prog: sequenceProgram(false, true),
		why:  "the first push stops before its store, and both write one slot",
	},
	{
		name: "linked queue with one consumer",
		prog: linkProgram(false),
		upTo: interleave.All,
	},
	{
		name: "linked queue with one consumer: missing link is empty", wrong: interleave.Failed, least: 1,
		prog: linkProgram(true),
		why:  "the first push stops between its swap and its link",
	},
	{
		name: "chase-lev deque",
		prog: chaseLevProgram(chaseLevBugs{}, 2, 2, 2, false),
		upTo: interleave.All,
	},
	{
		name: "chase-lev deque: last value by a store", wrong: interleave.Failed, least: 2,
		prog: chaseLevProgram(chaseLevBugs{storesTop: true}, 1, 1, 1, false),
		why:  "the thief stops after its loads, since it finds nothing later, and the owner before its store",
	},
	{
		name: "chase-lev deque: top before bottom", wrong: interleave.Failed, least: 1,
		prog: chaseLevProgram(chaseLevBugs{topFirst: true}, 2, 1, 2, false),
		why:  "the owner stops between its load and its store, and the thief takes both values",
	},
	{
		name: "chase-lev deque: bottom before top", wrong: interleave.Failed, least: 1,
		prog: chaseLevProgram(chaseLevBugs{bottomFirst: true}, 2, 2, 1, false),
		why:  "the thief stops between its loads, and the owner takes both values",
	},
	{
		name: "chase-lev deque over the end of the array",
		prog: chaseLevProgram(chaseLevBugs{}, 1, 0, 1, true),
		upTo: interleave.All,
	},
	{
		name: "chase-lev deque: slot read after the steal", wrong: interleave.Failed, least: 1,
		prog: chaseLevProgram(chaseLevBugs{lateRead: true}, 1, 0, 1, true),
		why:  "the thief stops after its CompareAndSwap, and the owner fills the slot again",
	},
	{
		name: "sorted list, insert behind a removed node",
		prog: listProgram(false, []uint32{2, 3}, listRemove(1), listInsert(2)),
		upTo: interleave.All,
	},
	{
		name: "sorted list, two neighbours removed",
		prog: listProgram(false, nil, listRemove(1), listRemove(3)),
		upTo: interleave.All,
	},
	{
		name: "sorted list: insert behind a removed node, no mark", wrong: interleave.Failed, least: 1,
		prog: listProgram(true, []uint32{2, 3}, listRemove(1), listInsert(2)),
		why:  "the insert stops before its CompareAndSwap on the link of the node that another thread removes",
	},
	{
		name: "sorted list: two neighbours removed, no mark", wrong: interleave.Failed, least: 1,
		prog: listProgram(true, nil, listRemove(1), listRemove(3)),
		why:  "the removal of 3 stops before it changes the link of 1, which another thread removes",
	},
}
