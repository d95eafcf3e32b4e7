package transport

import (
	"fmt"
	"runtime"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/crash"
)

// Link connects the host side and the worker side of a lane. It consists of two
// regions; one side writes each region, and the other side only reads it. A region
// holds the side word, the slots and the payloads of its writing side, and the words on
// which the other side waits.
//
// [NewLink] makes a Link between goroutines of this program. Each side uses its own
// end, [Link.Host] or [Link.Worker], and touches nothing of the other end. Of a link
// between two processes, each process has one end, which [NewHost] or [NewWorker] makes.
type Link struct {
	host    HostEnd
	worker  WorkerEnd
	regions [2]Region
}

// NewLink makes a Link between goroutines of this program. It returns an error that
// names the field when c is not valid, [ErrRegion] when a region does not fit, and the
// error of Config.NewRegion. On an error it has closed the regions that it had made.
func NewLink(c Config) (*Link, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	l := new(Link)
	for d := range l.regions {
		r, err := c.NewRegion(Direction(d), c.regionSize(Direction(d)))
		if err != nil {
			l.closeRegions()
			return nil, fmt.Errorf("transport: NewLink: %w", err)
		}
		l.regions[d] = r
	}
	if err := l.connect(&c); err != nil {
		l.closeRegions()
		return nil, err
	}
	return l, nil
}

// connect makes the two ends over the regions. They are in one program, so each of them uses the number of processors
// that this program has at the moment.
func (l *Link) connect(c *Config) error {
	host, worker := newGoroutines()
	if err := l.host.open(c, 0, l.regions[Requests], l.regions[Answers], host); err != nil {
		return err
	}
	return l.worker.open(l.regions[Requests], l.regions[Answers], worker)
}

// closeRegions closes the regions of a Link that is not made. The first error is the one to return.
func (l *Link) closeRegions() {
	for _, r := range l.regions {
		if r != nil {
			_ = r.Close()
		}
	}
}

// Host returns the end of the side that sends requests.
func (l *Link) Host() *HostEnd { return &l.host }

// Worker returns the end of the side that answers requests.
func (l *Link) Worker() *WorkerEnd { return &l.worker }

// Close closes both ends and gives the memory of the Link back. The ends may still be in use if the Close of the
// regions permits it, see [End.Unmap]. It returns the errors of the regions. A second call does nothing. One
// goroutine at a time may call it.
func (l *Link) Close() (err error) {
	if l.host.isLost() {
		return nil
	}
	l.worker.detach()
	l.host.detach()
	return closeAll(&l.regions)
}

// half is the contents of one region.
type half struct {
	side                      *Side
	bell, parked, cpu, closed *atomix.Uint32
	first                     []byte // see hello
	slots, table, arena       []byte
}

// newHalf divides the region of a direction into the parts of a half.
func newHalf(c *Config, d Direction, r Region) (half, error) {
	b, size := r.Bytes(), c.regionSize(d)
	if !fits(b, size) {
		return half{}, fmt.Errorf("transport: %v: %w", d, ErrRegion)
	}
	word := func(off int) *atomix.Uint32 { return &wordsAt(b, off, 1)[0] }
	arena := offTable + c.table(d)
	return half{
		side: sideAt(b, offSide),
		bell: word(offBell), parked: word(offParked), cpu: word(offCPU), closed: word(offClosed),
		first: b[offHello : offHello+lineBytes : offHello+lineBytes],
		slots: b[offSlots:offTable],
		table: b[offTable:arena],
		arena: b[arena:size],
	}, nil
}

// isUsed reports whether a side has said or done something in the region.
func (h *half) isUsed() bool {
	return h.side.word.Load() != 0 || markOf(h.first).Load() != 0 || h.bell.Load()|h.parked.Load()|h.closed.Load() != 0
}

// header returns the bytes of the header of a slot.
func (h *half) header(slot int) []byte {
	at := slot * SlotBytes
	return h.slots[at : at+HeaderBytes : at+HeaderBytes]
}

// inline returns the bytes of a slot behind its header.
func (h *half) inline(slot int) []byte {
	at := slot * SlotBytes
	return h.slots[at+HeaderBytes : at+SlotBytes : at+SlotBytes]
}

// HostEnd is the end of a [Link] that sends requests and receives the answers. In
// addition to the methods of [End] it aborts calls, and reports which calls the worker
// side has started.
type HostEnd struct {
	End
	aborts  *AbortSet
	started []atomix.Uint32
}

// Aborts returns the set of flags by which the host asks running calls to abort.
func (h *HostEnd) Aborts() *AbortSet { return h.aborts }

// Started reports whether the worker side has started the call with that id, see [CallID]. For an id that
// CallID does not return it returns false. A call that a dead worker side has not
// started can be sent to another one. A dishonest worker side can make Started return
// either result. After the memory was given back, Started returns true.
func (h *HostEnd) Started(id uint64) bool {
	word, generation, err := startedWord(h.started, id)
	started := err == nil && word.Load() == generation
	return started || h.isLost() // U1
}

// WorkerEnd is the end of a [Link] that receives requests and sends the answers. In
// addition to the methods of [End] it marks calls as started and polls their abort
// flags.
type WorkerEnd struct {
	End
	aborts  []atomix.Uint32
	started []atomix.Uint32
}

// Start marks the call with that id as started, see [CallID]. The worker side calls Start before
// the first instruction of the function of the call. An id that CallID does not return has
// come from a host that breaks the rules. Start then returns [ErrBadCall] and marks nothing. After Unmap it returns
// [ErrClosed], because the host may take the call for one that has not started.
func (w *WorkerEnd) Start(id uint64) error {
	word, generation, err := startedWord(w.started, id)
	if err != nil {
		return err
	}
	crash.At(crash.BeforeStarted)
	word.Store(generation)
	crash.At(crash.AfterStarted)
	if w.isLost() { // U1
		return ErrClosed
	}
	return nil
}

// CallID returns the id of a call, which its header and that of its answer have. index is the
// number of the call among those in flight, 0 to [Calls]-1. The generation is not 0, and
// differs from the generations of the last calls with the same index. CallID panics if
// index or generation is out of range.
func CallID(index int, generation uint32) uint64 {
	if index < 0 || index >= Calls || generation == 0 {
		panic(fmt.Sprintf("transport: CallID: index %d, generation %d: want an index of 0 to %d, and a generation that is not 0", index, generation, Calls-1))
	}
	return uint64(generation)<<32 | uint64(index)
}

// startedWord returns the word of the call with that id, and the generation of the call.
func startedWord(words []atomix.Uint32, id uint64) (word *atomix.Uint32, generation uint32, err error) {
	index, generation := uint32(id), uint32(id>>32)
	if index >= Calls || generation == 0 {
		return nil, 0, fmt.Errorf("%w: %#x", ErrBadCall, id)
	}
	return &words[index], generation, nil
}

// Aborted reports whether the host has set the abort flag of a call. It is one load.
func (w *WorkerEnd) Aborted(id AbortID) bool {
	word, bit := id.word()
	set := word < len(w.aborts) && w.aborts[word].Load()&bit != 0
	runtime.KeepAlive(w) // the memory is unmapped when w is collected
	return set
}
