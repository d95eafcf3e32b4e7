package transport_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/transport"
)

// small is a Link for tests that need little memory.
var small = transport.Config{PayloadInitial: 16 << 10, PayloadMax: 64 << 10, Spin: -1}

func newLink(tb testing.TB, c transport.Config) *transport.Link {
	tb.Helper()
	l, err := transport.NewLink(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

// TestLayout checks that no two parts of a region overlap. Each word has cache lines of
// its own, and slots are whole lines. K-013, K-018, K-019.
func TestLayout(t *testing.T) {
	words := []int{transport.OffSide, transport.OffBell, transport.OffParked, transport.OffCPU, transport.OffClosed, transport.OffSlots}
	for i, off := range words {
		if off%transport.LineBytes != 0 || i > 0 && off-words[i-1] < transport.LineBytes {
			t.Errorf("word %d is at %d, after %v", i, off, words[:i])
		}
	}
	if transport.LineBytes < 64 || transport.SlotBytes%64 != 0 || transport.SlotBytes != transport.HeaderBytes+transport.InlineBytes {
		t.Errorf("lines of %d, slots of %d", transport.LineBytes, transport.SlotBytes)
	}
	if got, want := transport.OffTable, transport.OffSlots+transport.Slots*transport.SlotBytes; got != want {
		t.Errorf("the table is at %d, want %d", got, want)
	}
	used := newLink(t, small)
	written, _ := used.Regions()
	for i, w := range used.Host().Words() {
		w.Store(uint32(i + 1))
		if got := binary.NativeEndian.Uint32(written[words[i+1]:]); got != uint32(i+1) {
			t.Errorf("a link does not use the word at %d", words[i+1])
		}
		w.Store(0)
	}
	host := used.Host()
	for i := range transport.Slots { // a write to a slot changes no other slot
		for j := range host.Slot(i) {
			host.Slot(i)[j] = byte(i + 1)
		}
	}
	for i := range transport.Slots {
		for j, b := range host.Slot(i) {
			if b != byte(i+1) {
				t.Fatalf("byte %d of slot %d belongs to slot %d", j, i, b-1)
			}
		}
	}
	requests, answers := newLink(t, small).Regions()
	for d, b := range [][]byte{requests[transport.LineBytes:], answers} { // the first line of requests has the hello
		for i, x := range b {
			if x != 0 {
				t.Fatalf("byte %d of the %v of a new link is %d", i, transport.Direction(d), x)
			}
		}
	}
}

// layouts are the layouts by their version: each number of the layout with its name, and a header as it is encoded. A
// change of the layout adds an entry here, and never changes one.
var layouts = map[uint32]string{
	1: `mark 0x4c570001
hello: mark 0, generation 4, epoch 8, processors 16, functions 20, aborts 24, initial 32, max 40, per value 48, spin 56, digest 64
words: side 256, bell 512, parked 768, cpu 1024, closed 1280
slots 1792, 32 of 64 + 512 bytes; table 20224
requests: payloads at 20288 with 258 aborts and at 28416 with 65534; answers: payloads at 24320, 1024 calls
blocks of 64 bytes, values of 24 bytes; bell: step 8, events 1, 2, 4
flags: reject 1, ping 2, stop 4, abortable 8, notice 16
side: 32 acknowledge bits above 32 publish bits: 0x500000003
id of call 5, generation 7: 0x700000005
header 0201100003000000080706050403020180020000bc020000070605040f0e0d0c0807060504030281aa0000000000000000000000000000000000000000000000
`,
}

// TestLayoutVersion checks that a layout of a region that differs from those before has a version of its own. Two
// sides with different layouts and one version would accept each other.
func TestLayoutVersion(t *testing.T) {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	payloads := func(d transport.Direction, aborts int) int {
		n, err := transport.Config{PayloadInitial: 512, PayloadMax: 512, Aborts: aborts}.RegionSize(d)
		must(t, err)
		return n - 512
	}
	say("mark %#x", transport.Mark)
	say("hello: mark %d, generation %d, epoch %d, processors %d, functions %d, aborts %d, initial %d, max %d, per value %d, spin %d, digest %d",
		transport.OffMark, transport.OffGeneration, transport.OffEpoch, transport.OffProcessors, transport.OffFunctions, transport.OffAborts,
		transport.OffInitial, transport.OffMax, transport.OffPerValue, transport.OffSpin, transport.OffDigest)
	say("words: side %d, bell %d, parked %d, cpu %d, closed %d", transport.OffSide, transport.OffBell, transport.OffParked, transport.OffCPU, transport.OffClosed)
	say("slots %d, %d of %d + %d bytes; table %d", transport.OffSlots, transport.Slots, transport.HeaderBytes, transport.InlineBytes, transport.OffTable)
	say("requests: payloads at %d with %d aborts and at %d with %d; answers: payloads at %d, %d calls",
		payloads(transport.Requests, 258), 258, payloads(transport.Requests, 65_534), 65_534, payloads(transport.Answers, 1), transport.Calls)
	say("blocks of %d bytes, values of %d bytes; bell: step %d, events %d, %d, %d",
		transport.BlockBytes, transport.ValueBytes, transport.BellStep, transport.OnPublish, transport.OnAck, transport.OnUrgent)
	say("flags: reject %d, ping %d, stop %d, abortable %d, notice %d",
		transport.FlagReject, transport.FlagPing, transport.FlagStop, transport.FlagAbortable, transport.FlagNotice)
	var w [transport.LineBytes]byte
	l := newLink(t, small)
	requests, _ := l.Regions()
	side, _ := l.Host().Sides()
	side.Cheat(3, 5)
	copy(w[:], requests[transport.OffSide:])
	say("side: 32 acknowledge bits above 32 publish bits: %#x", binary.NativeEndian.Uint64(w[:]))
	side.Cheat(3, 5)
	say("id of call 5, generation 7: %#x", transport.CallID(5, 7))
	h := transport.Header{
		Fn: 0x102, Flags: transport.FlagNotice, Tag: 3, ID: 0x102030405060708, Off: 640, Len: 700,
		Meta: 0x4050607, Seq: 0xc0d0e0f, Deadline: -0x7efdfcfbfaf9f8f8, Value: [transport.ValueBytes]byte{0xaa},
	}
	var e [transport.HeaderBytes]byte
	h.Encode(e[:])
	say("header %x", e)
	switch got, want := b.String(), layouts[transport.LayoutVersion]; {
	case want == "":
		t.Errorf("version %d has no entry in layouts:\n%s", transport.LayoutVersion, got)
	case got != want:
		t.Errorf("the layout has changed: it needs a new layoutVersion and a new entry in layouts. It is\n%s\nand that of version %d is\n%s", got, transport.LayoutVersion, want)
	}
}

// TestFootprint checks that the memory of a Link is the result of the formula. K-013,
// K-105, K-111, K-112, K-113, K-114.
func TestFootprint(t *testing.T) {
	const control = transport.ControlBytes + 64 // 258 abort bits are nine words, in one line
	if got, want := 4*transport.Footprint(transport.Config{}), int64(32<<20+4*control); got != want {
		t.Errorf("four lanes take %d, want %d", got, want)
	}
	if transport.ControlBytes != 2*(1792+32*576)+4096 {
		t.Errorf("the control part takes %d", transport.ControlBytes)
	}
	for _, tc := range []struct{ aborts, bytes int }{
		{1, 64}, {258, 64}, {512, 64}, {513, 128}, {65_534, 8192},
	} {
		if got := transport.AbortBytes(tc.aborts); got != tc.bytes {
			t.Errorf("%d abort bits take %d bytes, want %d", tc.aborts, got, tc.bytes)
		}
		c := small
		c.Aborts = tc.aborts
		if got, want := transport.Footprint(c), int64(transport.ControlBytes+tc.bytes+32<<10); got != want {
			t.Errorf("with %d abort bits: %d, want %d", tc.aborts, got, want)
		}
		c.PayloadInitial = c.PayloadMax
		requests, responses := newLink(t, c).Regions()
		if got, want := int64(len(requests)+len(responses)), transport.Footprint(c); got != want {
			t.Errorf("the regions have %d bytes, the formula says %d", got, want)
		}
	}
}

// TestConfig checks that zeros stand for the defaults. An error names the field that is
// not valid. K-014, K-055 to K-057, K-105, K-112, K-139.
func TestConfig(t *testing.T) {
	const mib = 1 << 20
	for _, tc := range []struct {
		name string
		c    transport.Config
		want string // in the error; empty: none
	}{
		{"default", transport.Config{}, ""},
		{"smallest", transport.Config{PayloadMax: 512, PayloadInitial: 1, PayloadPerValue: 1, Aborts: 1, Functions: 1}, ""},
		{"largest", transport.Config{PayloadMax: 64 * mib, PayloadInitial: 64 * mib, PayloadPerValue: 8 * mib, Aborts: 65_534, Functions: 65_536}, ""},
		{"less than the initial size", transport.Config{PayloadMax: mib}, ""},
		{"not in blocks", transport.Config{PayloadMax: 1000, PayloadInitial: 65}, ""},
		{"max too small", transport.Config{PayloadMax: 511}, "Config.PayloadMax is 511, want 512 to"},
		{"max negative", transport.Config{PayloadMax: -1}, "Config.PayloadMax"},
		{"initial negative", transport.Config{PayloadInitial: -1}, "Config.PayloadInitial"},
		{"initial over max", transport.Config{PayloadMax: mib, PayloadInitial: mib + 1}, "Config.PayloadInitial"},
		{"value negative", transport.Config{PayloadPerValue: -1}, "Config.PayloadPerValue"},
		{"value over an eighth", transport.Config{PayloadPerValue: 8*mib + 1}, "Config.PayloadPerValue is 8388609, want 1 to 8388608"},
		{"value over an eighth of max", transport.Config{PayloadMax: mib, PayloadPerValue: mib/8 + 1}, "Config.PayloadPerValue"},
		{"aborts negative", transport.Config{Aborts: -1}, "Config.Aborts"},
		{"aborts over 16 bits", transport.Config{Aborts: 65_535}, "Config.Aborts is 65535, want 1 to 65534"},
		{"functions over 16 bits", transport.Config{Functions: 65_537}, "Config.Functions"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, err := transport.NewLink(tc.c)
			if tc.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				_ = l.Close()
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want %q", err, tc.want)
			}
		})
	}
	host := newLink(t, transport.Config{}).Host()
	if got := host.Arena().Limit(); got != 4*mib {
		t.Errorf("the arena begins with %d bytes, want 4 MiB", got)
	}
	if got := len(host.Payloads()); got != 64*mib {
		t.Errorf("the arena has %d bytes, want 64 MiB", got)
	}
	for id := range transport.DefaultAborts {
		if _, ok := host.Aborts().Acquire(); !ok {
			t.Fatalf("there is no abort id %d of 258", id)
		}
	}
	if _, ok := host.Aborts().Acquire(); ok {
		t.Error("there are more than 258 abort ids")
	}
}

