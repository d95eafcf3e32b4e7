package interleave_test

import "github.com/lanewright/lanewright/interleave"

// parkBugs are the bugs of parkProgram.
type parkBugs struct {
	oneLook bool // the waiter registers after its only look at the flag
	late    bool // the setter looks for a waiter before it sets the flag
}

// parkProgram has a waiter that blocks until a flag is set, and the setter.
func parkProgram(bugs parkBugs) func(m *interleave.M) {
	return func(m *interleave.M) {
		var flag, waiting interleave.Bool
		var sema interleave.Sema
		sema.Init(1)
		m.Go("waiter", func() {
			if bugs.oneLook && flag.Load() {
				return
			}
			waiting.Store(true)
			if !bugs.oneLook && flag.Load() && waiting.CompareAndSwap(true, false) {
				return
			}
			sema.Wait()
		})
		m.Go("setter", func() {
			if bugs.late {
				w := waiting.Swap(false)
				flag.Store(true)
				if w {
					sema.Post()
				}
				return
			}
			flag.Store(true)
			if waiting.CompareAndSwap(true, false) {
				sema.Post()
			}
		})
	}
}

// registerProgram has a waiter that registers in a list under a lock, and a setter
// that posts to all waiters in the list. With oneLook, the waiter does not look at
// the flag again after it has registered.
func registerProgram(oneLook bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		var flag interleave.Bool
		var lock interleave.Mutex
		var waiters interleave.Cell[[]*interleave.Sema]
		m.Go("waiter", func() {
			if flag.Load() {
				return
			}
			s := new(interleave.Sema)
			s.Init(1)
			lock.Lock()
			waiters.Set(append(waiters.Get(), s))
			lock.Unlock()
			if oneLook || !flag.Load() {
				s.Wait()
			}
		})
		m.Go("setter", func() {
			flag.Store(true)
			lock.Lock()
			for _, s := range waiters.Get() {
				s.Post()
			}
			lock.Unlock()
		})
	}
}

// parker is a parker of three states. A permit that comes before the park is kept.
type parker struct {
	state interleave.Int32
	sema  interleave.Sema

	overwrites bool // bug: park stores the parked state over a permit
}

const (
	parkerEmpty = iota
	parkerParked
	parkerPermit
)

func (p *parker) park() {
	if p.state.CompareAndSwap(parkerPermit, parkerEmpty) {
		return
	}
	if p.overwrites {
		p.state.Store(parkerParked)
	} else if !p.state.CompareAndSwap(parkerEmpty, parkerParked) {
		p.state.Store(parkerEmpty) // a permit has come
		return
	}
	p.sema.Wait()
}

func (p *parker) unpark() {
	if p.state.Swap(parkerPermit) == parkerParked {
		p.state.CompareAndSwap(parkerPermit, parkerEmpty)
		p.sema.Post()
	}
}

func parkerProgram(overwrites bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		p := &parker{overwrites: overwrites}
		p.sema.Init(1)
		m.Go("parked", p.park)
		m.Go("unpark", p.unpark)
	}
}

// eventcount lets threads wait for a condition that other threads make true without
// a lock. A notification changes the epoch, so that a waiter whose look at the
// condition is older does not wait.
type eventcount struct {
	epoch   interleave.Uint32
	waiters interleave.Int32
	sema    interleave.Sema

	eventcountBugs
}

type eventcountBugs struct {
	lateKey    bool // the waiter reads the epoch after its look at the condition
	noRecheck  bool // the waiter does not compare the epoch after it has registered
	earlyEpoch bool // the notifier changes the epoch before the condition
}

func (e *eventcount) await(condition func() bool) {
	for {
		key := e.epoch.Load()
		if condition() {
			return
		}
		if e.lateKey {
			key = e.epoch.Load()
		}
		e.waiters.Add(1)
		if !e.noRecheck && e.epoch.Load() != key && e.leave() {
			continue
		}
		e.sema.Wait()
	}
}

