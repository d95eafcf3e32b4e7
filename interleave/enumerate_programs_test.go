package interleave_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/lanewright/lanewright/interleave"
)

// This file has the language of random programs: their instructions, their
// generator, and their execution with the types of the explorer. The enumerator
// executes the same instructions by itself.

// An opcode is an instruction, or a statement that compiles to instructions.
type opcode uint8

const (
	// These instructions are steps.
	opLoad opcode = iota
	opStore
	opCAS
	opAdd
	opSwap
	opOr
	opAnd
	opPost
	opTryWait
	opWait
	opWaitDone
	opWaitFor
	opYield
	opLock
	opTryLock
	opUnlock
	opTake // Get of the pool
	opPut  // Put to the pool
	// These are executed together with the step before them.
	opChoose
	opClose
	opSpawn
	opGet
	opSet
	opPause
	opBranch // goes to instruction to if the register is a
	opJump   // goes to instruction to
	opCount  // goes to instruction to in every round a
	opNote   // adds a to the log
	// These are statements only.
	opIf         // runs body if the register is a
	opSection    // runs body with the lock
	opTrySection // runs body with the lock if TryLock takes it
	opAwait      // yields, or pauses, until test succeeds, and then runs body
	opLoadTwo    // a test of an await: loads word obj and then word b, which is to be a
)

const lastStep = opPut

var opNames = [...]string{
	"Load", "Store", "CompareAndSwap", "Add", "Swap", "Or", "And", "Post", "TryWait", "Wait", "WaitDone", "WaitFor",
	"Yield", "Lock", "TryLock", "Unlock", "Get", "Put",
	"Choose", "close", "Go", "Get", "Set", "Pause", "branch", "jump", "count", "note",
	"if", "Lock", "if TryLock", "await", "",
}

const (
	maxThreads = 4 // threads in a program, with those that other threads make
	maxLog     = 8 // results in the log of a thread
	wordCount  = 3
	semaCount  = 2
	lockCount  = 2
	cellCount  = 2
	maxItems   = 3 // that a program puts into the pool
)

// A stmt is a statement of a program.
type stmt struct {
	op   opcode
	obj  int8
	a, b int8 // operands
	body []stmt

	test   opcode // of an await: Load or Get of the pool (the value is a), opLoadTwo, CAS, TryWait or TryLock
	rounds int8   // of an await: the number of tests before it gives up, or 0
}

// An instr is an instruction of the code of a thread.
type instr struct {
	op   opcode
	obj  int8
	a, b int8
	to   uint8

	quiet bool // the result does not enter the log
}

// A program is a random program. Each thread has a register, which holds its last
// result, and a log of its results.
type program struct {
	family  *family
	threads []progThread // of the body
	tokens  [semaCount]int8
	limits  [semaCount]int8 // the capacities of the semaphores
	rounds  uint8           // Options.Rounds

	code []([]instr) // of threads, and then of the threads that they make
}

type progThread struct {
	daemon bool
	stmts  []stmt
}

// compile fills in the code of all threads.
func (p *program) compile() {
	p.code = make([][]instr, len(p.threads))
	for i, t := range p.threads {
		p.code[i] = p.emit(nil, t.stmts)
	}
}

// emit appends the instructions of statements to code.
func (p *program) emit(code []instr, stmts []stmt) []instr {
	for _, s := range stmts {
		in := instr{op: s.op, obj: s.obj, a: s.a, b: s.b}
		switch s.op {
		case opIf:
			code = append(code,
				instr{op: opBranch, a: s.a, to: uint8(len(code) + 2)},
				instr{op: opJump})
			jump := len(code) - 1
			code = p.emit(code, s.body)
			code[jump].to = uint8(len(code))
		case opSpawn:
			in.a = int8(len(p.code))
			p.code = append(p.code, nil)
			p.code[in.a] = p.emit(nil, s.body)
			code = append(code, in)
		case opSection:
			code = append(code, instr{op: opLock, obj: s.obj})
			code = append(p.emit(code, s.body), instr{op: opUnlock, obj: s.obj})
		case opTrySection:
			code = append(code, instr{op: opTryLock, obj: s.obj}, instr{op: opBranch})
			branch := len(code) - 1
			code = append(p.emit(code, s.body), instr{op: opUnlock, obj: s.obj})
			code[branch].to = uint8(len(code))
		case opAwait:
			code = p.emitAwait(code, s)
		default:
			code = append(code, in)
		}
	}
	return code
}

