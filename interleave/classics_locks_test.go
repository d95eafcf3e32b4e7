package interleave_test

import "github.com/lanewright/lanewright/interleave"

// classicLock is a lock for threads with the numbers 0, 1, ...
type classicLock interface {
	lock(id int)
	unlock(id int)
}

// critical is a program whose threads enter the critical section of a lock rounds
// times each. The data of the critical section is plain memory, so that a lock which
// does not exclude, or does not order, is a race.
func critical(threads, rounds int, newLock func() classicLock) func(m *interleave.M) {
	return func(m *interleave.M) {
		l := newLock()
		var data interleave.Cell[int]
		for id := range threads {
			m.Go("t", func() {
				for range rounds {
					l.lock(id)
					data.Set(data.Get() + 1)
					l.unlock(id)
				}
			})
		}
		m.Final(func() {
			if data.Get() != threads*rounds {
				m.Fatalf("counted %d", data.Get())
			}
		})
	}
}

// petersonLock is the lock of Peterson (1981) for two threads.
type petersonLock struct {
	flag [2]interleave.Bool
	turn interleave.Int32

	turnFirst bool // bug: gives the turn away before it raises its flag
	noTurn    bool // bug: waits for the flag alone
}

func (l *petersonLock) lock(id int) {
	other := 1 - id
	if l.turnFirst {
		l.turn.Store(int32(other))
	}
	l.flag[id].Store(true)
	if !l.turnFirst && !l.noTurn {
		l.turn.Store(int32(other))
	}
	for l.flag[other].Load() && (l.noTurn || l.turn.Load() == int32(other)) {
		interleave.Yield()
	}
}

func (l *petersonLock) unlock(id int) { l.flag[id].Store(false) }

// dekkerLock is the lock of Dekker (Dijkstra 1965) for two threads.
type dekkerLock struct {
	flag [2]interleave.Bool
	turn interleave.Int32

	keepsTurn bool // bug: does not pass the turn on
	oneLook   bool // bug: enters when it has the turn, without another look at the flag
}

func (l *dekkerLock) lock(id int) {
	other := 1 - id
	l.flag[id].Store(true)
	for l.flag[other].Load() {
		if l.turn.Load() == int32(id) {
			interleave.Yield()
			continue
		}
		l.flag[id].Store(false)
		for l.turn.Load() != int32(id) {
			interleave.Yield()
		}
		l.flag[id].Store(true)
		if l.oneLook {
			return
		}
	}
}

func (l *dekkerLock) unlock(id int) {
	if !l.keepsTurn {
		l.turn.Store(int32(1 - id))
	}
	l.flag[id].Store(false)
}

// politeLock has a flag for each of two threads. A thread that sees the flag of the
// other one takes its own flag back. Both can do so for ever, but only with a
// preemption in each round.
type politeLock struct{ flag [2]interleave.Bool }

func (l *politeLock) lock(id int) {
	for {
		l.flag[id].Store(true)
		if !l.flag[1-id].Load() {
			return
		}
		l.flag[id].Store(false)
		interleave.Yield()
	}
}

func (l *politeLock) unlock(id int) { l.flag[id].Store(false) }

// hymanLock is the lock of Hyman (1966) for two threads. The published algorithm
// is wrong: a thread can take the turn after the other one has entered by the turn.
type hymanLock struct {
	flag [2]interleave.Bool
	turn interleave.Int32
}

func (l *hymanLock) lock(id int) {
	l.flag[id].Store(true)
	for l.turn.Load() != int32(id) {
		for l.flag[1-id].Load() {
			interleave.Yield()
		}
		l.turn.Store(int32(id))
	}
}

func (l *hymanLock) unlock(id int) { l.flag[id].Store(false) }

// bakeryLock is the bakery lock of Lamport (1974) for n threads.
type bakeryLock struct {
	n        int
	choosing [3]interleave.Bool
	number   [3]interleave.Int32

	noChoosing bool // bug: does not wait for threads that choose a number
	noTieBreak bool // bug: equal numbers do not wait for each other
}

