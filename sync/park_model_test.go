//go:build interleave

package sync_test

import (
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	lfsync "github.com/lanewright/lanewright/sync"
)

// parker is implemented by Parker and by brokenParker.
type parker interface {
	Park()
	ParkFor(d time.Duration) bool
	ParkDone(done <-chan struct{}) bool
	Unpark()
}

// bug is the planted bug of an object in a model.
type bug int

const (
	none bug = iota

	overwrites    // a waiter overwrites a notification that was stored since its load
	ignoresUnpark // a waiter gives up although an Unpark has found it waiting

	losesToken     // a waiter gives up and leaves the token that is in flight to it
	blocksOnCancel // a waiter gives up and blocks until the token in flight arrives

	staysCounted // a waiter gives up and stays in the count
	leavesPermit // a waiter gives up and leaves the permit that is in flight to it
	neverWakes   // a release wakes no waiter
)

// brokenParker is a parker with a planted bug.
type brokenParker struct {
	bug   bug
	state atomix.Uint32 // 0 empty, 1 notified, 2 waiting
	sema  park.Sema
}

func (p *brokenParker) Unpark() {
	if p.state.Swap(1) == 2 {
		p.sema.Post()
	}
}

func (p *brokenParker) wait(sema func() bool) bool {
	if p.state.CompareAndSwap(1, 0) {
		return true
	}
	if p.bug == overwrites {
		p.state.Store(2)
	} else if !p.state.CompareAndSwap(0, 2) {
		p.state.Store(0)
		return true
	}
	if !sema() {
		if p.state.CompareAndSwap(2, 0) || p.bug == ignoresUnpark {
			return false
		}
		p.sema.Wait()
	}
	p.state.Store(0)
	return true
}

func (p *brokenParker) Park() { p.wait(func() bool { p.sema.Wait(); return true }) }
func (p *brokenParker) ParkFor(d time.Duration) bool {
	return p.wait(func() bool { return p.sema.WaitFor(d) })
}

func (p *brokenParker) ParkDone(done <-chan struct{}) bool {
	return p.wait(func() bool { return p.sema.WaitDone(done) })
}

func newParker(b bug) parker {
	if b == none {
		return lfsync.NewParker()
	}
	p := &brokenParker{bug: b}
	p.sema.Init(1)
	return p
}

// TestModelParker checks that a waiter sees the writes of both goroutines that set a flag
// and unpark it. A lost Unpark is a deadlock.
func TestModelParker(t *testing.T) {
	model := func(b bug) func(*interleave.M) {
		return func(m *interleave.M) {
			p := newParker(b)
			var flags [2]atomix.Bool
			var data [2]atomix.Cell[int]
			for i, name := range []string{"u1", "u2"} {
				m.Go(name, func() {
					data[i].Set(1)
					flags[i].Store(true)
					p.Unpark()
				})
			}
			m.Go("waiter", func() {
				for i := range flags {
					for !flags[i].Load() {
						p.Park()
					}
					if data[i].Get() != 1 {
						m.Fatalf("the waiter does not see the write of thread %d", i)
					}
				}
			})
		}
	}
	explore(t, "parker", all, model(none))
	planted(t, "a notification is overwritten", "deadlock", all, model(overwrites))
}

// TestModelParkerGivesUp lets a wait end by its channel or by its time during an Unpark.
// The notification is taken, or it stays for the next wait. It is never stored twice.
func TestModelParkerGivesUp(t *testing.T) {
	model := func(b bug, timed bool) func(*interleave.M) {
		return func(m *interleave.M) {
			p := newParker(b)
			done := make(chan struct{})
			var step atomix.Bool
			var data atomix.Cell[int]
			m.Go("unpark", func() {
				data.Set(1)
				p.Unpark()
			})
			if !timed {
				m.Go("cancel", func() {
					step.Load() // a step, so that the cancel can occur at any time
					close(done)
				})
			}
			m.Go("waiter", func() {
				got := false
				if timed {
					got = p.ParkFor(time.Hour)
				} else {
					got = p.ParkDone(done)
				}
				if !got {
					p.Park() // the notification came too late, or is yet to come
				}
				if data.Get() != 1 {
					m.Fatalf("the waiter is notified and does not see the write before the Unpark")
				}
			})
			m.Final(func() {
				if p.ParkDone(closed) {
					m.Fatalf("a second notification is stored")
				}
			})
		}
	}
	timed := three
	timed.Timeouts = true
	explore(t, "parker-done", all, model(none, false))
	explore(t, "parker-for", timed, model(none, true))
	planted(t, "the channel ends a wait that an Unpark has found", "second notification", all, model(ignoresUnpark, false))
	planted(t, "the time ends a wait that an Unpark has found", "second notification", timed, model(ignoresUnpark, true))
}

// wakeTokens is implemented by WakeTokens and by brokenTokens.
type wakeTokens interface {
	Post() bool
	Wait()
	WaitDone(done <-chan struct{}) bool
	TryWait() bool
}

// brokenTokens is a counting semaphore with a planted bug.
type brokenTokens struct {
	bug   bug
	count atomix.Int32
	sema  park.Sema
}

func (k *brokenTokens) Post() bool {
	if k.count.Add(1) <= 0 {
		k.sema.Post()
	}
	return true
}

func (k *brokenTokens) TryWait() bool {
	c := k.count.Load()
	return c > 0 && k.count.CompareAndSwap(c, c-1)
}

func (k *brokenTokens) Wait() { k.WaitDone(nil) }

func (k *brokenTokens) WaitDone(done <-chan struct{}) bool {
	if k.count.Add(-1) >= 0 || k.sema.WaitDone(done) {
		return true
	}
	for {
		c := k.count.Load()
		if k.bug == blocksOnCancel && c >= 0 {
			k.sema.Wait()
			return true
		}
		if k.count.CompareAndSwap(c, c+1) {
			return false
		}
	}
}

