package transport

import (
	"math"
	"runtime"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/cpu"
	"github.com/lanewright/lanewright/internal/crash"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Doorbell blocks one side of a Link until the other side makes a change. [NewDoorbell]
// makes one for two goroutines. Each [End] has one of its own.
//
// The waiting side calls [Doorbell.Wait] with a condition. Wait spins for a limited
// time and then parks. The other side first makes its change visible and then calls
// [Doorbell.Ring], which wakes a parked waiter. A ringer that finds no parked waiter
// pays one load.
//
// One goroutine at a time may wait; any number of goroutines may ring. A Doorbell must
// not be copied.
type Doorbell struct {
	_                        lfsync.NoCopy
	bell, parked, cpu, other *atomix.Uint32
	waits
	turn atomix.Uint32

	currentCPU func() uint32   // 1 + the processor of the calling goroutine; nil: not known
	ticks      func() uint64   // cpu.Ticks, except in tests
	pause      func()          // one round of spinning
	trace      func(loopState) // nil except in tests
}

// Protocol of Doorbell: the waiter announces that it parks and then looks at its
// condition again. The other side makes its change and then looks for a waiter.
//
// Roles:
//
//	waiter   Wait: one goroutine at a time, of the side that owns the doorbell
//	ringer   Ring: any goroutine of the other side, after it has made its change
//	         visible
//	sibling  wakeOwn: any goroutine of the waiter's side, after it has made its
//	         change visible. It may not write the bell, so it only unparks
//	holder   the goroutine that has the turn: the waiter, or a borrower in its place
//
// State. Each shared word is written by one side. Each side needs only to read the
// memory of the other side:
//
//	bell    counts rings in steps of 8: CAS by ringers. The waiter parks on it
//	parked  0, or the value of bell that the waiter parks on and, in the low three
//	        bits, the events for which it is to be woken: stored by the holder
//	cpu     1 + the processor that the waiter was last seen on; 0: not known
//	other   the cpu of the doorbell of the other side
//	turn    in the memory of the waiter's side: see The turn
//
// Invariants:
//
//	I1  while the waiter is parked and no borrower has the turn, the bell has the
//	    value in parked, or a ringer or the last holder is about to unpark the waiter
//	I2  at most one ringer ends each parking: the one whose CAS moves the bell. A
//	    sibling or a holder may end the same parking as well. Its unpark may also end the
//	    next parking, which then ends for nothing
//	I3  an unpark that comes before its parking is not lost, though the bell still
//	    has the value in parked: the parking keeps it
//
// Linearization points: the store of parked by the waiter, and the load of parked by
// Ring or wakeOwn.
//
// Happens-before edges:
//
//	E1  holder: store of parked, then load of the condition. ringer: store of the
//	    change, then load of parked. Either the holder sees the change, or the
//	    ringer sees the parked waiter. needs: sequentially consistent
//	E2  load of bell, then the store of parked   a ring for this parking moves the
//	    bell away from the value that the parking compares with
//	E3  waiter: store of parked, then load of the condition. sibling: store of the
//	    change, then load of parked. Either the waiter sees the change, or the
//	    sibling sees the parked waiter. needs: sequentially consistent
//
// Progress: Ring, wakeOwn, borrow, give and resume are wait-free. Wait blocks until its
// condition holds or its limit has passed, and the turn is not held by a borrower.
//
// Limit: a ringer that stalls between its CAS and its unpark leaves the waiter parked,
// and later ringers rely on that ringer. The limit of a Wait is a safety net for this
// case and for no other.
//
// Source: the futex protocol of the signals of knitting. The word that is parked on is
// separate from the mailbox here, so that one side parks on one word.
//
// Rejected: to move the bell and unpark whenever the other side is parked. Every
// goroutine that publishes during the 40 µs of a wake-up would then make the system
// call.

// The events that a waiter waits for, and for which ringers ring.
const (
	onPublish = uint32(Published)
	onAck     = uint32(Acknowledged)
	onUrgent  = 4 // a message that does not wait until a lender resumes the turn
	onAny     = onPublish | onAck | onUrgent
	bellStep  = 8 // added to the bell by a ring, above the events
	bellMask  = bellStep - 1
)

// The turn is the right to receive. It belongs to the waiter. A borrower may have it while the waiter is parked. The borrower
// receives in place of the waiter and need not wake it.
//
//	state   holder          steps to other states
//	held    one goroutine   free when the waiter parks or a borrower gives it back
//	                        lent when a borrower lends it
//	                        wanted when the waiter is woken and a borrower has it
//	wanted  a borrower      due when the borrower gives it back or lends it
//	free    none            held when the waiter is woken or a borrower comes
//	lent    none            held when a borrower needs it again or the waiter is woken
//	due     none            held when the waiter, which the last holder wakes, takes it
//
// A holder lends the turn while it runs code that it does not know. Urgent messages wake the waiter then. Several
// borrowers may have lent the turn one after another. The first one that comes back takes it.
//
//	T1  parked, cpu and the fields of the receiver belong to the holder
//	T2  a holder arms the doorbell before the turn is free or lent. A free turn is armed for the events of the waiter.
//	    A lent turn is armed for urgent messages. The holder then looks and keeps the turn if it sees an event
//	T3  a waiter that finds the turn held makes it wanted. The holder makes it due and wakes the waiter. No borrower
//	    takes a turn that is due, so borrowers do not keep the waiter from it
//
// A change for which the turn is armed comes with a ring if the holder has not seen it in T2. The ring wakes the waiter. The waiter takes the turn or
// relies on T3. It loads the bell before it tries to take the turn and parks on that value. So a later ring ends the
// parking.
const (
	turnHeld = iota
	turnWanted
	turnFree
	turnLent
	turnDue
)

// take takes the turn for the waiter. It makes it wanted if another goroutine has it.
func (d *Doorbell) take() bool {
	for {
		switch t := d.turn.Load(); t {
		case turnWanted:
			return false
		case turnHeld:
			if d.turn.CompareAndSwap(t, turnWanted) { // T3
				return false
			}
		default:
			if d.turn.CompareAndSwap(t, turnHeld) {
				return true
			}
		}
	}
}

// give makes the turn of the caller free or lent. The events in why wake the waiter then. The caller keeps the turn if ready
// returns true. give reports whether it has given the turn up.
func (d *Doorbell) give(state, why uint32, ready func() bool) bool {
	d.arm(why) // T2
	crash.At(crash.ParkedStored)
	if ready() {
		d.parked.Store(0)
		return false
	}
	d.put(state)
	return true
}

// put makes the turn of the caller free or lent, or due if the waiter wants it.
func (d *Doorbell) put(state uint32) {
	if !d.turn.CompareAndSwap(turnHeld, state) {
		d.handOver() // T3
	}
}

// borrow takes a free turn for a goroutine other than the waiter.
func (d *Doorbell) borrow() bool {
	if d.turn.Load() != turnFree || !d.turn.CompareAndSwap(turnFree, turnHeld) {
		return false
	}
	d.parked.Store(0)
	return true
}

// handOver makes the turn of the caller due and wakes the waiter.
func (d *Doorbell) handOver() {
	d.turn.Store(turnDue)
	d.waker.WakeOwn()
}

// resume takes the turn if it is lent. Otherwise another goroutine has taken it since.
func (d *Doorbell) resume() bool { return d.turn.CompareAndSwap(turnLent, turnHeld) }

// arm lets the events in why wake the waiter.
func (d *Doorbell) arm(why uint32) {
	if p := d.bell.Load() | why; d.parked.Load() != p { // E2. The other side reads the line
		d.parked.Store(p) // E1, E2, E3, I1
	}
}

// await parks the waiter until it has the turn. It parks while the bell has the value seen. The result is true if the
// deadline has passed.
func (d *Doorbell) await(seen uint32, until int64) (timeout bool) {
	for {
		crash.At(crash.Parked)
		if d.park(d.bell, seen, until) {
			timeout, until = true, 0
		}
		crash.At(crash.Woken)
		seen = d.bell.Load()
		if d.take() {
			d.parked.Store(0)
			return timeout
		}
	}
}

// loopState is the state of a waiter. It changes from working to spinning when the
// condition does not hold, from spinning to parked when the spin time is over, and from
// both to working.
type loopState uint8

const (
	loopWorking loopState = iota
	loopSpinning
	loopParked
)

// waits is how a side waits.
type waits struct {
	waker      Waker // of the side that uses the Doorbell, the waiter or the ringer
	epoch      int64 // the origin of the times of the side, in the clock of waker
	spin       time.Duration
	processors int32 // 0: GOMAXPROCS
}

// now returns the time.
func (w *waits) now() int64 { return w.waker.Now() - w.epoch }

// park parks the side until that time.
func (w *waits) park(bell *atomix.Uint32, seen uint32, until int64) (timeout bool) {
	if until != 0 {
		until = max(min(until, math.MaxInt64-w.epoch)+w.epoch, 1) // Now is more than 0
	}
	return w.waker.Park(bell, seen, until)
}

// NewDoorbell returns a doorbell for two sides that are goroutines of this program. A
// Wait spins for that time before it parks.
func NewDoorbell(spin time.Duration) *Doorbell {
	d := new(Doorbell)
	words := new([4]struct {
		_ lfsync.Pad
		w atomix.Uint32
		_ lfsync.Pad
	})
	p := lfsync.NewParker() // one Doorbell serves both sides
	d.init(&words[0].w, &words[1].w, &words[2].w, &words[3].w, waits{waker: &goroutine{p, p, time.Now()}, spin: spin})
	return d
}

func (d *Doorbell) init(bell, parked, cpuOfWaiter, cpuOfRinger *atomix.Uint32, w waits) {
	d.bell, d.parked, d.cpu, d.other, d.waits = bell, parked, cpuOfWaiter, cpuOfRinger, w
	d.ticks, d.pause = cpu.Ticks, pauseRound
}

// Ring wakes the waiter if it is parked, and reports whether it did. A goroutine calls
// Ring after each change that can make the condition of the waiter true. It never
// blocks.
func (d *Doorbell) Ring() bool { return d.ring(onAny) }

// ring is Ring for a waiter that waits for one of the events in why.
func (d *Doorbell) ring(why uint32) bool {
	p := d.parked.Load() // E1
	if p&why == 0 {
		return false
	}
	seen := p &^ bellMask
	if !d.bell.CompareAndSwap(seen, seen+bellStep) { // I2, E2
		return false // another ringer has moved the bell, and unparks
	}
	crash.At(crash.BellMoved)
	d.waker.WakePeer(d.bell) // I1
	crash.At(crash.Rung)
	return true
}

// ringLast moves the bell and wakes the waiter, whether it is parked or not. It is for a side whose memory is about to be
// given back: a Ring that has stopped between its two steps would wake no waiter in another process afterwards.
func (d *Doorbell) ringLast() {
	d.bell.Add(bellStep)
	d.waker.WakePeer(d.bell)
}

// wakeOwn unparks the waiter if it waits for one of the events in why. It is for
// goroutines of the waiter's own side, which may not move the bell.
func (d *Doorbell) wakeOwn(why uint32) {
	if d.parked.Load()&why != 0 { // E3
		d.waker.WakeOwn() // I3
	}
}

// Wait blocks until ready returns true, and returns true. If limit is more than 0, it returns false when that
// time has passed. Rings without a change do not extend the time. Every change that makes ready true must be
// followed by a Ring; without one the waiter stays parked. One goroutine at a time may call Wait.
func (d *Doorbell) Wait(ready func() bool, limit time.Duration) bool {
	until := int64(0)
	if limit > 0 {
		until = d.deadline(limit)
	}
	for {
		switch d.wait(onPublish|onAck, ready, until) {
		case isReady:
			return true
		case expired:
			return false
		case noise: // not the end of this wait
		}
	}
}

// deadline returns the time d from now. A sum beyond the range is the largest time.
func (d *Doorbell) deadline(limit time.Duration) int64 {
	now := d.now()
	return now + min(int64(limit), math.MaxInt64-now)
}

// outcome is the reason for which a wait has ended.
type outcome uint8

const (
	isReady outcome = iota
	expired
	noise // noisyWakes parkings have ended without a change
)

// noisyWakes is the number of parkings of one wait that may end without a change. The other side of an honest link
// causes few: a ring for a change that the waiter has already seen, or one of an earlier parking. It is chosen.
const noisyWakes = 64

// wait blocks until ready returns true, the deadline has passed, or the parkings have ended for nothing too often. It
// waits for the events in why. A deadline of 0 is none.
func (d *Doorbell) wait(why uint32, ready func() bool, until int64) outcome {
	if ready() {
		return isReady
	}
	d.note(loopSpinning)
	out := isReady
	if !d.spinUntil(ready, until) {
		out = d.parkUntil(why, ready, until)
	}
	d.note(loopWorking)
	return out
}

// parkUntil is wait without a spin. A side that changes the doorbell all the time ends each parking at once, also
// after the deadline, so their number is bounded.
func (d *Doorbell) parkUntil(why uint32, ready func() bool, until int64) outcome {
	for range noisyWakes {
		seen := d.bell.Load() // E2
		if !d.give(turnFree, why, ready) {
			return isReady
		}
		d.note(loopParked)
		timeout := d.await(seen, until)
		switch {
		case ready():
			return isReady
		case timeout:
			return expired
		}
	}
	if d.hasPassed(until) { // a ring has ended each parking
		return expired
	}
	return noise
}

// hasPassed reports whether the deadline has passed, if there is one.
func (d *Doorbell) hasPassed(until int64) bool { return until != 0 && d.now() >= until }

// spinners is the number of goroutines of this program that spin in a Wait. It is less
// than the number of processors, so that one processor is free for the goroutines that
// they wait for.
var spinners atomix.Int32

// graceChunks is the number of chunks that a Wait spins although too many others spin.
// A waiter whose change has just been made needs a moment to see it.
const graceChunks = 4

// enterSpin adds the caller to spinners if one more may spin.
func enterSpin(processors int32) bool {
	n := spinners.Load()
	return n+1 < processors && spinners.CompareAndSwap(n, n+1)
}

// spinUntil spins until ready returns true, or the spin time or the deadline is over, and reports
// whether ready did. It does not spin when the other side was last seen on this
// processor, because the spin would take that processor from it.
func (d *Doorbell) spinUntil(ready func() bool, until int64) (found bool) {
	spin := d.spin
	if spin > 0 && until != 0 {
		spin = d.shorten(spin, until)
	}
	if spin <= 0 || d.sameCPU() {
		return false
	}
	processors := d.processors
	if processors == 0 {
		processors = int32(runtime.GOMAXPROCS(0))
	}
	if processors == 1 {
		return false
	}
	entered := enterSpin(processors)
	start, budget := d.ticks(), spinTicks(spin)
	for n := 0; !found && d.ticks()-start < budget && (entered || n < graceChunks); n++ {
		for i := 0; i < chunkRounds && !found; i++ {
			d.pause()
			found = ready()
		}
		entered = entered || enterSpin(processors)
	}
	if entered {
		spinners.Add(-1)
	}
	return found
}

// shorten returns how long a spin may take that ends at the deadline at the latest.
func (d *Doorbell) shorten(spin time.Duration, until int64) time.Duration {
	now := d.now()
	if until <= now {
		return 0
	}
	return min(spin, time.Duration(until-now))
}

// sameCPU reports whether both sides last ran on one processor, as far as is known.
func (d *Doorbell) sameCPU() bool {
	if d.currentCPU == nil {
		return false
	}
	here := d.currentCPU()
	d.cpu.Store(here)
	return here != 0 && here == d.other.Load()
}

// maxSpin bounds a spin, so that its number of ticks fits 64 bits on any processor. A
// month is long enough to count as unlimited.
const maxSpin = 30 * 24 * time.Hour

// spinTicks returns by how much cpu.Ticks advances in that time.
func spinTicks(spin time.Duration) uint64 {
	return uint64(min(spin, maxSpin)) * cpu.TicksPerMicrosecond() / uint64(time.Microsecond)
}

// chunkRounds is the number of looks after which a spin reads the clock. The spin looks after each round of cpu.Pause. A
// round takes 10 to 60 ns. With one look in 64 rounds a call to another process took 4.2 µs instead of 2.5.
const chunkRounds = 64

// pauseRound spins for one round.
func pauseRound() { cpu.Pause(1) }

// note reports the state of the waiter to a test.
func (d *Doorbell) note(s loopState) {
	if d.trace != nil {
		d.trace(s)
	}
}