func (l *bakeryLock) lock(id int) {
	if !l.noChoosing {
		l.choosing[id].Store(true)
	}
	mine := int32(1)
	for j := range l.n {
		if j != id {
			mine = max(mine, l.number[j].Load()+1)
		}
	}
	l.number[id].Store(mine)
	if !l.noChoosing {
		l.choosing[id].Store(false)
	}
	for j := range l.n {
		if j == id {
			continue
		}
		for !l.noChoosing && l.choosing[j].Load() {
			interleave.Yield()
		}
		for {
			k := l.number[j].Load()
			if k == 0 || k > mine || k == mine && (id < j || l.noTieBreak) {
				break
			}
			interleave.Yield()
		}
	}
}

func (l *bakeryLock) unlock(id int) { l.number[id].Store(0) }

// fastLock is the fast lock of Lamport (1987) for two threads. Threads have the
// numbers 1 and 2 in x and y.
type fastLock struct {
	x, y    interleave.Int32
	entered [2]interleave.Bool

	noWait bool // bug: does not wait for threads that have passed the first look at y
}

func (l *fastLock) lock(id int) {
	me := int32(id + 1)
	for {
		l.entered[id].Store(true)
		l.x.Store(me)
		if l.y.Load() != 0 {
			l.entered[id].Store(false)
			l.waitFree()
			continue
		}
		l.y.Store(me)
		if l.x.Load() == me {
			return
		}
		l.entered[id].Store(false)
		for !l.noWait && l.entered[1-id].Load() {
			interleave.Yield()
		}
		if l.y.Load() == me {
			return
		}
		l.waitFree()
	}
}

func (l *fastLock) waitFree() {
	for l.y.Load() != 0 {
		interleave.Yield()
	}
}

func (l *fastLock) unlock(id int) {
	l.y.Store(0)
	l.entered[id].Store(false)
}

// filterLock is the generalization of Peterson's lock to three threads.
type filterLock struct {
	level  [3]interleave.Int32
	victim [3]interleave.Int32 // by level; level 0 is not used

	oneOther bool // bug: looks at one of the two other threads
}

func (l *filterLock) lock(id int) {
	for level := int32(1); level < 3; level++ {
		l.level[id].Store(level)
		l.victim[level].Store(int32(id))
		for l.conflict(id, level) {
			interleave.Yield()
		}
	}
}

func (l *filterLock) conflict(id int, level int32) bool {
	for d := 1; d < 3; d++ {
		if l.level[(id+d)%3].Load() >= level {
			return l.victim[level].Load() == int32(id)
		}
		if l.oneOther {
			break
		}
	}
	return false
}

func (l *filterLock) unlock(id int) { l.level[id].Store(0) }

// ticketLock serves its threads in the order of their tickets. Tickets are counted
// modulo mask+1.
type ticketLock struct {
	next, serving interleave.Uint32
	mask          uint32

	splitDraw bool // bug: draws a ticket by a load and a store
}

func newTicketLock(first, mask uint32) *ticketLock {
	l := &ticketLock{mask: mask}
	l.next.Store(first)
	l.serving.Store(first)
	return l
}

func (l *ticketLock) lock(int) {
	var ticket uint32
	if l.splitDraw {
		ticket = l.next.Load()
		l.next.Store(ticket + 1)
	} else {
		ticket = l.next.Add(1) - 1
	}
	for l.serving.Load() != ticket&l.mask {
		interleave.Yield()
	}
}

func (l *ticketLock) unlock(int) { l.serving.Store((l.serving.Load() + 1) & l.mask) }

// ttasLock is a lock of one word: test, and test and set.
type ttasLock struct {
	word interleave.Uint32

	splitSet bool // bug: tests by a load and sets by a store
}

