package fuzz_test

import (
	"testing"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/transport"
)

// The layout of a region, as the package comment of transport states it.
const (
	offGeneration = 4
	offFunctions  = 20
	offAborts     = 24
	offMax        = 40
	offPerValue   = 48
	offSpin       = 56
	offDigest     = 64
	endHello      = 96
	offSide       = 256
	offBell       = 512
	offParked     = 768
	offCPU        = 1024
	offClosed     = 1280
	offSlots      = 1792
	offTable      = offSlots + transport.Slots*transport.SlotBytes
)

// memory is the memory of one direction. It does not end with a link: each input uses it again.
type memory []byte

func (m memory) Bytes() []byte { return m }
func (memory) Close() error    { return nil }

// linkSizes is a link for which two regions are quickly compared. Offsets in a region fit 16 bits.
var linkSizes = transport.Config{
	PayloadInitial: 1 << 10, PayloadMax: 8 << 10, PayloadPerValue: 1000, Functions: 4, Aborts: 40, Spin: -1,
	Generation: 3, Digest: transport.Digest{1, 31: 2},
}

// linkMemory returns the memory of the two directions of a link with linkSizes.
func linkMemory(tb testing.TB) (m [2]memory) {
	tb.Helper()
	for d := range m {
		size, err := linkSizes.RegionSize(transport.Direction(d))
		if err != nil {
			tb.Fatal(err)
		}
		m[d] = guarded(tb, size)
	}
	return m
}

// standstill is a Waker with a clock that advances by waits only. A wait that no ring ends lasts until its deadline.
// So a test needs no time.
type standstill struct {
	now    *int64 // of both sides
	until  int64  // the latest end of a Park; 0: no Park is allowed
	inside func() // what happens in each Park, before its end; nil: nothing
	woken  bool
	parks  int
	fail   func(args ...any) // ends the test
}

// Park returns at once if the bell has another value than seen, as a kernel does.
func (s *standstill) Park(bell *atomix.Uint32, seen uint32, until int64) bool {
	if s.parks++; s.parks > maxParks || until <= 0 || until > s.until {
		s.fail("Park number ", s.parks, " until ", until, ", and the deadline is ", s.until)
	}
	if s.inside != nil && bell.Load() == seen {
		s.inside()
	}
	if woken := s.woken; woken || bell.Load() != seen {
		s.woken = false
		return false
	}
	*s.now = max(*s.now, until)
	return true
}

func (s *standstill) WakeOwn()              { s.woken = true }
func (*standstill) WakePeer(*atomix.Uint32) {} // the bell has another value, which Park sees
func (s *standstill) Now() int64            { return *s.now }

// bootTime is the time of the clock at which a link begins.
const bootTime = int64(1) << 40

// maxParks is the number of parks after which a wait ends with Noise.
const maxParks = 64
