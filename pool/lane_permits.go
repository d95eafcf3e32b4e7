package pool

import (
	"slices"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	lfsync "github.com/lanewright/lanewright/sync"
)

// initPermits makes n free permits.
func (l *lane) initPermits(n int) {
	for i, r := range l.addRunners(n) {
		r.below.Store(uint32(i))
	}
	l.permits.Store(uint64(permitWord(0).withTop(uint32(n))))
}

// hasPermits reports whether a call of the lane needs a permit, unless its caller runs it.
func (l *lane) hasPermits() bool { return l.one.l != nil }

// permitCount is what changes how many permits a lane has. It has them in plain memory with mu.
//
// A permit that is free, or that no handler needs any more, is retired while there is a surplus.
// That is a step with mu, because it changes the count, the surplus, and the bit of permitWord
// together. Other steps on permits load the bit only.
type permitCount struct {
	mu      park.Mutex
	surplus int       // how many permits are to be retired
	retired []*runner // the records of those that were
}

// allow lets the lane have n permits. After it has added some, the caller looks at the calls. The caller has
// Pool.mu.
func (l *lane) allow(n int) {
	old := l.allowed.Swap(int64(n))
	for _, r := range l.counts.change(l, n-int(old)) {
		r.end(put)
	}
}

// change adds n permits to the lane, or takes -n away. It returns those that the caller makes free.
func (k *permitCount) change(l *lane, n int) (fresh []*runner) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n <= 0 {
		k.surplus -= n
		l.setSurplus(k.surplus > 0)
		for k.surplus > 0 {
			r := l.takeFree()
			if r == nil {
				break // handlers have the others
			}
			k.retire(r)
		}
		return nil
	}
	kept := min(n, k.surplus)
	k.surplus -= kept
	l.setSurplus(k.surplus > 0)
	n -= kept
	left := max(len(k.retired)-n, 0)
	fresh = append(fresh, k.retired[left:]...)
	k.retired = k.retired[:left]
	return append(fresh, l.addRunners(n-len(fresh))...)
}

// extra returns a permit that the caller, the holder of the pick, has then. If none is free, it is one more than the lane
// may have. It returns nil if there are limit permits, which calls have.
func (k *permitCount) extra(l *lane, limit int) (r *runner) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.surplus++
	l.setSurplus(true) // P3: no other permit becomes free
	n := len(k.retired)
	switch r = l.takeFree(); {
	case r != nil: // no more than the lane may have
	case n > 0:
		r = k.retired[n-1]
		k.retired = k.retired[:n-1]
		return r
	case l.runners() < limit:
		return l.addRunners(1)[0]
	}
	k.surplus--
	l.setSurplus(k.surplus > 0)
	return r
}

// runners returns how many permits the lane has, with the retired ones.
func (l *lane) runners() int {
	if others := l.others.Load(); others != nil {
		return len(*others) + 1
	}
	return 1
}

// retire takes the permit of r from the lane. The caller has the permit, and mu, and there is a
// surplus.
func (k *permitCount) retire(r *runner) {
	k.retired = append(k.retired, r)
	if k.surplus--; k.surplus == 0 {
		r.l.setSurplus(false)
	}
}

// retire takes the permit of r, which the caller has, from the lane if there is a surplus.
func (r *runner) retire() (done bool) {
	k := &r.l.counts
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.surplus == 0 {
		return false
	}
	k.retire(r)
	return true
}

// addRunners makes n permits, which the caller has. The caller has the mutex of permitCount, or the
// lane is not shared yet.
func (l *lane) addRunners(n int) (fresh []*runner) {
	if n > 0 && l.one.l == nil {
		l.one.l = l
		fresh = append(fresh, &l.one)
	}
	if n -= len(fresh); n == 0 {
		return fresh
	}
	var others []*runner
	if old := l.others.Load(); old != nil {
		others = slices.Clone(*old) // other goroutines read the old list
	}
	more := make([]runner, n)
	for i := range more {
		r := &more[i]
		r.l, r.index = l, uint32(len(others)+1)
		others = append(others, r)
		fresh = append(fresh, r)
	}
	l.others.Store(&others)
	return fresh
}

// runner returns the runner with that index. Lanes with one permit need no list.
func (l *lane) runner(index uint32) *runner {
	if index == 0 {
		return &l.one
	}
	return (*l.others.Load())[index-1]
}

// everyRunner calls yield for all runners, also those of retired permits.
func (l *lane) everyRunner(yield func(r *runner) bool) {
	if !yield(&l.one) {
		return
	}
	if others := l.others.Load(); others != nil {
		slices.Values(*others)(yield)
	}
}

// setSurplus sets or clears the bit.
func (l *lane) setSurplus(on bool) {
	for {
		w := l.loadPermits()
		if next := w.withSurplus(on); next == w || l.swapPermits(w, next) {
			return
		}
	}
}

// takeFree removes a free permit, or returns nil.
func (l *lane) takeFree() *runner {
	for {
		w := l.loadPermits()
		if w.top() == 0 {
			return nil
		}
		r := l.runner(w.top() - 1)
		if l.swapPermits(w, w.remove(r.below.Load())) {
			return r
		}
	}
}

// loadPermits returns the word.
func (l *lane) loadPermits() permitWord { return permitWord(l.permits.Load()) }

// swapPermits replaces the word if it is w.
func (l *lane) swapPermits(w, next permitWord) bool {
	return l.permits.CompareAndSwap(uint64(w), uint64(next))
}

