package interleave

import "iter"

// A carrier is what threads run on: a coroutine or a goroutine. It runs one
// thread per execution and lives for many executions.
//
// Control is in one place at a time: in the explorer or in one carrier.
type carrier struct {
	x       *explorer
	t       *thread
	g       uintptr // identity of its goroutine
	depth   int     // how many threads on it have ended in a Goexit
	retired bool    // runs no more threads
	quit    bool    // has to end

	next  func() (struct{}, bool) // Coroutines
	stop  func()
	yield func(struct{}) bool

	control chan struct{} // Baton: it is the turn of this carrier
}

// maxDepth bounds how deep a carrier may nest, see carrier.serve.
const maxDepth = 50

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

// main runs threads until the exploration is over.
func (c *carrier) main() {
	c.enter()
	for {
		c.serve()
		if !c.suspend() {
			return
		}
	}
}

//go:norace
func (c *carrier) enter() {
	c.g = self()
	c.arrive()
}

// serve runs one thread.
//
// A Goexit cannot be stopped, but it can be kept waiting: the deferred function
// goes on with the next threads, and the carrier survives. As this takes stack,
// it ends after maxDepth of them.
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

// resume gives control to the carrier. It returns when the explorer has it
// back.
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
// none, and waits to get it back. It returns false when the carrier has to
// end.
//
//go:norace
func (c *carrier) suspend() bool {
	if c.control == nil {
		if !c.yield(struct{}{}) {
			return false
		}
	} else {
		c.t.out.Store(1)
		c.x.pass()
		if !c.await() {
			return false
		}
	}
	c.arrive()
	return true
}

// leave gives control away for good.
//
//go:norace
func (c *carrier) leave() {
	c.retired = true
	if c.control == nil {
		c.yield(struct{}{})
	} else {
		c.x.pass()
	}
}

// arrive notes that this carrier has control.
//
//go:norace
func (c *carrier) arrive() {
	c.x.current = c.t
	storeRunning(c.g)
}

// await waits for the turn of a goroutine.
//
//go:norace
func (c *carrier) await() bool {
	syncOff()
	<-c.control
	syncOn()
	return !c.quit
}

// pass gives the turn to the carrier of the next thread, or to the explorer.
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

//go:norace
func (x *explorer) handOver(c *carrier) {
	syncOff()
	c.control <- struct{}{}
	syncOn()
}

// await waits for the turn of the explorer.
//
//go:norace
func (x *explorer) await() {
	syncOff()
	<-x.control
	syncOn()
}

// dismiss ends a carrier that runs no thread.
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
	// Its goroutine is in the middle of a Goexit, which stop would hand on to
	// its caller. So the caller is a goroutine of its own.
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		c.stop()
	}()
	<-gone
}
