package interleave_test

import "github.com/lanewright/lanewright/interleave"

// seqlockProgram has a writer that writes two words, and a reader that must see both
// of one write. The sequence number is odd during a write. It counts modulo mask+1.
type seqlockProgram struct {
	writes, writers int
	mask            uint32

	noRecheck   bool // bug: the reader does not compare the number after its loads
	ignoresOdd  bool // bug: the reader accepts an odd number
	countsAfter bool // bug: the writer counts once, after its stores
}

func (p seqlockProgram) body(m *interleave.M) {
	var seq interleave.Uint32
	var a, b interleave.Int32
	for w := range max(p.writers, 1) {
		m.Go("writer", func() {
			for i := range p.writes {
				v := int32(10*w + i + 1)
				if !p.countsAfter {
					seq.Store((seq.Load() + 1) & p.mask)
				}
				a.Store(v)
				b.Store(v)
				if p.countsAfter {
					seq.Store((seq.Load() + 2) & p.mask)
				} else {
					seq.Store((seq.Load() + 1) & p.mask)
				}
			}
		})
	}
	m.Go("reader", func() {
		for {
			before := seq.Load()
			if before&1 == 0 || p.ignoresOdd {
				x, y := a.Load(), b.Load()
				if p.noRecheck || seq.Load() == before {
					if x != y {
						m.Fatalf("read %d and %d", x, y)
					}
					return
				}
			}
			interleave.Yield()
		}
	})
}

// rwLock is a read-write lock of one word: the number of readers, or -1.
type rwLock struct {
	state   interleave.Int32
	waiting interleave.Bool // a writer waits; readers then wait as well

	rwBugs
}

type rwBugs struct {
	writerSplit bool // the writer tests by a load and sets by a store
	readerSplit bool // the reader tests by a load and adds without a test
}

func (l *rwLock) lockRead() {
	for {
		if !l.waiting.Load() {
			switch s := l.state.Load(); {
			case s < 0:
			case l.readerSplit:
				l.state.Add(1)
				return
			case l.state.CompareAndSwap(s, s+1):
				return
			}
		}
		interleave.Yield()
	}
}

func (l *rwLock) unlockRead() { l.state.Add(-1) }

func (l *rwLock) lockWrite() {
	for {
		if l.writerSplit {
			if l.state.Load() == 0 {
				l.state.Store(-1)
				break
			}
		} else if l.state.CompareAndSwap(0, -1) {
			break
		}
		l.waiting.Store(true)
		interleave.Yield()
	}
	l.waiting.Store(false)
}

func (l *rwLock) unlockWrite() { l.state.Add(1) }

func rwProgram(bugs rwBugs, readers int) func(m *interleave.M) {
	return func(m *interleave.M) {
		l := &rwLock{rwBugs: bugs}
		var data interleave.Cell[int]
		m.Go("writer", func() {
			l.lockWrite()
			data.Set(1)
			l.unlockWrite()
		})
		for range readers {
			m.Go("reader", func() {
				l.lockRead()
				data.Get()
				l.unlockRead()
			})
		}
	}
}

// upgradeProgram has two readers that want to write what they have read. With
// keeps, each keeps its read lock until it is the only reader. Otherwise the reader
// whose upgrade fails lets its read lock go and reads again.
func upgradeProgram(keeps bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		var state interleave.Int32
		var data interleave.Cell[int]
		for range 2 {
			m.Go("t", func() {
				for {
					s := state.Load()
					if s < 0 || !state.CompareAndSwap(s, s+1) {
						interleave.Yield()
						continue
					}
					v := data.Get()
					ok := state.CompareAndSwap(1, -1)
					for keeps && !ok {
						interleave.Yield()
						ok = state.CompareAndSwap(1, -1)
					}
					if ok {
						data.Set(v + 1)
						state.Store(0)
						return
					}
					state.Add(-1)
					interleave.Yield()
				}
			})
		}
		m.Final(func() {
			if data.Get() != 2 {
				m.Fatalf("counted %d", data.Get())
			}
		})
	}
}