// take takes the pick for a drain, with a permit, if both are free.
func (l *lane) take() (ok bool) {
	for {
		w := l.loadPermits()
		if !w.canTake() {
			return false
		}
		r := l.runner(w.top() - 1)
		if l.swapPermits(w, w.take(r.below.Load())) {
			return true
		}
	}
}

// hold makes the caller the holder if the pick is in that state.
func (l *lane) hold(from permitWord) bool {
	for {
		w := l.loadPermits()
		next, ok := w.hold(from)
		if !ok || l.swapPermits(w, next) {
			return ok
		}
	}
}

// picker returns the runner of the holder of the pick, who is the caller.
func (l *lane) picker() *runner { return l.runner(l.loadPermits().picker() - 1) }

// give gives the pick up, and says in which state it is then. The caller is the holder. It reports
// whether a permit is free.
func (l *lane) give(to permitWord) (more bool) {
	for {
		w := l.loadPermits()
		if next := w.give(to); l.swapPermits(w, next) {
			return next.top() != 0
		}
	}
}

// runner is the record of one permit of a lane.
//
// State:
//
//	token  bit 0: a goroutine is in a handler with the permit. Above it the number of that
//	       handler. The holder of the pick sets the bit. The goroutine that clears it by CAS
//	       owes the lane the permit: the runner when the handler has returned or is about
//	       to block, a goroutine that works for the handler and is about to block, a
//	       closer, the end of a hard limit
//	below  the free runner below this one, as its index plus 1: stored before put
//	frame  the frame of the handler, or nil: plain memory of the goroutine that has the permit.
//	       A goroutine that takes it away clears frame, because the handler uses the frame
//	       until it returns
//	task   the task of the last handler: stored before the token
//	seen   the token of a handler that a look has found, and since when: with Pool.mu
type runner struct {
	l     *lane
	index uint32
	below atomix.Uint32
	token atomix.Uint64
	frame atomix.Cell[*frame]
	task  atomix.Pointer[entry]
	seen  seenHandler
	_     lfsync.Pad
}

// seenHandler is a handler that a look at a runner has found.
type seenHandler struct {
	token uint64
	since time.Time
}

// running returns the handler that has the permit of r, or false. The caller has Pool.mu.
func (r *runner) running(now time.Time) (h Running, ok bool) {
	token, e := r.token.Load(), r.task.Load()
	if token&tokenHandler == 0 || r.token.Load() != token { // the second load: e is the task of that handler
		return h, false
	}
	if r.seen.token != token {
		r.seen = seenHandler{token, now}
	}
	return Running{Task: e.name, Lane: r.l.index, Since: r.seen.since}, true
}

const (
	tokenHandler = 1 // of runner.token
	tokenNumber  = 2 // what one handler adds
)

// setBelow says which runner is below r in the list of the free ones, before r is put there. The
// caller has the permit of r. A load is cheaper than a store, and the only runner of a lane never
// changes.
func (r *runner) setBelow(top uint32) {
	if r.below.Load() != top {
		r.below.Store(top)
	}
}

// A permitEnd is what becomes of a permit that no handler needs, and of the pick.
type permitEnd uint8

const (
	put       permitEnd = iota // the permit becomes free
	putBoth                    // the permit and the pick, which its goroutine holds, become free
	pickOrPut                  // its goroutine takes the pick if that is free; otherwise as put
)

// end ends the use of the permit of r, which the caller has. It reports whether the caller has
// taken the pick. After a permit was retired the lane has no free one: P3. So a goroutine that has
// the pick next comes with another permit, or makes one free and looks at the calls.
func (r *runner) end(as permitEnd) (picks bool) {
	for {
		w := r.l.loadPermits()
		if w.surplus() { // P3
			if !r.retire() {
				continue
			}
			if as == putBoth {
				r.l.give(pickFree)
			}
			return false
		}
		next, picks := w.end(r.index, as)
		if !picks {
			r.setBelow(w.top())
		}
		if r.l.swapPermits(w, next) {
			return picks
		}
	}
}

// giveBack makes the permit of r free and lets a drain run the next call.
func (r *runner) giveBack() {
	r.end(put)
	r.l.look(nil)
}

// begin makes f the frame of a handler of c that has the permit of r.
func (r *runner) begin(c *call) (f *frame) {
	f = r.frame.Get()
	if f == nil {
		f = new(frame)
		r.frame.Set(f)
	}
	token := (r.token.Load() + tokenNumber) | tokenHandler
	f.enter(c, r.l, r, token)
	if r.task.Load() != c.task {
		r.task.Store(c.task)
	}
	r.token.Store(token)
	return f
}

// clear clears the bit of a handler with that token. It reports false if another goroutine has
// taken the permit away.
func (r *runner) clear(token uint64) bool {
	return token&tokenHandler != 0 && r.token.CompareAndSwap(token, token&^tokenHandler)
}

// leave is the end of the handler with frame f. It reports false if another goroutine has taken the
// permit away.
func (r *runner) leave(f *frame) bool {
	if r.clear(f.permit) {
		f.leave()
		return true
	}
	f.self.Leave() // the goroutine that took the permit away may be reading the frame
	r.l.p.returned(f.detachedCall())
	return false
}

// takeAway takes the permit away from a handler with that token, and returns its call, which is
// detached from now on. The caller owes the lane the permit.
func (r *runner) takeAway(token uint64) (o detachedCall, ok bool) {
	p := r.l.p
	p.moves.Add(1) // before the CAS: a goroutine that sees that sees the move, or its end
	if !r.clear(token) {
		p.moved()
		return o, false
	}
	o = r.frame.Get().detachedCall()
	r.frame.Set(nil)
	p.detachMoved(o)
	return o, true
}