// emitAwait appends the instructions of an await. Its rounds do not enter the log, so
// that a loop without a limit has a finite number of states.
func (p *program) emitAwait(code []instr, s stmt) []instr {
	start := uint8(len(code))
	want := int8(1)
	if s.test == opLoad || s.test == opLoadTwo || s.test == opTake {
		want = s.a
	}
	torn := -1 // of two loads: the branch at which the first has seen 0 and the second has seen a
	if s.test == opLoadTwo {
		load := instr{op: opLoad, obj: s.b, quiet: true}
		code = append(code,
			instr{op: opLoad, obj: s.obj, quiet: true},
			instr{op: opBranch, a: 0, to: start + 3},
			instr{op: opJump, to: start + 6},
			load,
			instr{op: opBranch, a: want},
			instr{op: opJump, to: start + 8})
		torn = len(code) - 2
		s.test, s.obj = opLoad, s.b
	}
	code = append(code,
		instr{op: s.test, obj: s.obj, a: s.a, b: s.b, quiet: true},
		instr{op: opBranch, a: want})
	branch := len(code) - 1
	if s.rounds > 0 {
		code = append(code, instr{op: opCount, a: s.rounds})
	}
	count := len(code) - 1
	code = append(code, instr{op: opYield}, instr{op: opJump, to: start})
	if p.family.pauses {
		code[len(code)-2].op = opPause
	}
	jump := -1
	if s.rounds > 0 {
		code[count].to = uint8(len(code))
		code = append(code, instr{op: opNote, a: 0}, instr{op: opJump})
		jump = len(code) - 1
	}
	if torn >= 0 {
		code[torn].to = uint8(len(code))
		code = append(code, instr{op: opNote, a: 2}, instr{op: opJump, to: uint8(len(code) + 3)})
	}
	code[branch].to = uint8(len(code))
	code = append(code, instr{op: opNote, a: 1})
	code = p.emit(code, s.body)
	if s.test == opTryLock {
		code = append(code, instr{op: opUnlock, obj: s.obj})
	}
	if jump >= 0 {
		code[jump].to = uint8(len(code))
	}
	return code
}

// String returns the text of a program.
func (p *program) String() string {
	b := new(strings.Builder)
	fmt.Fprintf(b, "family %s, tokens %v of %v", p.family.name, p.tokens, p.limits)
	if p.family.crash {
		b.WriteString(", t0 may crash")
	}
	if p.family.timeouts {
		b.WriteString(", timeouts")
	}
	if p.family.yields || p.family.timeouts {
		fmt.Fprintf(b, ", %d rounds", p.rounds)
	}
	b.WriteByte('\n')
	for i, t := range p.threads {
		kind := ""
		if t.daemon {
			kind = " (daemon)"
		}
		fmt.Fprintf(b, "t%d%s:\n", i, kind)
		printStmts(b, p.family, t.stmts, "\t")
	}
	return b.String()
}

