package interleave

// Local returns the variable of the calling thread, which is nil when the thread starts.
// The body and the Final functions have one in common, which is nil when the body starts.
// Its use is no step, because no other thread has that variable. Outside an exploration
// Local returns nil.
//
// It stands for state that production code finds by the identity of its goroutine. Such a
// table has other addresses in each execution, which is [Unsteady], and each access to its
// words would be a step.
//
//go:norace
func Local() *any {
	x := enter()
	switch {
	case x == nil:
		return nil
	case x.current == nil:
		return &x.local
	}
	return &x.current.local
}
