package transport

import "reflect"

// Memory returns the bytes of *v.
func Memory[T any](v *T) []byte { return memory(v) }

// Plan is the plan of a type, for tests.
type Plan struct{ p *plan }

// PlanOf returns the plan of t, and whether it has one.
func PlanOf(t reflect.Type) (Plan, bool) {
	p, ok := planOf(t)
	return Plan{p}, ok
}

// Append appends the n values in src.
func (p Plan) Append(dst, src []byte, n int) []byte { return p.p.append(dst, src, n) }

// Copy copies n values and reports whether they were valid.
func (p Plan) Copy(dst, src []byte, n int) bool { return p.p.copy(dst, src, n) }