func printStmts(b *strings.Builder, f *family, stmts []stmt, indent string) {
	for _, s := range stmts {
		b.WriteString(indent)
		name := opNames[s.op]
		switch s.op {
		case opLoad:
			fmt.Fprintf(b, "r = w%d.%s()", s.obj, name)
		case opStore:
			fmt.Fprintf(b, "w%d.%s(%d)", s.obj, name, s.a)
		case opAdd, opSwap, opOr, opAnd:
			fmt.Fprintf(b, "r = w%d.%s(%d)", s.obj, name, s.a)
		case opCAS:
			fmt.Fprintf(b, "r = w%d.%s(%d, %d)", s.obj, name, s.a, s.b)
		case opPost, opTryWait, opWait, opWaitDone, opWaitFor:
			fmt.Fprintf(b, "r = s%d.%s()", s.obj, name)
		case opGet:
			fmt.Fprintf(b, "r = c%d.%s()", s.obj, name)
		case opSet:
			fmt.Fprintf(b, "c%d.%s(%d)", s.obj, name, s.a)
		case opTake:
			fmt.Fprintf(b, "r = pool.%s()", name)
		case opPut:
			fmt.Fprintf(b, "pool.%s(%d)", name, s.a)
		case opChoose:
			fmt.Fprintf(b, "r = %s(%d)", name, s.a)
		case opIf:
			fmt.Fprintf(b, "%s r == %d {", name, s.a)
		case opSpawn:
			fmt.Fprintf(b, "%s {", name)
		case opSection, opTrySection:
			fmt.Fprintf(b, "%s m%d {", name, s.obj)
		case opAwait:
			fmt.Fprintf(b, "%s ", name)
			switch s.test {
			case opLoad:
				fmt.Fprintf(b, "w%d.Load() == %d", s.obj, s.a)
			case opLoadTwo:
				fmt.Fprintf(b, "first, second := w%d.Load(), w%d.Load(); second == %d", s.obj, s.b, s.a)
			case opCAS:
				fmt.Fprintf(b, "w%d.CompareAndSwap(%d, %d)", s.obj, s.a, s.b)
			case opTryWait:
				fmt.Fprintf(b, "s%d.TryWait()", s.obj)
			case opTake:
				fmt.Fprintf(b, "pool.Get() == %d", s.a)
			case opTryLock:
				fmt.Fprintf(b, "m%d.TryLock()", s.obj)
			}
			if s.rounds > 0 {
				fmt.Fprintf(b, " at most %d times", s.rounds)
			}
			if f.pauses {
				b.WriteString(" with Pause")
			}
			b.WriteString(" {")
		default:
			b.WriteString(name)
		}
		b.WriteByte('\n')
		if s.op.hasBody() {
			printStmts(b, f, s.body, indent+"\t")
			b.WriteString(indent + "}\n")
		}
	}
}

func (o opcode) hasBody() bool { return o == opSpawn || o >= opIf }

// A family is a set of random programs.
type family struct {
	name     string
	ops      []opcode // a statement is one of these, all with the same probability
	tests    []opcode // the tests of its awaits, if they are not awaitTests
	inner    []opcode // a statement in a body is one of these, if there are any
	crash    bool     // t0 may crash
	timeouts bool
	yields   bool
	pure     bool // its Yields are in awaits whose rounds only load and keep nothing
	pauses   bool // its awaits pause in place of a Yield, and end by themselves
	publish  bool // many cells are written before a word, and read after it
	blocks   bool // some threads are no daemons and may block: an execution may be a deadlock
	deep     bool // programs of three threads with more orders, explored with the reduction only
}

var (
	wordOps    = []opcode{opLoad, opLoad, opStore, opStore, opCAS, opAdd, opSwap, opOr, opAnd, opIf}
	semaOps    = []opcode{opPost, opPost, opTryWait, opWait, opChoose, opLoad, opStore, opAdd, opIf}
	doneOps    = []opcode{opPost, opTryWait, opWait, opWaitDone, opWaitDone, opClose, opLoad, opStore, opIf}
	cellOps    = []opcode{opLoad, opLoad, opStore, opCAS, opIf, opIf, opIf, opSet, opPost, opPost, opTryWait, opTryWait}
	lockOps    = []opcode{opSection, opSection, opSection, opTrySection, opLoad, opStore, opAdd}
	inCells    = []opcode{opGet, opSet, opGet, opLoad, opAdd, opSection}
	yieldOps   = []opcode{opAwait, opAwait, opYield, opLoad, opStore, opStore, opCAS, opAdd, opPost, opIf}
	passOps    = []opcode{opYield, opClose, opClose, opWaitDone, opWaitDone, opSpawn, opSpawn, opLoad, opLoad, opStore, opAdd, opAdd}
	pauseOps   = []opcode{opAwait, opAwait, opPause, opLoad, opStore, opCAS, opAdd, opPost, opIf}
	timedOps   = []opcode{opWaitFor, opWaitFor, opWaitFor, opPost, opTryWait, opLoad, opStore, opAdd, opIf}
	awaitTests = []opcode{opLoad, opLoad, opLoad, opCAS, opTryWait, opTryLock}
	loadTests  = []opcode{opLoad, opLoadTwo}
	lockTests  = []opcode{opTryLock}
	poolOps    = []opcode{opTake, opTake, opPut, opPut, opLoad, opStore, opAdd, opIf}
	mixed      = slices.Concat(wordOps, semaOps, doneOps, cellOps, lockOps, []opcode{opGet, opSpawn, opSpawn, opTake, opTake, opPut, opPut})
)

