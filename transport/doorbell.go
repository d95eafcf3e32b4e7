package transport

import (
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
	parking                  parking
	spin                     time.Duration

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
	onPublish uint32 = 1 << iota // a slot was published
	onAck                        // a slot was acknowledged
	bellStep                     // added to the bell by a ring
	bellMask  = bellStep - 1
)

// parking is the mechanism by which a waiter parks.
type parking interface {
	// park blocks until unpark is called or, if d is more than 0, until d has passed.
	// It may return at any time, and returns at once when *bell is not seen. It returns
	// false when d has passed.
	park(bell *atomix.Uint32, seen uint32, d time.Duration) bool
	// unpark ends the park on bell. When no goroutine is parked it ends the next park
	// at once, unless another park has ended since.
	unpark(bell *atomix.Uint32)
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

// NewDoorbell returns a doorbell for two sides that are goroutines of this program. A
// Wait spins for that time before it parks.
func NewDoorbell(spin time.Duration) *Doorbell {
	d := new(Doorbell)
	words := new([4]struct {
		_ lfsync.Pad
		w atomix.Uint32
		_ lfsync.Pad
	})
	d.init(&words[0].w, &words[1].w, &words[2].w, &words[3].w, newParker(), spin)
	return d
}

func (d *Doorbell) init(bell, parked, cpuOfWaiter, cpuOfRinger *atomix.Uint32, p parking, spin time.Duration) {
	d.bell, d.parked, d.cpu, d.other = bell, parked, cpuOfWaiter, cpuOfRinger
	d.parking, d.spin = p, spin
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
	d.parking.unpark(d.bell) // I1
	return true
}

// wakeOwn unparks the waiter if it waits for one of the events in why. It is for
// goroutines of the waiter's own side, which may not move the bell.
func (d *Doorbell) wakeOwn(why uint32) {
	if d.parked.Load()&why != 0 { // E3
		d.parking.unpark(d.bell) // I3
	}
}

// Wait blocks until ready returns true, and returns true. If limit is more than 0, it
// returns false when that time has passed since it parked. Rings without a change do not
// extend the time. Every change that makes ready true must be followed by a Ring; without
// one the waiter stays parked. One goroutine at a time may call Wait.
func (d *Doorbell) Wait(ready func() bool, limit time.Duration) bool {
	return d.wait(onPublish|onAck, ready, limit)
}

// wait is Wait for the events in why.
func (d *Doorbell) wait(why uint32, ready func() bool, limit time.Duration) bool {
	if ready() {
		return true
	}
	d.note(loopSpinning)
	if !d.spinUntil(ready) && !d.parkUntil(why, ready, limit) {
		d.note(loopWorking)
		return false
	}
	d.note(loopWorking)
	return true
}

// parkUntil parks until ready returns true. It returns false when limit has passed. The limit is
// for all parkings together, because the other side may ring for ever.
func (d *Doorbell) parkUntil(why uint32, ready func() bool, limit time.Duration) bool {
	var began time.Time
	if limit > 0 {
		began = time.Now()
	}
	for left := limit; ; left = limit - time.Since(began) {
		if limit > 0 && left <= 0 {
			return false
		}
		seen := d.bell.Load()      // E2
		d.parked.Store(seen | why) // E1, E2, E3, I1
		if ready() {
			d.parked.Store(0)
			return true
		}
		d.note(loopParked)
		woken := d.parking.park(d.bell, seen, left)
		d.parked.Store(0)
		switch {
		case ready():
			return true
		case !woken:
			return false
		}
	}
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
	processors := int32(runtime.GOMAXPROCS(0))
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

// parker is the parking of goroutines of one program.
type parker struct{ p lfsync.Parker }

func newParker() *parker {
	s := new(parker)
	s.p.Init()
	return s
}

func (s *parker) park(bell *atomix.Uint32, seen uint32, d time.Duration) bool {
	if bell.Load() != seen {
		return true
	}
	if d > 0 {
		return s.p.ParkFor(d)
	}
	s.p.Park()
	return true
}

func (s *parker) unpark(*atomix.Uint32) { s.p.Unpark() }
