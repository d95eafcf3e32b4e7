package transport

import (
	"fmt"

	"github.com/lanewright/lanewright/internal/atomix"
)

// Link connects the host side and the worker side of a lane. It consists of two
// regions; one side writes each region, and the other side only reads it. A region
// holds the side word, the slots and the payloads of its writing side, and the words on
// which the other side waits.
//
// [NewLink] makes a Link between goroutines of this program. Each side uses its own
// end, [Link.Host] or [Link.Worker], and touches nothing of the other end. [Link.Close]
// gives the memory back when neither end is in use.
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
	tables := [2]int{c.requestTable(), c.responseTable()}
	var halves [2]half
	for i := range halves {
		if halves[i], err = l.open(i, &c, tables[i]); err != nil {
			_ = l.Close() // the first error is the one to return
			return nil, err
		}
	}
	if err := l.connect(&c, &halves[0], &halves[1]); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// open makes region i and divides it into the parts of a half. table is the number of
// bytes between the slots and the arena.
func (l *Link) open(i int, c *Config, table int) (half, error) {
	size := c.regionSize(table)
	r, err := c.NewRegion(Direction(i), size)
	if err != nil {
		return half{}, fmt.Errorf("transport: NewLink: %w", err)
	}
	l.regions[i] = r
	return newHalf(r.Bytes(), size, table)
}

// connect makes the two ends over the two halves.
func (l *Link) connect(c *Config, requests, responses *half) error {
	now := newClock()
	host, worker := newGoroutines(now)
	if err := l.host.init(c, requests, responses, host, now); err != nil {
		return err
	}
	if err := l.worker.init(c, responses, requests, worker, now); err != nil {
		return err
	}
	l.worker.aborts = wordsAt(requests.table, 0, (c.Aborts+31)/32)
	l.worker.started = wordsAt(responses.table, 0, Calls)
	l.host.started = l.worker.started
	aborts, err := NewAbortSet(c.Aborts, l.worker.aborts)
	l.host.aborts = aborts
	return err
}

// Host returns the end of the side that sends requests.
func (l *Link) Host() *HostEnd { return &l.host }

// Worker returns the end of the side that answers requests.
func (l *Link) Worker() *WorkerEnd { return &l.worker }

// Close gives the memory of the Link back. It must be called after the last use of both
// ends. It returns the first error of the regions.
func (l *Link) Close() (err error) {
	for i, r := range l.regions {
		if r == nil {
			continue
		}
		l.regions[i] = nil
		if e := r.Close(); err == nil {
			err = e
		}
	}
	return err
}

// half is the contents of one region.
type half struct {
	side                      *Side
	bell, parked, cpu, closed *atomix.Uint32
	slots, table, arena       []byte
}

// newHalf divides a region into the parts of a half. table is the number of bytes
// between the slots and the arena.
func newHalf(b []byte, size, table int) (half, error) {
	if !fits(b, size) {
		return half{}, fmt.Errorf("transport: NewLink: %w", ErrRegion)
	}
	word := func(off int) *atomix.Uint32 { return &wordsAt(b, off, 1)[0] }
	return half{
		side: sideAt(b, offSide),
		bell: word(offBell), parked: word(offParked), cpu: word(offCPU), closed: word(offClosed),
		slots: b[offSlots:offTable],
		table: b[offTable : offTable+table],
		arena: b[offTable+table : size],
	}, nil
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

// Started reports whether the worker side has started the call with that id, see [CallID]. It returns
// false for an id that [WorkerEnd.Start] refuses. A call that a dead worker side has not
// started can be sent to another one. A dishonest worker side can make Started return
// either result.
func (h *HostEnd) Started(id uint64) bool {
	word, generation, err := startedWord(h.started, id)
	return err == nil && word.Load() == generation
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
// come from a host that breaks the rules. Start then returns [ErrBadCall] and marks nothing.
func (w *WorkerEnd) Start(id uint64) error {
	word, generation, err := startedWord(w.started, id)
	if err != nil {
		return err
	}
	word.Store(generation)
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
	return word < len(w.aborts) && w.aborts[word].Load()&bit != 0
}
