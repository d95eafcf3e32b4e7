package workload

import (
	"sync"
)

// nodes recycles the nodes that tasks are embedded in. Each worker has two
// magazines of its own and takes no lock while they last; full and empty ones
// are exchanged at a depot. A node may be put back by another worker than took
// it. Source: Bonwick and Adams, "Magazines and Vmem", 2001.
type nodes[N any] struct {
	prepare func(*N) // called once for each node that is made
	local   []magazines[N]

	outside sync.Mutex // over extra
	extra   magazines[N]

	depot sync.Mutex // over full and empty
	full  [][]*N
	empty [][]*N
	made  int
}

// magazines are two stacks: with two, a worker that takes and gives in turn at
// the end of one does not go to the depot each time.
type magazines[N any] struct {
	loaded, spare []*N
	_             [128]byte // one worker writes: keep the next one's off its lines
}

// magazineNodes is how many nodes a worker takes or gives at once.
const magazineNodes = 256

func newNodes[N any](workers int, prepare func(*N)) *nodes[N] {
	return &nodes[N]{prepare: prepare, local: make([]magazines[N], workers)}
}

// get returns a node. id is that of the worker, negative when it holds no place.
func (p *nodes[N]) get(id int) *N {
	if id < 0 {
		p.outside.Lock()
		defer p.outside.Unlock()
		return p.take(&p.extra)
	}
	return p.take(&p.local[id])
}

func (p *nodes[N]) take(m *magazines[N]) *N {
	if len(m.loaded) == 0 {
		m.loaded, m.spare = m.spare, m.loaded
		if len(m.loaded) == 0 {
			m.loaded = p.exchangeEmpty(m.loaded)
		}
	}
	last := len(m.loaded) - 1
	n := m.loaded[last]
	m.loaded = m.loaded[:last]
	return n
}

// put takes n back. id is as in get.
func (p *nodes[N]) put(id int, n *N) {
	if id < 0 {
		p.outside.Lock()
		defer p.outside.Unlock()
		p.give(&p.extra, n)
		return
	}
	p.give(&p.local[id], n)
}

func (p *nodes[N]) give(m *magazines[N], n *N) {
	if len(m.loaded) == cap(m.loaded) {
		m.loaded, m.spare = m.spare, m.loaded
		if len(m.loaded) == cap(m.loaded) {
			m.loaded = p.exchangeFull(m.loaded)
		}
	}
	m.loaded = append(m.loaded, n)
}

// exchangeEmpty takes a magazine that is empty, or nil, and returns one that is
// not: a full one of the depot, or one of new nodes.
func (p *nodes[N]) exchangeEmpty(m []*N) []*N {
	p.depot.Lock()
	if last := len(p.full) - 1; last >= 0 {
		f := p.full[last]
		p.full = p.full[:last]
		if cap(m) > 0 {
			p.empty = append(p.empty, m)
		}
		p.depot.Unlock()
		return f
	}
	p.made += magazineNodes
	p.depot.Unlock()
	if cap(m) == 0 {
		m = make([]*N, 0, magazineNodes)
	}
	slab := make([]N, magazineNodes)
	for i := range slab {
		p.prepare(&slab[i])
		m = append(m, &slab[i])
	}
	return m
}

// exchangeFull takes a magazine that is full, or nil, and returns an empty one.
func (p *nodes[N]) exchangeFull(m []*N) []*N {
	p.depot.Lock()
	defer p.depot.Unlock()
	if cap(m) > 0 {
		p.full = append(p.full, m)
	}
	if last := len(p.empty) - 1; last >= 0 {
		e := p.empty[last]
		p.empty = p.empty[:last]
		return e
	}
	return make([]*N, 0, magazineNodes)
}
