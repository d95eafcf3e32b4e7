package transport

import (
	"unsafe"

	"github.com/lanewright/lanewright/internal/atomix"
)

// The rules of a slot.
var (
	FreeSlots  = freeSlots
	BusySlots  = busySlots
	EarlySlots = earlySlots
)

// NewSenderAt returns a Sender whose next ticket is t. Tests can then begin right
// before the wrap.
func NewSenderAt(own, peer *Side, slots int, t uint32) *Sender {
	s := NewSender(own, peer, slots)
	s.claims.Store(s.claims.Load() | uint64(t)<<32)
	return s
}

// Early returns the slots that the other side has acknowledged too early.
func (s *Sender) Early() uint32 { return s.early() }

// SideOffset and SideSize give the position of the word of a Side.
const (
	SideOffset = unsafe.Offsetof(Side{}.word)
	SideSize   = unsafe.Sizeof(Side{})
)

// Load returns the two halves of a side word.
func (s *Side) Load() (published, acked uint32) { return s.load() }

// Cheat inverts bits of a side word, whichever goroutine owns them.
func (s *Side) Cheat(published, acked uint32) {
	w := uint64(acked)<<32 | uint64(published)
	for old := s.word.Load(); !s.word.CompareAndSwap(old, old^w); old = s.word.Load() {
	}
}

// Slot returns the bytes of a slot that this end sends in.
func (e *End) Slot(slot int) []byte { return e.out.slots[slot*SlotBytes:][:SlotBytes] }

// Sides returns the side word that e writes, and the one of the other end.
func (e *End) Sides() (own, other *Side) { return e.out.side, e.in.side }

// Words returns the bell, parked, cpu and closed words of the region that this end writes.
func (e *End) Words() [4]*atomix.Uint32 {
	return [...]*atomix.Uint32{e.out.bell, e.out.parked, e.out.cpu, e.out.closed}
}

// Payloads returns the arena memory that this end writes.
func (e *End) Payloads() []byte { return e.out.arena }

// Regions returns the memory of the two directions.
func (l *Link) Regions() (requests, responses []byte) {
	return l.regions[0].Bytes(), l.regions[1].Bytes()
}

// The states of a waiter that Trace reports.
const (
	LoopWorking  = loopWorking
	LoopSpinning = loopSpinning
	LoopParked   = loopParked
)

// Trace makes d report each state that its waiter enters to f.
func (d *Doorbell) Trace(f func(state uint8)) { d.trace = func(s loopState) { f(uint8(s)) } }

// Clock gives d a clock and a pause of the test.
// The pause is called for each time that the spin reads the clock.
func (d *Doorbell) Clock(ticks func() uint64, pause func()) {
	rounds := 0
	d.ticks, d.pause = ticks, func() {
		if rounds++; rounds%chunkRounds == 1 {
			pause()
		}
	}
}

// Processors sets the processor of the waiter and the processor of the other side.
func (d *Doorbell) Processors(here func() uint32, there uint32) {
	d.currentCPU = here
	d.other.Store(there)
}

// Seen returns the processor that the waiter has stored for the other side.
func (d *Doorbell) Seen() uint32 { return d.cpu.Load() }

// Parked reports whether the waiter is parked, or about to be.
func (d *Doorbell) Parked() bool { return d.parked.Load() != 0 }

// TestWaker is the Waker of a test. Wake is called to wake either side.
type TestWaker struct {
	Clock  Waker
	OnPark func(until int64) (timeout bool)
	Wake   func()
}

func (w TestWaker) Park(_ *atomix.Uint32, _ uint32, until int64) bool { return w.OnPark(until) }
func (w TestWaker) WakePeer(*atomix.Uint32)                           { w.WakeOwn() }
func (w TestWaker) Now() int64                                        { return w.Clock.Now() }

func (w TestWaker) WakeOwn() {
	if w.Wake != nil {
		w.Wake()
	}
}

// SetWaker makes d park and wake through w.
func (d *Doorbell) SetWaker(w TestWaker) {
	w.Clock = d.waker
	d.waker = w
}

// SetWaker makes e park and wake through w.
func (e *End) SetWaker(w TestWaker) {
	e.bell.SetWaker(w)
	e.peer.SetWaker(w)
}

// NewWakers returns the Wakers of two goroutines.
func NewWakers() (one, other Waker) { return newGoroutines() }

// Epoch returns the origin of the times of e, in the clock of its Waker.
func (e *End) Epoch() int64 { return e.bell.epoch }

// Now returns the time of the clock of d.
func (d *Doorbell) Now() int64 { return d.now() }

// NoisyWakes is the number of wake-ups without a change that end a wait.
const NoisyWakes = noisyWakes

// Bells returns the doorbell that e waits on, and the one that it rings.
func (e *End) Bells() (own, other *Doorbell) { return &e.bell, &e.peer }

// SpinTicks returns the ticks of a spin.
var SpinTicks = spinTicks

// MaxPayloadMax is the largest size of the payload memory of a direction.
const MaxPayloadMax = maxPayloadMax

// GraceChunks is the number of chunks that a spinner too many spins.
const GraceChunks = graceChunks

// ChunkRounds is the number of looks of a spin for each look at the clock.
const ChunkRounds = chunkRounds

// HelloOf returns the first line of the regions that e writes and reads.
func (e *End) HelloOf() (own, other []byte) { return e.out.first, e.in.first }

// LayoutVersion is the version that a hello says, and Mark the word with which it begins.
const (
	LayoutVersion = layoutVersion
	Mark          = mark
)

// The numbers in the words of a doorbell, and the unit of an arena.
const (
	OnPublish  = onPublish
	OnAck      = onAck
	OnUrgent   = onUrgent
	BellStep   = bellStep
	BlockBytes = blockBytes
)

// Offsets of a region, and of the parts of its first line.
const (
	OffMark       = offMark
	OffGeneration = offGeneration
	OffEpoch      = offEpoch
	OffProcessors = offProcessors
	OffFunctions  = offFunctions
	OffAborts     = offAborts
	OffInitial    = offInitial
	OffMax        = offMax
	OffPerValue   = offPerValue
	OffSpin       = offSpin
	OffDigest     = offDigest

	OffSide   = offSide
	OffBell   = offBell
	OffParked = offParked
	OffCPU    = offCPU
	OffClosed = offClosed
	OffSlots  = offSlots
	OffTable  = offTable
	LineBytes = lineBytes
)
