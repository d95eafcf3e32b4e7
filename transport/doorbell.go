package transport

import (
	"runtime"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/cpu"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Doorbell is where one side of a Link waits until the other side has news for it:
// first it spins, for a time, and then it parks. Whoever has news and sees that
// nobody is parked pays one load.
//
// Roles:
//
//	waiter  Wait: one goroutine at a time, of the side whose doorbell it is
//	ringer  Ring: any goroutine of the other side, after it has made its news
//	        visible
//	mate    stir: any goroutine of the waiter's side, after it has made its news
//	        visible. The bell is not its to write: it only wakes
//
// State. Each word is written by one side, so that neither needs more than to read
// the memory of the other:
//
//	bell    counts rings in steps of 4: CAS by ringers. The waiter sleeps on it
//	parked  0, or the bell that the waiter sleeps on and, in the low two bits, what
//	        it waits for: stored by the waiter
//	cpu     1 + the processor that the waiter was last seen on; 0: not known
//	other   the cpu of the doorbell of the other side
//
// Invariants:
//
//	I1  while the waiter sleeps, the bell is what parked says, or a ringer is about
//	    to wake it
//	I2  each sleep is ended by one ringer at most: the one whose CAS moves the bell.
//	    A mate may end it too, or the next one, which then was for nothing
//	I3  a wake that comes before the sleep it is meant for is not lost, though the
//	    bell is what parked says: the sleeper keeps it
//
// Linearization points: the store of parked, against the load of it by Ring or stir.
//
// Happens-before edges:
//
//	E1  store of parked, then the look at the news, against the news, then the load of parked: either the waiter sees the news, or the ringer sees it parked. needs: sequentially consistent
//	E2  load of bell, then the store of parked   a ring that answers this parking moves the bell from the value that the sleep compares
//	E3  store of parked, then the look at the news, against the news of a mate, then its load of parked: either the waiter sees the news, or the mate sees it parked. needs: sequentially consistent
//
// Progress: Ring and stir are wait-free. Wait blocks; what it waits for decides when it ends.
//
// Limit: a ringer that stalls between its CAS and its wake keeps the waiter asleep,
// and others leave it to him: the time that a Wait may take at most is a net for
// that, and for nothing else.
//
// Source: the futex protocol of knitting's signals, with the word that is slept on
// apart from the mailbox, so that one side has one place to sleep.
//
// Rejected: to bump and wake whenever the other side is parked: all that publish
// in the 40 µs that a wake takes would make the system call.
type Doorbell struct {
	_                        lfsync.NoCopy
	bell, parked, cpu, other *atomix.Uint32
	parking                  parking
	spin                     time.Duration

	currentCPU func() uint32   // 1 + the processor that this goroutine is on; nil: not known
	ticks      func() uint64   // as cpu.Ticks; tests have their own
	pause      func()          // one chunk of spinning
	trace      func(loopState) // nil but in tests
}

// The reasons to ring, which are what a waiter waits for.
const (
	onPublish uint32 = 1 << iota // a slot was published
	onAck                        // a slot was acknowledged
	bellStep                     // of the bell
	bellMask  = bellStep - 1
)

// sleeper is what a waiter sleeps on.
type parking interface {
	// sleep blocks until wake is called, or d has passed, if it is more than 0. It
	// may return at any time, and does so at once unless *bell is seen. False
	// means that the time has passed.
	park(bell *atomix.Uint32, seen uint32, d time.Duration) bool
	// wake ends the sleep on bell. When nobody sleeps, it ends the next sleep at
	// once, unless another one has ended since.
	unpark(bell *atomix.Uint32)
}

// loopState is what a waiter is doing. It goes from working to spinning when it
// has nothing to do, from there to parked when the time is up, and from both to
// working.
type loopState uint8

const (
	loopWorking loopState = iota
	loopSpinning
	loopParked
)

// NewDoorbell returns a doorbell for two sides that are goroutines of this
// program. A Wait spins that long before it parks.
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

// Ring wakes the waiter if it is parked, and reports whether it did. Whoever has
// made something visible that the waiter's condition looks at calls it. It never
// blocks.
func (d *Doorbell) Ring() bool { return d.ring(onPublish | onAck) }

// ring is Ring for a waiter that waits for one of these reasons.
func (d *Doorbell) ring(why uint32) bool {
	p := d.parked.Load() // E1
	if p&why == 0 {
		return false
	}
	seen := p &^ bellMask
	if !d.bell.CompareAndSwap(seen, seen+bellStep) { // I2, E2
		return false // somebody has rung
	}
	d.parking.unpark(d.bell) // I1
	return true
}

// stir wakes the waiter if it is parked for one of these reasons: for those of its own
// side, which have news and no right to move the bell.
func (d *Doorbell) wakeOwn(why uint32) {
	if d.parked.Load()&why != 0 { // E3
		d.parking.unpark(d.bell) // I3
	}
}

// Wait blocks until ready returns true, and returns true; or, if limit is more
// than 0, until it has been parked that long without being woken, and returns
// false. Whatever makes ready true must be followed by a Ring. One goroutine at a
// time may call it.
func (d *Doorbell) Wait(ready func() bool, limit time.Duration) bool {
	return d.wait(onPublish|onAck, ready, limit)
}

// wait is Wait for some of the reasons to ring.
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

// parks sleeps until ready.
func (d *Doorbell) parkUntil(why uint32, ready func() bool, limit time.Duration) bool {
	for {
		seen := d.bell.Load()      // E2
		d.parked.Store(seen | why) // E1, E2, E3, I1
		if ready() {
			d.parked.Store(0)
			return true
		}
		d.note(loopParked)
		woken := d.parking.park(d.bell, seen, limit)
		d.parked.Store(0)
		switch {
		case ready():
			return true
		case !woken:
			return false
		}
	}
}

// spinners counts the goroutines of this program that spin in a Wait. There may be
// one less than there are processors, so that one is left for those that they wait
// for.
var spinners atomix.Int32

// graceChunks is for how many chunks a Wait spins although enough others do: one
// that has just been given its news needs a moment to see them.
const graceChunks = 4

// enterSpin counts the caller as a spinner if there may be one more.
func enterSpin(processors int32) bool {
	n := spinners.Load()
	return n+1 < processors && spinners.CompareAndSwap(n, n+1)
}

// spins looks for news for a while, and reports whether there are any. Not if the
// other side was last seen on the processor that this one needs for spinning.
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

// together reports whether both sides run on one processor, as far as is known.
func (d *Doorbell) sameCPU() bool {
	if d.currentCPU == nil {
		return false
	}
	here := d.currentCPU()
	d.cpu.Store(here)
	return here != 0 && here == d.other.Load()
}

// maxSpin bounds a spin, so that its ticks are a number of 64 bits on any processor. To
// who wants more, a month is as good as for ever.
const maxSpin = 30 * 24 * time.Hour

// spinTicks returns how far the counter of cpu.Ticks goes in that time.
func spinTicks(spin time.Duration) uint64 {
	return uint64(min(spin, maxSpin)) * cpu.TicksPerMicrosecond() / uint64(time.Microsecond)
}

// pauseChunk spins for 64 rounds, less than a microsecond: the goroutine cannot be
// preempted inside.
func pauseChunk() { cpu.Pause(64) }

// note tells a test what the waiter does.
func (d *Doorbell) note(s loopState) {
	if d.trace != nil {
		d.trace(s)
	}
}

// parker is the sleeper of goroutines of one program.
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