func (l *ttasLock) lock(int) {
	for {
		for l.word.Load() != 0 {
			interleave.Yield()
		}
		if l.splitSet {
			l.word.Store(1)
			return
		}
		if l.word.CompareAndSwap(0, 1) {
			return
		}
	}
}

func (l *ttasLock) unlock(int) { l.word.Store(0) }

// mcsLock is the queue lock of Mellor-Crummey and Scott (1991).
type mcsLock struct {
	tail  interleave.Pointer[mcsNode]
	nodes [3]mcsNode

	noLinkWait bool // bug: unlock does not wait for the link of a successor that has swapped the tail
	lateFlag   bool // bug: a waiter raises its flag after it has linked its node
}

type mcsNode struct {
	next    interleave.Pointer[mcsNode]
	waiting interleave.Bool
}

func (l *mcsLock) lock(id int) {
	n := &l.nodes[id]
	n.next.Store(nil)
	if !l.lateFlag {
		n.waiting.Store(true)
	}
	before := l.tail.Swap(n)
	if before == nil {
		return
	}
	before.next.Store(n)
	if l.lateFlag {
		n.waiting.Store(true)
	}
	for n.waiting.Load() {
		interleave.Yield()
	}
}

func (l *mcsLock) unlock(id int) {
	n := &l.nodes[id]
	next := n.next.Load()
	if next == nil {
		if l.tail.CompareAndSwap(n, nil) || l.noLinkWait {
			return
		}
		for next = n.next.Load(); next == nil; next = n.next.Load() {
			interleave.Yield()
		}
	}
	next.waiting.Store(false)
}

// clhLock is the queue lock of Craig, Landin and Hagersten (1993): a thread waits
// for the node before its own, and owns that node afterwards.
type clhLock struct {
	tail        interleave.Pointer[interleave.Bool]
	own, before [2]*interleave.Bool // of each thread

	keepsNode bool // bug: a thread uses its own node again, for which a successor may wait
}

func newCLHLock(keepsNode bool) *clhLock {
	l := &clhLock{keepsNode: keepsNode}
	l.tail.Store(new(interleave.Bool))
	for i := range l.own {
		l.own[i] = new(interleave.Bool)
	}
	return l
}

func (l *clhLock) lock(id int) {
	l.own[id].Store(true)
	l.before[id] = l.tail.Swap(l.own[id])
	for l.before[id].Load() {
		interleave.Yield()
	}
}

func (l *clhLock) unlock(id int) {
	l.own[id].Store(false)
	if !l.keepsNode {
		l.own[id] = l.before[id]
	}
}

// futexLock is the second mutex of Drepper (Futexes are tricky, 2011): 0 is free,
// 1 is locked, 2 is locked with possible waiters.
type futexLock struct {
	word interleave.Uint32
	sema interleave.Sema

	forgets bool // bug: a woken waiter locks with 1, although others may wait
	noMark  bool // bug: a waiter waits without a 2 in the word
}

func newFutexLock(forgets, noMark bool) *futexLock {
	l := &futexLock{forgets: forgets, noMark: noMark}
	l.sema.Init(4)
	return l
}

func (l *futexLock) lock(int) {
	if l.word.CompareAndSwap(0, 1) {
		return
	}
	if l.noMark {
		for !l.word.CompareAndSwap(0, 1) {
			l.sema.Wait()
		}
		return
	}
	for l.word.Swap(2) != 0 {
		l.sema.Wait()
		if l.forgets && l.word.CompareAndSwap(0, 1) {
			return
		}
	}
}

func (l *futexLock) unlock(int) {
	if l.word.Swap(0) == 2 {
		l.sema.Post()
	}
}

// tryProgram has three threads that try a lock once. With always, a thread whose try
// failed unlocks as well, as a deferred unlock does that is registered before the
// result is tested.
func tryProgram(always bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		var word interleave.Uint32
		var data interleave.Cell[int]
		for range 3 {
			m.Go("t", func() {
				ok := word.CompareAndSwap(0, 1)
				if ok {
					data.Set(data.Get() + 1)
				}
				if ok || always {
					word.Store(0)
				}
			})
		}
	}
}

