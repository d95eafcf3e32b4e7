package stress

import (
	"fmt"
	"sync/atomic"

	"github.com/lanewright/lanewright/sched"
)

// A taskNode is a task of a program. It runs its children in one of the modes, may wait
// for them, and may panic or call Goexit when another task or a caller waits for it.
type taskNode struct {
	p        *program
	id       int
	mode     nodeMode
	fails    nodeFailure
	repeats  int32  // how often it schedules itself before it runs its children
	until    *latch // counts the children that were entered, for blocking-until
	entered  *latch // the latch of the parent
	children []*sched.Job[taskNode]
	ran      atomic.Int32
}

// nodeFailure is how a node ends.
type nodeFailure uint8

const (
	nodeReturns nodeFailure = iota
	nodePanics
	nodeExits
)

// nodeMode is how a node runs its children. From modeWait on, the node waits for them.
type nodeMode uint8

const (
	modeSchedule nodeMode = iota
	modeExternal
	modeBatch
	modeYield
	modeBlockingFirst
	modeBlockingUntil
	modeWait
	modeWaitUnknown
	modeWaitContext
	modeDo
	nodeModes

	modeAwaited = modeWait
)

var modeNames = [nodeModes]string{
	"schedule", "external", "batch", "yield", "blocking-first", "blocking-until",
	"wait", "wait-unknown", "wait-context", "do",
}

// A latch opens when it was counted down n times.
type latch struct {
	left atomic.Int32
	open chan struct{}
}

func newLatch(n int) *latch {
	l := &latch{open: make(chan struct{})}
	l.left.Store(int32(n))
	return l
}

// countDown counts one event.
func (l *latch) countDown() {
	if l.left.Add(-1) == 0 {
		close(l.open)
	}
}

// A program is a forest of nodes that was read from a script, and the record of one
// run. It can be used again, on another scheduler.
type program struct {
	r             *round
	s             *sched.Scheduler
	observed      bool // s has an OnPanic
	withoutWorker bool // there may be no worker: no node exits, or relies on a worker except by waiting
	script        []byte

	nodes []sched.Job[taskNode]
	size  int
	roots []*sched.Job[taskNode]

	left    atomic.Int32 // callbacks that have not returned
	done    chan struct{}
	holding []atomic.Bool // by worker ID: a callback runs on it
}

func newProgram(r *round) *program { return &program{r: r, done: make(chan struct{}, 1)} }

// use makes s the scheduler of the program.
func (p *program) use(s *sched.Scheduler, observed bool) {
	p.s, p.observed = s, observed
	p.holding = make([]atomic.Bool, s.MaxWorkers())
}

// maxNodeDepth bounds the depth of nested nodes.
const maxNodeDepth = 6

// read reads a program from a script. Each node uses at least one byte.
func (p *program) read(script []byte) {
	p.script = script
	if len(p.nodes) < len(script) {
		p.nodes = make([]sched.Job[taskNode], 2*len(script))
	}
	p.size, p.roots = 0, p.roots[:0]
	for rest := script; len(rest) > 0; {
		p.roots = append(p.roots, p.readNode(&rest, maxNodeDepth, false))
	}
	p.left.Store(int32(p.size))
}

// readNode reads a node and its children.
func (p *program) readNode(script *[]byte, depth int, awaited bool) *sched.Job[taskNode] {
	choose := func(n int) int {
		if len(*script) == 0 {
			return 0
		}
		b := (*script)[0]
		*script = (*script)[1:]
		return int(b) % n
	}
	j := &p.nodes[p.size]
	nd := &j.Value
	j.Fn = enterNode
	nd.p, nd.id, nd.mode, nd.fails = p, p.size, nodeMode(choose(int(nodeModes))), nodeReturns
	nd.repeats, nd.until, nd.entered = 0, nil, nil
	nd.children = nd.children[:0]
	nd.ran.Store(0)
	p.size++
	if awaited && choose(8) == 1 {
		nd.fails = nodePanics + nodeFailure(choose(2))
		if p.withoutWorker {
			nd.fails = nodePanics // an exit would end the goroutine of Shutdown
		}
	}
	switch {
	case nd.mode == modeYield && awaited:
		nd.mode = modeSchedule // the runs after the first are in no group
	case nd.mode == modeYield:
		nd.repeats = int32(1 + choose(4))
	case nd.mode == modeBlockingUntil && p.withoutWorker:
		nd.mode = modeBlockingFirst
	}
	if depth > 0 {
		for range choose(4) {
			if len(*script) == 0 {
				break
			}
			nd.children = append(nd.children, p.readNode(script, depth-1, nd.mode >= modeAwaited))
		}
	}
	if nd.mode == modeBlockingUntil {
		nd.until = newLatch(len(nd.children) + 1)
		for _, c := range nd.children {
			c.Value.entered = nd.until
		}
	}
	return j
}

// String returns the program as a tree.
func (p *program) String() string {
	var text []byte
	var write func(j *sched.Job[taskNode], indent int)
	write = func(j *sched.Job[taskNode], indent int) {
		nd := &j.Value
		text = fmt.Appendf(text, "%*s%d %s", 2*indent, "", nd.id, modeNames[nd.mode])
		switch nd.fails {
		case nodePanics:
			text = append(text, ", panics"...)
		case nodeExits:
			text = append(text, ", exits"...)
		}
		text = append(text, '\n')
		for _, c := range nd.children {
			write(c, indent+1)
		}
	}
	for _, root := range p.roots {
		write(root, 0)
	}
	return string(text)
}

// failf records a violation with the script and the tree.
func (p *program) failf(format string, args ...any) {
	p.r.Errorf("%s\nscript %x, MaxWorkers %d:\n%s", fmt.Sprintf(format, args...), p.script, p.s.MaxWorkers(), p)
}
