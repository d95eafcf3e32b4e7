package suite

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/transport"
)

// moveSetup measures calls with a slice by reference, which is argument and result. Its
// reference is the call of lane/call on the same pool.
func (z sizes) moveSetup(workers int) (*bench.Instance, error) {
	var h pool.Handlers
	a := &adder{add: pool.Register(&h, "add", addOne)}
	mark := pool.Register(&h, "mark", func(_ context.Context, b []byte) ([]byte, error) {
		b[len(b)-1] = b[0]
		return b, nil
	})
	var err error
	if a.Pool, err = pool.New(&h, pool.Config{Lanes: workers}); err != nil {
		return nil, err
	}
	n := z.lane.calls
	payload := make([]byte, 64<<10)
	return &bench.Instance{
		Run: checked(a.Pool, n, nil, oneByOne(n, func(n int) bool {
			payload[0] = byte(n)
			got, err := mark.Call(context.Background(), payload)
			return err == nil && len(got) == len(payload) && &got[0] == &payload[0] && got[len(got)-1] == byte(n)
		})),
		References: []bench.Reference{{Name: refCall, Run: checked(a.Pool, n, nil, oneByOne(n, a.call))}},
		Close:      func() error { return endPool(a.Pool) },
	}, nil
}

// copySetup measures echoes over a Link with four copies and no allocation. The host
// encodes a payload into memory of the Link, and the worker copies it out. The worker
// encodes its answer, and the host copies that out. The reference sends a copy through
// a channel and receives a copy of it.
func copySetup(size, n int) (*bench.Instance, error) {
	e, err := newEcho(size)
	if err != nil {
		return nil, err
	}
	ref := newCopies(size)
	return &bench.Instance{
		Run:        func(m *bench.Meter) error { return e.run(m, n) },
		References: []bench.Reference{{Name: refChannel, Run: func(m *bench.Meter) error { return ref.run(m, n) }}},
		Close: func() error {
			ref.end()
			return e.end()
		},
	}, nil
}

// stamp writes n to both ends of b.
func stamp(b []byte, n int) {
	binary.LittleEndian.PutUint64(b, uint64(n))
	binary.LittleEndian.PutUint64(b[len(b)-8:], uint64(n))
}

// stamped reports whether b has that size and holds the stamp n.
func stamped(b []byte, size, n int) bool {
	return len(b) == size && binary.LittleEndian.Uint64(b) == uint64(n) && binary.LittleEndian.Uint64(b[size-8:]) == uint64(n)
}

// newPayload returns size bytes. Adjacent bytes differ.
func newPayload(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}

// echo is a Link with a worker that answers each message with its payload.
type echo struct {
	link         *transport.Link
	host, worker side
	payload      []byte
	ended        chan error
}

// side is one end of a Link with the memory for one message.
type side struct {
	*transport.End
	kind   *transport.Type[[]byte]
	memory []byte
}

func newEcho(size int) (*echo, error) {
	link, err := transport.NewLink(transport.Config{PayloadMax: transport.DefaultPayloadInitial})
	if err != nil {
		return nil, err
	}
	kind, err := transport.TypeOf[[]byte](nil)
	if err != nil {
		return nil, errors.Join(err, link.Close())
	}
	e := &echo{
		link:    link,
		host:    side{End: &link.Host().End, kind: kind},
		worker:  side{End: &link.Worker().End, kind: kind},
		payload: newPayload(size),
		ended:   make(chan error, 1),
	}
	go func() {
		defer e.worker.Close()
		e.ended <- e.serve()
	}()
	return e, nil
}

// send sends b with the next group of acknowledgements, or with Flush. A slot is always
// free, because each side answers a message before it acknowledges that message.
func (s *side) send(id uint64, b []byte) error {
	slot, ok := s.Claim()
	if !ok {
		return errors.New("no slot is free")
	}
	payload, err := s.Reserve(slot, len(b))
	if err != nil {
		return err
	}
	payload, tag, err := s.kind.Append(payload, &b)
	if err != nil {
		return err
	}
	return s.Post(slot, &transport.Header{ID: id, Tag: tag}, payload)
}

