package fuzz_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/lanewright/lanewright/transport"
)

// helloChange is a change of one byte in the memory of a link whose sides say hello.
type helloChange struct {
	before int                 // which step comes next: 0 NewHost, 1 NewWorker, 2 the look of the host at the greeting
	region transport.Direction // of which memory
	off    int
	xor    byte
}

// helloStart makes both sides of a link over memory that changes, as far as they accept it. The rules:
//
//   - NewHost refuses memory in which a side has said or done something, and no other. Everything else in the memory
//     is without effect.
//   - NewWorker refuses memory with ErrHello or ErrRegion. NewHost with the sizes of an accepted hello says the same
//     hello. The time of the end is more than 0.
//   - Greeting returns a digest if the worker side repeats the hello of the host. Otherwise it returns ErrHello, or
//     nothing before the worker side has said anything.
//   - The two sides exchange messages of all tiers if both have accepted each other and nothing has changed since.
//   - No side reads or writes behind the memory, and no side writes the memory of the other.
func helloStart(t *testing.T, m [2]memory, changes []helloChange) {
	t.Helper()
	clear(m[0])
	clear(m[1])
	now := bootTime
	one, other := &standstill{now: &now}, &standstill{now: &now}
	apply := func(step int) {
		for _, c := range changes {
			if c.before == step && c.off < len(m[c.region]) {
				m[c.region][c.off] ^= c.xor
			}
		}
	}

	apply(0)
	used := isUsed(m[0]) || isUsed(m[1])
	h, err := transport.NewHost(linkSizes, m[0], m[1], one)
	if used != errors.Is(err, transport.ErrRegion) || (err == nil) != (h != nil) {
		t.Fatalf("NewHost = %v, %v; the memory was used: %t", h, err, used)
	}
	if err != nil {
		return
	}
	if _, ok, err := h.Greeting(); ok || err != nil {
		t.Fatalf("Greeting = %t, %v before the worker side has said anything", ok, err)
	}
	said := bytes.Clone(m[0][:endHello])

	apply(1)
	before := bytes.Clone(m[0])
	w, err := transport.NewWorker(m[0], m[1], other)
	if (err == nil) != (w != nil) || err != nil && !errors.Is(err, transport.ErrHello) && !errors.Is(err, transport.ErrRegion) {
		t.Fatalf("NewWorker = %v, %v", w, err)
	}
	if err != nil {
		return
	}
	heard := bytes.Clone(m[0][:endHello])
	wantHello(t, heard, w)
	w.Greet(transport.Digest{9})
	if !bytes.Equal(before, m[0]) {
		t.Fatal("the worker side has written the memory of the host")
	}

	apply(2)
	answer := bytes.Clone(m[1][:endHello])
	d, ok, err := h.Greeting()
	switch repeats := bytes.Equal(answer[:offDigest], said[:offDigest]); {
	case ok != repeats || ok && [32]byte(answer[offDigest:]) != [32]byte(d):
		t.Fatalf("Greeting = %x, %t, %v; the host has said % x and the worker side % x", d, ok, err, said, answer)
	case !ok && !errors.Is(err, transport.ErrHello) && (err != nil || [4]byte(answer) != [4]byte{}):
		t.Fatalf("Greeting = %v for % x", err, answer)
	case ok && !changed(changes, 1) && !changed(changes, 2):
		exchange(t, &h.End, &w.End)
		exchange(t, &w.End, &h.End)
	}
	for _, e := range []*transport.End{&h.End, &w.End} { // whatever the other side has in its memory
		drainAny(t, e)
	}
}

// isUsed reports whether the words of a region show that a side has used it.
func isUsed(m memory) bool {
	for _, w := range [][2]int{{0, 4}, {offSide, 8}, {offBell, 4}, {offParked, 4}, {offClosed, 4}} {
		if bytes.Count(m[w[0]:w[0]+w[1]], []byte{0}) != w[1] {
			return true
		}
	}
	return false
}

// changed reports whether a change comes before that step.
func changed(changes []helloChange, step int) bool {
	for _, c := range changes {
		if c.before == step && c.xor != 0 {
			return true
		}
	}
	return false
}

