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
//
// Each call is handed out as a seat in the queue handed, and as a task, a turn, which takes
// the oldest seat there. So calls are taken in order, though a scheduler runs tasks in any: a
// task for each call would keep one behind a handler that computes while later ones start.
// Who has taken one may be preempted before it enters the handler.
type seats struct {
	l      *lane
	free   mpsc.Queue   // popped by the holder of the token
	handed mpsc.Queue   // what is queued, the oldest first, and seats that were taken away since
	behind atomix.Int64 // how many are there: added to before the push, taken from after the pop
	turns  mpsc.Queue   // that are not scheduled: popped by the holder of the token
	all    []atomix.Pointer[seat]
}

// turn is a task that runs the oldest call that was handed out.
type turn struct {
	node mpsc.Node // first: see turnOf
	job  sched.Job[*turn]
	l    *lane
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
	frame   frame // of the runner
	call    atomix.Cell[*call]
	current atomix.Cell[outsider]
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
	s.all[index].Store(st)
	s.free.Push(&st.node)
}

// any reports whether a call may be handed out.
func (s *seats) any() bool { return s.l == nil || !s.free.Empty() }

// dispatch hands c to a free seat. The caller is the holder of the token of the lane,
// and any has reported true.
func (s *seats) dispatch(c *call) {
	st := seatOf(pop(&s.free))
	st.call.Set(c)
	t := st.token.Load() | seatQueued
	st.token.Store(t)
	s.behind.Add(1)
	s.handed.Push(&st.node) // before the turn that comes for it
	tn := s.turn()
	err := s.l.p.sched.Schedule(tn.job.Task())
	if err == nil || isQueued(err) {
		return
	}
	s.turns.Push(&tn.node)
	st.unqueue(t, CausePoolClosed, s.l.p.endedBelow(err))
}

// turn returns one that is not scheduled.
func (s *seats) turn() *turn {
	if n := pop(&s.turns); n != nil {
		return turnOf(n)
	}
	tn := &turn{l: s.l}
	tn.job.Fn = func(_ *sched.Worker, j *sched.Job[*turn]) { j.Value.run() }
	tn.job.Value = tn
	return tn
}

// pop takes the oldest node out of q, or returns nil when what was there at the beginning
// has been taken. Who holds q meanwhile does nothing else.
func pop(q *mpsc.Queue) *mpsc.Node {
	var from mpsc.Consumer
	for {
		switch q.TryAcquire(&from, mpsc.FIFO) {
		case mpsc.Acquired:
			n := from.Pop()
			from.Release() // each turn comes by itself
			return n
		case mpsc.Empty:
			return nil
		}
		park.Yield()
	}
}

// run runs the oldest call that was handed out. Those whose seat was taken away have ended:
// their turns find nothing.
func (tn *turn) run() {
	s := &tn.l.seats
	s.turns.Push(&tn.node)    // it may be scheduled again
	for s.behind.Load() > 0 { // else another turn has run the call of this one
		n := pop(&s.handed)
		if n == nil { // it was pushed since, or popped just now
			park.Yield()
			continue
		}
		s.behind.Add(-1)
		if seatOf(n).run() {
			return
		}
	}
}

// run enters the handler of the call that the seat was given. It reports false if the
// seat was taken away.
func (st *seat) run() bool {
	t := st.token.Load()
	if t&seatState != seatQueued {
		return false
	}
	c := st.call.Get()
	o := st.l.outside(c)
	st.current.Set(o)
	number := t&^seatState + seatNumber
	if !st.token.CompareAndSwap(t, number|seatHandler) {
		return false
	}
	st.call.Set(nil)
	if st.l.p.isClosed() { // after that CAS: Close sees one of the two
		c.end(CausePoolClosed, ErrThreadClosed)
	}
	st.frame.enter(c, st.l, st, number|seatHandler)
	defer func() { // also after a Goexit
		st.frame.leave()
		if !st.token.CompareAndSwap(number|seatHandler, number) {
			st.l.p.returned(o)
			return
		}
		st.current.Set(outsider{})
		st.l.seats.free.Push(&st.node)
		st.l.kick()
	}()
	c.execute(st.limitOf(o, number|seatHandler))
	return true
}

// unqueue takes the seat away from a call that has not got its turn, and ends that with
// err. It reports false if the turn has come.
func (st *seat) unqueue(t uint64, k Cause, err error) bool {
	if !st.token.CompareAndSwap(t, t&^seatState+seatNumber) {
		return false
	}
	c := st.call.Get()
	st.replace()
	c.refuse(k, err)
	return true
}

// endAll ends all calls that have a seat.
func (s *seats) endAll(k Cause, err error) {
	for i := range s.all {
		st := s.all[i].Load()
		t := st.token.Load()
		if t&seatState == seatQueued {
			if st.unqueue(t, k, err) {
				continue
			}
			t = st.token.Load() // its runner has come
		}
		if t&seatState == seatHandler {
			if o, ok := st.takeAway(t); ok {
				o.c.endAs(o.generation, k, err)
			}
		}
	}
}

// takeAway takes the seat away from a handler with that token, and returns the call of
// the handler, which is outside from now on.
func (st *seat) takeAway(t uint64) (o outsider, ok bool) {
	p := st.l.p
	p.moves.Add(1) // before the CAS: whoever sees it made sees the move, or its end
	if t&seatState != seatHandler || !st.token.CompareAndSwap(t, t&^seatState+seatNumber) {
		p.moved()
		return o, false
	}
	o = st.current.Get()
	p.moveOut(o)
	st.replace()
	return o, true
}

// replace puts a new seat in the place of one that was taken away.
func (st *seat) replace() {
	st.l.seats.add(st.index)
	st.l.kick()
}