var families = []*family{
	{name: "words", ops: wordOps},
	{name: "words-deep", ops: wordOps, deep: true},
	{name: "mixed-deep", ops: slices.Concat(wordOps, mixed), deep: true},
	{name: "crash", ops: wordOps, crash: true},
	{name: "semaphores", ops: semaOps},
	{name: "spawn", ops: slices.Concat(semaOps, wordOps, []opcode{opSpawn, opSpawn, opSpawn}), crash: true},
	{name: "done", ops: doneOps},
	{name: "locks", ops: lockOps, inner: inCells},
	{name: "locks-crash", ops: slices.Concat(lockOps, []opcode{opSpawn}), inner: inCells, crash: true, blocks: true},
	{name: "cells", ops: cellOps, inner: inCells},
	{name: "cells-spawn", ops: slices.Concat(cellOps, []opcode{opSpawn, opSpawn}), inner: inCells},
	{name: "publications", ops: []opcode{opLoad, opAdd, opSwap, opCAS, opSection, opPut, opTake}, inner: inCells, publish: true},
	{name: "pools", ops: slices.Concat(poolOps, poolOps, cellOps, []opcode{opSection, opWait}), inner: append(inCells, opTake, opPut), blocks: true, crash: true},
	{name: "pools-yields", ops: slices.Concat(poolOps, poolOps, []opcode{opAwait, opAwait, opYield}), tests: []opcode{opTake, opTake, opLoad}, yields: true, publish: true},
	{name: "deadlocks", ops: slices.Concat(semaOps, doneOps, lockOps), blocks: true},
	{name: "yields", ops: yieldOps, yields: true},
	{name: "yields-blocks", ops: slices.Concat(yieldOps, lockOps), yields: true, blocks: true, crash: true},
	{name: "yields-deep", ops: slices.Concat(wordOps, yieldOps[:2]), yields: true, deep: true},
	{name: "awaits", ops: []opcode{opAwait, opLoad, opStore, opStore, opAdd}, tests: loadTests, yields: true, pure: true},
	{name: "yields-done", ops: passOps, yields: true},
	{name: "yields-locks", ops: []opcode{opSection, opYield, opTrySection, opTrySection, opAwait, opAwait, opAdd}, tests: lockTests, yields: true},
	{name: "pauses", ops: pauseOps, pauses: true},
	{name: "timed", ops: timedOps, timeouts: true},
	{name: "timed-blocks", ops: slices.Concat(timedOps, doneOps), timeouts: true, blocks: true},
	{name: "timed-off", ops: timedOps, blocks: true},
	{name: "timed-yields", ops: slices.Concat(timedOps, yieldOps), timeouts: true, yields: true, blocks: true},
	{name: "mixed-yields", ops: slices.Concat(mixed, yieldOps, yieldOps), yields: true, crash: true},
	{name: "mixed-all", ops: slices.Concat(mixed, timedOps, yieldOps), timeouts: true, yields: true},
	{name: "mixed", ops: mixed},
	{name: "mixed-crash", ops: mixed, crash: true, blocks: true},
}

// A generator makes one program.
type generator struct {
	*rand.Rand
	f       *family
	words   int
	items   int // put into the pool
	spawned bool
	closed  bool
}

// generateProgram returns the program of a seed. The product of the orders and
// choices of its steps is at most about size.
func generateProgram(f *family, seed uint64, size float64) *program {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 9)), f: f}
	g.words = 1 + g.IntN(1+g.IntN(wordCount))
	p := &program{family: f}
	for i := range p.tokens {
		p.limits[i] = int8(1 + g.IntN(2))
		p.tokens[i] = int8(g.IntN(2))
	}
	p.rounds = []uint8{0, 0, 1, 1, 2}[g.IntN(5)]
	threads := 2 + g.IntN(2)
	if f.pure { // the awaited values are stored often
		g.words, threads = 2, 2
		size *= 3
	}
	if f.deep {
		threads = 3
		size *= 15
	}
	for range threads {
		p.threads = append(p.threads, progThread{
			daemon: !f.blocks || g.IntN(2) == 0,
			stmts:  g.stmts(2+g.IntN(5), 0),
		})
	}
	for {
		p.compile()
		longest, orders := p.orders()
		if orders <= size {
			return p
		}
		t := &p.threads[longest]
		drop := g.IntN(len(t.stmts))
		t.stmts = slices.Delete(t.stmts, drop, drop+1)
		if len(t.stmts) == 0 {
			t.stmts = []stmt{{op: opLoad}}
		}
	}
}