// wantHello checks that a host could have said what the worker side has accepted.
func wantHello(t *testing.T, heard []byte, w *transport.WorkerEnd) {
	t.Helper()
	le := binary.LittleEndian
	if w.Generation() != le.Uint32(heard[offGeneration:]) || w.Digest() != transport.Digest(heard[offDigest:]) || w.Now() < 1 {
		t.Fatalf("generation %d, digest %x, time %d of the hello % x", w.Generation(), w.Digest(), w.Now(), heard)
	}
	c := transport.Config{
		Functions: int(le.Uint32(heard[offFunctions:])), Aborts: int(le.Uint32(heard[offAborts:])),
		PayloadInitial: int(le.Uint64(heard[32:])), PayloadMax: int(le.Uint64(heard[offMax:])), PayloadPerValue: int(le.Uint64(heard[offPerValue:])),
		Generation: w.Generation(), Digest: w.Digest(), Spin: -1,
	}
	size, err := c.RegionSize(transport.Requests)
	if err != nil || size > len(linkMemoryOfAnyHost) {
		t.Fatalf("sizes %+v, %v", c, err)
	}
	answers, err := c.RegionSize(transport.Answers)
	if err != nil {
		t.Fatal(err)
	}
	region, err := transport.NewHeap(answers)
	if err != nil {
		t.Fatal(err)
	}
	clear(linkMemoryOfAnyHost)
	now := bootTime
	if _, err := transport.NewHost(c, linkMemoryOfAnyHost[:size], region, &standstill{now: &now}); err != nil {
		t.Fatal(err)
	}
	again := bytes.Clone(linkMemoryOfAnyHost[:endHello])
	for _, free := range [][2]int{{8, 20}, {offSpin, offDigest}, {28, 32}} { // the origin of the times, the processors, the spin, a gap
		copy(again[free[0]:free[1]], heard[free[0]:free[1]])
	}
	if !bytes.Equal(again, heard) {
		t.Fatalf("the worker side has accepted % x, and a host says % x", heard, again)
	}
}

// linkMemoryOfAnyHost has space for the requests of a host whose sizes fit the memory of linkMemory.
var linkMemoryOfAnyHost = func() memory {
	r, err := transport.NewHeap(64 << 10)
	if err != nil {
		panic(err)
	}
	return r.Bytes()
}()

// exchange sends a message of each tier and checks what the other side receives.
func exchange(t *testing.T, from, to *transport.End) {
	t.Helper()
	sizes := []int{0, 24, 25, 512, 513, linkSizes.PayloadPerValue}
	for _, n := range sizes {
		slot, ok := from.Claim()
		want(t, "Claim", ok, true)
		wantErr(t, "Publish", from.Publish(slot, &transport.Header{Tag: transport.TagBytes, ID: uint64(n)}, bytes.Repeat([]byte{byte(n)}, n)), nil)
	}
	n, err := to.Drain(func(m *transport.Message, err error) {
		got, lost := m.Append(nil)
		if err != nil || lost != nil || !bytes.Equal(got, bytes.Repeat([]byte{byte(m.ID)}, int(m.ID))) {
			t.Fatalf("message %d has %d bytes, %v, %v", m.ID, len(got), err, lost)
		}
	})
	if n != len(sizes) || err != nil {
		t.Fatalf("Drain = %d, %v", n, err)
	}
}

// drainAny receives what is there.
func drainAny(t *testing.T, e *transport.End) {
	t.Helper()
	n, err := e.Drain(func(m *transport.Message, bad error) {
		got, lost := m.Append(nil)
		if lost != nil || bad == nil && len(got) != int(m.Len) || bad != nil && len(got) != 0 {
			t.Fatalf("a payload of %d bytes for %+v, %v, %v", len(got), m.Header, bad, lost)
		}
	})
	if n > transport.Slots || err != nil && !errors.Is(err, transport.ErrViolation) {
		t.Fatalf("Drain = %d, %v", n, err)
	}
}

// FuzzHello changes the memory of a link while its sides say hello. The rules are those of helloStart. K-141.
func FuzzHello(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 0, 0, 44, 0xff})                  // a large PayloadMax
	f.Add([]byte{1, 0, 0, 47, 0x80})                  // a negative one
	f.Add([]byte{1, 0, 0, 22, 1})                     // more functions than a header can name
	f.Add([]byte{1, 0, 0, 24, 40, 1, 0, 0, 25, 0x10}) // other abort bits
	f.Add([]byte{1, 0, 0, 15, 0x40})                  // a time that has not come
	f.Add([]byte{2, 0, 1, 40, 0x40})                  // a worker side that says another size
	f.Add([]byte{0, 0, 0, 1, 1})                      // memory that was used
	m := linkMemory(f)
	f.Fuzz(func(t *testing.T, input []byte) {
		tr := trace(input)
		var changes []helloChange
		tr.steps(func() {
			c := helloChange{before: tr.below(3)}
			anywhere := tr.coin()
			c.region = transport.Direction(tr.below(2))
			if c.off = tr.below(endHello); anywhere {
				c.off = tr.below(len(m[c.region]))
			}
			c.xor = tr.byte()
			changes = append(changes, c)
		})
		helloStart(t, m, changes)
	})
}

// TestHelloWithOneChange changes each byte of a hello at each step, and bytes of the words that follow. The rules are
// those of helloStart. K-141.
func TestHelloWithOneChange(t *testing.T) {
	m := linkMemory(t)
	helloStart(t, m, nil)
	offs := []int{offSide, offSide + 7, offBell, offParked, offCPU, offClosed + 3, offSlots, offTable}
	for off := range endHello {
		offs = append(offs, off)
	}
	for _, off := range offs {
		for step := range 3 {
			for _, xor := range []byte{1, 0x40, 0x80, 0xff} {
				helloStart(t, m, []helloChange{{step, transport.Requests, off, xor}})
				helloStart(t, m, []helloChange{{step, transport.Answers, off, xor}})
			}
		}
	}
}
