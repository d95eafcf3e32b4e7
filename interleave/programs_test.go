package interleave_test

import "github.com/lanewright/lanewright/interleave"

// The programs in this file are small forms of real algorithms with optional bugs.
// The explorer finds each bug, and no failure in a program without one.

// stack is the lock-free stack of Treiber. Its nodes are part of tasks.
type stack struct {
	head interleave.Pointer[stackNode]
}

type stackNode struct {
	next interleave.Pointer[stackNode]
	id   int
}

func (s *stack) push(n *stackNode) {
	for {
		h := s.head.Load()
		n.next.Store(h)
		if s.head.CompareAndSwap(h, n) {
			return
		}
	}
}

func (s *stack) pop() *stackNode {
	for {
		h := s.head.Load()
		if h == nil {
			return nil
		}
		if s.head.CompareAndSwap(h, h.next.Load()) {
			return h
		}
	}
}

// stackProgram runs tasks from a stack and schedules one of them a second time. With
// reuse, the second push uses the node of the first one. A stalled pop then takes
// the new head for the old one (ABA).
func stackProgram(reuse bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		var s stack
		var scheduled, ran [3]int
		push := func(n *stackNode) {
			scheduled[n.id]++
			s.push(n)
		}
		pop := func() *stackNode {
			n := s.pop()
			if n != nil {
				ran[n.id]++
			}
			return n
		}
		for id := range 3 {
			push(&stackNode{id: id})
		}
		m.Go("pop", func() { pop() })
		m.Go("again", func() {
			n := pop()
			pop()
			if n == nil {
				return
			}
			if !reuse {
				n = &stackNode{id: n.id}
			}
			push(n)
		})
		m.Final(func() {
			for i := 0; i < 10 && pop() != nil; i++ {
			}
			if ran != scheduled {
				m.Fatalf("tasks ran %v times, and were scheduled %v times", ran, scheduled)
			}
		})
	}
}

// mpsc is a stack of nodes with a try-lock for its consumers. The holder of the lock
// takes all nodes, pops one, and leaves the rest in a cache for the next holder.
type mpsc struct {
	head  interleave.Pointer[mpscNode]
	state interleave.Uint32
	cache interleave.Cell[*mpscNode] // owned by the holder of consuming

	mpscBugs
}

type mpscBugs struct {
	lateCache bool // the cache is written after the unlock
	noCached  bool // the cached bit is always cleared
}

type mpscNode struct {
	next interleave.Cell[*mpscNode] // owned by the pusher, then by the consumer
	id   int
}

const (
	consuming = 1 // a consumer holds the lock
	cached    = 2 // the cache holds nodes
)

func (q *mpsc) push(n *mpscNode) {
	for {
		h := q.head.Load()
		n.next.Set(h)
		if q.head.CompareAndSwap(h, n) {
			return
		}
	}
}

// pop takes a node. It returns nil when there is none or another consumer holds the
// lock.
func (q *mpsc) pop() *mpscNode {
	s := q.state.Load()
	if s&consuming != 0 || s&cached == 0 && q.head.Load() == nil || !q.state.CompareAndSwap(s, s|consuming) {
		return nil
	}
	var n *mpscNode
	if s&cached != 0 {
		n = q.cache.Get()
	}
	if n == nil {
		n = q.head.Swap(nil)
	}
	var rest *mpscNode
	if n != nil {
		rest = n.next.Get()
	}
	after := uint32(0)
	if rest != nil && !q.noCached {
		after = cached
	}
	if q.lateCache {
		q.state.Store(after)
		q.cache.Set(rest)
	} else {
		q.cache.Set(rest)
		q.state.Store(after)
	}
	return n
}