// stmts returns n statements, counting those in the bodies of others.
func (g *generator) stmts(n, depth int) []stmt {
	var list []stmt
	for n > 0 {
		if g.f.publish && depth == 0 && n > 1 && g.IntN(2) == 0 {
			list = append(list, g.publication()...)
			n -= 2
			continue
		}
		s := g.stmt(depth)
		if g.f.yields && n > 2 && (s.op == opClose && !g.closed || s.op == opSpawn && !g.spawned) {
			// Its effect between a Yield and the next step is seen by other threads.
			list = append(list, stmt{op: opYield})
			n--
		}
		if s.op.hasBody() {
			needed := 2
			if s.op == opAwait {
				needed = 1
			}
			if n < needed || depth > 1 || s.op == opSpawn && g.spawned {
				continue
			}
			g.spawned = g.spawned || s.op == opSpawn
			k := min(n-1, 1+g.IntN(3))
			s.body = g.stmts(k, depth+1)
			n -= k
		}
		if s.op == opClose {
			if g.closed {
				continue
			}
			g.closed = true
		}
		if s.op == opPut {
			if g.items == maxItems {
				s.op = opTake
			} else {
				g.items++
			}
		}
		n--
		list = append(list, s)
	}
	return list
}

// publication returns the statements of one side of a publication: a write of a cell and
// then of a word or the pool, or a read of the word or the pool and, if it has seen that
// write, an access to the cell.
func (g *generator) publication() []stmt {
	i := int8(g.IntN(2))
	cell := stmt{op: opSet, obj: i, a: 1}
	inPool := g.IntN(3) == 0
	if g.IntN(2) == 0 {
		second := stmt{op: []opcode{opStore, opSwap, opAdd}[g.IntN(3)], obj: i, a: 1}
		if inPool && g.items < maxItems {
			g.items++
			second = stmt{op: opPut, a: 1 + i}
		}
		return []stmt{cell, second}
	}
	first, want := stmt{op: opLoad, obj: i}, int8(1)
	if inPool {
		first, want = stmt{op: opTake}, 1+i
	}
	if g.IntN(2) == 0 {
		cell.op = opGet
	}
	return []stmt{first, {op: opIf, a: want, body: []stmt{cell}}}
}

// stmt returns a statement without its body.
func (g *generator) stmt(depth int) stmt {
	ops := g.f.ops
	if depth > 0 && g.f.inner != nil {
		ops = g.f.inner
	}
	s := stmt{op: ops[g.IntN(len(ops))]}
	switch s.op {
	case opLoad, opStore, opCAS, opAdd, opSwap, opOr, opAnd:
		s.obj = int8(g.IntN(g.words))
	case opPost, opTryWait, opWait, opWaitDone, opWaitFor:
		s.obj = int8(g.IntN(semaCount))
	case opSection, opTrySection:
		s.obj = int8(g.IntN(lockCount))
	case opAwait:
		s.rounds = int8(max(0, g.IntN(5)-1))
		switch {
		case g.f.pure:
			s.rounds = 0 // the count would be kept for the next round
		case g.f.pauses:
			s.rounds = max(1, s.rounds) // otherwise the loop would not end without the other threads
		}
		tests := awaitTests
		if g.f.tests != nil {
			tests = g.f.tests
		}
		s.test = tests[g.IntN(len(tests))]
		switch s.test {
		case opLoad:
			s.obj, s.a = int8(g.IntN(g.words)), int8(g.IntN(3))
			if g.f.pure {
				s.a = int8(1 + g.IntN(2))
			}
		case opLoadTwo:
			s.obj, s.b, s.a = int8(g.IntN(g.words)), int8(g.IntN(g.words)), int8(1+g.IntN(2))
		case opCAS:
			s.obj, s.a, s.b = int8(g.IntN(g.words)), int8(g.IntN(2)), int8(1+g.IntN(2))
		case opTryWait:
			s.obj = int8(g.IntN(semaCount))
		case opTake:
			s.a = int8(1 + g.IntN(2))
		case opTryLock:
			s.obj = int8(g.IntN(lockCount))
		}
	case opGet, opSet:
		s.obj = int8(g.IntN(cellCount))
	}
	switch s.op {
	case opStore, opSwap, opOr, opAnd, opIf, opSet:
		s.a = int8(g.IntN(3))
		if g.f.pure {
			s.a = int8(1 + g.IntN(2))
		}
	case opAdd, opPut:
		s.a = int8(1 + g.IntN(2))
	case opCAS:
		s.a, s.b = int8(g.IntN(2)), int8(1+g.IntN(2))
	case opChoose:
		s.a = int8(2 + g.IntN(2))
	}
	return s
}