// leave takes the calling waiter out. It returns false when a notification has
// counted the waiter: its token is on the way.
func (e *eventcount) leave() bool {
	for {
		n := e.waiters.Load()
		if n == 0 {
			return false
		}
		if e.waiters.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

func (e *eventcount) wakeAll() {
	for range e.waiters.Swap(0) {
		e.sema.Post()
	}
}

func eventcountProgram(bugs eventcountBugs, waiters int) func(m *interleave.M) {
	return func(m *interleave.M) {
		e := &eventcount{eventcountBugs: bugs}
		e.sema.Init(4)
		var ready interleave.Bool
		for range waiters {
			m.Go("waiter", func() { e.await(ready.Load) })
		}
		m.Go("notifier", func() {
			if bugs.earlyEpoch {
				e.epoch.Add(1)
				ready.Store(true)
			} else {
				ready.Store(true)
				e.epoch.Add(1)
			}
			e.wakeAll()
		})
	}
}

// condition is a condition variable for the holders of one lock. Its list of waiters
// belongs to the holder.
type condition struct {
	mutex   interleave.Mutex
	waiters interleave.Cell[[]*interleave.Sema]

	gap bool // bug: wait lets the lock go before it registers
}

func (c *condition) wait() {
	if c.gap {
		c.mutex.Unlock()
		c.mutex.Lock()
	}
	s := new(interleave.Sema)
	s.Init(1)
	c.waiters.Set(append(c.waiters.Get(), s))
	c.mutex.Unlock()
	s.Wait()
	c.mutex.Lock()
}

// signal wakes the waiter that has waited longest.
func (c *condition) signal() {
	if w := c.waiters.Get(); len(w) > 0 {
		w[0].Post()
		c.waiters.Set(w[1:])
	}
}

func (c *condition) broadcast() {
	for _, s := range c.waiters.Get() {
		s.Post()
	}
	c.waiters.Set(nil)
}

// bufferProgram is a buffer with a condition variable for both sides. Each producer
// puts items, and each consumer takes one.
type bufferProgram struct {
	capacity, producers, each, consumers int
	all                                  bool // wake all waiters after each change

	ifWait bool // bug: tests the condition once, before the wait
	gap    bool // bug: the wait lets the lock go before it registers
}

func (p bufferProgram) body(m *interleave.M) {
	c := &condition{gap: p.gap}
	var items interleave.Cell[int]
	change := func(possible func() bool, by int) {
		c.mutex.Lock()
		if p.ifWait {
			if !possible() {
				c.wait()
			}
		} else {
			for !possible() {
				c.wait()
			}
		}
		items.Set(items.Get() + by)
		if n := items.Get(); n < 0 || n > p.capacity {
			m.Fatalf("the buffer has %d items", n)
		}
		if p.all {
			c.broadcast()
		} else {
			c.signal()
		}
		c.mutex.Unlock()
	}
	for range p.consumers {
		m.Go("consumer", func() { change(func() bool { return items.Get() > 0 }, -1) })
	}
	for range p.producers {
		m.Go("producer", func() {
			for range p.each {
				change(func() bool { return items.Get() < p.capacity }, 1)
			}
		})
	}
}

// semaphoreBuffer is the bounded buffer of Dijkstra (1968): one semaphore for the
// items, one for the free places, one for the lock. With lockFirst, a thread waits
// for an item or a place while it has the lock.
func semaphoreBuffer(lockFirst bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		const capacity, values = 2, 3
		var items, places interleave.Sema
		var lock interleave.Mutex
		items.Init(capacity)
		places.Init(capacity)
		for range capacity {
			places.Post()
		}
		var buffer interleave.Cell[[]int]
		enter := func(s *interleave.Sema) {
			if lockFirst {
				lock.Lock()
				s.Wait()
			} else {
				s.Wait()
				lock.Lock()
			}
		}
		m.Go("producer", func() {
			for i := range values {
				enter(&places)
				buffer.Set(append(buffer.Get(), i))
				lock.Unlock()
				items.Post()
			}
		})
		m.Go("consumer", func() {
			for i := range values {
				enter(&items)
				b := buffer.Get()
				if b[0] != i {
					m.Fatalf("took %d as item %d", b[0], i)
				}
				buffer.Set(b[1:])
				lock.Unlock()
				places.Post()
			}
		})
	}
}

// barrierRule is the way in which a barrier is made ready for its next phase.
type barrierRule int

const (
	senseReversing barrierRule = iota
	senseFirst                 // bug: releases the threads before the count is set again
	noReset                    // bug: the count is never set again
	waitForZero                // bug: threads wait for the reset, which they can miss
)

// barrierProgram has two threads that pass a barrier between the phases of their
// work. In each phase a thread reads the result of the other one.
func barrierProgram(rule barrierRule, phases int) func(m *interleave.M) {
	return func(m *interleave.M) {
		const threads = 2
		var count interleave.Int32
		var sense interleave.Bool
		var results [3][threads]interleave.Cell[int]
		arrive := func(mine *bool) {
			*mine = !*mine
			last := count.Add(1) == threads
			switch {
			case rule == noReset:
				for count.Load() < threads {
					interleave.Yield()
				}
			case last && rule == senseFirst:
				sense.Store(*mine)
				count.Store(0)
			case last:
				count.Store(0)
				if rule == senseReversing {
					sense.Store(*mine)
				}
			case rule == waitForZero:
				for count.Load() != 0 {
					interleave.Yield()
				}
			default:
				for sense.Load() != *mine {
					interleave.Yield()
				}
			}
		}
		for id := range threads {
			m.Go("t", func() {
				mine := false
				for phase := range phases {
					results[phase][id].Set(phase + 1)
					arrive(&mine)
					if got := results[phase][1-id].Get(); got != phase+1 {
						m.Fatalf("phase %d: read %d", phase, got)
					}
				}
			})
		}
	}
}

// initBugs are the bugs of initProgram.
type initBugs struct {
	publishFirst bool // the pointer is stored before the content is written
	noSecondLook bool // the holder of the lock does not test the pointer again
	plainContent bool // the content is plain memory; right unless publishFirst
}

// initProgram has two threads that use a value which the first one initializes
// (double-checked locking).
func initProgram(bugs initBugs) func(m *interleave.M) {
	type value struct {
		word interleave.Int32
		cell interleave.Cell[int]
	}
	return func(m *interleave.M) {
		var p interleave.Pointer[value]
		var lock interleave.Mutex
		var used [2]*value
		fill := func(v *value) {
			if bugs.plainContent {
				v.cell.Set(1)
			} else {
				v.word.Store(1)
			}
		}
		for id := range used {
			m.Go("t", func() {
				v := p.Load()
				if v == nil {
					lock.Lock()
					if !bugs.noSecondLook {
						v = p.Load()
					}
					if v == nil {
						v = new(value)
						if bugs.publishFirst {
							p.Store(v)
							fill(v)
						} else {
							fill(v)
							p.Store(v)
						}
					}
					lock.Unlock()
				}
				if bugs.plainContent && v.cell.Get() != 1 || !bugs.plainContent && v.word.Load() != 1 {
					m.Fatalf("the content is not initialized")
				}
				used[id] = v
			})
		}
		m.Final(func() {
			if used[0] != used[1] {
				m.Fatalf("initialized twice")
			}
		})
	}
}

// latchProgram starts two workers and waits for them by a counter. With addInside
// each worker counts itself, and the wait can end before a worker has begun.
func latchProgram(addInside bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		var count interleave.Int32
		var results [2]interleave.Cell[int]
		m.Go("main", func() {
			for i := range results {
				if !addInside {
					count.Add(1)
				}
				interleave.Go("worker", func() {
					if addInside {
						count.Add(1)
					}
					results[i].Set(1)
					count.Add(-1)
				})
			}
			for count.Load() != 0 {
				interleave.Yield()
			}
			for i := range results {
				if results[i].Get() != 1 {
					m.Fatalf("worker %d has not run", i)
				}
			}
		})
	}
}