// recursionProgram has a reader that locks twice, and a writer that holds back new
// readers while it waits. With twice unset, the reader locks once.
func recursionProgram(twice bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		l := &rwLock{}
		m.Go("reader", func() {
			l.lockRead()
			if twice {
				l.lockRead()
				l.unlockRead()
			}
			l.unlockRead()
		})
		m.Go("writer", func() {
			l.lockWrite()
			l.unlockWrite()
		})
	}
}

// A reclaimed is an object that is freed by a write to its plain memory, so that a
// use which is not ordered before it is a race, and one after it fails.
type reclaimed struct {
	freed interleave.Cell[bool]
}

func (r *reclaimed) use(m *interleave.M) {
	if r.freed.Get() {
		m.Fatalf("used after it was freed")
	}
}

func (r *reclaimed) free(m *interleave.M) {
	if r.freed.Get() {
		m.Fatalf("freed twice")
	}
	r.freed.Set(true)
}

// hazardProgram has readers that protect an object by a hazard pointer (Michael
// 2004), and a writer that replaces and frees it.
type hazardProgram struct {
	readers int

	noSecondLook bool // bug: the reader does not load the pointer again after it has set the hazard pointer
	clearsEarly  bool // bug: the reader clears its hazard pointer before the use
	oneHazard    bool // bug: the writer looks at the first hazard pointer only
}

func (p hazardProgram) body(m *interleave.M) {
	var current interleave.Pointer[reclaimed]
	current.Store(new(reclaimed))
	hazards := make([]interleave.Pointer[reclaimed], p.readers)
	for i := range hazards {
		h := &hazards[i]
		m.Go("reader", func() {
			r := current.Load()
			for h.Store(r); !p.noSecondLook && current.Load() != r; h.Store(r) {
				r = current.Load()
			}
			if p.clearsEarly {
				h.Store(nil)
			}
			r.use(m)
			if !p.clearsEarly {
				h.Store(nil)
			}
		})
	}
	m.Go("writer", func() {
		old := current.Swap(new(reclaimed))
		for i := range hazards {
			for hazards[i].Load() == old {
				interleave.Yield()
			}
			if p.oneHazard {
				break
			}
		}
		old.free(m)
	})
}

// epochProgram has a reader that announces each use of a shared object, and a writer
// that replaces it, waits until no reader is active, and frees it.
type epochProgram struct {
	loadFirst bool // bug: the reader loads the pointer before it announces itself
	waitFirst bool // bug: the writer waits before it replaces the object
}

func (p epochProgram) body(m *interleave.M) {
	var current interleave.Pointer[reclaimed]
	var active interleave.Bool
	current.Store(new(reclaimed))
	m.Go("reader", func() {
		var r *reclaimed
		if p.loadFirst {
			r = current.Load()
		}
		active.Store(true)
		if !p.loadFirst {
			r = current.Load()
		}
		r.use(m)
		active.Store(false)
	})
	m.Go("writer", func() {
		wait := func() {
			for active.Load() {
				interleave.Yield()
			}
		}
		if p.waitFirst {
			wait()
		}
		old := current.Swap(new(reclaimed))
		if !p.waitFirst {
			wait()
		}
		old.free(m)
	})
}

// countedBugs are the bugs of countedProgram.
type countedBugs struct {
	splitDrop bool // a drop is a load and a store
	dropLook  bool // a drop looks at the count after its decrement, by a load
}

// countedProgram has threads that drop a reference to an object. The last drop frees
// it.
func countedProgram(bugs countedBugs, threads int) func(m *interleave.M) {
	return func(m *interleave.M) {
		var count interleave.Int32
		var object reclaimed
		count.Store(int32(threads))
		for range threads {
			m.Go("drop", func() {
				object.use(m)
				var n int32
				switch {
				case bugs.splitDrop:
					n = count.Load() - 1
					count.Store(n)
				case bugs.dropLook:
					count.Add(-1)
					n = count.Load()
				default:
					n = count.Add(-1)
				}
				if n == 0 {
					object.free(m)
				}
			})
		}
		m.Final(func() {
			if !object.freed.Get() {
				m.Fatalf("never freed")
			}
		})
	}
}

// weakRule is the way in which a weak reference takes a strong one.
type weakRule int

const (
	weakCAS       weakRule = iota // adds one only if the count is not 0
	weakAdd                       // bug: adds one to any count
	weakLookFirst                 // bug: a load and an add
)

