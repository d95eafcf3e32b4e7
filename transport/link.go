package transport

import (
	"fmt"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
)

// Link is the wire between the host side and the worker side of a lane: two
// regions, each of which one side writes and the other only reads. In each lie
// the side word, the slots and the payloads of what that side sends, and what the
// other side waits on. Each side uses its own end, and nothing else.
type Link struct {
	host    HostEnd
	worker  WorkerEnd
	regions [2]Region
}

// NewLink makes a Link between goroutines of this program. On an error it has
// given back what it had got.
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
			_ = l.Close() // the first error is the one to tell of
			return nil, err
		}
	}
	if err := l.connect(&c, &halves[0], &halves[1]); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// open makes region i, and lays a half over it.
func (l *Link) open(i int, c *Config, table int) (half, error) {
	size := c.regionSize(table)
	r, err := c.NewRegion(size)
	if err != nil {
		return half{}, fmt.Errorf("transport: NewLink: %w", err)
	}
	l.regions[i] = r
	return newHalf(r.Bytes(), size, table)
}

// connect makes the two ends.
func (l *Link) connect(c *Config, requests, responses *half) error {
	bellOfHost, bellOfWorker := new(Doorbell), new(Doorbell)
	bellOfHost.init(responses.bell, requests.parked, requests.cpu, responses.cpu, newParker(), c.Spin)
	bellOfWorker.init(requests.bell, responses.parked, responses.cpu, requests.cpu, newParker(), c.Spin)
	epoch := time.Now()
	if err := l.host.init(c, requests, responses, bellOfHost, bellOfWorker, epoch); err != nil {
		return err
	}
	if err := l.worker.init(c, responses, requests, bellOfWorker, bellOfHost, epoch); err != nil {
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

// Worker returns the end of the side that answers them.
func (l *Link) Worker() *WorkerEnd { return &l.worker }

// Close gives the memory of the Link back. Nobody may use either end any more. It
// returns the first error of the regions.
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

// half is what lies in a region.
type half struct {
	side                      *Side
	bell, parked, cpu, closed *atomix.Uint32
	slots, table, arena       []byte
}

// newHalf lays a half with a table of that many bytes over a region.
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

// header and inline return the two parts of a slot.
func (h *half) header(slot int) []byte {
	at := slot * SlotBytes
	return h.slots[at : at+HeaderBytes : at+HeaderBytes]
}

func (h *half) inline(slot int) []byte {
	at := slot * SlotBytes
	return h.slots[at+HeaderBytes : at+SlotBytes : at+SlotBytes]
}

// HostEnd is the end that sends requests and receives the answers.
type HostEnd struct {
	End
	aborts  *AbortSet
	started []atomix.Uint32
}

// Aborts returns the set by which the host tells calls to abort.
func (h *HostEnd) Aborts() *AbortSet { return h.aborts }

// Started reports whether the worker has begun to run call i of those in flight,
// 0 to [Calls]-1, in this generation. When it has not, and is dead, the call can be
// sent elsewhere. A worker that lies can say what it likes.
func (h *HostEnd) Started(i int, generation uint32) bool {
	return h.started[i].Load() == generation
}

// WorkerEnd is the end that receives requests and sends the answers.
type WorkerEnd struct {
	End
	aborts  []atomix.Uint32
	started []atomix.Uint32
}

// Start says that the worker is about to run call i of those in flight, 0 to
// [Calls]-1. It comes before the first instruction of the function. A generation is
// not 0, and differs from those of the calls that had the index lately.
func (w *WorkerEnd) Start(i int, generation uint32) { w.started[i].Store(generation) }

// Aborted reports whether the host has told the call with that abort id to abort.
// It is one load.
func (w *WorkerEnd) Aborted(id AbortID) bool {
	word, bit := id.word()
	return word < len(w.aborts) && w.aborts[word].Load()&bit != 0
}
