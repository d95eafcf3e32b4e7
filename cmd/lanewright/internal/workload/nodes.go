package workload

import (
	"sync"
)

// nodes recycles the nodes in which tasks are embedded. Each worker has two magazines
// and needs no lock until both are empty or both are full. Then it exchanges one at the
// depot. Any worker may put a node back. Source: Bonwick and Adams, "Magazines and
// Vmem", 2001.
type nodes[N any] struct {
	prepare func(*N) // called once for each new node
	local   []magazines[N]

	external          sync.Mutex // guards externalMagazines
	externalMagazines magazines[N]

	depot sync.Mutex // guards full, empty and made
	full  [][]*N
	empty [][]*N
	made  int
}

// magazines are two stacks of nodes. With one stack, a worker that gets and puts nodes
// in turn at the end of the stack would use the depot each time.
type magazines[N any] struct {
	loaded, spare []*N
	_             [128]byte // keeps the magazines of the next worker off these cache lines
}

// magazineNodes is the capacity of a magazine.
const magazineNodes = 256

func newNodes[N any](workers int, prepare func(*N)) *nodes[N] {
	return &nodes[N]{prepare: prepare, local: make([]magazines[N], workers)}
}

// get returns a node. id is that of the worker, or negative without a place.
func (p *nodes[N]) get(id int) *N {
	if id < 0 {
		p.external.Lock()
		defer p.external.Unlock()
		return p.take(&p.externalMagazines)
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

// put puts n back. id is as for get.
func (p *nodes[N]) put(id int, n *N) {
	if id < 0 {
		p.external.Lock()
		defer p.external.Unlock()
		p.give(&p.externalMagazines, n)
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

// exchangeEmpty returns a full magazine for m, which is empty or nil. The magazine comes
// from the depot or holds new nodes.
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

// exchangeFull returns an empty magazine for m, which is full or nil.
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