// orders returns the thread with the most steps and a bound on the number of
// executions, both of the code without its branches.
func (p *program) orders() (longest int, n float64) {
	n = 1
	total, most := 0, -1
	for i, code := range p.code {
		steps := 0
		for _, in := range code {
			switch {
			case in.op == opChoose:
				n *= float64(in.a)
			case in.op <= lastStep:
				steps++
				total++
				n *= float64(total) / float64(steps)
				if in.op == opWaitFor || in.op == opYield {
					n *= 2
				}
			}
		}
		if i == 0 && p.family.crash {
			n *= float64(1 + steps)
		}
		if i < len(p.threads) && len(code) > most {
			longest, most = i, len(code)
		}
	}
	return longest, n
}

// An ending is the end of an execution.
type ending uint8

const (
	atEnd ending = iota // no thread can take a step, and only daemons are left
	inDeadlock
	inBlindWait // the same, and a thread waits at a blind Yield
	inRace
)

// An outcome is all that a program can observe of one execution. An outcome that
// fails has its ending only.
type outcome struct {
	end     ending
	crashed bool
	threads [maxThreads]result
	words   [wordCount]int8
	tokens  [semaCount]int8
	locked  [lockCount]bool
	cells   [cellCount]int8
	items   [maxItems]int8 // in the pool
}

// A result is what a thread has recorded.
type result struct {
	ended bool
	n     uint8
	log   [maxLog]int8
}

func (r *result) add(v int8) {
	r.log[r.n] = v
	r.n++
}

// String returns the text of an outcome.
func (o outcome) String() string {
	switch o.end {
	case inDeadlock:
		return "deadlock"
	case inBlindWait:
		return "blind wait"
	case inRace:
		return "race"
	}
	s := ""
	for i, t := range o.threads {
		s += fmt.Sprintf("t%d%v", i, t.log[:t.n])
		if !t.ended {
			s += "..."
		}
		s += " "
	}
	return s + fmt.Sprintf("words%v tokens%v locked%v cells%v items%v crashed=%t", o.words, o.tokens, o.locked, o.cells, o.items, o.crashed)
}

// An instance is a program in one execution of the explorer.
type instance struct {
	p       *program
	words   [wordCount]interleave.Int32
	semas   [semaCount]interleave.Sema
	locks   [lockCount]interleave.Mutex
	cells   [cellCount]interleave.Cell[int8]
	pool    interleave.Pool
	done    chan struct{}
	results [maxThreads]result
	runs    [maxThreads]func()
}

var threadNames = [maxThreads]string{"t0", "t1", "t2", "t3"}

// body returns the model of a program. It calls note with the outcome of each
// execution that does not fail. The executions use the same memory, one after another.
func (p *program) body(note func(outcome)) func(m *interleave.M) {
	x := &instance{p: p}
	for i := range x.semas {
		x.semas[i].Init(int(p.limits[i]))
	}
	for i := range p.code {
		x.runs[i] = func() { x.run(i) }
	}
	closes := p.uses(opClose)
	var m *interleave.M
	final := func() { note(x.outcome(m)) }
	return func(of *interleave.M) {
		m = of
		x.reset()
		if closes {
			x.done = make(chan struct{})
		}
		for i, t := range p.threads {
			if t.daemon {
				m.GoDaemon(threadNames[i], x.runs[i])
			} else {
				m.Go(threadNames[i], x.runs[i])
			}
		}
		m.Final(final)
	}
}