// twoLocks has two threads that move an amount between two accounts, each with a
// lock. Both threads take the locks in one order, or each takes its source first.
func twoLocks(sourceFirst bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		var locks [2]interleave.Mutex
		var balance [2]interleave.Cell[int]
		for from := range 2 {
			m.Go("move", func() {
				to := 1 - from
				first, second := 0, 1
				if sourceFirst {
					first, second = from, to
				}
				locks[first].Lock()
				locks[second].Lock()
				balance[from].Set(balance[from].Get() - 1)
				balance[to].Set(balance[to].Get() + 1)
				locks[second].Unlock()
				locks[first].Unlock()
			})
		}
		m.Final(func() {
			if balance[0].Get() != 0 || balance[1].Get() != 0 {
				m.Fatalf("balances %d and %d", balance[0].Get(), balance[1].Get())
			}
		})
	}
}

// The philosophers of Dijkstra (1971) take the fork on their left first. These are
// the two usual remedies.
type dinnerRule int

const (
	leftFirst dinnerRule = iota // bug: no remedy
	oneRight                    // the last philosopher takes the right fork first
	oneStands                   // one chair fewer than philosophers
	allSit                      // bug: as many chairs as philosophers
)

func philosophers(n int, rule dinnerRule) func(m *interleave.M) {
	return func(m *interleave.M) {
		forks := make([]struct {
			interleave.Mutex
			uses interleave.Cell[int]
		}, n)
		var chairs interleave.Sema
		chairs.Init(n)
		for i := range n {
			if i > 0 || rule == allSit {
				chairs.Post()
			}
		}
		for i := range n {
			m.Go("philosopher", func() {
				first, second := &forks[i], &forks[(i+1)%n]
				if rule == oneRight && i == n-1 {
					first, second = second, first
				}
				if rule >= oneStands {
					chairs.Wait()
				}
				first.Lock()
				second.Lock()
				first.uses.Set(first.uses.Get() + 1)
				second.uses.Set(second.uses.Get() + 1)
				second.Unlock()
				first.Unlock()
				if rule >= oneStands {
					chairs.Post()
				}
			})
		}
	}
}

