package transport_test

import (
	"bytes"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/transport"
)

// TestMove checks that the new owner gets the bytes of the old one and not a copy. The
// law holds over several moves. K-063.
func TestMove(t *testing.T) {
	b := transport.NewBuffer(100)
	if len(b.Bytes()) != 100 || !bytes.Equal(b.Bytes(), make([]byte, 100)) {
		t.Fatalf("a new buffer of 100 holds %v", b.Bytes())
	}
	first := &b.Bytes()[0]
	for i := range 3 {
		b.Bytes()[i] = byte(i + 1)
		b = transport.Move(b).Take()
		if &b.Bytes()[0] != first || len(b.Bytes()) != 100 {
			t.Fatalf("move %d: the bytes were copied", i)
		}
	}
	if !bytes.Equal(b.Bytes()[:4], []byte{1, 2, 3, 0}) {
		t.Errorf("the bytes are %v", b.Bytes()[:4])
	}
	shared := transport.Share(b)
	if again := shared; &again.Bytes()[0] != first {
		t.Error("the shared bytes are others")
	}
	if got := append(shared.Bytes(), 1); &got[0] == first {
		t.Error("an append to shared bytes made no copy")
	}
}

// TestMoveUse checks that a handle has ended for good once its bytes were moved or
// shared. The new owner may have moved them again. K-063.
func TestMoveUse(t *testing.T) {
	moved, taken := transport.NewBuffer(1), transport.NewBuffer(1)
	m := transport.Move(moved)
	m2 := transport.Move(taken)
	next := m2.Take()
	shared := transport.NewBuffer(1)
	transport.Share(shared)
	dead := func(t *testing.T, b *transport.Buffer) {
		t.Helper()
		wantPanic(t, "transport: Buffer.Bytes: the buffer was moved", func() { b.Bytes() })
		wantPanic(t, "transport: Move: the buffer was moved", func() { transport.Move(b) })
		wantPanic(t, "transport: Share: the buffer was moved", func() { transport.Share(b) })
	}
	for name, b := range map[string]*transport.Buffer{"moved": moved, "taken": taken, "shared": shared} {
		t.Run(name, func(t *testing.T) { dead(t, b) })
	}
	wantPanic(t, "transport: Moved.Take: the buffer was taken", func() { m2.Take() })
	wantPanic(t, "transport: Moved.Take: the buffer was taken", func() { transport.Moved{}.Take() })
	transport.Move(next).Take()
	dead(t, next)
	dead(t, taken)
	if b := m.Take(); len(b.Bytes()) != 1 { // the sender may take it back
		t.Error("the buffer is not as it was")
	}
	dead(t, moved)
}

// TestBufferZero checks that the zero values are empty.
func TestBufferZero(t *testing.T) {
	var b transport.Buffer
	var s transport.Shared
	if len(b.Bytes()) != 0 || len(s.Bytes()) != 0 || len(transport.NewBuffer(0).Bytes()) != 0 {
		t.Error("a zero value holds bytes")
	}
	if len(transport.Move(&b).Take().Bytes()) != 0 {
		t.Error("a moved zero value holds bytes")
	}
}

// TestMoveOnce checks that one of several goroutines that take a buffer gets it. K-063.
func TestMoveOnce(t *testing.T) {
	for range rounds(2000) {
		m := transport.Move(transport.NewBuffer(8))
		var got atomic.Int32
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				defer func() { _ = recover() }()
				m.Take().Bytes()[0]++ // the race detector reports two owners
				got.Add(1)
			})
		}
		wg.Wait()
		if got.Load() != 1 {
			t.Fatalf("%d goroutines have taken the buffer", got.Load())
		}
	}
}

// BenchmarkMove measures the move of a buffer. The cost does not depend on the size.
// K-063.
func BenchmarkMove(b *testing.B) {
	b.ReportAllocs()
	buf := transport.NewBuffer(64 << 10)
	first := &buf.Bytes()[0]
	for b.Loop() {
		buf = transport.Move(buf).Take()
	}
	if &buf.Bytes()[0] != first {
		b.Fatal("the bytes were copied")
	}
}