// uses reports whether the code of p has an instruction.
func (p *program) uses(op opcode) bool {
	return slices.ContainsFunc(p.code, func(code []instr) bool {
		return slices.ContainsFunc(code, func(in instr) bool { return in.op == op })
	})
}

// reset makes the state of x that of the start of an execution.
func (x *instance) reset() {
	x.words = [wordCount]interleave.Int32{}
	x.locks = [lockCount]interleave.Mutex{}
	x.cells = [cellCount]interleave.Cell[int8]{}
	x.results = [maxThreads]result{}
	for i := range x.semas {
		for x.semas[i].TryWait() { // left by an execution that has failed
		}
		for range x.p.tokens[i] {
			x.semas[i].Post()
		}
	}
}

// outcome returns the outcome of an execution that has ended.
func (x *instance) outcome(m *interleave.M) outcome {
	o := outcome{crashed: m.Crashed(), threads: x.results}
	for i := range x.words {
		o.words[i] = int8(x.words[i].Load())
	}
	for i := range x.semas {
		for x.semas[i].TryWait() {
			o.tokens[i]++
		}
	}
	for i := range x.locks {
		o.locked[i] = !x.locks[i].TryLock()
	}
	for i := range x.cells {
		o.cells[i] = x.cells[i].Get()
	}
	for i := range o.items {
		if o.items[i] = x.take(); o.items[i] == 0 {
			break
		}
	}
	return o
}

// take returns an item of the pool, or 0 if there is none.
func (x *instance) take() int8 {
	v, _ := x.pool.Get().(int8)
	return v
}

// run executes the code of thread i.
func (x *instance) run(i int) {
	code := x.p.code[i]
	out := &x.results[i]
	reg, rounds := int8(0), int8(0)
	for pc := 0; pc < len(code); {
		in := &code[pc]
		pc++
		switch in.op {
		case opStore:
			x.words[in.obj].Store(int32(in.a))
			continue
		case opClose:
			close(x.done)
			continue
		case opSpawn:
			child := int(in.a)
			interleave.GoDaemon(threadNames[child], x.runs[child])
			continue
		case opSet:
			x.cells[in.obj].Set(in.a)
			continue
		case opBranch:
			if reg == in.a {
				pc = int(in.to)
			}
			continue
		case opJump:
			pc = int(in.to)
			continue
		case opCount:
			if rounds++; rounds == in.a {
				pc = int(in.to)
				rounds = 0
			}
			continue
		case opYield:
			interleave.Yield()
			continue
		case opPause:
			interleave.Pause()
			continue
		case opLock:
			x.locks[in.obj].Lock()
			continue
		case opUnlock:
			x.locks[in.obj].Unlock()
			continue
		case opPut:
			x.pool.Put(in.a)
			continue
		case opTake:
			reg = x.take()
		case opTryLock:
			reg = toInt(x.locks[in.obj].TryLock())
		case opNote:
			rounds = 0
			out.add(in.a)
			continue
		case opLoad:
			reg = int8(x.words[in.obj].Load())
		case opCAS:
			reg = toInt(x.words[in.obj].CompareAndSwap(int32(in.a), int32(in.b)))
		case opAdd:
			reg = int8(x.words[in.obj].Add(int32(in.a)))
		case opSwap:
			reg = int8(x.words[in.obj].Swap(int32(in.a)))
		case opOr:
			reg = int8(x.words[in.obj].Or(int32(in.a)))
		case opAnd:
			reg = int8(x.words[in.obj].And(int32(in.a)))
		case opPost:
			reg = toInt(x.semas[in.obj].Post())
		case opTryWait:
			reg = toInt(x.semas[in.obj].TryWait())
		case opWait:
			x.semas[in.obj].Wait()
			reg = 1
		case opWaitDone:
			reg = toInt(x.semas[in.obj].WaitDone(x.done))
		case opWaitFor:
			reg = toInt(x.semas[in.obj].WaitFor(1))
		case opChoose:
			reg = int8(interleave.Choose(int(in.a)))
		case opGet:
			reg = x.cells[in.obj].Get()
		default:
			panic("unknown instruction")
		}
		if !in.quiet {
			out.add(reg)
		}
	}
	out.ended = true
}

func toInt(b bool) int8 {
	if b {
		return 1
	}
	return 0
}
