package pool_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/lanewright/lanewright/pool"
)

// stage is a pool in a bubble of testing/synctest whose handlers stand until the test lets each of them
// go.
type stage struct {
	t     *testing.T
	p     *pool.Pool
	f     *pool.Func[int, int] // its calls never run on their callers
	quick *pool.Func[int, int]
	pick  *fixed
	in    chan int // the arguments of the calls that have begun
	out   [64]chan struct{}
	do    [64]func(ctx context.Context) // comes first
	once  [64]sync.Once
}

// onStage runs test on a stage with a pool of that configuration.
func onStage(t *testing.T, c pool.Config, test func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{t: t, in: make(chan int, 1024), pick: &fixed{}}
		for i := range s.out {
			s.out[i] = make(chan struct{})
		}
		var h pool.Handlers
		s.f = pool.Register(&h, "stand", func(ctx context.Context, n int) (int, error) {
			s.in <- n
			if s.do[n] != nil {
				s.do[n](ctx)
			}
			<-s.out[n]
			return n, nil
		}, pool.TaskOptions{Remote: true})
		s.quick = pool.Register(&h, "quick", double)
		if c.Balancer == nil {
			c.Balancer = s.pick
		}
		s.p = newPool(t, &h, c)
		t.Cleanup(func() {
			for n := range s.out {
				s.returns(n)
			}
		})
		test(s)
		for n := range s.out {
			s.returns(n)
		}
		must(t, s.p.Wait(within(t)))
		if r := s.p.Reserved(); len(r) != 0 {
			t.Errorf("lanes %v stay reserved", r)
		}
		balanced(t, s.p)
	})
}

// begin makes calls with these arguments on a lane, which has a free permit for each.
func (s *stage) begin(t *testing.T, lane int, args ...int) {
	t.Helper()
	s.pick.lane.Store(int64(lane))
	for _, n := range args {
		s.f.Go(bg, n)
		s.began(t, n)
	}
	if l := s.p.Lanes()[lane]; len(l.Running) < len(args) {
		t.Fatalf("%d calls have begun on %+v", len(args), l)
	}
}

// began fails unless just these calls have begun since the last look.
func (s *stage) began(t *testing.T, args ...int) {
	t.Helper()
	synctest.Wait()
	var got []int
	for len(s.in) > 0 {
		got = append(got, <-s.in)
	}
	slices.Sort(got)
	if !slices.Equal(got, args) {
		t.Fatalf("calls %v have begun, want %v", got, args)
	}
}

// returns lets call n return.
func (s *stage) returns(n int) { s.once[n].Do(func() { close(s.out[n]) }) }

// reserved fails unless just these lanes are reserved.
func (s *stage) reserved(t *testing.T, lanes ...int) {
	t.Helper()
	synctest.Wait()
	if got := s.p.Reserved(); !slices.Equal(got, lanes) {
		t.Fatalf("lanes %v are reserved, want %v", got, lanes)
	}
}

// wait is a goroutine that waits for a lane.
type waitForLane struct {
	got    chan acquired
	giveUp func()
}

// acquire makes a goroutine wait for that lane. -1 stands for any.
func (s *stage) acquire(lane int) waitForLane {
	ctx, cancel := context.WithCancelCause(bg)
	w := waitForLane{make(chan acquired, 1), func() { cancel(errWhy) }}
	go func() {
		var a acquired
		if lane < 0 {
			a.lease, a.err = s.p.Acquire(ctx)
		} else {
			a.lease, a.err = s.p.AcquireLane(ctx, lane)
		}
		w.got <- a
	}()
	synctest.Wait()
	return w
}

// lease returns the lease, which has come, of that lane.
func (w waitForLane) lease(t *testing.T, lane int) *pool.Lease {
	t.Helper()
	synctest.Wait()
	select {
	case a := <-w.got:
		must(t, a.err)
		if n := a.lease.Lane(); n != lane {
			t.Fatalf("the lease has lane %d, want %d", n, lane)
		}
		return a.lease
	default:
		t.Fatal("the lease has not come")
	}
	return nil
}

// none fails if the wait has ended.
func (w waitForLane) none(t *testing.T) {
	t.Helper()
	synctest.Wait()
	if len(w.got) != 0 {
		t.Fatalf("the wait has ended: %+v", <-w.got)
	}
}

// fails fails unless the wait has ended with err.
func (w waitForLane) fails(t *testing.T, err error) {
	t.Helper()
	synctest.Wait()
	if len(w.got) == 0 {
		t.Fatal("the wait has not ended")
	}
	mustBe(t, (<-w.got).err, err)
}