func mpscProgram(bugs mpscBugs, consumers int) func(m *interleave.M) {
	return func(m *interleave.M) {
		q := &mpsc{mpscBugs: bugs}
		var ran [3]int
		q.push(&mpscNode{id: 0})
		q.push(&mpscNode{id: 1})
		m.Go("push", func() { q.push(&mpscNode{id: 2}) })
		for range consumers {
			m.Go("pop", func() {
				if n := q.pop(); n != nil {
					ran[n.id]++
				}
			})
		}
		m.Final(func() {
			for n := q.pop(); n != nil; n = q.pop() {
				ran[n.id]++
			}
			if ran != [3]int{1, 1, 1} {
				m.Fatalf("tasks ran %v times", ran)
			}
		})
	}
}

// mailbox is a row of slots between one sender and one worker. A slot is busy when
// its bit in pub differs from its bit in ack. Each of the two words has one writer.
// The worker parks on a doorbell.
type mailbox struct {
	pub    interleave.Uint32 // written by the sender
	ack    interleave.Uint32 // written by the worker
	slots  [4]interleave.Cell[int]
	signal interleave.Uint32
	parked interleave.Uint32
	bell   interleave.Sema

	mailboxBugs
}

type mailboxBugs struct {
	earlyPublish bool // the slot is published before it is written
	earlyRelease bool // the slot is released before it is read
	lateSignal   bool // the doorbell is read after the poll
}

func (b *mailbox) send(v int) {
	pub := b.pub.Load()
	busy := pub ^ b.ack.Load()
	i := 0
	for busy>>i&1 != 0 {
		i++
	}
	if b.earlyPublish {
		b.pub.Store(pub ^ 1<<i)
		b.slots[i].Set(v)
	} else {
		b.slots[i].Set(v)
		b.pub.Store(pub ^ 1<<i)
	}
	b.signal.Add(1)
	if b.parked.Swap(0) == 1 {
		b.bell.Post()
	}
}

// receive reads all busy slots.
func (b *mailbox) receive(got []int) []int {
	ack := b.ack.Load()
	busy := b.pub.Load() ^ ack
	if b.earlyRelease && busy != 0 {
		b.ack.Store(ack ^ busy)
	}
	for i := range b.slots {
		if busy>>i&1 != 0 {
			got = append(got, b.slots[i].Get())
		}
	}
	if !b.earlyRelease && busy != 0 {
		b.ack.Store(ack ^ busy)
	}
	return got
}

// work receives n messages.
func (b *mailbox) work(n int) []int {
	var got []int
	for {
		seen := b.signal.Load()
		got = b.receive(got)
		if len(got) >= n {
			return got
		}
		if b.lateSignal {
			seen = b.signal.Load()
		}
		b.parked.Store(1)
		if b.signal.Load() != seen {
			if b.parked.Swap(0) == 1 {
				continue // no sender has posted a token, and none will
			}
		}
		b.bell.Wait()
	}
}

// mailboxProgram sends messages to one worker and checks that it receives all of
// them. More than one sender is a bug.
func mailboxProgram(bugs mailboxBugs, senders, each int) func(m *interleave.M) {
	return func(m *interleave.M) {
		b := &mailbox{mailboxBugs: bugs}
		b.bell.Init(1)
		m.Name(&b.pub, "pub")
		m.Name(&b.ack, "ack")
		m.Name(&b.signal, "signal")
		m.Name(&b.parked, "parked")
		m.Name(&b.bell, "bell")
		for h := range senders {
			m.Go("sender", func() {
				for i := range each {
					b.send(h*each + i + 1)
				}
			})
		}
		var got []int
		m.Go("worker", func() { got = b.work(senders * each) })
		m.Final(func() {
			sum := 0
			for _, v := range got {
				sum += v
			}
			if n := senders * each; len(got) != n || sum != n*(n+1)/2 {
				m.Fatalf("received %v", got)
			}
		})
	}
}

// throttle is a scheduler whose workers park on a semaphore and are woken one at a
// time. Its word packs the state of the waking worker, the notified bit, and the
// numbers of parked and of spawned workers.
type throttle struct {
	word  interleave.Uint32
	sema  interleave.Sema
	tasks interleave.Int32
	left  interleave.Int32
	done  interleave.Sema
	limit uint32
	fails int // how many spawns may fail

	throttleBugs
}

