package mpsc

// Available reports whether the queue has nodes to take and the consumer token is
// free. Any goroutine may call it. It only loads.
//
// A result of false for a queue with nodes means that a consumer holds the token.
// The Release of that consumer reports the nodes that it leaves. A goroutine that
// searches for nodes that no notification announced calls Available. A goroutine that
// checks whether all nodes have been popped calls [Queue.Empty].
func (q *Queue) Available() bool {
	switch q.consumerToken.Load() {
	case tokenHeld:
		return false
	case tokenCached:
		return true // the cache is not empty
	}
	return q.pushed()
}

// Quiet reports whether the queue has no node and no consumer holds the token. No Release
// of a consumer then puts nodes back. Any goroutine may call it. It only loads, and the
// result covers the nodes whose push was complete when the call began.
func (q *Queue) Quiet() bool { return !q.pushed() && q.consumerToken.Load() == tokenFree }
