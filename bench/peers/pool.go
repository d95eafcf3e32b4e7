package peers

import "sync"

// Pool hands over tasks in the way of one library. All functions but hand may be nil.
//
// The embedded WaitGroup counts the tasks, with every library alike: so a run knows
// that all of them have ended, and none twice.
type Pool struct {
	sync.WaitGroup

	workers int
	limited bool                  // as of the peer
	again   func() (*Pool, error) // opens another one like this

	hand   func(task func())     // hands over a task; may block until there is room
	inside func(task func())     // the same, called by a task; nil: hand
	batch  func(tasks []func())  // hands over many tasks at once; nil: there is no such way
	fork   func(f func()) waiter // nil: hand, and a WaitGroup
	yield  func()                // lets others run; nil: a task hands itself over
	loop   looper                // parallel loops; nil: chunks
	close  func()
}

// waiter is the other end of a fork.
type waiter interface{ Wait() }

// spawn hands over a task from inside a task.
func (p *Pool) spawn(task func()) {
	if p.inside == nil {
		p.hand(task)
		return
	}
	p.inside(task)
}

// forked hands over f and returns what waits for it.
func (p *Pool) forked(f func()) waiter {
	if p.fork != nil {
		return p.fork(f)
	}
	wg := new(sync.WaitGroup)
	wg.Add(1)
	p.spawn(func() {
		f()
		wg.Done()
	})
	return wg
}

// end gives back what the pool holds.
func (p *Pool) end() {
	if p.close != nil {
		p.close()
	}
}