var lockClassics = []classic{
	{
		name: "peterson",
		prog: critical(2, 1, func() classicLock { return &petersonLock{} }),
		upTo: interleave.All,
	},
	{
		name: "peterson of two rounds",
		prog: critical(2, 2, func() classicLock { return &petersonLock{} }),
		upTo: 3,
	},
	{
		name: "peterson: turn before flag", wrong: interleave.Race, least: 2,
		prog: critical(2, 1, func() classicLock { return &petersonLock{turnFirst: true} }),
		why:  "the first thread stops after its turn, and the second one in the critical section: afterwards its lowered flag orders them",
	},
	{
		name: "peterson: no turn", wrong: interleave.Deadlock, least: 1,
		prog: critical(2, 1, func() classicLock { return &petersonLock{noTurn: true} }),
		why:  "the first thread stops after its flag, and the second one waits without a preemption",
	},
	{
		name: "dekker",
		prog: critical(2, 1, func() classicLock { return &dekkerLock{} }),
		upTo: interleave.All,
	},
	{
		name: "dekker of two rounds",
		prog: critical(2, 2, func() classicLock { return &dekkerLock{} }),
		upTo: 3, large: true,
	},
	{
		name: "dekker: one look, one round",
		prog: critical(2, 1, func() classicLock { return &dekkerLock{oneLook: true} }),
		upTo: interleave.All,
	},
	{
		name: "dekker: one look", wrong: interleave.Race, also: interleave.Deadlock, least: 2,
		prog: critical(2, 2, func() classicLock { return &dekkerLock{oneLook: true} }),
		why:  "one preemption makes a thread wait for the turn, and one stops the other thread in its second critical section",
	},
	{
		name: "dekker: turn kept", wrong: interleave.Deadlock, least: 1,
		prog: critical(2, 1, func() classicLock { return &dekkerLock{keepsTurn: true} }),
		why:  "the thread with the turn stops after its flag, and the other one then waits for the turn for ever",
	},
	{
		name: "flags taken back",
		prog: critical(2, 1, func() classicLock { return &politeLock{} }),
		upTo: 4, large: true,
	},
	{
		name: "hyman", wrong: interleave.Race, least: 1,
		prog: critical(2, 1, func() classicLock { return &hymanLock{} }),
		why:  "the second thread stops before it takes the turn, and does not look at the flag again, which would order the sections",
	},
	{
		name: "bakery",
		prog: critical(2, 1, func() classicLock { return &bakeryLock{n: 2} }),
		upTo: interleave.All,
	},
	{
		name: "bakery of 3",
		prog: critical(3, 1, func() classicLock { return &bakeryLock{n: 3} }),
		upTo: 1, large: true,
	},
	{
		name: "bakery: no choosing", wrong: interleave.Race, least: 2,
		prog: critical(2, 1, func() classicLock { return &bakeryLock{n: 2, noChoosing: true} }),
		why:  "the first thread stops before it stores its number, and the second one in the critical section",
	},
	{
		name: "bakery: no tie-break", wrong: interleave.Race, least: 2,
		prog: critical(2, 1, func() classicLock { return &bakeryLock{n: 2, noTieBreak: true} }),
		why:  "equal numbers need a preemption between a load and a store, and both inside needs one in the critical section",
	},
	{
		name: "lamport's fast lock",
		prog: critical(2, 1, func() classicLock { return &fastLock{} }),
		upTo: interleave.All,
	},
	{
		name: "lamport's fast lock: no wait", wrong: interleave.Race, least: 1,
		prog: critical(2, 1, func() classicLock { return &fastLock{noWait: true} }),
		why:  "the first thread stops between its look at y and its store to y, and reads no store that follows the section of the second one",
	},
	{
		name: "filter lock of 3",
		prog: critical(3, 1, func() classicLock { return &filterLock{} }),
		upTo: 1, large: true,
	},
	{
		name: "filter lock of 3: one other", wrong: interleave.Race, least: 0,
		prog: critical(3, 1, func() classicLock { return &filterLock{oneOther: true} }),
		why:  "two threads that never look at each other are not ordered even when one runs after the other",
	},
	{
		name: "ticket lock over the wrap",
		prog: critical(2, 2, func() classicLock { return newTicketLock(1<<32-2, 1<<32-1) }),
		upTo: interleave.All,
	},
	{
		name: "ticket lock of 3",
		prog: critical(3, 1, func() classicLock { return newTicketLock(0, 1<<32-1) }),
		upTo: 3,
	},
	{
		name: "ticket lock of 2 with tickets of one bit",
		prog: critical(2, 2, func() classicLock { return newTicketLock(0, 1) }),
		upTo: interleave.All,
	},
	{
		name: "ticket lock of 3: tickets of one bit", wrong: interleave.Race, least: 1,
		prog: critical(3, 1, func() classicLock { return newTicketLock(0, 1) }),
		why:  "the first thread stops in the critical section, the second one waits, and the third one has the ticket of the first",
	},
	{
		name: "ticket lock: split draw", wrong: interleave.Deadlock, also: interleave.Race, least: 1,
		prog: critical(2, 1, func() classicLock {
			l := newTicketLock(0, 1<<32-1)
			l.splitDraw = true
			return l
		}),
		why: "the first thread stops between load and store, and comes back after its ticket was served",
	},
	{
		name: "test and test and set of 3",
		prog: critical(3, 1, func() classicLock { return &ttasLock{} }),
		upTo: 4,
	},
	{
		name: "test, then set", wrong: interleave.Race, least: 1,
		prog: critical(2, 1, func() classicLock { return &ttasLock{splitSet: true} }),
		why:  "a thread that stops before its store reads nothing of the critical section that runs in between",
	},
	{
		name: "mcs",
		prog: critical(2, 1, func() classicLock { return &mcsLock{} }),
		upTo: interleave.All,
	},
	{
		name: "mcs of 3",
		prog: critical(3, 1, func() classicLock { return &mcsLock{} }),
		upTo: 2,
	},
	{
		name: "mcs: no wait for the link", wrong: interleave.Deadlock, least: 1,
		prog: critical(2, 1, func() classicLock { return &mcsLock{noLinkWait: true} }),
		why:  "the holder stops between its look at the link and its CompareAndSwap, and the waiter waits without a preemption",
	},
	{
		name: "mcs: flag after the link", wrong: interleave.Deadlock, least: 2,
		prog: critical(2, 1, func() classicLock { return &mcsLock{lateFlag: true} }),
		why:  "the holder stops before its unlock, and the waiter between its link and its flag",
	},
	{
		name: "clh",
		prog: critical(2, 2, func() classicLock { return newCLHLock(false) }),
		upTo: interleave.All,
	},
	{
		name: "clh: own node used again", wrong: interleave.Deadlock, least: 0,
		prog: critical(2, 2, func() classicLock { return newCLHLock(true) }),
		why:  "a thread that locks twice in a row finds its own node at the tail, and waits for itself",
	},
	{
		name: "futex mutex of 3",
		prog: critical(3, 1, func() classicLock { return newFutexLock(false, false) }),
		upTo: interleave.All,
	},
	{
		name: "futex mutex of 3: waiters forgotten", wrong: interleave.Deadlock, least: 1,
		prog: critical(3, 1, func() classicLock { return newFutexLock(true, false) }),
		why:  "the holder stops before its unlock, and the two others wait",
	},
	{
		name: "futex mutex of 2, one round: waiters forgotten",
		prog: critical(2, 1, func() classicLock { return newFutexLock(true, false) }),
		upTo: interleave.All,
	},
	{
		name: "futex mutex: no mark", wrong: interleave.Deadlock, least: 1,
		prog: critical(2, 1, func() classicLock { return newFutexLock(false, true) }),
		why:  "the holder stops before its unlock, and the other one waits for a token that is never posted",
	},
	{
		name: "try-lock",
		prog: tryProgram(false),
		upTo: interleave.All,
	},
	{
		name: "try-lock: unlock after a failed try", wrong: interleave.Race, least: 1,
		prog: tryProgram(true),
		why:  "the holder stops in the critical section, the second thread unlocks, and the third one enters",
	},
	{
		name: "two locks",
		prog: twoLocks(false),
		upTo: interleave.All,
	},
	{
		name: "two locks: source first", wrong: interleave.Deadlock, least: 1,
		prog: twoLocks(true),
		why:  "the first thread stops between its locks, and the second one blocks",
	},
	{
		name: "3 philosophers, the last takes the right fork first",
		prog: philosophers(3, oneRight),
		upTo: interleave.All,
	},
	{
		name: "3 philosophers, two chairs",
		prog: philosophers(3, oneStands),
		upTo: interleave.All,
	},
	{
		name: "4 philosophers, the last takes the right fork first",
		prog: philosophers(4, oneRight),
		upTo: interleave.All,
	},
	{
		name: "3 philosophers: left first", wrong: interleave.Deadlock, least: 1,
		prog: philosophers(3, leftFirst),
		why:  "the first one stops after its fork, and each other one takes a fork and blocks on that of its neighbour",
	},
	{
		name: "4 philosophers: left first", wrong: interleave.Deadlock, least: 1,
		prog: philosophers(4, leftFirst),
		why:  "one preemption is enough for any number, since a philosopher that blocks is no preemption",
	},
	{
		name: "3 philosophers: three chairs", wrong: interleave.Deadlock, least: 1,
		prog: philosophers(3, allSit),
		why:  "chairs for all exclude no deadlock of the forks",
	},
}
