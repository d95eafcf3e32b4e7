package transport_test

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/lanewright/lanewright/transport"
)

// heaps returns the regions of a link with the sizes c.
func heaps(tb testing.TB, c transport.Config) (requests, answers transport.Region) {
	tb.Helper()
	var rs [2]transport.Region
	for d := range rs {
		size, err := c.RegionSize(transport.Direction(d))
		if err != nil {
			tb.Fatal(err)
		}
		if rs[d], err = transport.NewHeap(size); err != nil {
			tb.Fatal(err)
		}
	}
	return rs[0], rs[1]
}

// newEnds returns two ends as two processes have them.
func newEnds(tb testing.TB, c transport.Config) (*transport.HostEnd, *transport.WorkerEnd) {
	tb.Helper()
	requests, answers := heaps(tb, c)
	one, other := transport.NewWakers()
	h, err := transport.NewHost(c, requests, answers, one)
	if err != nil {
		tb.Fatal(err)
	}
	w, err := transport.NewWorker(requests, answers, other)
	if err != nil {
		tb.Fatal(err)
	}
	return h, w
}

// TestHello checks that each side learns what the other one has said: the sizes, the generation and the digests.
func TestHello(t *testing.T) {
	c := small
	c.Generation, c.Digest, c.Functions = 7, transport.Digest{1, 31: 2}, 3
	h, w := newEnds(t, c)
	if w.Generation() != 7 || w.Digest() != c.Digest {
		t.Errorf("the worker side has generation %d and digest %x", w.Generation(), w.Digest())
	}
	if d, ok, err := h.Greeting(); ok || err != nil {
		t.Errorf("Greeting = %x, %t, %v before the worker side has said anything", d, ok, err)
	}
	w.Greet(transport.Digest{5})
	if d, ok, err := h.Greeting(); !ok || err != nil || d != (transport.Digest{5}) {
		t.Errorf("Greeting = %x, %t, %v", d, ok, err)
	}
	slot, _ := h.Claim()
	must(t, h.Publish(slot, &transport.Header{Fn: 3}, nil))
	_, err := w.Drain(func(_ *transport.Message, err error) {
		if !errors.Is(err, transport.ErrBadFunction) {
			t.Errorf("function 3 of 3: %v", err)
		}
	})
	must(t, err)
}

// TestWorkerRefusesABadHello checks that the worker side makes no end over memory in which no host of this version has
// said hello. The error names what is wrong.
func TestWorkerRefusesABadHello(t *testing.T) {
	le := binary.LittleEndian
	for _, tc := range []struct {
		name   string
		change func(b []byte)
		want   string
	}{
		{"nothing", func(b []byte) { clear(b[:4]) }, "has said nothing"},
		{"other bytes", func(b []byte) { b[3] ^= 1; b[0] ^= 1 }, "it begins with"},
		{"another version", func(b []byte) {
			binary.NativeEndian.PutUint32(b, binary.NativeEndian.Uint32(b)+1)
		}, "it begins with 0x4c570002, want 0x4c570001"},
		{"another byte order", func(b []byte) {
			binary.NativeEndian.PutUint32(b, bits.ReverseBytes32(binary.NativeEndian.Uint32(b)))
		}, "another byte order"},
		{"no functions", func(b []byte) { le.PutUint32(b[transport.OffFunctions:], 0) }, "Functions is 0"},
		{"many functions", func(b []byte) { le.PutUint32(b[transport.OffFunctions:], math.MaxUint32) }, "Functions is 2147483647"},
		{"no aborts", func(b []byte) { le.PutUint32(b[transport.OffAborts:], 0) }, "Aborts is 0"},
		{"no payloads", func(b []byte) { le.PutUint64(b[transport.OffMax:], 0) }, "PayloadMax is 0"},
		{"large payloads", func(b []byte) { le.PutUint64(b[transport.OffMax:], math.MaxUint64) }, "PayloadMax is"},
		{"parts of blocks", func(b []byte) { b[transport.OffMax]++ }, "no multiples of 64"},
		{"parts of blocks at first", func(b []byte) { b[transport.OffInitial]++ }, "no multiples of 64"},
		{"initial over max", func(b []byte) { b[transport.OffInitial+4] = 1 }, "PayloadInitial is"},
		{"value over an eighth", func(b []byte) { b[transport.OffPerValue+4] = 1 }, "PayloadPerValue is"},
		{"processors", func(b []byte) { b[transport.OffProcessors+3] = 0x80 }, "processors"},
		{"time", func(b []byte) { b[transport.OffEpoch+7] = 0x80 }, "times from -"},
		{"time to come", func(b []byte) { b[transport.OffEpoch+7] = 0x7f }, "and the clock is at"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			requests, answers := heaps(t, small)
			one, other := transport.NewWakers()
			if _, err := transport.NewHost(small, requests, answers, one); err != nil {
				t.Fatal(err)
			}
			tc.change(requests.Bytes())
			w, err := transport.NewWorker(requests, answers, other)
			if w != nil || !errors.Is(err, transport.ErrHello) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("NewWorker = %v, %v, want an error with %q", w, err, tc.want)
			}
		})
	}
}