// TestConfigSizesFitInt checks that the sizes that follow from an accepted PayloadMax
// are not less than it. The largest accepted value is MaxPayloadMax, also where an int
// has 32 bits.
func TestConfigSizesFitInt(t *testing.T) {
	enough := errors.New("enough is known")
	limit := int64(transport.MaxPayloadMax)
	for _, payload := range []int64{limit, limit - 1, limit - 63, limit + 1, math.MaxInt32 - 63, math.MaxInt32, math.MaxInt - 63, math.MaxInt} {
		want := "Config.PayloadMax"
		if payload <= limit {
			want = enough.Error()
		}
		c := transport.Config{PayloadMax: int(payload), PayloadInitial: int(payload), Aborts: transport.MaxAborts}
		c.NewRegion = func(_ transport.Direction, size int) (transport.Region, error) {
			if int64(size) < payload || size > math.MaxInt-63 { // a region needs them to be aligned
				t.Errorf("a region of %d bytes for PayloadMax %d", size, payload)
			}
			return nil, enough
		}
		if _, err := transport.NewLink(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("PayloadMax %d: got error %v, want %q", payload, err, want)
		}
		if payload <= limit {
			if got := transport.Footprint(c); got < 2*payload {
				t.Errorf("PayloadMax %d: Footprint = %d", payload, got)
			}
		}
	}
}

