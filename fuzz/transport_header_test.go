package fuzz_test

import (
	"bytes"
	"testing"

	"github.com/lanewright/lanewright/transport"
)

// FuzzHeader decodes any 64 bytes with any limits. Decode never panics. An accepted
// header is in range and encodes to the same bytes. K-015, K-028, K-141.
func FuzzHeader(f *testing.F) {
	var good [transport.HeaderBytes]byte
	(&transport.Header{Fn: 9, Tag: transport.TagString, ID: 1 << 40, Off: 640, Len: 700, Deadline: -1}).Encode(good[:])
	f.Add(good[:], uint16(10), uint32(4096), uint32(512), uint16(3))
	f.Add(bytes.Repeat([]byte{0xff}, transport.HeaderBytes), uint16(0), uint32(1<<31-1), uint32(1<<31-1), uint16(65_534))
	f.Fuzz(func(t *testing.T, b []byte, functions uint16, arena, perValue uint32, aborts uint16) {
		src := make([]byte, transport.HeaderBytes)
		copy(src, b)
		l := transport.Limits{Functions: int(functions), Arena: int(arena >> 1), PerValue: int(perValue >> 1), Aborts: int(aborts)}
		var h transport.Header
		err := h.Decode(src, l)
		back := make([]byte, transport.HeaderBytes)
		if h.Encode(back); !bytes.Equal(src, back) {
			t.Fatalf("% x became % x", src, back)
		}
		if err != nil {
			return
		}
		want(t, "function in range", int(h.Fn) < l.Functions, true)
		want(t, "flags known", h.Flags < 2*transport.FlagNotice, true)
		want(t, "tag known", h.Tag.Valid(), true)
		if h.Flags&transport.FlagAbortable != 0 {
			want(t, "abort id in range", int64(h.Meta) < int64(l.Aborts), true)
		}
		if h.Len > transport.InlineBytes {
			want(t, "end in range", uint64(h.Off)+uint64(h.Len) <= uint64(l.Arena), true)
			want(t, "length in range", uint64(h.Len) <= uint64(l.PerValue), true)
		} else {
			want(t, "Off of a short payload", h.Off, 0)
		}
	})
}
