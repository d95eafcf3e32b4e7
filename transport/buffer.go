package transport

import (
	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Buffer is a handle on bytes that have one owner at a time. [Move] passes the bytes to
// another owner without a copy. [Share] makes them readable by any number of
// goroutines. Both end the handle: every later use of it panics. The zero Buffer is
// empty.
//
// A Buffer belongs to one goroutine at a time. When two goroutines move or share it
// concurrently, one of them succeeds and the other one panics. A slice from
// [Buffer.Bytes] remains valid memory after the handle has ended. Go cannot revoke it,
// and it must not be used.
type Buffer struct {
	_     lfsync.NoCopy
	state atomix.Uint32 // bufferOwned, bufferMoved or bufferSent: CAS by the goroutine that changes it
	bytes []byte
}

// The states of a Buffer.
const (
	bufferOwned = iota // the handle has its bytes
	bufferMoved        // final: another handle has the bytes
	bufferSent         // in a Moved that no goroutine has taken
)

// NewBuffer returns a Buffer of n zero bytes.
func NewBuffer(n int) *Buffer { return &Buffer{bytes: make([]byte, n)} }

// Bytes returns the bytes without a copy. It panics when they were moved or shared.
func (b *Buffer) Bytes() []byte {
	if b.state.Load() != bufferOwned {
		panic("transport: Buffer.Bytes: the buffer was moved")
	}
	return b.bytes
}

// give ends the handle and returns the bytes. It panics with misuse when the handle has
// ended.
func (b *Buffer) give(misuse string) []byte {
	if !b.state.CompareAndSwap(bufferOwned, bufferMoved) {
		panic(misuse)
	}
	bytes := b.bytes
	b.bytes = nil
	return bytes
}

// Moved is a descriptor of a buffer in flight: it crosses the lane in place of the
// bytes. All copies of a Moved stand for the same buffer. [Moved.Take] makes the
// receiver its owner.
type Moved struct{ b *Buffer }

// Move ends b and returns a descriptor of its bytes. Every later use of b panics. Move
// panics when the bytes were moved or shared before.
func Move(b *Buffer) Moved {
	moved := &Buffer{bytes: b.give("transport: Move: the buffer was moved")}
	moved.state.Store(bufferSent)
	return Moved{moved}
}

// Take returns the handle of the new owner. It succeeds once. The sender of a refused
// call may take the buffer back. Take panics when the buffer was taken, and for the
// zero Moved.
func (m Moved) Take() *Buffer {
	if m.b == nil || !m.b.state.CompareAndSwap(bufferSent, bufferOwned) {
		panic("transport: Moved.Take: the buffer was taken")
	}
	return m.b
}

// Shared is a descriptor of bytes that are no longer written. Any number of copies may
// be held and read at the same time. The copies are not counted: the bytes are ordinary
// memory, which the garbage collector frees. The zero Shared is empty.
type Shared struct{ bytes []byte }

// Share ends b and makes its bytes readable by all goroutines. Every later use of b
// panics. Share panics when the bytes were moved or shared before.
func Share(b *Buffer) Shared {
	return Shared{b.give("transport: Share: the buffer was moved")}
}

// Bytes returns the bytes without a copy. They must not be written to, which Go cannot
// check; an append makes a copy.
func (s Shared) Bytes() []byte { return s.bytes[:len(s.bytes):len(s.bytes)] }
