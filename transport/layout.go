package transport

import (
	"fmt"
	"math"
	"time"
)

// The sizes of a slot, in bytes.
const (
	HeaderBytes = 64                        // the record of a call, on a line of its own
	InlineBytes = 512                       // room for a payload that does not fit the header
	SlotBytes   = HeaderBytes + InlineBytes // header first
)

// Calls is how many calls in flight a Link keeps a started word for.
const Calls = 1024

// lineBytes is the distance between words that different processors write. No
// processor that Go knows has longer lines, two of them are fetched as a pair at
// most, and it is the same everywhere: the two sides of a Link agree on it.
const lineBytes = 256

// Where things lie in a region. The first line and the last before the slots are
// reserved, and zero: for what two processes tell each other when they meet, and for
// the clock that they share.
const (
	offSide   = 1 * lineBytes              // 8 bytes, see Side
	offBell   = 2 * lineBytes              // 4, what the other side parks on
	offParked = 3 * lineBytes              // 4, whether this side is parked, and for what
	offCPU    = 4 * lineBytes              // 4, 1 + the processor that this side waits on; 0: not known
	offClosed = 5 * lineBytes              // 4, not 0: this side has ended
	offSlots  = 7 * lineBytes              // Slots of SlotBytes
	offTable  = offSlots + Slots*SlotBytes // abort bits, or started words; then the arena
)

// ControlBytes is what a Link takes apart from payloads and abort bits: the words,
// the slots, and the started words.
const ControlBytes = 2*offTable + 4*Calls

// The defaults and limits of [Config].
const (
	DefaultPayloadInitial = 4 << 20
	DefaultPayloadMax     = 64 << 20
	DefaultAborts         = 258
	MaxAborts             = 65_534 // ids have 16 bits
	DefaultSpin           = 46 * time.Microsecond

	minPayloadMax = 8 * blockBytes // an eighth of it is a block
	// Offsets have 32 bits, and an int holds the size of a whole region.
	maxPayloadMax = min(1<<32-blockBytes, (math.MaxInt-offTable-maxTable)&^(blockBytes-1))
	maxTable      = 8 << 10 // bytes: abort bits, at most; started words take less
)

// Config says how large a Link is and how its ends wait. The zero Config is the
// default.
type Config struct {
	// PayloadInitial is how many bytes of payloads fit in each direction at first,
	// 4 MiB (or PayloadMax, if that is less) if it is 0. It and PayloadMax are
	// rounded up to 64.
	PayloadInitial int
	// PayloadMax is up to how many bytes that grows, 64 MiB if it is 0. At least
	// 512, and less than 4 GiB; where an int has 32 bits, some 28 KiB less than 2 GiB.
	PayloadMax int
	// PayloadPerValue is the longest single payload in bytes: PayloadMax/8 if it
	// is 0, and not more than that.
	PayloadPerValue int
	// Aborts is how many calls at a time can be told to abort: 258 if it is 0, at
	// most 65,534.
	Aborts int
	// Functions is how many functions a header may name, from 0 on: 65,536 if it
	// is 0.
	Functions int
	// Spin is how long an end looks for news before it parks: 46 µs, about what
	// it takes to wake a processor, if it is 0; not at all if it is negative, or
	// if the program has one processor (GOMAXPROCS is 1).
	Spin time.Duration
	// NewRegion makes the memory of each direction. [NewHeap] if it is nil.
	NewRegion func(size int) (Region, error)
}

// fill returns c with the defaults in place of zeros, or says which field cannot
// be meant.
func (c Config) withDefaults() (Config, error) {
	setDefault(&c.PayloadMax, DefaultPayloadMax)
	setDefault(&c.PayloadInitial, min(DefaultPayloadInitial, c.PayloadMax))
	setDefault(&c.PayloadPerValue, c.PayloadMax/8)
	setDefault(&c.Aborts, DefaultAborts)
	setDefault(&c.Functions, MaxFunctions)
	setDefault(&c.Spin, DefaultSpin)
	if c.NewRegion == nil {
		c.NewRegion = NewHeap
	}
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
			return c, fmt.Errorf("transport: Config.%s is %d, want %d to %d", f.name, f.n, f.least, f.most)
		}
	}
	c.PayloadInitial = roundUp(c.PayloadInitial, blockBytes)
	c.PayloadMax = roundUp(c.PayloadMax, blockBytes)
	return c, nil
}

// or sets what is zero to the default.
func setDefault[T int | time.Duration](v *T, def T) {
	if *v == 0 {
		*v = def
	}
}

// AbortBytes returns how many bytes the abort bits of that many calls take: 32 a
// word, in whole lines of 64.
func AbortBytes(aborts int) int { return roundUp((aborts+31)/32*4, 64) }

// Footprint returns how many bytes of memory a Link may take before a payload makes
// it grow: the mailboxes and words of both directions, the abort bits, and the
// payloads of both directions at their initial size. It grows to that with
// PayloadMax in place of PayloadInitial.
func Footprint(c Config) int64 {
	c, _ = c.withDefaults()
	return ControlBytes + int64(AbortBytes(c.Aborts)) + 2*int64(c.PayloadInitial)
}

// requestTable and responseTable return how many bytes lie between the slots and
// the arena of a direction.
func (c *Config) requestTable() int  { return AbortBytes(c.Aborts) }
func (c *Config) responseTable() int { return 4 * Calls }

// regionSize returns how many bytes a direction takes at most, with a table of
// that many bytes.
func (c *Config) regionSize(table int) int { return offTable + table + c.PayloadMax }

// roundUp returns the least multiple of unit, a power of two, that is not less
// than n.
func roundUp(n, unit int) int { return (n + unit - 1) &^ (unit - 1) }
