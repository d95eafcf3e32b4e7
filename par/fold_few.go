package par

import (
	"reflect"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/cpu"
	"github.com/lanewright/lanewright/sched"
)

// A loop over few indices cannot try the first one and then decide. If that index takes
// a millisecond, the others should have run at the same time. The loop cannot always
// wake a worker either, because that takes longer than most such loops. Loops therefore
// record the time that the indices of a body take. A loop whose body is unknown or heavy
// is shared at once. Any other loop begins on the caller alone.
const (
	fewPerWorker = 8  // up to this number of indices per worker a loop is over few indices
	lightMax     = 16 // up to this number of light indices are run in one chunk
)

// class is the speed of a body, as far as it is known.
type class uintptr

const (
	unknown class = iota // not recorded, or heavy
	light                // lightMax indices take less than minShareTicks
	medium
)

// classes holds the classes of the last bodies. An entry is the address of the code of a
// body, shifted by two bits, with its class. Two bodies may share an entry. Then the
// older class is lost, which costs time only.
var classes [512]atomix.Uintptr

// bodyRecord is the entry of a body in classes.
type bodyRecord struct {
	at  *atomix.Uintptr
	key uintptr
}

// recordOf returns the entry of a function.
func recordOf(body any) bodyRecord {
	code := reflect.ValueOf(body).Pointer()
	return bodyRecord{at: &classes[code>>4%uintptr(len(classes))], key: code << 2}
}

// class returns the recorded class of the body, or unknown.
func (r bodyRecord) class() class {
	if e := r.at.Load(); e&^3 == r.key {
		return class(e & 3)
	}
	return unknown
}

// update records the class of a body whose indices take the time p.
func (r bodyRecord) update(p pace) {
	c := medium
	switch {
	case p.exceeds(heavyTicks, 1):
		c = unknown
	case !p.exceeds(minShareTicks, lightMax):
		c = light
	}
	if e := r.key | uintptr(c); r.at.Load() != e {
		r.at.Store(e)
	}
}

// foldFew runs a loop over few indices.
func foldFew[R any, W work[R]](s *sched.Scheduler, n, workers int, w W) (acc R) {
	r := recordOf(w.body())
	c := r.class()
	if c == light && n > lightMax {
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
	r.update(pace{(cpu.Ticks() - start) * uint64(parts), n})
	return acc
}
