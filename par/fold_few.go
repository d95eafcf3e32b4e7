package par

import (
	"reflect"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/cpu"
	"github.com/lanewright/lanewright/sched"
)

// A loop over few indices cannot try the first one and then decide: when that turns
// out to take a millisecond, the others should have been running meanwhile. And it cannot
// always start a worker, which takes longer than most such loops. So loops remember
// what the indices of a body took. A body that is not known, or was heavy, is shared at
// once; the others begin alone.
const (
	few   = 8  // indices for each worker: up to so many are few
	alone = 16 // so many light indices are done in one go
)

// class is what is known of a body.
type class uintptr

const (
	unknown class = iota // or heavy
	light                // alone indices take less than small, and so do fewer
	medium
)

// classes holds the classes of the bodies that were seen last. An entry is the
// address of the code of a body, shifted by two bits, with its class. Losing one
// costs time only.
var classes [512]atomix.Uintptr

// memory is where the class of a body is kept.
type memory struct {
	at  *atomix.Uintptr
	key uintptr
}

func recall(body any) memory {
	code := reflect.ValueOf(body).Pointer()
	return memory{at: &classes[code>>4%uintptr(len(classes))], key: code << 2}
}

func (m memory) class() class {
	if e := m.at.Load(); e&^3 == m.key {
		return class(e & 3)
	}
	return unknown
}

// learn keeps the class of a body of which an index takes as p says.
func (m memory) learn(p pace) {
	c := medium
	switch {
	case p.exceeds(heavy, 1):
		c = unknown
	case !p.exceeds(small, alone):
		c = light
	}
	if e := m.key | uintptr(c); m.at.Load() != e {
		m.at.Store(e)
	}
}

// foldFew does all indices below n, which are few.
func foldFew[R any, W work[R]](s *sched.Scheduler, n, workers int, w W) (acc R) {
	m := recall(w.body())
	c := m.class()
	if c == light && n > alone {
		return foldMany[R](s, n, w)
	}
	start := cpu.Ticks()
	parts := 1
	switch c {
	case light:
		acc, _ = w.run(w.zero(), 0, n)
	case medium:
		acc = foldMany[R](s, n, w)
	default:
		parts = min(n, workers)
		acc = share(s, span[W, R]{work: w, acc: w.zero(), hi: n, chunk: 1, parts: parts})
	}
	m.learn(pace{(cpu.Ticks() - start) * uint64(parts), n})
	return acc
}