// answerTaken has a caller and a daemon, each of which waits for a token. With shared,
// both wait for the same one, and the daemon can take the token of the caller.
func answerTaken(shared bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		var tokens [2]interleave.Sema
		for i := range tokens {
			tokens[i].Init(1)
		}
		m.Go("caller", tokens[0].Wait)
		m.GoDaemon("daemon", func() {
			if shared {
				tokens[0].Wait()
			} else {
				tokens[1].Wait()
			}
		})
		m.Go("post", func() { tokens[0].Post() })
	}
}

// rendezvous has two threads, each of which announces itself and waits for the other
// one. With waitFirst both wait before they announce themselves.
func rendezvous(waitFirst bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		var arrived [2]interleave.Sema
		var before [2]interleave.Cell[int]
		for i := range arrived {
			arrived[i].Init(1)
		}
		for id := range arrived {
			m.Go("t", func() {
				before[id].Set(1)
				if waitFirst {
					arrived[1-id].Wait()
					arrived[id].Post()
				} else {
					arrived[id].Post()
					arrived[1-id].Wait()
				}
				if before[1-id].Get() != 1 {
					m.Fatalf("passed the rendezvous alone")
				}
			})
		}
	}
}

var waitClassics = []classic{
	{
		name: "park",
		prog: parkProgram(parkBugs{}),
		upTo: interleave.All,
	},
	{
		name: "park: one look", wrong: interleave.Deadlock, least: 1,
		prog: parkProgram(parkBugs{oneLook: true}),
		why:  "the waiter stops between its look and its registration, and the setter finds no waiter",
	},
	{
		name: "park: look for a waiter before the flag", wrong: interleave.Deadlock, least: 1,
		prog: parkProgram(parkBugs{late: true}),
		why:  "the setter stops between its look and the flag, and the waiter then finds no flag",
	},
	{
		name: "register under a lock",
		prog: registerProgram(false),
		upTo: interleave.All,
	},
	{
		name: "register under a lock: one look", wrong: interleave.Deadlock, least: 1,
		prog: registerProgram(true),
		why:  "the waiter stops between its look and the lock",
	},
	{
		name: "parker of three states",
		prog: parkerProgram(false),
		upTo: interleave.All,
	},
	{
		name: "parker of three states: permit overwritten", wrong: interleave.Deadlock, least: 1,
		prog: parkerProgram(true),
		why:  "the permit comes between the look for it and the store",
	},
	{
		name: "eventcount",
		prog: eventcountProgram(eventcountBugs{}, 1),
		upTo: interleave.All,
	},
	{
		name: "eventcount, two waiters",
		prog: eventcountProgram(eventcountBugs{}, 2),
		upTo: 4,
	},
	{
		name: "eventcount: late key", wrong: interleave.Deadlock, least: 1,
		prog: eventcountProgram(eventcountBugs{lateKey: true}, 1),
		why:  "the whole notification runs between the look at the condition and the load of the epoch",
	},
	{
		name: "eventcount: no second look", wrong: interleave.Deadlock, least: 1,
		prog: eventcountProgram(eventcountBugs{noRecheck: true}, 1),
		why:  "the whole notification runs between the look at the condition and the registration",
	},
	{
		name: "eventcount: epoch before the condition", wrong: interleave.Deadlock, least: 2,
		prog: eventcountProgram(eventcountBugs{earlyEpoch: true}, 1),
		why:  "the notifier stops after the epoch, and the waiter before it registers: a registered waiter gets a token",
	},
	{
		name: "buffer with a condition variable, broadcast",
		prog: bufferProgram{capacity: 1, producers: 2, each: 1, consumers: 2, all: true}.body,
		upTo: interleave.All,
	},
	{
		name: "buffer with a condition variable, one producer",
		prog: bufferProgram{capacity: 2, producers: 1, each: 2, consumers: 2}.body,
		upTo: interleave.All,
	},
	{
		name: "buffer: signal wakes the wrong side", wrong: interleave.Deadlock, least: 0,
		prog: bufferProgram{capacity: 1, producers: 2, each: 1, consumers: 2}.body,
		why:  "all switches of the wrong order are at waits: the second consumer gets the signal for the second producer",
	},
	{
		name: "buffer: if instead of for, two producers", wrong: interleave.Failed, also: interleave.Deadlock, least: 0,
		prog: bufferProgram{capacity: 2, producers: 2, each: 1, consumers: 2, ifWait: true}.body,
		why:  "the first producer ends after its signal, and the second consumer takes the item of the woken one",
	},
	{
		name: "buffer: if instead of for, one producer", wrong: interleave.Failed, also: interleave.Deadlock, least: 1,
		prog: bufferProgram{capacity: 2, producers: 1, each: 2, consumers: 2, ifWait: true}.body,
		why:  "the producer stops between its items, and the second consumer takes the item of the woken one",
	},
	{
		name: "buffer: wait with a gap", wrong: interleave.Deadlock, least: 1,
		prog: bufferProgram{capacity: 1, producers: 1, each: 1, consumers: 1, gap: true}.body,
		why:  "the consumer stops in the gap, and the signal finds no waiter",
	},
	{
		name: "buffer with semaphores",
		prog: semaphoreBuffer(false),
		upTo: interleave.All,
	},
	{
		name: "buffer with semaphores: lock first", wrong: interleave.Deadlock, least: 0,
		prog: semaphoreBuffer(true),
		why:  "a consumer that runs first blocks with the lock",
	},
	{
		name: "barrier",
		prog: barrierProgram(senseReversing, 2),
		upTo: interleave.All,
	},
	{
		name: "barrier: sense before the count", wrong: interleave.Deadlock, least: 1,
		prog: barrierProgram(senseFirst, 2),
		why:  "the last thread stops between its stores, and the count of the next phase is lost",
	},
	{
		name: "barrier: no reset", wrong: interleave.Failed, also: interleave.Race, least: 0,
		prog: barrierProgram(noReset, 2),
		why:  "the last thread of the first phase passes the second one alone, without a switch",
	},
	{
		name: "barrier: wait for the reset", wrong: interleave.Deadlock, least: 0,
		prog: barrierProgram(waitForZero, 2),
		why:  "the last thread counts itself again before the first one looks, without a switch",
	},
	{
		name: "double-checked initialization",
		prog: initProgram(initBugs{}),
		upTo: interleave.All,
	},
	{
		name: "double-checked initialization of plain memory",
		prog: initProgram(initBugs{plainContent: true}),
		upTo: interleave.All,
	},
	{
		name: "double-checked initialization: pointer first", wrong: interleave.Failed, least: 1,
		prog: initProgram(initBugs{publishFirst: true}),
		why:  "the first thread stops between the pointer and the content",
	},
	{
		name: "double-checked initialization of plain memory: pointer first", wrong: interleave.Race, least: 0,
		prog: initProgram(initBugs{publishFirst: true, plainContent: true}),
		why:  "the load of the pointer does not order the content in any order",
	},
	{
		name: "double-checked initialization: no second look", wrong: interleave.Failed, least: 1,
		prog: initProgram(initBugs{noSecondLook: true}),
		why:  "the first thread stops between its look and the lock",
	},
	{
		name: "latch",
		prog: latchProgram(false),
		upTo: interleave.All,
	},
	{
		name: "latch: workers count themselves", wrong: interleave.Failed, also: interleave.Race, least: 0,
		prog: latchProgram(true),
		why:  "the starter waits before a worker has begun",
	},
	{
		name: "a token for a caller and one for a daemon",
		prog: answerTaken(false),
		upTo: interleave.All,
	},
	{
		name: "one token for a caller and a daemon", wrong: interleave.Deadlock, least: 0,
		prog: answerTaken(true),
		why:  "the daemon runs before the caller, and both are at waits",
	},
	{
		name: "rendezvous",
		prog: rendezvous(false),
		upTo: interleave.All,
	},
	{
		name: "rendezvous: wait first", wrong: interleave.Deadlock, least: 0,
		prog: rendezvous(true),
		why:  "both threads block at their first step",
	},
}
