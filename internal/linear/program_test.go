package linear_test

import (
	"fmt"
	"strings"

	"github.com/lanewright/lanewright/mpsc"
)

// op is an operation of a program. on is the thread whose structure the operation uses,
// if that is not the own one. For idle, on is the number of steps.
type op struct {
	name string
	on   int
}

func (o op) String() string {
	if o.on < 0 {
		return o.name
	}
	return fmt.Sprintf("%s%d", o.name, o.on)
}

// program is the operations of each thread. Thread 0 does setup before the others
// start.
type program struct {
	setup   []op
	threads [][]op
}

// String returns the program in the form that parse reads.
func (p program) String() string {
	parts := []string{opsString(p.setup)}
	for _, ops := range p.threads {
		parts = append(parts, opsString(ops))
	}
	return strings.Join(parts, " | ")
}

func opsString(ops []op) string {
	names := make([]string, len(ops))
	for i, o := range ops {
		names[i] = o.String()
	}
	return strings.Join(names, " ")
}

// parse reads a program such as "push push | pop | steal0 pop": the setup, then the
// threads.
func parse(text string) program {
	var p program
	for i, part := range strings.Split(text, "|") {
		var ops []op
		for _, name := range strings.Fields(part) {
			o := op{strings.TrimRight(name, "0123456789"), -1}
			if digits := name[len(o.name):]; digits != "" {
				if _, err := fmt.Sscan(digits, &o.on); err != nil {
					panic(err)
				}
			}
			ops = append(ops, o)
		}
		if i == 0 {
			p.setup = ops
		} else {
			p.threads = append(p.threads, ops)
		}
	}
	return p
}

// words are the parts of generated programs of a subject. A word that ends in a digit
// uses the structure of any thread.
type words []string

var (
	queueWords = words{
		"push", "push", "again", "list", "lifo pop release", "fifo pop release", "lifo pop pop release",
		"fifo pop pop release", "fifo pop", "pop again", "release", "seal", "empty", "available",
	}
	ringWords = words{"push", "push", "push", "again", "list", "pop", "pop", "newest", "steal0", "steal0", "steal0 pop", "empty0"}
	runWords  = words{
		"push", "push", "push", "again", "list", "over0", "pop", "pop", "refill", "refill", "take", "steal0", "steal0",
		"steal0 pop", "newest",
	}
)

// ops returns the operations of one word for thread th. pick returns a number from 0 to
// n-1.
func (w words) ops(th, threads int, pick func(what string, n int) int) []op {
	ops := parse(w[pick("word", len(w))]).setup
	for i := range ops {
		switch o := &ops[i]; {
		case o.name == "steal":
			o.on = (th + 1 + pick("victim", threads-1)) % threads
		case o.on >= 0:
			o.on = pick("target", threads)
		}
	}
	return ops
}

// subject is a structure under test, new for each execution.
type subject interface {
	// do does an operation as thread e.th and records its result and its specification.
	// It returns false when the operation is not possible, such as a pop without the
	// consumer token.
	do(e *event) bool
	// rest takes all nodes that are left when the threads have ended.
	rest(e *event)
}

// run is one execution of a program.
type run struct {
	subject
	*history
}

// do does operations as thread th. It calls between before each of them.
func (r run) do(th int, ops []op, between func()) {
	for _, o := range ops {
		if o.name == "idle" {
			for range o.on {
				between()
			}
			continue
		}
		between()
		e := event{th: th, op: o, call: r.clock.Add(1)}
		if r.subject.do(&e) {
			e.ret = r.clock.Add(1)
			r.events[th] = append(r.events[th], e)
		}
	}
}

// finish takes the nodes that are left, as thread 0.
func (r run) finish() {
	e := event{op: op{"rest", -1}, call: r.clock.Add(1)}
	r.rest(&e)
	e.ret = r.clock.Add(1)
	r.events[0] = append(r.events[0], e)
}

// supply holds the nodes of each thread.
type supply [maxThreads]struct {
	made int
	last *item // the last taken node, for again
}

// push returns the next node to push: a new one or, for again, the last node that the
// thread took.
func (p *supply) push(e *event) *mpsc.Node {
	mine := &p[e.th]
	it := mine.last
	mine.last = nil
	if e.op.name != "again" || it == nil {
		it = p.fresh(e.th)
	}
	e.gave += nodesOf(it.id)
	return &it.node
}

// fresh makes a node with a number that names its thread.
func (p *supply) fresh(th int) *item {
	p[th].made++
	return &item{id: 1000*(th+1) + p[th].made}
}

// list returns two new nodes as a list.
func (p *supply) list(e *event) *mpsc.List {
	l := new(mpsc.List)
	for range 2 {
		it := p.fresh(e.th)
		e.gave += nodesOf(it.id)
		l.Push(&it.node)
	}
	return l
}

// took records a node that the thread took.
func (p *supply) took(e *event, n *mpsc.Node) {
	if n != nil {
		it := itemOf(n)
		p[e.th].last = it
		e.got += nodesOf(it.id)
	}
}

// all records all nodes that pop returns.
func (p *supply) all(e *event, pop func() *mpsc.Node) {
	for n := pop(); n != nil; n = pop() {
		e.got += nodesOf(itemOf(n).id)
	}
}