// TestHostRefusesABadGreeting checks that the host finds out that a worker side has another version or generation, or
// other sizes.
func TestHostRefusesABadGreeting(t *testing.T) {
	for off := range transport.OffDigest + 1 {
		c := small
		c.Generation = 1
		h, w := newEnds(t, c)
		w.Greet(transport.Digest{})
		own, _ := w.HelloOf()
		own[off] ^= 0x10
		d, ok, err := h.Greeting()
		if off < transport.OffDigest && (ok || !errors.Is(err, transport.ErrHello)) {
			t.Errorf("with another byte %d: Greeting = %x, %t, %v", off, d, ok, err)
		}
		if off == transport.OffDigest && (!ok || err != nil || d != (transport.Digest{0x10})) {
			t.Errorf("with another digest: Greeting = %x, %t, %v", d, ok, err)
		}
	}
}

// TestEndsNeedTheirRegions checks that a region that is too small or not aligned, and a Config that is not valid, are
// errors of NewHost and NewWorker.
func TestEndsNeedTheirRegions(t *testing.T) {
	cut := func(r transport.Region, by int) transport.Region { return window{r, 0, len(r.Bytes()) - by} }
	requests, answers := heaps(t, small)
	one, other := transport.NewWakers()
	for d, tc := range [][2]transport.Region{{cut(requests, 1), answers}, {requests, cut(answers, 1)}, {shifted{requests}, answers}} {
		if h, err := transport.NewHost(small, tc[0], tc[1], one); h != nil || !errors.Is(err, transport.ErrRegion) {
			t.Errorf("case %d: NewHost = %v, %v", d, h, err)
		}
	}
	if _, err := transport.NewHost(small, requests, answers, one); err != nil {
		t.Fatal(err)
	}
	for d, tc := range [][2]transport.Region{{cut(requests, 1), answers}, {cut(requests, len(requests.Bytes())-8), answers}, {requests, cut(answers, 1)}} {
		if w, err := transport.NewWorker(tc[0], tc[1], other); w != nil || !errors.Is(err, transport.ErrRegion) {
			t.Errorf("case %d: NewWorker = %v, %v", d, w, err)
		}
	}
	bad := transport.Config{Aborts: -1}
	if h, err := transport.NewHost(bad, requests, answers, one); h != nil || err == nil || !strings.Contains(err.Error(), "Config.Aborts is -1") {
		t.Errorf("NewHost = %v, %v", h, err)
	}
	if n, err := bad.RegionSize(transport.Requests); n != 0 || err == nil {
		t.Errorf("RegionSize = %d, %v", n, err)
	}
}

// window is a part of a region.
type window struct {
	transport.Region
	from, to int
}

func (w window) Bytes() []byte { return w.Region.Bytes()[w.from:w.to] }

// later is a Waker whose clock began long before the link, as that of a machine.
type later struct{ transport.Waker }

const uptime = int64(1000 * time.Hour)

func (l later) Now() int64 { return l.Waker.Now() + uptime }

// TestEndsHaveOneClock checks that the times of both ends begin when the host makes its end, and that a wait gives its
// Waker a time of the clock of the machine.
func TestEndsHaveOneClock(t *testing.T) {
	requests, answers := heaps(t, small)
	one, other := transport.NewWakers()
	h, err := transport.NewHost(small, requests, answers, later{one})
	if err != nil {
		t.Fatal(err)
	}
	w, err := transport.NewWorker(requests, answers, later{other})
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := h.Now(), w.Now(), h.Now()
	if a < 1 || b < a || c < b || c > int64(time.Hour) {
		t.Errorf("the times are %d, %d, %d", a, b, c)
	}
	for _, e := range []*transport.End{&h.End, &w.End} {
		var until int64
		e.SetWaker(transport.TestWaker{OnPark: func(u int64) bool { until = u; return true }})
		deadline := e.Now() + int64(time.Hour)
		if got := e.WaitUntil(transport.Published, deadline); got != transport.Expired || until-deadline < uptime || until-deadline > uptime+int64(time.Hour) {
			t.Errorf("WaitUntil(%d) = %v, parked until %d", deadline, got, until)
		}
		if got := e.WaitUntil(transport.Published, math.MaxInt64); got != transport.Expired || until != math.MaxInt64 {
			t.Errorf("WaitUntil(the largest time) = %v, parked until %d", got, until)
		}
		if got := e.WaitUntil(transport.Published, 0); got != transport.Expired || until != 0 {
			t.Errorf("WaitUntil(0) = %v, parked until %d", got, until)
		}
	}
}

