package invariant

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Assert panics with msg when cond is false and [Enabled] is true. The message
// starts with the package and the operation, as in "mpsc: Queue.Push: ...".
// The arguments are evaluated in every build: keep them free of effects.
func Assert(cond bool, msg string) {
	if Enabled && !cond {
		failed(msg)
	}
}

// failed is apart so that Assert inlines.
func failed(msg string) {
	panic("invariant violated: " + msg)
}

// Reached counts that the branch named by mark was reached, when [Enabled] is
// true. A mark starts with the package and the operation. Safe for concurrent
// use.
func Reached(mark string) {
	if Enabled {
		reached(mark)
	}
}

// marks maps each mark that was ever reached to its count. The map is replaced,
// never changed, so that to find a mark is one load: a lock here would order
// the goroutines that pass it, and hide from the race detector what it is run
// to find.
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

// add returns the count of a mark, which it makes if need be.
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

// Count returns how often [Reached] was called with mark. Under the race
// detector some calls may go uncounted, but a mark that was reached is never 0.
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
