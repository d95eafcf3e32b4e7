package transport

import (
	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Buffer is a handle on bytes that have one owner at a time. [Move] hands the
// bytes on without a copy, and [Share] makes them readable by many; both end the
// handle, and whatever is done with it later panics. The zero Buffer is empty.
//
// A Buffer belongs to one goroutine at a time; when two of them move or share one,
// only one can. What a goroutine has kept of Bytes outlives the handle: Go cannot
// take it away, and it must not be used.
type Buffer struct {
	_     lfsync.NoCopy
	state atomix.Uint32 // bufferOwned, bufferMoved, bufferSent: CAS by who changes it
	bytes []byte
}

// The states of a Buffer.
const (
	bufferOwned = iota // its bytes are its own
	bufferMoved        // for good: another handle has them
	bufferSent         // in a Moved that nobody has taken
)

// NewBuffer returns a Buffer of n zero bytes.
func NewBuffer(n int) *Buffer { return &Buffer{bytes: make([]byte, n)} }

// Bytes returns the bytes themselves, no copy. It panics when they were moved or
// shared.
func (b *Buffer) Bytes() []byte {
	if b.state.Load() != bufferOwned {
		panic("transport: Buffer.Bytes: the buffer was moved")
	}
	return b.bytes
}

// give ends the handle and returns the bytes.
func (b *Buffer) give(misuse string) []byte {
	if !b.state.CompareAndSwap(bufferOwned, bufferMoved) {
		panic(misuse)
	}
	bytes := b.bytes
	b.bytes = nil
	return bytes
}

// Moved is a buffer on its way: what crosses a lane is this descriptor. Copies of
// it are the same one.
type Moved struct{ b *Buffer }

// Move takes the bytes out of b, for good: whatever is done with b afterwards
// panics. It panics when they were moved or shared before.
func Move(b *Buffer) Moved {
	moved := &Buffer{bytes: b.give("transport: Move: the buffer was moved")}
	moved.state.Store(bufferSent)
	return Moved{moved}
}

// Take returns the handle of the new owner, once. The sender of a call that was
// refused may take the buffer back. It panics when the buffer was taken, and for
// the zero Moved.
func (m Moved) Take() *Buffer {
	if m.b == nil || !m.b.state.CompareAndSwap(bufferSent, bufferOwned) {
		panic("transport: Moved.Take: the buffer was taken")
	}
	return m.b
}

// Shared is a descriptor of bytes that nobody changes any more. Any number of
// copies may be held and read at the same time. It has no count of them: the
// bytes are ordinary memory, which the garbage collector gives back. The zero
// Shared is empty.
type Shared struct{ bytes []byte }

// Share makes the bytes of b readable by all, for good: whatever is done with b
// afterwards panics. It panics when they were moved or shared before.
func Share(b *Buffer) Shared {
	return Shared{b.give("transport: Share: the buffer was moved")}
}

// Bytes returns the bytes themselves, no copy. They must not be written to, which
// Go cannot check; an append makes a copy.
func (s Shared) Bytes() []byte { return s.bytes[:len(s.bytes):len(s.bytes)] }