// TestWorkerSpinsForTheHost checks that the worker side spins while GOMAXPROCS of its program is 1, if the host has
// more processors. The host does not spin then.
func TestWorkerSpinsForTheHost(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	c := small
	c.Spin = time.Hour
	h, w := newEnds(t, c)
	runtime.GOMAXPROCS(1)
	for e, want := range map[*transport.End]int{&h.End: 0, &w.End: 3} {
		e.SetWaker(transport.TestWaker{OnPark: func(int64) bool { return true }})
		own, _ := e.Bells()
		ticks, chunks := uint64(0), 0
		own.Clock(func() uint64 { return ticks }, func() {
			if chunks++; chunks == 3 {
				ticks = math.MaxUint64
			}
		})
		if got := e.WaitUntil(transport.Published, e.Now()+int64(time.Hour)); got != transport.Expired || chunks != want {
			t.Errorf("WaitUntil = %v after %d chunks of spinning, want %d", got, chunks, want)
		}
	}
}

// TestClosedEndSendsNothing checks that an end that is closed takes no slot and sends nothing, also for a goroutine that
// has claimed a slot before. Its waits end. It still receives what was published.
func TestClosedEndSendsNothing(t *testing.T) {
	h, w := newEnds(t, small)
	slot, _ := h.Claim()
	posted, _ := h.Claim()
	answer, _ := w.Claim()
	must(t, w.Publish(answer, &transport.Header{ID: 1, Tag: transport.TagString}, nil))
	h.Close()
	h.Close()
	lateEnd(t, &h.End, slot, posted)
	n, err := h.Drain(func(m *transport.Message, err error) {
		if m.ID != 1 || err != nil {
			t.Errorf("message %d, %v", m.ID, err)
		}
	})
	if n != 1 || err != nil {
		t.Errorf("Drain = %d, %v", n, err)
	}
	for _, e := range []*transport.End{&h.End, &w.End} {
		within(t, "WaitUntil", func() {
			if got := e.WaitUntil(transport.Published, 0); got != transport.Closed {
				t.Errorf("WaitUntil = %v, want %v", got, transport.Closed)
			}
		})
	}
}

// lateEnd checks that an end that is closed does nothing with its claimed slots.
func lateEnd(t *testing.T, e *transport.End, slot, posted int) {
	t.Helper()
	if s, ok := e.Claim(); ok {
		t.Errorf("Claim = %d", s)
	}
	_, reserve := e.Reserve(slot, 10)
	for name, err := range map[string]error{
		"Reserve": reserve,
		"Publish": e.Publish(slot, &transport.Header{}, make([]byte, 1000)),
		"Post":    e.Post(posted, &transport.Header{}, nil),
	} {
		if !errors.Is(err, transport.ErrClosed) {
			t.Errorf("%s = %v, want %v", name, err, transport.ErrClosed)
		}
	}
	e.Flush()
	e.Cancel(slot)
}

// zeros is a region that Close fills with zeros, as that of a process does.
type zeros struct {
	transport.Region
	closed *int
}

func (z zeros) Close() error {
	*z.closed++
	clear(z.Bytes())
	return errors.New("zeros")
}