func newTokens(b bug, n int) wakeTokens {
	if b == none {
		k := new(lfsync.WakeTokens)
		k.Init(n)
		return k
	}
	k := &brokenTokens{bug: b}
	k.sema.Init(n)
	return k
}

// TestModelWakeTokens checks that no token is lost and none is taken twice. The waiter that
// takes one sees the writes before its Post. One of the two waiters may give up.
func TestModelWakeTokens(t *testing.T) {
	model := func(b bug, posts int) func(*interleave.M) {
		return func(m *interleave.M) {
			k := newTokens(b, 2)
			done := make(chan struct{})
			var step atomix.Bool
			var posted, seen atomix.Int32
			var taken ghost
			m.Go("poster", func() {
				for range posts {
					posted.Add(1)
					if !k.Post() {
						m.Fatalf("Post = false below the limit")
					}
				}
			})
			m.Go("waiter", func() {
				k.Wait()
				taken.add(1)
				if seen.Add(1) > posted.Load() {
					m.Fatalf("more tokens than posts")
				}
			})
			m.Go("cancel", func() {
				step.Load() // a step, so that the cancel can occur at any time
				close(done)
			})
			m.Go("canceled waiter", func() {
				if k.WaitDone(done) {
					taken.add(1)
					if seen.Add(1) > posted.Load() {
						m.Fatalf("more tokens than posts")
					}
					if posts == 1 {
						taken.add(-1)
						seen.Add(-1)
						k.Post() // the only token is for the other waiter
					}
				}
			})
			m.Final(func() {
				for k.WaitDone(closed) {
					taken.add(1)
				}
				if n := taken.get(); n != posts {
					m.Fatalf("%d tokens were taken, %d posted", n, posts)
				}
			})
		}
	}
	explore(t, "tokens-1", three, model(none, 1))
	explore(t, "tokens-2", three, model(none, 2))
	planted(t, "a waiter that gives up leaves its token", "taken", three, model(losesToken, 2))
	planted(t, "a waiter that gives up waits for its token", "deadlock", three, model(blocksOnCancel, 1))
}

// TestModelWakeTokensFull checks that a dropped token is harmless. Each waiter finds
// another one.
func TestModelWakeTokensFull(t *testing.T) {
	explore(t, "tokens-full", all, func(m *interleave.M) {
		var k lfsync.WakeTokens
		k.Init(1)
		var work atomix.Int32
		for _, name := range []string{"p1", "p2"} {
			m.Go(name, func() {
				work.Add(1)
				k.Post()
			})
		}
		m.Go("waiter", func() {
			for n := int32(0); n < 2; n = work.Load() {
				k.Wait()
			}
		})
	})
	// With more waiters than announced a token would be lost, so Post panics.
	planted(t, "more waiters than announced", "more than n waiters", three, func(m *interleave.M) {
		var k lfsync.WakeTokens
		k.Init(1)
		for _, name := range []string{"w1", "w2"} {
			m.GoDaemon(name, k.Wait)
		}
		m.Go("poster", func() { k.Post(); k.Post() })
	})
}

// TestModelBackoff checks that the rounds of a Backoff yield to the awaited thread. The
// rounds end.
func TestModelBackoff(t *testing.T) {
	explore(t, "backoff", three, func(m *interleave.M) {
		var lock atomix.Bool
		free := lfsync.NewParker()
		lock.Store(true)
		m.Go("holder", func() {
			lock.Store(false)
			free.Unpark()
		})
		m.Go("waiter", func() {
			var b lfsync.Backoff
			rounds := 0
			for !lock.CompareAndSwap(false, true) {
				if rounds++; rounds > lfsync.SpinRounds+lfsync.YieldRounds+1 {
					m.Fatalf("a Backoff has taken %d rounds", rounds)
				}
				if !b.Next() {
					free.Park()
				}
			}
		})
	})
}

// TestModelParkerStoresOne checks that two Unparks after a wait that gave up store one
// notification. That wait leaves no post in the semaphore.
func TestModelParkerStoresOne(t *testing.T) {
	explore(t, "parker-stores-one", all, func(m *interleave.M) {
		p := lfsync.NewParker()
		done := make(chan struct{})
		var step atomix.Bool
		m.Go("unpark", p.Unpark)
		m.Go("cancel", func() {
			step.Load() // a step, so that the cancel can occur at any time
			close(done)
		})
		m.Go("waiter", func() { p.ParkDone(done) })
		m.Final(func() {
			p.Unpark()
			p.Unpark()
			if !p.ParkDone(closed) {
				m.Fatalf("the notification is lost")
			}
			if p.ParkDone(closed) {
				m.Fatalf("a second notification is stored")
			}
		})
	})
}

// TestModelParkerOrder checks that a waiter sees the writes before all Unparks since its
// last Park. An Unpark that found the Parker notified is one of them. No other operation
// orders these threads. A ghost shows the waiter that both have unparked. A second wait
// without a notification shows that the first notification was for both.
func TestModelParkerOrder(t *testing.T) {
	explore(t, "parker-order", all, func(m *interleave.M) {
		p := lfsync.NewParker()
		var data [2]atomix.Cell[int]
		var unparked ghost
		for i, name := range []string{"u1", "u2"} {
			m.Go(name, func() {
				data[i].Set(1)
				p.Unpark()
				unparked.add(1)
			})
		}
		m.Go("waiter", func() {
			p.Park()
			if both := unparked.get() == 2; both && !p.ParkFor(0) {
				if data[0].Get() != 1 || data[1].Get() != 1 {
					m.Fatalf("the waiter does not see the write before an Unpark")
				}
			}
		})
	})
}