// TestBusyPoolLeases checks that a goroutine that waits for a lane gets it although calls wait that
// would always keep the lane occupied. The lane starts none of them before it is leased.
func TestBusyPoolLeases(t *testing.T) {
	for _, concurrency := range []int{1, 2, 3} {
		for _, lane := range []int{-1, 0} {
			onStage(t, pool.Config{Lanes: 1, Concurrency: concurrency}, func(s *stage) {
				t := s.t
				for n := range concurrency {
					s.begin(t, 0, n)
				}
				s.f.Go(bg, 10)
				pool.GoAt(bg, s.p.Lanes()[0].ID, s.f, 11)
				w := s.acquire(lane)
				for n := range concurrency {
					w.none(t)
					s.reserved(t, 0)
					s.returns(n)
				}
				lease := w.lease(t, 0)
				s.reserved(t)
				s.began(t)
				if v, err := pool.CallOn(bg, lease, s.quick, 4); v != 8 || err != nil {
					t.Errorf("CallOn = %d, %v", v, err)
				}
				lease.Release()
				s.returns(10)
				s.returns(11)
				synctest.Wait()
				if n := len(s.in); n != 2 {
					t.Errorf("%d of the calls that waited have begun, want 2", n)
				}
			})
		}
	}
}

// TestLaneTakesOneCallBetweenLeases checks that a lane starts one call that waits between two leases,
// and not more, whatever its number of permits.
func TestLaneTakesOneCallBetweenLeases(t *testing.T) {
	for _, named := range []bool{false, true} {
		onStage(t, pool.Config{Lanes: 2, Concurrency: 3}, func(s *stage) {
			t := s.t
			s.begin(t, 1, 20, 21, 22)
			lease := s.acquire(0).lease(t, 0)
			for n := range 5 {
				if named {
					pool.GoAt(bg, lease.ID(), s.f, n)
				} else {
					s.f.Go(bg, n)
				}
			}
			s.began(t)
			for n := range 3 {
				w := s.acquire(0)
				s.reserved(t)
				lease.Release()
				s.began(t, n)
				s.reserved(t, 0)
				s.returns(n)
				lease = w.lease(t, 0)
				s.began(t)
			}
			lease.Release()
			s.began(t, 3, 4)
		})
	}
}

// TestReservesTheLeastOccupiedLane checks that a goroutine that wants any lane reserves the one with the
// fewest calls, and no other. The others take the calls.
func TestReservesTheLeastOccupiedLane(t *testing.T) {
	onStage(t, pool.Config{Lanes: 3, Concurrency: 3}, func(s *stage) {
		t := s.t
		s.begin(t, 0, 0, 1)
		s.begin(t, 1, 10)
		s.begin(t, 2, 20, 21)
		w := s.acquire(-1)
		s.reserved(t, 1)
		s.pick.lane.Store(1)
		for n := range 3 {
			s.f.Go(bg, 30+n)
		}
		s.began(t, 30, 31)
		if l := s.p.Lanes(); l[0].InFlight != 3 || l[1].InFlight != 1 || l[2].InFlight != 3 {
			t.Errorf("the calls are on the lanes %+v", l)
		}
		s.returns(10)
		w.lease(t, 1).Release()
		s.began(t, 32)
	})
}

// TestReservationPassesOn checks that goroutines that wait for lanes get them in their order, also if
// each has reserved another one. The lane that the first has left passes on to the next, and a lane that
// no goroutine waits for takes calls again.
func TestReservationPassesOn(t *testing.T) {
	onStage(t, pool.Config{Lanes: 3, Concurrency: 2}, func(s *stage) {
		t := s.t
		for lane := range 3 {
			s.begin(t, lane, 10*lane, 10*lane+1)
		}
		one, other := s.acquire(-1), s.acquire(1)
		s.reserved(t, 0, 1)
		third := s.acquire(-1)
		s.reserved(t, 0, 1, 2)
		s.f.Go(bg, 30)
		s.returns(10)
		s.returns(11)
		first := one.lease(t, 1)
		s.reserved(t, 0) // the second waits for lane 1, which is leased, and the third for any
		s.returns(20)
		s.began(t, 30)
		s.returns(0)
		s.returns(1)
		third.lease(t, 0).Release()
		other.none(t)
		first.Release()
		other.lease(t, 1).Release()
	})
}