// TestUnmappedEndIsHarmless checks that an end whose memory was replaced by zeros does not panic and reports no
// violation, whatever was under way. A call may have started.
func TestUnmappedEndIsHarmless(t *testing.T) {
	requests, answers := heaps(t, small)
	closed := 0
	one, other := transport.NewWakers()
	h, err := transport.NewHost(small, zeros{requests, &closed}, zeros{answers, &closed}, one)
	if err != nil {
		t.Fatal(err)
	}
	w, err := transport.NewWorker(requests, answers, other)
	if err != nil {
		t.Fatal(err)
	}
	var slots [6]int
	for i := range slots {
		slots[i], _ = h.Claim()
	}
	for i := range 3 {
		must(t, h.Publish(slots[i], &transport.Header{}, nil))
		answer, _ := w.Claim()
		must(t, w.Publish(answer, &transport.Header{}, nil))
	}
	must(t, h.Post(slots[5], &transport.Header{}, nil))
	if h.Started(transport.CallID(3, 1)) {
		t.Error("a call has started before it was sent")
	}
	n, err := h.Drain(func(*transport.Message, error) {
		if closed != 0 {
			return
		}
		if err := h.Unmap(); err == nil || strings.Count(err.Error(), "zeros") != 2 {
			t.Errorf("Unmap = %v", err)
		}
	})
	if n == 0 || !errors.Is(err, transport.ErrClosed) || h.Violated() {
		t.Errorf("Drain = %d, %v, violated: %t", n, err, h.Violated())
	}
	if err := h.Unmap(); err != nil || closed != 2 {
		t.Errorf("a second Unmap = %v, %d regions were closed", err, closed)
	}
	lateEnd(t, &h.End, slots[3], slots[4])
	if n, err := h.Drain(func(*transport.Message, error) {}); n != 0 || !errors.Is(err, transport.ErrClosed) {
		t.Errorf("Drain = %d, %v", n, err)
	}
	if !h.Started(transport.CallID(3, 1)) {
		t.Error("a call that may have started has not, says zeroed memory")
	}
	within(t, "WaitUntil", func() {
		if got := h.WaitUntil(transport.Published, 0); got != transport.Closed {
			t.Errorf("WaitUntil = %v", got)
		}
	})
}

// hooked is a region that Close fills with zeros. It calls a function afterwards.
type hooked struct {
	transport.Region
	hook func()
}

func (r hooked) Close() error {
	clear(r.Bytes())
	r.hook()
	return nil
}

// TestLostMemoryShowsNothing checks what an end does when Unmap has put zeros in place of one of its regions, and of both.
// It takes no slot, and finds no message, greeting or violation. Its wait ends. A call may have started.
func TestLostMemoryShowsNothing(t *testing.T) {
	requests, answers := heaps(t, small)
	var h *transport.HostEnd
	looks := 0
	look := func() {
		looks++
		if slot, ok := h.Claim(); ok {
			t.Errorf("look %d: Claim = %d", looks, slot)
		}
		if n := h.FreeAcked(); n != 0 {
			t.Errorf("look %d: FreeAcked = %d", looks, n)
		}
		if got := h.WaitUntil(transport.Published|transport.Acknowledged, 0); got != transport.Closed {
			t.Errorf("look %d: WaitUntil = %v", looks, got)
		}
		n, err := h.Drain(func(m *transport.Message, err error) { t.Errorf("look %d: message %d, %v", looks, m.ID, err) })
		if n != 0 || !errors.Is(err, transport.ErrClosed) || h.Violated() {
			t.Errorf("look %d: Drain = %d, %v, violated: %t", looks, n, err, h.Violated())
		}
		if d, ok, err := h.Greeting(); ok || !errors.Is(err, transport.ErrClosed) {
			t.Errorf("look %d: Greeting = %x, %t, %v", looks, d, ok, err)
		}
		if !h.Started(transport.CallID(3, 1)) {
			t.Errorf("look %d: a call that may have started has not", looks)
		}
	}
	one, other := transport.NewWakers()
	h, err := transport.NewHost(small, hooked{requests, look}, hooked{answers, look}, one)
	must(t, err)
	w, err := transport.NewWorker(requests, answers, other)
	must(t, err)
	w.Greet(transport.Digest{1})
	for from, to := range map[*transport.End]*transport.End{&h.End: &w.End, &w.End: &h.End} {
		send(t, from, 1, make([]byte, 1000))
		n, err := to.Drain(func(_ *transport.Message, err error) { must(t, err) })
		if n != 1 || err != nil {
			t.Fatalf("Drain = %d, %v", n, err)
		}
	}
	must(t, h.Unmap())
	look()
	if looks != 3 {
		t.Errorf("%d looks", looks)
	}
}

