package stress

import (
	"fmt"
	"sync/atomic"

	"github.com/lanewright/lanewright/sched"
)

// A twig is a task of a program: it schedules its children in one of the ways
// there are, may wait for them, and may panic or call Goexit when somebody awaits
// it.
type twig struct {
	p        *program
	id       int
	way      twigWay
	fails    twigFailure
	turns    int32 // how often it still schedules itself first
	until    *gate // hit by the children when they are entered, for blocking-until
	enters   *gate // that of the parent
	children []*sched.Job[twig]
	ran      atomic.Int32
}

type twigFailure uint8

const (
	twigReturns twigFailure = iota
	twigPanics
	twigExits
)

// twigWay is how a twig runs its children. From wayWait on, somebody awaits them.
type twigWay uint8

const (
	waySchedule twigWay = iota
	wayOutside
	wayBatch
	wayYield
	wayBlockingFirst
	wayBlockingUntil
	wayWait
	wayWaitUnknown
	wayWaitContext
	wayDo
	ways

	wayAwaited = wayWait
)

var wayNames = [ways]string{
	"schedule", "outside", "batch", "yield", "blocking-first", "blocking-until",
	"wait", "wait-unknown", "wait-context", "do",
}

// A gate opens when it was hit n times.
type gate struct {
	left atomic.Int32
	open chan struct{}
}

func newGate(n int) *gate {
	g := &gate{open: make(chan struct{})}
	g.left.Store(int32(n))
	return g
}

func (g *gate) hit() {
	if g.left.Add(-1) == 0 {
		close(g.open)
	}
}

// A program is a forest of twigs that was read off a script, and the record of a
// run of it. It can be used again and again, on one scheduler after the other.
type program struct {
	r        *round
	s        *sched.Scheduler
	observed bool // s has an OnPanic
	unserved bool // there may be no worker: no twig relies on one other than by waiting, or exits
	script   []byte

	twigs []sched.Job[twig]
	size  int
	roots []*sched.Job[twig]

	left    atomic.Int32 // callbacks that have not returned
	done    chan struct{}
	holding []atomic.Bool // by worker ID: a callback runs
}

func newProgram(r *round) *program { return &program{r: r, done: make(chan struct{}, 1)} }

// use makes s the scheduler of the program.
func (p *program) use(s *sched.Scheduler, observed bool) {
	p.s, p.observed = s, observed
	p.holding = make([]atomic.Bool, s.MaxWorkers())
}

// maxTwigDepth bounds how deep twigs are nested.
const maxTwigDepth = 6

// read makes the program of a script. Each twig uses up a byte at least.
func (p *program) read(script []byte) {
	p.script = script
	if len(p.twigs) < len(script) {
		p.twigs = make([]sched.Job[twig], 2*len(script))
	}
	p.size, p.roots = 0, p.roots[:0]
	for rest := script; len(rest) > 0; {
		p.roots = append(p.roots, p.grow(&rest, maxTwigDepth, false))
	}
	p.left.Store(int32(p.size))
}

// grow reads a twig.
func (p *program) grow(script *[]byte, depth int, awaited bool) *sched.Job[twig] {
	choose := func(n int) int {
		if len(*script) == 0 {
			return 0
		}
		b := (*script)[0]
		*script = (*script)[1:]
		return int(b) % n
	}
	j := &p.twigs[p.size]
	tw := &j.Value
	j.Fn = enterTwig
	tw.p, tw.id, tw.way, tw.fails = p, p.size, twigWay(choose(int(ways))), twigReturns
	tw.turns, tw.until, tw.enters = 0, nil, nil
	tw.children = tw.children[:0]
	tw.ran.Store(0)
	p.size++
	if awaited && choose(8) == 1 {
		tw.fails = twigPanics + twigFailure(choose(2))
		if p.unserved {
			tw.fails = twigPanics // an exit would end the goroutine of Shutdown
		}
	}
	switch {
	case tw.way == wayYield && awaited:
		tw.way = waySchedule // the turns after the first are in no group
	case tw.way == wayYield:
		tw.turns = int32(1 + choose(4))
	case tw.way == wayBlockingUntil && p.unserved:
		tw.way = wayBlockingFirst
	}
	if depth > 0 {
		for range choose(4) {
			if len(*script) == 0 {
				break
			}
			tw.children = append(tw.children, p.grow(script, depth-1, tw.way >= wayAwaited))
		}
	}
	if tw.way == wayBlockingUntil {
		tw.until = newGate(len(tw.children) + 1)
		for _, c := range tw.children {
			c.Value.enters = tw.until
		}
	}
	return j
}

// String prints the program as a tree.
func (p *program) String() string {
	var text []byte
	var draw func(j *sched.Job[twig], indent int)
	draw = func(j *sched.Job[twig], indent int) {
		tw := &j.Value
		text = fmt.Appendf(text, "%*s%d %s", 2*indent, "", tw.id, wayNames[tw.way])
		switch tw.fails {
		case twigPanics:
			text = append(text, ", panics"...)
		case twigExits:
			text = append(text, ", exits"...)
		}
		text = append(text, '\n')
		for _, c := range tw.children {
			draw(c, indent+1)
		}
	}
	for _, root := range p.roots {
		draw(root, 0)
	}
	return string(text)
}

func (p *program) failf(format string, args ...any) {
	p.r.Errorf("%s\nscript %x, MaxWorkers %d:\n%s", fmt.Sprintf(format, args...), p.script, p.s.MaxWorkers(), p)
}
