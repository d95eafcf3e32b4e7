package transport

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
)

// Digest is a hash of what both sides of a [Link] must agree on, such as the functions that a header may name. The
// package compares no digests. The zero Digest is one like any other.
type Digest [32]byte

// hello is what a side says in the first line of its region before it sends a message. The host says which sizes the
// link has. The worker side repeats that, with its own digest.
type hello [offDigest + len(Digest{})]byte

// The parts of a hello. The mark is a word in the byte order of the machine, which the side stores last. The other
// numbers are little-endian.
const (
	offMark       = 0
	offGeneration = 4  // Config.Generation
	offEpoch      = 8  // the origin of the times of the link, in the clock of the Wakers
	offProcessors = 16 // of the host; 0: those of the program that reads it
	offFunctions  = 20
	offAborts     = 24
	offInitial    = 32
	offMax        = 40
	offPerValue   = 48
	offSpin       = 56
	offDigest     = 64

	layoutVersion = 1
	mark          = 0x4c57_0000 | layoutVersion
)

// newHello returns the hello of a host.
func newHello(c *Config, epoch int64, processors int) (m hello) {
	le := binary.LittleEndian
	le.PutUint32(m[offGeneration:], c.Generation)
	le.PutUint64(m[offEpoch:], uint64(epoch))
	le.PutUint32(m[offProcessors:], uint32(processors))
	le.PutUint32(m[offFunctions:], uint32(c.Functions))
	le.PutUint32(m[offAborts:], uint32(c.Aborts))
	le.PutUint64(m[offInitial:], uint64(c.PayloadInitial))
	le.PutUint64(m[offMax:], uint64(c.PayloadMax))
	le.PutUint64(m[offPerValue:], uint64(c.PayloadPerValue))
	le.PutUint64(m[offSpin:], uint64(c.Spin))
	return m.with(c.Digest)
}

// with returns m with another digest.
func (m hello) with(d Digest) hello {
	copy(m[offDigest:], d[:])
	return m
}

func (m *hello) digest() (d Digest) {
	copy(d[:], m[offDigest:])
	return d
}

// repeats reports whether m says the same as o, with any digest.
func (m *hello) repeats(o *hello) bool {
	return [offDigest - offGeneration]byte(m[offGeneration:]) == [offDigest - offGeneration]byte(o[offGeneration:])
}

func (m *hello) generation() uint32 { return binary.LittleEndian.Uint32(m[offGeneration:]) }
func (m *hello) epoch() int64       { return int64(binary.LittleEndian.Uint64(m[offEpoch:])) }
func (m *hello) processors() int32  { return int32(binary.LittleEndian.Uint32(m[offProcessors:])) }

// config returns the sizes. The error names one that no host of this version says, and matches [ErrHello].
func (m *hello) config() (Config, error) {
	short := func(off int) int { return int(min(binary.LittleEndian.Uint32(m[off:]), math.MaxInt32)) }
	long := func(off int) int { return int(min(binary.LittleEndian.Uint64(m[off:]), math.MaxInt)) }
	c := Config{
		Functions:       short(offFunctions),
		Aborts:          short(offAborts),
		PayloadInitial:  long(offInitial),
		PayloadMax:      long(offMax),
		PayloadPerValue: long(offPerValue),
		Spin:            time.Duration(binary.LittleEndian.Uint64(m[offSpin:])),
	}
	err := c.check()
	switch rest := c.PayloadInitial%blockBytes + c.PayloadMax%blockBytes; {
	case err == nil && rest != 0:
		err = fmt.Errorf("sizes of %d and %d bytes are no multiples of %d", c.PayloadInitial, c.PayloadMax, blockBytes)
	case err == nil && (m.processors() < 0 || m.epoch() < 0):
		err = fmt.Errorf("%d processors, times from %d on", m.processors(), m.epoch())
	}
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrHello, err)
	}
	return c, nil
}

// say writes m to the first line of a region, and then shows it to the other side.
func say(first []byte, m *hello) {
	copy(first[offGeneration:], m[offGeneration:])
	markOf(first).Store(mark)
}

// hear returns a copy of what the other side has said in the first line of its region. ok is false if it has said
// nothing yet. An error says why a side of this version has not said that, and matches [ErrHello].
func hear(first []byte) (m hello, ok bool, err error) {
	switch got := markOf(first).Load(); got {
	case 0:
		return m, false, nil
	case mark:
		copy(m[:], first)
		return m, true, nil
	case bits.ReverseBytes32(mark):
		return m, false, fmt.Errorf("%w: another byte order", ErrHello)
	default:
		return m, false, fmt.Errorf("%w: it begins with %#x, want %#x", ErrHello, got, mark)
	}
}

// markOf returns the mark in a first line.
func markOf(first []byte) *atomix.Uint32 { return &wordsAt(first, offMark, 1)[0] }