// receive returns a copy of the payload of m. The next call overwrites that copy.
func (s *side) receive(m *transport.Message, bad error) (b []byte, err error) {
	if bad != nil {
		return nil, bad
	}
	if s.memory, err = m.Append(s.memory[:0]); err != nil {
		return nil, err
	}
	_, err = s.kind.Borrow(m.Tag, s.memory, &b)
	return b, err
}

// serve answers until the host closes its end.
func (e *echo) serve() error {
	w := &e.worker
	var failed error
	answer := func(m *transport.Message, bad error) {
		b, err := w.receive(m, bad)
		if err == nil {
			err = w.send(m.ID, b)
		}
		failed = cmp.Or(failed, err)
	}
	for {
		n, err := w.Drain(answer)
		switch err = cmp.Or(err, failed); {
		case err != nil:
			return err
		case n > 0:
		case w.PeerClosed():
			return nil
		default:
			w.WaitUntil(transport.Published, 0)
		}
	}
}

// run measures the echo of n payloads with 32 of them outstanding.
func (e *echo) run(m *bench.Meter, n int) error {
	h := &e.host
	sent, got, wrong := 0, 0, 0
	var failed error
	send := func() {
		stamp(e.payload, sent)
		failed = cmp.Or(failed, h.send(uint64(sent), e.payload))
		sent++
	}
	receive := func(m *transport.Message, bad error) {
		b, err := h.receive(m, bad)
		failed = cmp.Or(failed, err)
		if m.ID != uint64(got) || !stamped(b, len(e.payload), got) {
			wrong++
		}
		got++
		if sent < n {
			send()
		}
	}
	m.Start()
	for sent < min(laneDepth, n) {
		send()
	}
	h.Flush()
	for got < n && failed == nil {
		some, err := h.Drain(receive)
		failed = cmp.Or(failed, err)
		if some > 0 || failed != nil {
			continue
		}
		if h.PeerClosed() {
			return errors.New("the worker has ended")
		}
		h.WaitUntil(transport.Published, 0)
	}
	m.Stop(n)
	if failed == nil && !bytes.Equal(h.memory, e.payload) { // all bytes of the last answer
		failed = errors.New("the last answer differs from its payload")
	}
	return cmp.Or(failed, m.Context().Err(), workload.CheckAnswers(wrong))
}

// end ends the worker and closes the Link.
func (e *echo) end() error {
	e.host.Close()
	return errors.Join(<-e.ended, e.link.Close())
}

// copies is a goroutine that answers each payload from a channel with a copy of it.
type copies struct {
	requests, answers chan []byte
	payload           []byte
	sent              [][]byte
}

func newCopies(size int) *copies {
	c := &copies{
		requests: make(chan []byte, laneDepth), answers: make(chan []byte, laneDepth),
		payload: newPayload(size), sent: newBuffers(size),
	}
	go func() {
		buffers := newBuffers(size)
		i := 0
		for b := range c.requests {
			answer := buffers[i%laneDepth] // free: the caller received its last answer before it sent b
			copy(answer, b)
			c.answers <- answer
			i++
		}
		close(c.answers)
	}()
	return c
}

// newBuffers returns a buffer for each outstanding message.
func newBuffers(size int) [][]byte {
	all := make([][]byte, laneDepth)
	for i := range all {
		all[i] = make([]byte, size)
	}
	return all
}

func (c *copies) run(m *bench.Meter, n int) error {
	var last []byte
	err := pipeline(n,
		func(i int) {
			stamp(c.payload, i)
			b := c.sent[i%laneDepth]
			copy(b, c.payload)
			c.requests <- b
		},
		func(i int) bool {
			last = <-c.answers
			return stamped(last, len(c.payload), i)
		})(m)
	if err == nil && !bytes.Equal(last, c.payload) {
		err = fmt.Errorf("the last answer differs from its payload")
	}
	return err
}

// end ends the goroutine and waits for it.
func (c *copies) end() {
	close(c.requests)
	<-c.answers
}
