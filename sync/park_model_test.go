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

// A parker is a Parker, or something that should not be taken for one.
type parker interface {
	Park()
	ParkFor(d time.Duration) bool
	ParkDone(done <-chan struct{}) bool
	Unpark()
}

// A bug is what is wrong with a model's object.
type bug int

const (
	none bug = iota

	overwrites // a waiter waits without looking whether a token came meanwhile
	forgets    // a waiter gives up without looking whether an Unpark is on its way

	loses  // a waiter gives up, and leaves the token that is on its way
	blocks // a waiter gives up, and blocks until the token that is on its way comes

	keeps  // a waiter gives up, and keeps its place in the count
	leaves // a waiter gives up, and leaves the permit that is on its way
	silent // a release wakes nobody
)

// brokenParker has the bugs that parkers have.
type brokenParker struct {
	bug   bug
	state atomix.Uint32 // 0 empty, 1 token, 2 waiting
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
		if p.state.CompareAndSwap(2, 0) || p.bug == forgets {
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

// TestModelParker: two goroutines each make something true and unpark; the
// waiter waits for both, and sees what they wrote. A lost Unpark is a deadlock.
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
						m.Fatalf("the waiter does not see what %d wrote", i)
					}
				}
			})
		}
	}
	explore(t, "parker", all, model(none))
	planted(t, "a token is overwritten", "deadlock", all, model(overwrites))
}

// TestModelParkerGivesUp: a wait that ends by its channel, or by its time, while
// an Unpark comes. The token is taken or stays for the next wait, and is never
// there twice.
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
					step.Load() // a step, so that it can come at any time
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
					p.Park() // the token that came too late, or comes yet
				}
				if data.Get() != 1 {
					m.Fatalf("the waiter has a token and does not see what came before")
				}
			})
			m.Final(func() {
				if p.ParkDone(closed) {
					m.Fatalf("there is a second token")
				}
			})
		}
	}
	timed := three
	timed.Timeouts = true
	explore(t, "parker-done", all, model(none, false))
	explore(t, "parker-for", timed, model(none, true))
	planted(t, "the channel ends the wait of a token", "second token", all, model(forgets, false))
	planted(t, "the time ends the wait of a token", "second token", timed, model(forgets, true))
}

// A bag is WakeTokens, or something that should not be taken for them.
type bag interface {
	Post() bool
	Wait()
	WaitDone(done <-chan struct{}) bool
	TryWait() bool
}

// brokenTokens has the bugs that counting semaphores have.
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
		if k.bug == blocks && c >= 0 {
			k.sema.Wait()
			return true
		}
		if k.count.CompareAndSwap(c, c+1) {
			return false
		}
	}
}

func newTokens(b bug, n int) bag {
	if b == none {
		k := new(lfsync.WakeTokens)
		k.Init(n)
		return k
	}
	k := &brokenTokens{bug: b}
	k.sema.Init(n)
	return k
}

// TestModelWakeTokens: two waiters, one of which may give up, and as many tokens as
// it takes. None is lost, none is taken twice, and who takes one sees what came
// before its Post.
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
						m.Fatalf("dropped, and there is room")
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
				step.Load() // a step, so that it can come at any time
				close(done)
			})
			m.Go("gives up", func() {
				if k.WaitDone(done) {
					taken.add(1)
					if seen.Add(1) > posted.Load() {
						m.Fatalf("more tokens than posts")
					}
					if posts == 1 {
						taken.add(-1)
						seen.Add(-1)
						k.Post() // there was but one, for the other
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
	planted(t, "who gives up leaves its token", "taken", three, model(loses, 2))
	planted(t, "who gives up waits for its token", "deadlock", three, model(blocks, 1))
}

// TestModelWakeTokensFull: a token that is dropped is not missed: whoever comes to
// wait finds one.
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
	// With more waiters than announced a token would be lost. Post says so.
	planted(t, "more waiters than announced", "more than n waiters", three, func(m *interleave.M) {
		var k lfsync.WakeTokens
		k.Init(1)
		for _, name := range []string{"w1", "w2"} {
			m.GoDaemon(name, k.Wait)
		}
		m.Go("poster", func() { k.Post(); k.Post() })
	})
}

// TestModelBackoff: rounds yield, end, and let the one that is waited for go on.
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
					m.Fatalf("%d rounds", rounds)
				}
				if !b.Next() {
					free.Park()
				}
			}
		})
	})
}

// TestModelParkerKeepsOne: a wait that gives up leaves no token behind that the
// Parker does not know of; two Unparks then leave one token.
func TestModelParkerKeepsOne(t *testing.T) {
	explore(t, "parker-keeps-one", all, func(m *interleave.M) {
		p := lfsync.NewParker()
		done := make(chan struct{})
		var step atomix.Bool
		m.Go("unpark", p.Unpark)
		m.Go("cancel", func() {
			step.Load() // a step, so that it can come at any time
			close(done)
		})
		m.Go("waiter", func() { p.ParkDone(done) })
		m.Final(func() {
			p.Unpark()
			p.Unpark()
			if !p.ParkDone(closed) {
				m.Fatalf("the token is lost")
			}
			if p.ParkDone(closed) {
				m.Fatalf("there is a second token")
			}
		})
	})
}

// TestModelParkerOrder: who takes a token sees what all Unparks since the last
// one came after, also those that found the token there. Nothing else orders
// these threads: the waiter learns by a ghost that both have unparked, and by an
// attempt to take a second token that the first was for both.
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
					m.Fatalf("the waiter does not see what an Unpark came after")
				}
			}
		})
	})
}
