package pool

// LeaseWaiters returns how many goroutines wait for a lane.
func (p *Pool) LeaseWaiters() int {
	p.lock()
	defer p.mu.Unlock()
	return len(p.leases.queue)
}
