package invariant

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Assert panics with msg when cond is false and [Enabled] is true. The message begins
// with the package and the operation, as in "mpsc: Queue.Push: ...". The arguments are
// evaluated in every build, so they must have no side effects.
func Assert(cond bool, msg string) {
	if Enabled && !cond {
		failed(msg)
	}
}

// failed is a function of its own so that Assert inlines.
func failed(msg string) {
	panic("invariant violated: " + msg)
}

// Reached counts one pass through the branch named by mark when [Enabled] is true. A
// mark begins with the package and the operation. Safe for concurrent use.
func Reached(mark string) {
	if Enabled {
		reached(mark)
	}
}

// marks maps each mark that was reached to its count. A map that is published here is
// never changed, only replaced, so a lookup is one load. A lock would order the
// goroutines that call Reached and hide their races from the race detector.
var (
	marks atomic.Pointer[map[string]*uint64]
	grow  sync.Mutex
)

func reached(mark string) {
	if m := marks.Load(); m != nil {
		if n := (*m)[mark]; n != nil {
			count(n)
			return
		}
	}
	count(add(mark))
}

// add returns the count of a mark. It adds the mark if marks does not have it yet.
func add(mark string) *uint64 {
	grow.Lock()
	defer grow.Unlock()
	next := map[string]*uint64{}
	if m := marks.Load(); m != nil {
		if n := (*m)[mark]; n != nil {
			return n
		}
		maps.Copy(next, *m)
	}
	n := new(uint64)
	next[mark] = n
	marks.Store(&next)
	return n
}

// Count returns how often [Reached] was called with mark. Under the race detector it
// may miss calls, but it is never 0 for a mark that was reached.
func Count(mark string) uint64 {
	if m := marks.Load(); m != nil {
		if n := (*m)[mark]; n != nil {
			return value(n)
		}
	}
	return 0
}

// Marks returns the marks that were reached, sorted.
func Marks() []string {
	m := marks.Load()
	if m == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(*m))
}
