package mpsc

// Available reports whether there is something to take and nobody holds the
// consumer token. Any goroutine may call it. It only loads. False for a queue
// that is not empty means that a consumer is at work, whose Release tells of what
// it leaves: so who looks for work that nobody has been told of, asks this, and
// who wants to know whether all is done asks [Queue.Empty].
func (q *Queue) Available() bool {
	switch q.state.Load() {
	case tokenHeld:
		return false
	case tokenCached:
		return true // the cache is not empty
	}
	return q.pushed()
}