// TestWaiterThatGivesUpFreesTheLane checks that a lane that is reserved takes calls again when the wait
// has ended without a lease, whatever ends it.
func TestWaiterThatGivesUpFreesTheLane(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(s *stage, w waitForLane)
		err  error
	}{
		{"context", func(_ *stage, w waitForLane) { w.giveUp() }, errWhy},
		{"Discard", func(s *stage, _ waitForLane) { _ = s.p.Discard(s.p.Lanes()[1].ID, nil) }, pool.ErrLaneDiscarded},
		{"Shutdown", func(s *stage, _ waitForLane) { go func() { _ = s.p.Shutdown(bg) }() }, pool.ErrPoolShutdown},
	} {
		for _, named := range []bool{false, true} {
			t.Run(tc.name, func(t *testing.T) {
				onStage(t, pool.Config{Lanes: 2, Concurrency: 2}, func(s *stage) {
					t := s.t
					s.begin(t, 0, 0, 1)
					s.begin(t, 1, 10)
					w := s.acquire(1)
					s.reserved(t, 1)
					if named && tc.name != "Discard" { // which ends such calls
						pool.GoAt(bg, s.p.Lanes()[1].ID, s.f, 20)
					} else {
						s.f.Go(bg, 20)
					}
					s.began(t)
					tc.end(s, w)
					w.fails(t, tc.err)
					s.reserved(t)
					s.began(t, 20)
					if n := len(s.p.Lanes()[0].Running); n != 2 {
						t.Errorf("%d calls are on the lane that was not reserved", n)
					}
				})
			})
		}
	}
}

// TestResizeEndsReservations checks that a lane that Resize has taken out and makes again is not
// reserved. A goroutine that wants any lane reserves another one.
func TestResizeEndsReservations(t *testing.T) {
	onStage(t, pool.Config{Lanes: 2, Concurrency: 2}, func(s *stage) {
		t := s.t
		s.begin(t, 0, 0, 1)
		s.begin(t, 1, 10)
		other := s.acquire(-1)
		s.reserved(t, 1)
		certain := s.acquire(1)
		s.reserved(t, 0, 1)
		certain.giveUp()
		certain.fails(t, errWhy)
		s.reserved(t, 1)
		certain = s.acquire(1)
		resized := make(chan error, 1)
		go func() { resized <- s.p.Resize(bg, 1) }()
		certain.fails(t, pool.ErrNoSuchLane)
		s.reserved(t, 0)
		s.returns(10)
		synctest.Wait()
		must(t, <-resized)
		other.none(t)
		must(t, s.p.Resize(bg, 2))
		other.lease(t, 1).Release() // it is free
		s.reserved(t)
		s.begin(t, 1, 11, 12)
	})
}

// TestOnlyLeasedLanesRefuse checks that a call that names no lane waits while a lane is reserved and
// each other one is leased. It does not get ErrAllLeased.
func TestOnlyLeasedLanesRefuse(t *testing.T) {
	onStage(t, pool.Config{Lanes: 2, Concurrency: 2}, func(s *stage) {
		t := s.t
		s.begin(t, 0, 0)
		other := s.acquire(1).lease(t, 1)
		w := s.acquire(0)
		s.reserved(t, 0)
		s.f.Go(bg, 20)
		s.began(t)
		s.returns(0)
		lease := w.lease(t, 0)
		_, err := s.quick.Call(bg, 1)
		mustBe(t, err, pool.ErrAllLeased)
		lease.Release()
		s.began(t, 20)
		other.Release()
	})
}

// TestHandlerCallsItsReservedLane checks that a call of a handler does not wait for the lease for which
// the lane of the handler is reserved. The call runs on top of the handler, or names the lane. It is a
// part of what runs there, and the lease comes after it.
func TestHandlerCallsItsReservedLane(t *testing.T) {
	for _, tc := range []struct {
		name    string
		config  pool.Config
		call    func(ctx context.Context, s *stage) (int, error)
		begins  []int  // the calls that stand
		running int    // handlers with a permit after the call
		direct  uint64 // calls that ran on their callers
	}{
		{"Call", pool.Config{Lanes: 1}, func(ctx context.Context, s *stage) (int, error) {
			return s.quick.Call(ctx, 1)
		}, nil, 1, 1},
		{"GoAt", pool.Config{Lanes: 2}, func(ctx context.Context, s *stage) (int, error) {
			return pool.GoAt(ctx, s.p.Lanes()[0].ID, s.f, 2).Wait(ctx)
		}, []int{2}, 0, 0},
		{"CallerRuns", pool.Config{Lanes: 1, Backlog: pool.NoBacklog, Overflow: pool.CallerRuns}, func(ctx context.Context, s *stage) (int, error) {
			f := s.quick.Go(ctx, 1)
			if !settled(f) {
				s.t.Error("the call has not run")
			}
			return f.Wait(ctx)
		}, nil, 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.config.Concurrency = 2
			onStage(t, tc.config, func(s *stage) {
				t := s.t
				waiting, called := make(chan struct{}), false
				s.do[0] = func(ctx context.Context) {
					<-waiting
					if v, err := tc.call(ctx, s); v != 2 || err != nil {
						t.Errorf("the call returns %d, %v", v, err)
					}
					called = true
				}
				s.begin(t, 0, 0)
				w := s.acquire(0)
				s.reserved(t, 0)
				close(waiting)
				s.began(t, tc.begins...)
				w.none(t)
				s.returns(2)
				synctest.Wait()
				if !called {
					t.Error("the call waits")
				}
				if l := s.p.Lanes()[0]; l.Accepted != 2 || len(l.Running) != tc.running || l.Direct != tc.direct {
					t.Errorf("the lane of the handler: %+v", l)
				}
				s.returns(0)
				w.lease(t, 0).Release()
			})
		})
	}
}

