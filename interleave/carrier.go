package interleave

import "iter"

// A carrier runs the threads of the program. It is a coroutine or a goroutine,
// depending on the backend. It runs one thread per execution and serves many
// executions. (The name is that of the carrier threads of Java.)
//
// Control is with the explorer or with one carrier at a time.
type carrier struct {
	x         *explorer
	t         *thread
	g         uintptr // identity of its goroutine
	goroutine uint64  // the number of its goroutine in stacks
	depth     int     // number of its threads that have ended by Goexit
	retired   bool    // it runs no more threads
	quit      bool    // it ends when it gets control

	next  func() (struct{}, bool) // Coroutines
	stop  func()
	yield func(struct{}) bool

	control chan struct{} // Baton: a value sent gives control to this carrier
}

// maxDepth bounds the nesting of serve in deferred functions, and thereby the
// stack of a carrier. Chosen.
const maxDepth = 50

// newCarrier makes a carrier for the backend.
func (x *explorer) newCarrier() *carrier {
	c := &carrier{x: x}
	if x.opts.Backend == Coroutines {
		c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
			c.yield = yield
			c.main()
		})
	} else {
		c.control = make(chan struct{}, 1)
		go func() {
			if c.await() {
				c.main()
			}
		}()
	}
	x.carriers = append(x.carriers, c)
	return c
}

// main runs threads until the exploration ends.
func (c *carrier) main() {
	c.enter()
	for {
		c.serve()
		if !c.suspend() {
			return
		}
	}
}

// enter records the identity of the carrier, which has control for the first time.
//
//go:norace
func (c *carrier) enter() {
	c.g = self()
	c.goroutine = goroutineNumber()
	c.arrive()
}

// serve runs one thread.
//
// A Goexit of the thread cannot be stopped, but it can be delayed. The deferred
// function serves the next threads, so that the carrier survives. Each such
// Goexit takes stack, so the carrier retires after maxDepth of them.
func (c *carrier) serve() {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			c.t.panicked(v)
			c.t.end()
			return
		}
		c.t.end()
		if c.depth++; c.depth < maxDepth {
			for c.suspend() {
				c.serve()
			}
			return
		}
		c.leave()
	}()
	c.t.run()
	returned = true
	c.t.end()
}

// resume gives control to the carrier. It returns when the explorer has control
// again.
//
//go:norace
func (c *carrier) resume() {
	if c.control == nil {
		c.next()
	} else {
		c.x.handOver(c)
		c.x.await()
	}
	c.x.returned()
}

// suspend gives control to the next thread, or to the explorer when there is
// none. It returns true when the carrier has control again, and false when the
// carrier must end.
//
//go:norace
func (c *carrier) suspend() bool {
	if c.control == nil {
		if !c.yield(struct{}{}) {
			return false
		}
	} else {
		c.t.out.store()
		c.x.pass()
		if !c.await() {
			return false
		}
	}
	c.arrive()
	return true
}

// leave gives control away for the last time.
//
//go:norace
func (c *carrier) leave() {
	c.retired = true
	if c.control == nil {
		c.yield(struct{}{})
	} else if c.x.hold(c.x.g) {
		// The goroutine ends, and with it its identity as the holder.
		c.x.pass()
	}
}

// arrive records that this carrier has control.
//
//go:norace
func (c *carrier) arrive() {
	if !c.x.hold(c.g) {
		stopForEver()
	}
	c.x.current = c.t
}

// await blocks until this carrier gets control. It returns false when the carrier
// must end.
//
//go:norace
func (c *carrier) await() bool {
	syncOff()
	<-c.control
	syncOn()
	return !c.quit
}

// pass gives control to the carrier of the next thread, or to the explorer when
// there is none.
//
//go:norace
func (x *explorer) pass() {
	if x.next != nil {
		x.handOver(x.next.carrier)
		return
	}
	syncOff()
	x.control <- struct{}{}
	syncOn()
}

// handOver gives control to the carrier c.
//
//go:norace
func (x *explorer) handOver(c *carrier) {
	syncOff()
	c.control <- struct{}{}
	syncOn()
}

// await blocks until the explorer gets control.
//
//go:norace
func (x *explorer) await() {
	syncOff()
	<-x.control
	syncOn()
}

// dismiss ends the coroutine or goroutine of a carrier that runs no thread.
//
//go:norace
func (c *carrier) dismiss() {
	if c.control != nil {
		if !c.retired {
			c.quit = true
			c.x.handOver(c)
		}
		return
	}
	if c.depth == 0 {
		c.stop()
		return
	}
	// The coroutine is inside a Goexit. stop would continue that Goexit in its
	// caller, so a goroutine of its own calls stop.
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.stop()
	}()
	<-ended
}