// weakProgram has a thread that drops the last strong reference, and one that takes
// a strong reference from a weak one.
func weakProgram(rule weakRule) func(m *interleave.M) {
	return func(m *interleave.M) {
		var count interleave.Int32
		var object reclaimed
		count.Store(1)
		drop := func() {
			if count.Add(-1) == 0 {
				object.free(m)
			}
		}
		m.Go("strong", drop)
		m.Go("weak", func() {
			switch rule {
			case weakCAS:
				for {
					n := count.Load()
					if n == 0 {
						return
					}
					if count.CompareAndSwap(n, n+1) {
						break
					}
				}
			case weakAdd:
				count.Add(1)
			case weakLookFirst:
				if count.Load() == 0 {
					return
				}
				count.Add(1)
			}
			object.use(m)
			drop()
		})
	}
}

// snapshotProgram has a writer of two words, and a reader that wants to see both at
// one moment (double collect: it reads both until two rounds agree). The writer sets
// the second word after the first one and clears it before, so that the second is
// never set alone.
type snapshotProgram struct {
	tagged bool // each store of the writer stores another value

	single bool // bug: the reader reads once
}

func (p snapshotProgram) body(m *interleave.M) {
	var words [2]interleave.Int32
	m.Go("writer", func() {
		tag := int32(0)
		for _, s := range [][2]int32{{0, 1}, {1, 1}, {1, 0}, {0, 0}, {0, 1}, {1, 1}} {
			if p.tagged {
				tag += 2
			}
			words[s[0]].Store(s[1] + tag)
		}
	})
	m.Go("reader", func() {
		collect := func() [2]int32 { return [2]int32{words[0].Load(), words[1].Load()} }
		got := collect()
		for !p.single {
			again := collect()
			if again == got {
				break
			}
			got = again
		}
		if got[0]&1 == 0 && got[1]&1 == 1 {
			m.Fatalf("saw the second word alone")
		}
	})
}

