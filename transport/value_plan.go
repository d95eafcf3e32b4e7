package transport

import (
	"reflect"
	"slices"
)

// plan lists the bytes of a value without pointers that carry data. Padding and blank
// fields are left out: their memory holds arbitrary bytes.
type plan struct {
	size  int
	whole bool // all bytes carry data and can be copied at once
	bools bool // all bytes are bools
	runs  []run
}

// run is a part of a value that is copied at once: bytes, bytes that are bools, or the
// elements of an array.
type run struct {
	off, n int // n is in bytes, or in elements
	bools  bool
	each   *plan
}

// planOf returns the plan of t. It returns false if values of t have pointers, or have
// another meaning in another process.
func planOf(t reflect.Type) (*plan, bool) {
	p := &plan{size: int(t.Size())}
	if !p.add(t, 0) {
		return nil, false
	}
	p.whole = p.size == 0 || len(p.runs) == 1 && p.runs[0].each == nil && p.runs[0].n == p.size
	p.bools = p.whole && p.size > 0 && p.runs[0].bools
	return p, true
}

// add appends the runs of a part of type t at off.
func (p *plan) add(t reflect.Type, off int) bool {
	if local(t) != "" {
		return false
	}
	switch k := t.Kind(); {
	case reflect.Bool <= k && k <= reflect.Complex128:
		p.join(run{off: off, n: int(t.Size()), bools: k == reflect.Bool})
		return true
	case k == reflect.Array:
		return p.addArray(t, off)
	case k == reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			ok := local(f.Type) == ""
			if ok && f.Name != "_" {
				ok = p.add(f.Type, off+int(f.Offset))
			}
			if !ok {
				return false
			}
		}
		return true
	}
	return false
}

func (p *plan) addArray(t reflect.Type, off int) bool {
	each, ok := planOf(t.Elem())
	switch {
	case !ok:
		return false
	case t.Size() == 0:
	case each.whole:
		p.join(run{off: off, n: int(t.Size()), bools: each.bools})
	default:
		p.runs = append(p.runs, run{off: off, n: t.Len(), each: each})
	}
	return true
}

// join appends r, and merges it with the last run if that ends where r begins.
func (p *plan) join(r run) {
	if n := len(p.runs); n > 0 {
		if last := &p.runs[n-1]; last.each == nil && last.off+last.n == r.off && last.bools == r.bools {
			last.n += r.n
			return
		}
	}
	p.runs = append(p.runs, r)
}

// copy copies n values from src to dst, which both have the length of n values. It
// reports whether all of them were valid.
func (p *plan) copy(dst, src []byte, n int) bool {
	switch {
	case p.bools:
		return copyBools(dst, src)
	case p.whole:
		copy(dst, src)
		return true
	}
	valid := true
	for i := range n {
		at := i * p.size
		for j := range p.runs {
			r := &p.runs[j]
			valid = r.copy(dst[at+r.off:], src[at+r.off:]) && valid
		}
	}
	return valid
}

func (r *run) copy(dst, src []byte) bool {
	switch {
	case r.each != nil:
		n := r.n * r.each.size
		return r.each.copy(dst[:n], src[:n], r.n)
	case r.bools:
		return copyBools(dst, src[:r.n])
	}
	copy(dst, src[:r.n])
	return true
}

// copyBools copies bytes that must be 0 or 1, and reports whether they were. It reads
// each byte once, because a peer may write to it concurrently. An invalid byte becomes
// false: a bool of 2 would break an assumption of the compiler.
func copyBools(dst, src []byte) bool {
	valid := true
	for i := range src {
		b := src[i]
		if b > 1 {
			b, valid = 0, false
		}
		dst[i] = b
	}
	return valid
}

// append appends the n values in src to dst, with zeros for bytes that carry no data.
func (p *plan) append(dst, src []byte, n int) []byte {
	if p.whole {
		return append(dst, src...)
	}
	dst, room := extend(dst, len(src))
	p.copy(room, src, n)
	return dst
}

// extend appends n zeros to dst. It returns the result and the zeros.
func extend(dst []byte, n int) (all, zeros []byte) {
	all = slices.Grow(dst, n)[:len(dst)+n]
	zeros = all[len(dst):]
	clear(zeros)
	return all, zeros
}