// countedRegion counts how often it is closed.
type countedRegion struct {
	transport.Region
	closed *int
	err    error
}

func (r countedRegion) Close() error {
	*r.closed++
	return r.err
}

// TestLinkFaults checks that NewLink closes each region that it has made once if it
// fails at any step. K-091.
func TestLinkFaults(t *testing.T) {
	broken := errors.New("no memory")
	for _, tc := range []struct {
		name   string
		region func(n, size int) (transport.Region, error) // of number n
		made   int
		want   error
	}{
		{"first fails", func(n, _ int) (transport.Region, error) { return nil, broken }, 0, broken},
		{"second fails", func(n, size int) (transport.Region, error) {
			if n == 1 {
				return nil, broken
			}
			return transport.NewHeap(size)
		}, 1, broken},
		{"second too small", func(n, size int) (transport.Region, error) { return transport.NewHeap(size - n) }, 2, transport.ErrRegion},
		{"first not aligned", func(_, size int) (transport.Region, error) {
			r, err := transport.NewHeap(size + 8)
			return shifted{r}, err
		}, 2, transport.ErrRegion},
		{"none fails", func(_, size int) (transport.Region, error) { return transport.NewHeap(size) }, 2, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			made, closed := 0, 0
			c := small
			c.NewRegion = func(_ transport.Direction, size int) (transport.Region, error) {
				r, err := tc.region(made, size)
				if err != nil {
					return nil, err
				}
				made++
				return countedRegion{Region: r, closed: &closed}, nil
			}
			l, err := transport.NewLink(c)
			if !errors.Is(err, tc.want) || (l == nil) != (tc.want != nil) {
				t.Fatalf("NewLink = %v, %v, want %v", l, err, tc.want)
			}
			if l != nil {
				_ = l.Close()
				_ = l.Close()
			}
			if made != tc.made || closed != made {
				t.Errorf("%d regions made, %d closed; want %d", made, closed, tc.made)
			}
		})
	}
	t.Run("close fails", func(t *testing.T) {
		closed := 0
		c := small
		c.NewRegion = func(_ transport.Direction, size int) (transport.Region, error) {
			r, err := transport.NewHeap(size)
			return countedRegion{r, &closed, fmt.Errorf("region %d: %w", closed, broken)}, err
		}
		l, err := transport.NewLink(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); !errors.Is(err, broken) || closed != 2 {
			t.Errorf("Close = %v after %d regions", err, closed)
		}
	})
}

// shifted is a region that is not aligned.
type shifted struct{ transport.Region }

func (s shifted) Bytes() []byte { return s.Region.Bytes()[8:] }

// TestNewHeap checks that a region is aligned, zero, and as long as requested. It
// checks K-007 for ordinary memory.
func TestNewHeap(t *testing.T) {
	for _, size := range []int{1, 63, 64, 65, 4096, 1 << 20} {
		r, err := transport.NewHeap(size)
		if err != nil {
			t.Fatal(err)
		}
		b := r.Bytes()
		if len(b) != size || cap(b) != size || reflect.ValueOf(b).Pointer()%64 != 0 {
			t.Errorf("%d bytes: got %d of %d at %#x", size, len(b), cap(b), reflect.ValueOf(b).Pointer())
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, size := range []int{0, -1} {
		if _, err := transport.NewHeap(size); !errors.Is(err, transport.ErrRegion) {
			t.Errorf("NewHeap(%d) = %v", size, err)
		}
	}
}
