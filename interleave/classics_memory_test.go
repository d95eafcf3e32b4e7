package interleave_test

import "github.com/lanewright/lanewright/interleave"

// messageProgram passes plain memory by a flag.
type messageProgram struct {
	flagFirst bool // bug: the flag is set before the data
	noLook    bool // bug: the reader does not test the flag
}

func (p messageProgram) body(m *interleave.M) {
	var data interleave.Cell[int]
	var flag interleave.Bool
	m.Go("writer", func() {
		if p.flagFirst {
			flag.Store(true)
			data.Set(1)
			return
		}
		data.Set(1)
		flag.Store(true)
	})
	m.Go("reader", func() {
		if !flag.Load() && !p.noLook {
			return
		}
		if data.Get() != 1 && !p.noLook {
			m.Fatalf("the flag came before the data")
		}
	})
}

// chainProgram passes a message on: the third thread reads the data of the first one
// after it has seen the flag of the second one (write to read causality).
func chainProgram(m *interleave.M) {
	var data interleave.Cell[int]
	var first, second interleave.Bool
	m.Go("first", func() {
		data.Set(1)
		first.Store(true)
	})
	m.Go("second", func() {
		if first.Load() {
			second.Store(true)
		}
	})
	m.Go("third", func() {
		if second.Load() && data.Get() != 1 {
			m.Fatalf("the message is lost")
		}
	})
}

// litmus is a program of two threads with two words. Each thread takes two steps,
// and bad states an outcome that is forbidden.
func litmus(first, second func(x, y *interleave.Int32) (int32, int32), bad func(a, b, c, d int32) bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		var x, y interleave.Int32
		var a, b, c, d int32
		m.Go("first", func() { a, b = first(&x, &y) })
		m.Go("second", func() { c, d = second(&x, &y) })
		m.Final(func() {
			if bad(a, b, c, d) {
				m.Fatalf("got %d %d, %d %d, then x=%d y=%d", a, b, c, d, x.Load(), y.Load())
			}
		})
	}
}

func storeX(v int32) func(x, y *interleave.Int32) int32 {
	return func(x, _ *interleave.Int32) int32 { x.Store(v); return 0 }
}

func storeY(v int32) func(x, y *interleave.Int32) int32 {
	return func(_, y *interleave.Int32) int32 { y.Store(v); return 0 }
}

func loadX(x, _ *interleave.Int32) int32 { return x.Load() }
func loadY(_, y *interleave.Int32) int32 { return y.Load() }

// then is the thread that takes two steps. It returns the values that they load.
func then(a, b func(x, y *interleave.Int32) int32) func(x, y *interleave.Int32) (int32, int32) {
	return func(x, y *interleave.Int32) (int32, int32) {
		v := a(x, y)
		return v, b(x, y)
	}
}

// iriwProgram has two writers and two readers of independent words. The readers load
// them in opposite orders. They cannot disagree on the order of the writes. The
// wrong claim is that they see the same.
func iriwProgram(same bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		var x, y interleave.Int32
		var a, b [2]int32
		m.Go("x", func() { x.Store(1) })
		m.Go("y", func() { y.Store(1) })
		m.Go("a", func() { a = [2]int32{x.Load(), y.Load()} })
		m.Go("b", func() { b = [2]int32{y.Load(), x.Load()} })
		m.Final(func() {
			switch {
			case a == [2]int32{1, 0} && b == [2]int32{1, 0}:
				m.Fatalf("the readers see the writes in different orders")
			case same && a[0] == 1 && b[1] == 0:
				m.Fatalf("one reader sees x and the other does not")
			}
		})
	}
}

// twoPlusTwo has two threads that write two words in opposite orders. Under
// sequential consistency one of the last writes wins: both words cannot keep the
// first write of a thread.
func twoPlusTwo(m *interleave.M) {
	var x, y interleave.Int32
	m.Go("a", func() { x.Store(1); y.Store(2) })
	m.Go("b", func() { y.Store(1); x.Store(2) })
	m.Final(func() {
		if x.Load() == 1 && y.Load() == 1 {
			m.Fatalf("both first writes are last")
		}
	})
}

// countRule is the way in which countProgram adds one.
type countRule int

const (
	countByAdd countRule = iota
	countByCAS
	countByStore // bug: a load and a store
	countInLock  // a load and a store in one critical section
	countInLocks // bug: a load and a store in a critical section each
	countByOnce  // bug: a failed CompareAndSwap is not repeated
)

func countProgram(rule countRule, threads int) func(m *interleave.M) {
	return func(m *interleave.M) {
		var n interleave.Int32
		var lock interleave.Mutex
		for range threads {
			m.Go("add", func() {
				switch rule {
				case countByAdd:
					n.Add(1)
				case countByCAS, countByOnce:
					for v := n.Load(); !n.CompareAndSwap(v, v+1) && rule == countByCAS; {
						v = n.Load()
					}
				case countByStore:
					n.Store(n.Load() + 1)
				case countInLock:
					lock.Lock()
					n.Store(n.Load() + 1)
					lock.Unlock()
				case countInLocks:
					lock.Lock()
					v := n.Load()
					lock.Unlock()
					lock.Lock()
					n.Store(v + 1)
					lock.Unlock()
				}
			})
		}
		m.Final(func() {
			if int(n.Load()) != threads {
				m.Fatalf("counted %d", n.Load())
			}
		})
	}
}

