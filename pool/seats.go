package pool

import (
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/sched"
)

// seats are what lets a lane run several calls at once, each as a task of its own.
// The holder of the token takes a free seat for each call that it hands out. The zero
// seats are those of a lane that runs one call at a time: it needs none.
type seats struct {
	l    *lane
	free mpsc.Queue // popped by the holder of the token
	all  []atomix.Pointer[seat]
}

// seat runs one call at a time.
//
// State. The token has two bits that say whether the seat is free, queued as a task, or
// in a handler, and a number above them, which grows with each handler and whenever
// the seat is taken away. The holder of the token of the lane makes it queued; the runner
// makes it a handler's, and free again; who takes it away does so by CAS: the runner
// itself, when it is about to block, Close, Discard, the end of a hard limit. Who has
// taken it away puts a new seat in its place, and nobody uses this one any more.
//
//	call     what the seat is to run: plain memory of the holder of the lane, and
//	         from queued on of who makes the token something else
//	current  the call that runs: plain memory of the runner, and of who has taken the
//	         seat away
type seat struct {
	node    mpsc.Node // first: see seatOf
	l       *lane
	index   int
	token   atomix.Uint64
	holder  atomix.Uintptr
	call    atomix.Cell[*call]
	current atomix.Cell[outsider]
	job     sched.Job[*seat]
}

// The states of seat.token.
const (
	seatFree = iota
	seatQueued
	seatHandler
	seatState  = 3 // the bits of the state
	seatNumber = 4 // what one use adds
)

func (s *seats) init(l *lane) {
	s.l = l
	s.all = make([]atomix.Pointer[seat], l.limit)
	for i := range s.all {
		s.add(i)
	}
}

// add makes the seat with that index anew, and free.
func (s *seats) add(index int) {
	st := &seat{l: s.l, index: index}
	st.job.Fn = func(_ *sched.Worker, j *sched.Job[*seat]) { j.Value.run() }
	st.job.Value = st
	s.all[index].Store(st)
	s.free.Push(&st.node)
}

// any reports whether a call may be handed out.
func (s *seats) any() bool { return s.l == nil || !s.free.Empty() }

// dispatch hands c to a free seat. The caller is the holder of the token of the lane,
// and any has reported true.
func (s *seats) dispatch(c *call) {
	var from mpsc.Consumer
	s.free.TryAcquire(&from, mpsc.FIFO) // nobody else takes seats
	st := seatOf(from.Pop())
	from.Release()
	st.call.Set(c)
	t := st.token.Load()
	st.token.Store(t | seatQueued)
	err := s.l.p.sched.Schedule(st.job.Task())
	if err != nil && !isQueued(err) && st.token.CompareAndSwap(t|seatQueued, t) {
		st.call.Set(nil)
		c.fail(s.l.p.endedBelow(err))
		c.drop()
		s.free.Push(&st.node)
	}
}

// run enters the handler of the call that the seat was given, unless the seat was taken
// away.
func (st *seat) run() {
	t := st.token.Load()
	if t&seatState != seatQueued {
		return
	}
	c := st.call.Get()
	o := st.l.outside(c)
	st.current.Set(o)
	st.holder.Store(park.Self())
	number := t&^seatState + seatNumber
	if !st.token.CompareAndSwap(t, number|seatHandler) {
		return
	}
	st.call.Set(nil)
	if st.l.p.isClosed() { // after that CAS: Close sees one of the two
		c.fail(ErrThreadClosed)
	}
	defer func() { // also after a Goexit
		if !st.token.CompareAndSwap(number|seatHandler, number) {
			st.l.p.returned(o)
			return
		}
		st.current.Set(outsider{})
		st.l.seats.free.Push(&st.node)
		st.l.kick()
	}()
	c.execute(st.limitOf(o, number|seatHandler))
}

// leave gives up the seat of the goroutine me, which is about to block in its
// handler, if it has one here.
func (s *seats) leave(me uintptr) {
	for i := range s.all {
		st := s.all[i].Load()
		if t, ok := st.isOf(me); ok {
			st.takeAway(t)
			return
		}
	}
}

// isHolder reports whether goroutine g runs a handler in one of the seats.
func (s *seats) isHolder(g uintptr) bool {
	for i := range s.all {
		if _, ok := s.all[i].Load().isOf(g); ok {
			return true
		}
	}
	return false
}

// isOf reports whether goroutine g runs a handler in the seat, and returns the token of
// that.
func (st *seat) isOf(g uintptr) (t uint64, ok bool) {
	t = st.token.Load()
	return t, t&seatState == seatHandler && st.holder.Load() == g
}

// endAll ends all calls that have a seat.
func (s *seats) endAll(err error) {
	for i := range s.all {
		st := s.all[i].Load()
		t := st.token.Load()
		if t&seatState == seatQueued {
			if st.token.CompareAndSwap(t, t&^seatState+seatNumber) {
				c := st.call.Get()
				st.replace()
				c.fail(err)
				c.drop()
				continue
			}
			t = st.token.Load() // its runner has come
		}
		if t&seatState == seatHandler {
			if o, ok := st.takeAway(t); ok {
				o.c.endAs(o.generation, err)
			}
		}
	}
}

// takeAway takes the seat away from a handler with that token, and returns the call of
// the handler, which is outside from now on.
func (st *seat) takeAway(t uint64) (o outsider, ok bool) {
	p, g := st.l.p, st.holder.Load()
	p.moves.Add(1) // before the CAS: whoever sees it made sees the move, or its end
	if t&seatState != seatHandler || !st.token.CompareAndSwap(t, t&^seatState+seatNumber) {
		p.moved()
		return o, false
	}
	o = st.current.Get()
	p.moveOut(o, g)
	st.replace()
	return o, true
}

// replace puts a new seat in the place of one that was taken away.
func (st *seat) replace() {
	st.l.seats.add(st.index)
	st.l.kick()
}
