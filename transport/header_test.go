package transport_test

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/transport"
)

// limits are the limits of a default Link.
var limits = transport.Limits{Functions: 65_536, Arena: 64 << 20, PerValue: 8 << 20, Aborts: 258}

// TestHeaderGolden checks that each field is at the offset that the table of Header
// states. K-014, K-028.
func TestHeaderGolden(t *testing.T) {
	h := transport.Header{
		Fn: 0x0201, Flags: transport.FlagAbortable, Tag: transport.TagString, ID: 0x1817161514131211,
		Off: 0x00222140, Len: 0x00000401, Meta: 0x000000ff, Seq: 0x44434241, Deadline: 0x5857565554535251,
	}
	for i := range h.Value {
		h.Value[i] = byte(0x80 + i)
	}
	want := []byte{
		0x01, 0x02, 0x08, 0x00, byte(transport.TagString), 0, 0, 0,
		0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
		0x40, 0x21, 0x22, 0x00, 0x01, 0x04, 0x00, 0x00,
		0xff, 0x00, 0x00, 0x00, 0x41, 0x42, 0x43, 0x44,
		0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58,
		0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8b,
		0x8c, 0x8d, 0x8e, 0x8f, 0x90, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97,
	}
	got := bytes.Repeat([]byte{0xee}, transport.HeaderBytes+1)
	h.Encode(got)
	if !bytes.Equal(got, append(want, 0xee)) {
		t.Errorf("got % x\nwant % x", got, want)
	}
	var back transport.Header
	if err := back.Decode(got, limits); err != nil || back != h {
		t.Errorf("got %+v, %v\nwant %+v", back, err, h)
	}
}

// TestHeaderChecks checks that each field is refused right beyond its limit. K-014,
// K-015, K-105, K-139, K-141.
func TestHeaderChecks(t *testing.T) {
	l := transport.Limits{Functions: 3, Arena: 8192, PerValue: 1024, Aborts: 10}
	good := transport.Header{Fn: 2, Tag: transport.TagBytes, Len: 600, Off: 64}
	for _, tc := range []struct {
		name   string
		change func(h *transport.Header)
		want   error
	}{
		{"good", func(*transport.Header) {}, nil},
		{"function", func(h *transport.Header) { h.Fn = 3 }, transport.ErrBadFunction},
		{"last function", func(h *transport.Header) { h.Fn = 65_535 }, transport.ErrBadFunction},
		{"all flags", func(h *transport.Header) { h.Flags = 15 }, nil},
		{"unknown flag", func(h *transport.Header) { h.Flags = 2 * transport.FlagNotice }, transport.ErrBadFlags},
		{"no tag", func(h *transport.Header) { h.Tag = 0 }, transport.ErrBadTag},
		{"unknown tag", func(h *transport.Header) { h.Tag = 1 << 31 }, transport.ErrBadTag},
		{"offset without a payload there", func(h *transport.Header) { h.Len = 512 }, transport.ErrBadPayload},
		{"short", func(h *transport.Header) { h.Len, h.Off = 512, 0 }, nil},
		{"long at 0", func(h *transport.Header) { h.Len, h.Off = 513, 0 }, nil},
		{"within a block", func(h *transport.Header) { h.Off = 65 }, transport.ErrBadPayload},
		{"longest", func(h *transport.Header) { h.Len = 1024 }, nil},
		{"longer than a value may be", func(h *transport.Header) { h.Len = 1025 }, transport.ErrBadPayload},
		{"last block", func(h *transport.Header) { h.Len, h.Off = 1024, 7168 }, nil},
		{"over the end", func(h *transport.Header) { h.Len, h.Off = 1024, 7232 }, transport.ErrBadPayload},
		{"wraps", func(h *transport.Header) { h.Len, h.Off = 1024, 1<<32-64 }, transport.ErrBadPayload},
		{"length wraps", func(h *transport.Header) { h.Len = 1<<32 - 1 }, transport.ErrBadPayload},
		{"abort id", func(h *transport.Header) { h.Flags, h.Meta = transport.FlagAbortable, 9 }, nil},
		{"abort id out of range", func(h *transport.Header) { h.Flags, h.Meta = transport.FlagAbortable, 10 }, transport.ErrBadAbort},
		{"no abort id", func(h *transport.Header) { h.Meta = 1<<32 - 1 }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := good
			tc.change(&h)
			var b [transport.HeaderBytes]byte
			h.Encode(b[:])
			var got transport.Header
			if err := got.Decode(b[:], l); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if got != h {
				t.Errorf("the fields are %+v, want %+v", got, h)
			}
		})
	}
}

// TestHeaderRoundTrip checks that Decode is the inverse of Encode. K-028.
func TestHeaderRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := transport.Header{
			Fn: rapid.Uint16().Draw(t, "fn"), Flags: transport.Flags(rapid.Uint16().Draw(t, "flags")),
			Tag: transport.Tag(rapid.Uint32().Draw(t, "tag")), ID: rapid.Uint64().Draw(t, "id"),
			Off: rapid.Uint32().Draw(t, "off"), Len: rapid.Uint32().Draw(t, "len"),
			Meta: rapid.Uint32().Draw(t, "meta"), Seq: rapid.Uint32().Draw(t, "seq"),
			Deadline: rapid.Int64().Draw(t, "deadline"),
		}
		copy(h.Value[:], rapid.SliceOfN(rapid.Byte(), 0, transport.ValueBytes).Draw(t, "value"))
		var b [transport.HeaderBytes]byte
		h.Encode(b[:])
		var back transport.Header
		if _ = back.Decode(b[:], limits); back != h {
			t.Fatalf("got %+v, want %+v", back, h)
		}
	})
}