// witness has a writer that counts to n, and a reader that must not see each of the
// numbers in turn. If busy is set, the reader must also find the writer at work after
// that.
func witness(n int, busy bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		var x interleave.Int32
		var ended interleave.Bool
		m.Go("writer", func() {
			for i := range n {
				x.Store(int32(i + 1))
			}
			if busy {
				ended.Store(true)
			}
		})
		m.Go("reader", func() {
			for i := range n {
				if x.Load() != int32(i+1) {
					return
				}
			}
			if !busy || !ended.Load() {
				m.Fatalf("saw all %d numbers", n)
			}
		})
	}
}

var memoryClassics = []classic{
	{
		name: "message passing",
		prog: messageProgram{}.body,
		upTo: interleave.All,
	},
	{
		name: "message passing: flag first", wrong: interleave.Race, least: 0,
		prog: messageProgram{flagFirst: true}.body,
		why:  "the flag does not order the data in any order",
	},
	{
		name: "message passing: no look at the flag", wrong: interleave.Race, least: 0,
		prog: messageProgram{noLook: true}.body,
		why:  "a reader that runs first is not ordered",
	},
	{
		name: "message passing by a chain",
		prog: chainProgram,
		upTo: interleave.All,
	},
	{
		name: "store buffering",
		prog: litmus(then(storeX(1), loadY), then(storeY(1), loadX), func(_, b, _, d int32) bool { return b == 0 && d == 0 }),
		upTo: interleave.All,
	},
	{
		name: "store buffering: one thread sees nothing", wrong: interleave.Failed, least: 1,
		prog: litmus(then(storeX(1), loadY), then(storeY(1), loadX), func(_, b, _, d int32) bool { return b == 1 && d == 1 }),
		why:  "the first thread stops between its steps, and both see the other's store",
	},
	{
		name: "load buffering",
		prog: litmus(then(loadX, storeY(1)), then(loadY, storeX(1)), func(a, _, c, _ int32) bool { return a == 1 && c == 1 }),
		upTo: interleave.All,
	},
	{
		name: "load buffering: one thread sees the other", wrong: interleave.Failed, least: 1,
		prog: litmus(then(loadX, storeY(1)), then(loadY, storeX(1)), func(a, _, c, _ int32) bool { return a == 0 && c == 0 }),
		why:  "the first thread stops between its steps, and both loads come before both stores",
	},
	{
		name: "coherence of two loads",
		prog: litmus(then(storeX(1), storeX(2)), then(loadX, loadX), func(_, _, c, d int32) bool { return c > d }),
		upTo: interleave.All,
	},
	{
		name: "coherence: two loads see the same", wrong: interleave.Failed, least: 1,
		prog: litmus(then(storeX(1), storeX(2)), then(loadX, loadX), func(_, _, c, d int32) bool { return c != d }),
		why:  "the reader stops between its loads",
	},
	{
		name: "independent reads of independent writes",
		prog: iriwProgram(false),
		upTo: interleave.All,
	},
	{
		name: "independent reads of independent writes: readers see the same", wrong: interleave.Failed, least: 0,
		prog: iriwProgram(true),
		why:  "one reader runs before the writers and one after them",
	},
	{
		name: "two words written in opposite orders",
		prog: twoPlusTwo,
		upTo: interleave.All,
	},
	{
		name: "counter by Add",
		prog: countProgram(countByAdd, 4),
		upTo: interleave.All,
	},
	{
		name: "counter by CompareAndSwap",
		prog: countProgram(countByCAS, 3),
		upTo: interleave.All,
	},
	{
		name: "counter in a critical section",
		prog: countProgram(countInLock, 3),
		upTo: interleave.All,
	},
	{
		name: "counter: load and store in two critical sections", wrong: interleave.Failed, least: 1,
		prog: countProgram(countInLocks, 2),
		why:  "an update is lost between the critical sections",
	},
	{
		name: "counter: load and store", wrong: interleave.Failed, least: 1,
		prog: countProgram(countByStore, 3),
		why:  "an update is lost between a load and a store",
	},
	{
		name: "counter: CompareAndSwap not repeated", wrong: interleave.Failed, least: 1,
		prog: countProgram(countByOnce, 3),
		why:  "a failed CompareAndSwap loses its update",
	},
	{
		name: "a reader sees both of two numbers", wrong: interleave.Failed, least: 2,
		prog: witness(2, false),
		why:  "the writer stops after the first number, the reader after its first load, and the writer ends",
	},
	{
		name: "a reader sees both of two numbers, and the writer at work", wrong: interleave.Failed, least: 3,
		prog: witness(2, true),
		why:  "the writer stops after each number, and the reader between its loads",
	},
	{
		name: "a reader sees each of three numbers", wrong: interleave.Failed, least: 4,
		prog: witness(3, false),
		why:  "each number but the last one needs a switch there and one back",
	},
	{
		name: "a reader sees each of three numbers, and the writer at work", wrong: interleave.Failed, least: 5,
		prog: witness(3, true),
		why:  "the writer stops after each of three numbers, and the reader after two loads",
	},
}
