package transport

import (
	"fmt"
	"math"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
)

// The sizes of a slot, in bytes.
const (
	HeaderBytes = 64                        // the record of a call, on its own cache line
	InlineBytes = 512                       // space for a payload that does not fit the header
	SlotBytes   = HeaderBytes + InlineBytes // header first
)

// Calls is the number of calls in flight for which a Link records whether they have
// started, see [WorkerEnd.Start].
const Calls = 1024

// lineBytes is the distance between words that different processors write. No processor
// that Go supports has longer cache lines, and a processor fetches at most two lines as
// a pair. The distance is the same on all processors, because the two sides of a Link
// must agree on it.
const lineBytes = 256

// The offsets in a region. The last line before the slots is reserved and zero.
const (
	offHello  = 0 * lineBytes              // see hello
	offSide   = 1 * lineBytes              // 8 bytes, see Side
	offBell   = 2 * lineBytes              // 4, the doorbell that the other side parks on
	offParked = 3 * lineBytes              // 4, whether this side is parked, and for which events
	offCPU    = 4 * lineBytes              // 4, 1 + the processor that this side waits on; 0: not known
	offClosed = 5 * lineBytes              // 4, not 0: this side has ended
	offSlots  = 7 * lineBytes              // Slots of SlotBytes
	offTable  = offSlots + Slots*SlotBytes // abort bits, or the words of started calls; then the arena
)

// ControlBytes is the size of a Link without payloads and abort bits: the words, the
// slots, and one word for each of the [Calls] calls.
const ControlBytes = 2*offTable + 4*Calls

// The defaults and limits of [Config].
const (
	DefaultPayloadInitial = 4 << 20
	DefaultPayloadMax     = 64 << 20
	DefaultAborts         = 258
	MaxAborts             = 65_534 // ids have 16 bits
	DefaultSpin           = 46 * time.Microsecond

	minPayloadMax = 8 * blockBytes // one value may take an eighth of it, which is then one block
	// Offsets have 32 bits, and the size of a whole region must fit an int.
	maxPayloadMax = min(1<<32-blockBytes, (math.MaxInt-offTable-maxTable)&^(blockBytes-1))
	maxTable      = 8 << 10 // bytes: abort bits, at most; the words of started calls take less
)

// Config sets the sizes of a Link and the spin time of its ends. The zero Config stands
// for the defaults.
type Config struct {
	// PayloadInitial is the number of payload bytes that each direction holds before it
	// grows: 4 MiB if it is 0, or PayloadMax if that is less. It and PayloadMax are
	// rounded up to a multiple of 64.
	PayloadInitial int
	// PayloadMax is the number of payload bytes to which each direction can grow, 64
	// MiB if it is 0. It is at least 512 and less than 4 GiB. Where an int has 32 bits,
	// the upper bound is some 28 KiB less than 2 GiB.
	PayloadMax int
	// PayloadPerValue is the length of the longest single payload in bytes. It is
	// PayloadMax/8 if it is 0, and at most that.
	PayloadPerValue int
	// Aborts is the number of calls in flight that can be aborted: 258 if it is 0, at
	// most 65,534.
	Aborts int
	// Functions is the number of functions that a header may name, from 0 on: 65,536 if
	// it is 0.
	Functions int
	// Spin is the time for which an end polls before it parks. It is 46 µs if it is 0,
	// about the time that it takes to wake a processor. An end does not spin if Spin is
	// negative, or if the host has one processor (its GOMAXPROCS is 1). It does not spin
	// after the deadline of its wait.
	Spin time.Duration
	// Generation is for [WorkerEnd.Generation]. It distinguishes the workers that a host starts
	// one after another.
	Generation uint32
	// Digest is for [WorkerEnd.Digest].
	Digest Digest
	// NewRegion makes the memory of a direction, first that of [Requests]. The two may
	// differ, such as in their protection. nil stands for [NewHeap].
	NewRegion func(d Direction, size int) (Region, error)
}

// withDefaults returns c with the defaults in place of zeros, or an error that names
// the field that is not valid.
func (c Config) withDefaults() (Config, error) {
	setDefault(&c.PayloadMax, DefaultPayloadMax)
	setDefault(&c.PayloadInitial, min(DefaultPayloadInitial, c.PayloadMax))
	setDefault(&c.PayloadPerValue, c.PayloadMax/8)
	setDefault(&c.Aborts, DefaultAborts)
	setDefault(&c.Functions, MaxFunctions)
	setDefault(&c.Spin, DefaultSpin)
	if c.NewRegion == nil {
		c.NewRegion = func(_ Direction, size int) (Region, error) { return NewHeap(size) }
	}
	if err := c.check(); err != nil {
		return c, fmt.Errorf("transport: Config.%w", err)
	}
	c.PayloadInitial = roundUp(c.PayloadInitial, blockBytes)
	c.PayloadMax = roundUp(c.PayloadMax, blockBytes)
	return c, nil
}

// check returns an error that names the field that is out of range.
func (c *Config) check() error {
	for _, f := range []struct {
		name           string
		n, least, most int64
	}{
		{"PayloadMax", int64(c.PayloadMax), minPayloadMax, maxPayloadMax},
		{"PayloadInitial", int64(c.PayloadInitial), 1, int64(c.PayloadMax)},
		{"PayloadPerValue", int64(c.PayloadPerValue), 1, int64(c.PayloadMax / 8)},
		{"Aborts", int64(c.Aborts), 1, MaxAborts},
		{"Functions", int64(c.Functions), 1, MaxFunctions},
	} {
		if f.n < f.least || f.n > f.most {
			return fmt.Errorf("%s is %d, want %d to %d", f.name, f.n, f.least, f.most)
		}
	}
	return nil
}

// setDefault sets a zero value to its default.
func setDefault[T int | time.Duration](v *T, def T) {
	if *v == 0 {
		*v = def
	}
}

// AbortBytes returns the number of bytes that the abort bits of that many calls take:
// 32 bits to a word, in whole lines of 64 bytes.
func AbortBytes(aborts int) int { return roundUp((aborts+31)/32*4, 64) }

// Footprint returns the number of bytes that a Link may take before a payload makes it
// grow: the mailboxes and words of both directions, the abort bits, and the payloads of
// both directions at their initial size. The largest size of a Link is the same sum
// with PayloadMax in place of PayloadInitial.
func Footprint(c Config) int64 {
	c, _ = c.withDefaults()
	return ControlBytes + int64(AbortBytes(c.Aborts)) + 2*int64(c.PayloadInitial)
}

// RegionSize returns the number of bytes of the memory of a direction at its largest size. The error names the field
// when c is not valid.
func (c Config) RegionSize(d Direction) (int, error) {
	c, err := c.withDefaults()
	if err != nil {
		return 0, err
	}
	return c.regionSize(d), nil
}

func (c *Config) regionSize(d Direction) int { return offTable + c.table(d) + c.PayloadMax }

// table returns the number of bytes between the slots and the arena of a direction.
func (c *Config) table(d Direction) int {
	if d == Answers {
		return 4 * Calls
	}
	return AbortBytes(c.Aborts)
}

// abortWords returns the abort bits in the table of the requests.
func (c *Config) abortWords(table []byte) []atomix.Uint32 { return wordsAt(table, 0, (c.Aborts+31)/32) }

// roundUp returns the least multiple of unit, a power of two, that is at least n.
func roundUp(n, unit int) int { return (n + unit - 1) &^ (unit - 1) }
