package transport

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/lanewright/lanewright/internal/crash"
)

// NewHost makes the end of the host of a link whose worker side is another process. The host writes the memory of
// requests, and only reads that of answers, so that may be mapped for reading. Both are zero, and have at least the
// sizes of [Config.RegionSize]. Config.NewRegion is not used. The end tells the worker side the sizes, the Generation
// and the Digest of c, and the origin of the times.
//
// The error names the field when c is not valid, and matches [ErrRegion] when a region does not fit, or was used
// before.
func NewHost(c Config, requests, answers Region, w Waker) (*HostEnd, error) {
	h := new(HostEnd)
	c, err := c.withDefaults()
	if err == nil {
		err = h.open(&c, runtime.GOMAXPROCS(0), requests, answers, w)
	}
	if err != nil {
		return nil, err
	}
	h.regions = [2]Region{requests, answers}
	return h, nil
}

// open makes the end over the two regions, and says hello.
func (h *HostEnd) open(c *Config, processors int, requests, answers Region, w Waker) error {
	out, in, err := newHalves(c, requests, answers)
	switch {
	case err != nil:
		return err
	case out.side == in.side:
		return fmt.Errorf("transport: one region for both directions: %w", ErrRegion)
	case out.isUsed() || in.isUsed():
		return fmt.Errorf("transport: a region that a link has used before: %w", ErrRegion)
	}
	h.said = newHello(c, w.Now()-1, processors)
	if err := h.init(c, &out, &in, waits{w, h.said.epoch(), c.Spin, 0}); err != nil {
		return err
	}
	h.started = wordsAt(in.table, 0, Calls)
	if h.aborts, err = NewAbortSet(c.Aborts, c.abortWords(out.table)); err != nil {
		return err
	}
	h.aborts.keep = h
	say(out.first, &h.said)
	return nil
}

// Greeting returns the digest of the worker side. ok is false until that has called [WorkerEnd.Greet]. The error
// matches [ErrHello] if it has said anything else: it has another version, or was meant for another link. It is
// [ErrClosed] after Unmap.
func (h *HostEnd) Greeting() (d Digest, ok bool, err error) {
	m, ok, err := hear(h.in.first)
	switch {
	case h.isLost(): // U1
		return d, false, ErrClosed
	case err != nil || !ok:
		return d, false, err
	case !m.repeats(&h.said):
		return d, false, fmt.Errorf("%w: it does not repeat what the host of generation %d has said", ErrHello, h.said.generation())
	}
	return m.digest(), true, nil
}

// NewWorker makes the end of the worker side of a link whose host is another process. The worker side writes the
// memory of answers, and only reads that of requests. The host has called [NewHost] before, and has said which
// sizes the link has. The end spins if the host has more than one processor, also while GOMAXPROCS of this process
// is 1.
//
// The error matches [ErrHello] if the host has said nothing, or something that no host of this version says, and
// [ErrRegion] if a region does not fit, or another worker side has said something in it.
func NewWorker(requests, answers Region, w Waker) (*WorkerEnd, error) {
	e := new(WorkerEnd)
	if err := e.open(requests, answers, w); err != nil {
		return nil, err
	}
	e.regions = [2]Region{requests, answers}
	return e, nil
}

// open makes the end over the two regions, with the sizes that the host has said.
func (w *WorkerEnd) open(requests, answers Region, waker Waker) error {
	if !fits(requests.Bytes(), offSlots) {
		return fmt.Errorf("transport: %v: %w", Requests, ErrRegion)
	}
	m, ok, err := hear(requests.Bytes()[:lineBytes:lineBytes])
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("%w: the host has said nothing", ErrHello)
	}
	c, err := m.config()
	if now := waker.Now(); err == nil && m.epoch() >= now { // Now is more than 0
		err = fmt.Errorf("%w: times from %d on, and the clock is at %d", ErrHello, m.epoch(), now)
	}
	if err != nil {
		return err
	}
	in, out, err := newHalves(&c, requests, answers)
	switch {
	case err != nil:
		return err
	case out.isUsed():
		return fmt.Errorf("transport: the answers of another worker side: %w", ErrRegion)
	}
	w.said = m
	w.aborts = c.abortWords(in.table)
	w.started = wordsAt(out.table, 0, Calls)
	return w.init(&c, &out, &in, waits{waker, m.epoch(), c.Spin, m.processors()})
}

// Greet tells the host that this side is there, and its digest. The worker side calls it once, before it sends a
// message. It wakes no host: the first message does.
func (w *WorkerEnd) Greet(d Digest) {
	m := w.said.with(d)
	say(w.out.first, &m)
	crash.At(crash.HelloWritten)
}

// Digest returns what the host has set as Config.Digest.
func (w *WorkerEnd) Digest() Digest { return w.said.digest() }

// Generation returns what the host has set as Config.Generation.
func (w *WorkerEnd) Generation() uint32 { return w.said.generation() }

// newHalves divides the two regions into their parts.
func newHalves(c *Config, requests, answers Region) (r, a half, err error) {
	if r, err = newHalf(c, Requests, requests); err == nil {
		a, err = newHalf(c, Answers, answers)
	}
	return r, a, err
}

// Unmap closes the end, and then the regions of [NewHost] or [NewWorker]. The end may still be in use if the Close of
// a region leaves zeros in its place: then Claim takes no slot, and Publish, Drain, [Message.Append] and
// [WorkerEnd.Start] return [ErrClosed]. A Publish beside Unmap may return nil although the other side never sees the
// message. [HostEnd.Started] returns true, because a call may have started. Unmap returns the errors of the regions. A
// second call does nothing, and neither does a call for an end of [NewLink], which [Link.Close] closes. One goroutine
// at a time may call Unmap.
//
// The memory stays mapped until no pointer to the end, or to its [HostEnd.Aborts], is left. The owner of the Waker ends
// that before, since it may look at the doorbell.
func (e *End) Unmap() error {
	if e.regions[0] == nil || e.isLost() {
		return nil
	}
	e.detach()
	return closeAll(&e.regions)
}

// closeAll closes the regions.
func closeAll(rs *[2]Region) error { return errors.Join(rs[0].Close(), rs[1].Close()) }