type throttleBugs struct {
	dropped     bool // a notification while another worker is waking is dropped
	keepsWaking bool // a waking worker that parks keeps the waking status
	closedLatch bool // a failed spawn leaves the state signaled
}

const (
	statePending  = 0
	stateWaking   = 1
	stateSignaled = 2
	stateMask     = 3
	notified      = 1 << 2
	idleOne       = 1 << 4
	spawnedOne    = 1 << 8
)

func idle(w uint32) uint32    { return w >> 4 & 15 }
func spawned(w uint32) uint32 { return w >> 8 & 15 }

func (p *throttle) notify(waking bool) {
	for {
		w := p.word.Load()
		can := waking || w&stateMask == statePending
		next := w | notified
		wake, spawn := false, false
		switch {
		case can && idle(w) > 0:
			next = next&^stateMask | stateSignaled
			wake = true
		case can && spawned(w) < p.limit:
			next = next&^stateMask | stateSignaled
			next += spawnedOne
			spawn = true
		case waking:
			next &^= stateMask
		case p.dropped && !can, w&notified != 0:
			return
		}
		if !p.word.CompareAndSwap(w, next) {
			continue
		}
		switch {
		case wake:
			p.sema.Post()
		case spawn && p.fails > 0 && interleave.Choose(2) == 1:
			p.fails--
			p.spawnFailed()
		case spawn:
			interleave.GoDaemon("worker", func() { p.run() })
		}
		return
	}
}

func (p *throttle) spawnFailed() {
	for {
		w := p.word.Load()
		next := w - spawnedOne
		if w&stateMask == stateSignaled && !p.closedLatch {
			next &^= stateMask
		}
		if p.word.CompareAndSwap(w, next) {
			return
		}
	}
}

// wait parks the calling worker until there is a notification. It reports whether the
// worker is the waking one, which wakes the next.
func (p *throttle) wait(waking bool) bool {
	parked := false
	for {
		w := p.word.Load()
		switch {
		case w&notified != 0:
			next := w &^ notified
			if parked {
				next -= idleOne
			}
			signaled := w&stateMask == stateSignaled
			if signaled {
				next = next&^stateMask | stateWaking
			}
			if p.word.CompareAndSwap(w, next) {
				return waking || signaled
			}
		case !parked:
			next := w + idleOne
			if waking && !p.keepsWaking {
				next &^= stateMask
			}
			if p.word.CompareAndSwap(w, next) {
				parked = true
				waking = false
			}
		default:
			p.sema.Wait()
		}
	}
}

func (p *throttle) take() bool {
	for {
		n := p.tasks.Load()
		if n == 0 {
			return false
		}
		if p.tasks.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

func (p *throttle) run() {
	waking := false
	for {
		waking = p.wait(waking)
		for p.take() {
			if waking {
				p.notify(true)
				waking = false
			}
			if p.left.Add(-1) == 0 {
				p.done.Post()
			}
		}
	}
}

// throttleProgram schedules tasks and waits for them. Unless spawns may fail, all
// workers exist from the start.
func throttleProgram(bugs throttleBugs, workers, tasks, fails int) func(m *interleave.M) {
	return func(m *interleave.M) {
		p := &throttle{throttleBugs: bugs, fails: fails}
		p.sema.Init(workers)
		p.done.Init(1)
		p.left.Store(int32(tasks))
		m.Name(&p.word, "word")
		m.Name(&p.sema, "sema")
		m.Name(&p.tasks, "tasks")
		m.Name(&p.left, "left")
		m.Name(&p.done, "done")
		p.limit = uint32(workers)
		if fails == 0 {
			p.word.Store(uint32(workers) * spawnedOne)
			for range workers {
				m.GoDaemon("worker", p.run)
			}
		}
		m.Go("caller", func() {
			for range tasks {
				p.tasks.Add(1)
				p.notify(false)
			}
			p.done.Wait()
		})
	}
}
