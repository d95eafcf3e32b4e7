package transport

import (
	"math"
	"runtime"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/cpu"
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

	currentCPU func() uint32   // 1 + the processor of the calling goroutine; nil: not known
	ticks      func() uint64   // cpu.Ticks, except in tests
	pause      func()          // one chunk of spinning
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
//
// State. Each word is written by one side. Each side needs only to read the memory of
// the other side:
//
//	bell    counts rings in steps of 4: CAS by ringers. The waiter parks on it
//	parked  0, or the bell that the waiter parks on and, in the low two bits, the
//	        events that it waits for: stored by the waiter
//	cpu     1 + the processor that the waiter was last seen on; 0: not known
//	other   the cpu of the doorbell of the other side
//
// Invariants:
//
//	I1  while the waiter is parked, the bell has the value in parked, or a ringer
//	    is about to unpark the waiter
//	I2  at most one ringer ends each parking: the one whose CAS moves the bell. A
//	    sibling may end the same parking as well. Its unpark may also end the
//	    next parking, which then ends for nothing
//	I3  an unpark that comes before its parking is not lost, though the bell still
//	    has the value in parked: the parking keeps it
//
// Linearization points: the store of parked by the waiter, and the load of parked by
// Ring or wakeOwn.
//
// Happens-before edges:
//
//	E1  waiter: store of parked, then load of the condition. ringer: store of the
//	    change, then load of parked. Either the waiter sees the change, or the
//	    ringer sees the parked waiter. needs: sequentially consistent
//	E2  load of bell, then the store of parked   a ring for this parking moves the
//	    bell away from the value that the parking compares with
//	E3  waiter: store of parked, then load of the condition. sibling: store of the
//	    change, then load of parked. Either the waiter sees the change, or the
//	    sibling sees the parked waiter. needs: sequentially consistent
//
// Progress: Ring and wakeOwn are wait-free. Wait blocks until its condition holds or
// its limit has passed.
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
	bellStep  = 4 // added to the bell by a ring, above the events
	bellMask  = bellStep - 1
)

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
		until = min(until, math.MaxInt64-w.epoch) + w.epoch
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
	d.ticks, d.pause = cpu.Ticks, pauseChunk
}

// Ring wakes the waiter if it is parked, and reports whether it did. A goroutine calls
// Ring after each change that can make the condition of the waiter true. It never
// blocks.
func (d *Doorbell) Ring() bool { return d.ring(onPublish | onAck) }

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
	d.waker.WakePeer(d.bell) // I1
	return true
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
		case noise: // the deadline ends a Park only if no ring ends it before
			if until != 0 && d.now() >= until {
				return false
			}
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
	if !d.spinUntil(ready) {
		out = d.parkUntil(why, ready, until)
	}
	d.note(loopWorking)
	return out
}

// parkUntil is wait without a spin. A side that changes the doorbell all the time ends each parking at once, also
// after the deadline, so their number is bounded.
func (d *Doorbell) parkUntil(why uint32, ready func() bool, until int64) outcome {
	for range noisyWakes {
		seen := d.bell.Load()      // E2
		d.parked.Store(seen | why) // E1, E2, E3, I1
		if ready() {
			d.parked.Store(0)
			return isReady
		}
		d.note(loopParked)
		timeout := d.park(d.bell, seen, until)
		d.parked.Store(0)
		switch {
		case ready():
			return isReady
		case timeout:
			return expired
		}
	}
	return noise
}

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

// spinUntil spins until ready returns true or the spin time is over, and reports
// whether ready did. It does not spin when the other side was last seen on this
// processor, because the spin would take that processor from it.
func (d *Doorbell) spinUntil(ready func() bool) (found bool) {
	if d.spin <= 0 || d.sameCPU() {
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
	start, budget := d.ticks(), spinTicks(d.spin)
	for n := 0; !found && d.ticks()-start < budget && (entered || n < graceChunks); n++ {
		d.pause()
		found = ready()
		entered = entered || enterSpin(processors)
	}
	if entered {
		spinners.Add(-1)
	}
	return found
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

// pauseChunk spins for 64 rounds, less than a microsecond. The chunk is that short
// because the goroutine cannot be preempted in it.
func pauseChunk() { cpu.Pause(64) }

// note reports the state of the waiter to a test.
func (d *Doorbell) note(s loopState) {
	if d.trace != nil {
		d.trace(s)
	}
}