var readerClassics = []classic{
	{
		name: "seqlock",
		prog: seqlockProgram{writes: 1, mask: 1<<32 - 1}.body,
		upTo: interleave.All,
	},
	{
		name: "seqlock, two writes",
		prog: seqlockProgram{writes: 2, mask: 1<<32 - 1}.body,
		upTo: 4,
	},
	{
		name: "seqlock, two writes, a number of three bits",
		prog: seqlockProgram{writes: 2, mask: 7}.body,
		upTo: 4,
	},
	{
		name: "seqlock: number of two bits", wrong: interleave.Failed, least: 1,
		prog: seqlockProgram{writes: 2, mask: 3}.body,
		why:  "the reader stops between its loads, and two writes bring the number back",
	},
	{
		name: "seqlock: no second look", wrong: interleave.Failed, least: 1,
		prog: seqlockProgram{writes: 1, mask: 7, noRecheck: true}.body,
		why:  "the reader stops between its loads",
	},
	{
		name: "seqlock: odd numbers accepted", wrong: interleave.Failed, least: 1,
		prog: seqlockProgram{writes: 1, mask: 7, ignoresOdd: true}.body,
		why:  "the writer stops between its stores",
	},
	{
		name: "seqlock: counted after the write", wrong: interleave.Failed, least: 1,
		prog: seqlockProgram{writes: 1, mask: 7, countsAfter: true}.body,
		why:  "the writer stops between its stores",
	},
	{
		name: "seqlock: two writers", wrong: interleave.Failed, also: interleave.Deadlock, least: 1,
		prog: seqlockProgram{writes: 1, writers: 2, mask: 1<<32 - 1}.body,
		why:  "the first writer stops between its stores, and the number is even after both writes",
	},
	{
		name: "read-write lock, two readers",
		prog: rwProgram(rwBugs{}, 2),
		upTo: 3,
	},
	{
		name: "read-write lock, one reader",
		prog: rwProgram(rwBugs{}, 1),
		upTo: interleave.All,
	},
	{
		name: "read-write lock: writer tests, then sets", wrong: interleave.Race, least: 1,
		prog: rwProgram(rwBugs{writerSplit: true}, 1),
		why:  "the writer stops before its store, and reads nothing of the reader that runs in between",
	},
	{
		name: "read-write lock: reader tests, then adds", wrong: interleave.Race, least: 2,
		prog: rwProgram(rwBugs{readerSplit: true}, 1),
		why:  "the reader stops before its add, and the writer before its unlock, which would order them",
	},
	{
		name: "upgrade of a read lock",
		prog: upgradeProgram(false),
		upTo: 4, large: true,
	},
	{
		name: "upgrade of a read lock: kept", wrong: interleave.Deadlock, least: 1,
		prog: upgradeProgram(true),
		why:  "the first reader stops with its read lock, and the second one waits for it to go",
	},
	{
		name: "one read lock under a waiting writer",
		prog: recursionProgram(false),
		upTo: interleave.All,
	},
	{
		name: "recursive read lock under a waiting writer", wrong: interleave.Deadlock, least: 1,
		prog: recursionProgram(true),
		why:  "the reader stops between its locks, and the writer waits",
	},
	{
		name: "hazard pointer",
		prog: hazardProgram{readers: 1}.body,
		upTo: interleave.All,
	},
	{
		name: "hazard pointers of two readers",
		prog: hazardProgram{readers: 2}.body,
		upTo: 4,
	},
	{
		name: "hazard pointer: no second look", wrong: interleave.Race, also: interleave.Failed, least: 1,
		prog: hazardProgram{readers: 1, noSecondLook: true}.body,
		why:  "the reader stops between its load and its hazard pointer",
	},
	{
		name: "hazard pointer: cleared early", wrong: interleave.Race, also: interleave.Failed, least: 0,
		prog: hazardProgram{readers: 1, clearsEarly: true}.body,
		why:  "the cleared hazard pointer does not order the use before the free",
	},
	{
		name: "hazard pointers of two readers: one looked at", wrong: interleave.Race, also: interleave.Failed, least: 0,
		prog: hazardProgram{readers: 2, oneHazard: true}.body,
		why:  "a use by the second reader is not ordered before the free in any order",
	},
	{
		name: "epoch",
		prog: epochProgram{}.body,
		upTo: interleave.All,
	},
	{
		name: "epoch: load first", wrong: interleave.Race, also: interleave.Failed, least: 1,
		prog: epochProgram{loadFirst: true}.body,
		why:  "the reader stops between its load and its announcement",
	},
	{
		name: "epoch: wait first", wrong: interleave.Race, also: interleave.Failed, least: 1,
		prog: epochProgram{waitFirst: true}.body,
		why:  "the writer stops after its wait, and reads nothing afterwards that orders the use before the free",
	},
	{
		name: "reference count",
		prog: countedProgram(countedBugs{}, 3),
		upTo: interleave.All,
	},
	{
		name: "reference count: split drop", wrong: interleave.Failed, also: interleave.Race, least: 1,
		prog: countedProgram(countedBugs{splitDrop: true}, 2),
		why:  "both drops load 2, and no drop frees",
	},
	{
		name: "reference count: look after the drop", wrong: interleave.Race, also: interleave.Failed, least: 1,
		prog: countedProgram(countedBugs{dropLook: true}, 2),
		why:  "the first drop stops before its look, and both see 0",
	},
	{
		name: "weak reference",
		prog: weakProgram(weakCAS),
		upTo: interleave.All,
	},
	{
		name: "weak reference: add to zero", wrong: interleave.Race, also: interleave.Failed, least: 0,
		prog: weakProgram(weakAdd),
		why:  "the weak reference is used after the last drop",
	},
	{
		name: "weak reference: look, then add", wrong: interleave.Race, also: interleave.Failed, least: 1,
		prog: weakProgram(weakLookFirst),
		why:  "the last drop comes between the look and the add",
	},
	{
		name: "snapshot by double collect",
		prog: snapshotProgram{tagged: true}.body,
		upTo: interleave.All,
	},
	{
		name: "snapshot: single collect", wrong: interleave.Failed, least: 1,
		prog: snapshotProgram{tagged: true, single: true}.body,
		why:  "the reader stops between its loads",
	},
	{
		name: "snapshot: values come back", wrong: interleave.Failed, least: 5,
		prog: snapshotProgram{}.body,
		why:  "the writer must run before each of three loads, and stop again before the two last of them",
	},
}