// TestLastLaneDoesNotStayReserved checks that the last lane without a lease takes calls again when only
// handlers are left there that have given up their permits. Such a handler may wait for a call that
// needs the lane.
func TestLastLaneDoesNotStayReserved(t *testing.T) {
	for _, lane := range []int{-1, 0} {
		onStage(t, pool.Config{Lanes: 2, Concurrency: 2}, func(s *stage) {
			t := s.t
			waiting := make(chan struct{})
			s.do[0] = func(ctx context.Context) {
				<-waiting
				if _, err := s.f.Go(ctx, 1).Wait(ctx); err != nil {
					t.Errorf("Go = %v", err)
				}
			}
			s.begin(t, 0, 0, 2)
			other := s.acquire(1).lease(t, 1)
			w := s.acquire(lane)
			s.reserved(t, 0)
			close(waiting)
			s.began(t)
			s.returns(2)
			s.began(t, 1)
			w.none(t)
			s.returns(1)
			w.none(t)
			s.returns(0)
			w.lease(t, 0).Release()
			other.Release()
		})
	}
}

// TestLastLaneIsReservedAgain checks that the last lane is reserved while a call occupies it, also if it
// was given up for a handler that has blocked.
func TestLastLaneIsReservedAgain(t *testing.T) {
	onStage(t, pool.Config{Lanes: 1, Concurrency: 2}, func(s *stage) {
		t := s.t
		open := make(chan struct{})
		s.do[0] = func(context.Context) { s.p.Blocking(func() { <-open }) }
		s.begin(t, 0, 1)
		s.f.Go(bg, 0)
		s.began(t, 0)
		w := s.acquire(0)
		s.reserved(t, 0)
		s.returns(1)
		s.reserved(t)
		s.begin(t, 0, 2, 3)
		s.f.Go(bg, 4)
		s.returns(2)
		s.reserved(t, 0)
		s.began(t)
		close(open)
		s.returns(0)
		w.none(t)
		s.returns(3)
		w.lease(t, 0).Release()
		s.began(t, 4)
	})
}

// TestCallerRunsBesideReservedLanes checks that a call without space runs on its caller if a lane takes
// calls. If lanes are only reserved, its caller waits for space.
func TestCallerRunsBesideReservedLanes(t *testing.T) {
	c := pool.Config{Lanes: 2, Concurrency: 2, Backlog: pool.NoBacklog, Overflow: pool.CallerRuns}
	onStage(t, c, func(s *stage) {
		t := s.t
		s.begin(t, 0, 0)
		s.begin(t, 1, 10, 11)
		w := s.acquire(0)
		s.reserved(t, 0)
		s.pick.lane.Store(0)
		if v, err := s.quick.Call(bg, 4); v != 8 || err != nil {
			t.Errorf("Call = %d, %v", v, err)
		}
		if l := s.p.Lanes()[1]; l.Direct != 1 {
			t.Errorf("the call is not on the lane that takes calls: %+v", l)
		}
		other := s.acquire(1)
		s.reserved(t, 0, 1)
		done := make(chan error, 1)
		go func() {
			_, err := s.quick.Call(bg, 4)
			done <- err
		}()
		synctest.Wait()
		if len(done) != 0 {
			t.Fatalf("the call beside reserved lanes has ended: %v", <-done)
		}
		other.giveUp()
		other.fails(t, errWhy)
		s.returns(10)
		synctest.Wait()
		if len(done) == 0 {
			t.Fatal("the call has not run on the lane that takes calls again")
		}
		must(t, <-done)
		s.returns(0)
		w.lease(t, 0).Release()
	})
}

// TestPausedLaneIsLeasedFirst checks that a lane of a paused pool is leased although it owes a call,
// because it can take none.
func TestPausedLaneIsLeasedFirst(t *testing.T) {
	onStage(t, pool.Config{Lanes: 2, Concurrency: 2}, func(s *stage) {
		t := s.t
		s.begin(t, 1, 10, 11)
		lease := s.acquire(0).lease(t, 0)
		s.f.Go(bg, 0)
		s.p.Pause()
		lease.Release()
		s.acquire(0).lease(t, 0).Release()
		s.p.Resume()
		s.began(t, 0)
	})
}
