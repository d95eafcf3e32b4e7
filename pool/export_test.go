package pool

// LeaseWaiters returns how many goroutines wait for a lane.
func (p *Pool) LeaseWaiters() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.leases.queue)
}
