package peers

import "sync"

// Pool schedules tasks with one library. All functions except schedule may be nil.
//
// The embedded WaitGroup counts the tasks in the same way for every library. It shows
// that each task has ended, and that none ended twice.
type Pool struct {
	sync.WaitGroup

	workers int
	limited bool                  // that of the peer
	waits   bool                  // that of the peer
	reopen  func() (*Pool, error) // opens another pool of the same peer

	schedule       func(task func())     // may block until the queue has a free slot
	scheduleInside func(task func())     // schedule for calls by a task; nil: schedule
	batch          func(tasks []func())  // schedules many tasks at once; nil: the library has no batches
	fork           func(f func()) waiter // nil: schedule with a WaitGroup
	yield          func()                // lets other goroutines run; nil: a task schedules itself
	loop           looper                // parallel loops; nil: chunks
	close          func()

	// refusing returns a function that schedules a task on another pool of the same library,
	// unless waiting tasks wait there already, and reports whether it did. nil: the library
	// has no bounded queue that refuses.
	refusing func(workers, waiting int) (try func(task func()) bool, end func())
}

// waiter waits for the end of a fork.
type waiter interface{ Wait() }

// spawn schedules a task from another task.
func (p *Pool) spawn(task func()) {
	if p.scheduleInside == nil {
		p.schedule(task)
		return
	}
	p.scheduleInside(task)
}

// forked forks f and returns the waiter for it.
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

// end releases the resources of the pool.
func (p *Pool) end() {
	if p.close != nil {
		p.close()
	}
}