// TestLostPayload checks that a payload of zeros is no good one: Unmap comes between the message and its copy.
func TestLostPayload(t *testing.T) {
	requests, answers := heaps(t, small)
	closed := 0
	one, other := transport.NewWakers()
	h, err := transport.NewHost(small, zeros{requests, &closed}, zeros{answers, &closed}, one)
	must(t, err)
	w, err := transport.NewWorker(requests, answers, other)
	must(t, err)
	send(t, &w.End, 1, pattern(1, 600))
	send(t, &w.End, 2, nil)
	n, err := h.Drain(func(m *transport.Message, err error) {
		must(t, err)
		if b, err := m.Append(nil); err != nil || string(b) != string(pattern(1, 600)) {
			t.Errorf("Append = %d bytes, %v", len(b), err)
		}
		_ = h.Unmap()
		if b, err := m.Append(nil); len(b) != 600 || !errors.Is(err, transport.ErrClosed) {
			t.Errorf("Append = %d bytes, %v after Unmap", len(b), err)
		}
	})
	if n != 1 || !errors.Is(err, transport.ErrClosed) {
		t.Errorf("Drain = %d, %v", n, err)
	}
}

// TestLostStart checks that a call does not start at a worker side that has lost its memory: the host would send it to
// another one.
func TestLostStart(t *testing.T) {
	requests, answers := heaps(t, small)
	closed := 0
	one, other := transport.NewWakers()
	_, err := transport.NewHost(small, requests, answers, one)
	must(t, err)
	w, err := transport.NewWorker(zeros{requests, &closed}, zeros{answers, &closed}, other)
	must(t, err)
	_ = w.Unmap()
	if err := w.Start(transport.CallID(3, 1)); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("Start = %v", err)
	}
}

// TestCloseLosesWhatIsPosted checks that an answer which was not published before Close never is.
func TestCloseLosesWhatIsPosted(t *testing.T) {
	h, w := newEnds(t, small)
	slot, _ := w.Claim()
	must(t, w.Post(slot, &transport.Header{}, nil))
	w.Close()
	w.Flush()
	if got := h.Pending(); got != 0 {
		t.Errorf("slots %b are published by a closed end", got)
	}
}

// TestEndsNeedFreshRegions checks that NewHost refuses regions of a link that was used, and one region for both
// directions, and that NewWorker refuses those of another worker side.
func TestEndsNeedFreshRegions(t *testing.T) {
	one, other := transport.NewWakers()
	refused := func(name string, end any, err error) {
		t.Helper()
		if !errors.Is(err, transport.ErrRegion) {
			t.Errorf("%s: %v, %v", name, end, err)
		}
	}
	requests, answers := heaps(t, small)
	h, err := transport.NewHost(small, answers, answers, one)
	refused("one region", h, err)
	for _, r := range []transport.Region{requests, answers} {
		for _, off := range []int{0, transport.OffSide, transport.OffSide + 7, transport.OffBell, transport.OffParked, transport.OffClosed} {
			r.Bytes()[off] = 4
			h, err := transport.NewHost(small, requests, answers, one)
			refused("a used region", h, err)
			r.Bytes()[off] = 0
		}
	}
	_, err = transport.NewHost(small, requests, answers, one)
	must(t, err)
	h, err = transport.NewHost(small, requests, answers, one)
	refused("a second host", h, err)
	w, err := transport.NewWorker(requests, answers, other)
	must(t, err)
	w.Greet(transport.Digest{})
	w, err = transport.NewWorker(requests, answers, other)
	refused("a second worker side", w, err)
}

// kept is a region for which a test learns when the garbage collector has found no pointer to it.
type kept struct{ transport.Region }

// TestAbortsKeepTheMemory checks that the memory of an end stays while the set of its aborts is used.
func TestAbortsKeepTheMemory(t *testing.T) {
	var regions [2]weak.Pointer[kept]
	var sets [2]*transport.AbortSet
	for i := range sets {
		requests, answers := heaps(t, small)
		r := &kept{requests}
		regions[i] = weak.Make(r)
		one, _ := transport.NewWakers()
		h, err := transport.NewHost(small, r, answers, one)
		must(t, err)
		sets[i] = h.Aborts()
	}
	sets[1] = nil
	for regions[1].Value() != nil {
		runtime.GC()
	}
	if regions[0].Value() == nil { // a collection clears all weak pointers to what is not used
		t.Error("the memory of a set that is used was collected")
	}
	runtime.KeepAlive(sets)
}

// TestLinkClosesItsEnds checks that Close of a Link closes both ends, and that Unmap of one of them leaves the memory of
// the other one alone.
func TestLinkClosesItsEnds(t *testing.T) {
	l := newLink(t, small)
	must(t, l.Host().Unmap())
	if _, ok := l.Host().Claim(); !ok {
		t.Error("Unmap has closed the end of a Link")
	}
	must(t, l.Close())
	for _, e := range []*transport.End{&l.Host().End, &l.Worker().End} {
		if _, ok := e.Claim(); ok {
			t.Error("an end of a closed Link takes a slot")
		}
	}
}
