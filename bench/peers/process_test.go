package peers

import (
	"errors"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/bench/remote"
)

var errFake = errors.New("fake")

// fakeClient answers in this process. Its answers are right, but for one of them.
type fakeClient struct {
	bad  int   // the answer that is wrong or fails; -1: none
	fail error // nil: a wrong answer

	answered int
	sent     []int
}

// isBad reports whether this answer is the bad one.
func (c *fakeClient) isBad() bool {
	c.answered++
	return c.answered-1 == c.bad
}

func (c *fakeClient) Call(n int) (int, error) {
	if c.isBad() {
		return n, c.fail
	}
	return n + 1, nil
}

func (c *fakeClient) Send(n int) error {
	c.sent = append(c.sent, n)
	return nil
}

func (c *fakeClient) Receive() (int, error) {
	n := c.sent[0]
	c.sent = c.sent[1:]
	return c.Call(n)
}

func (c *fakeClient) Echo(payload, room []byte) ([]byte, error) {
	room = append(room[:0], payload...)
	if !c.isBad() {
		return room, nil
	}
	room[len(room)-1]++
	return room, c.fail
}

func (*fakeClient) Close() error { return nil }

// TestWrongAnswer checks that a workload of calls fails because of one wrong answer, of one error, and of no other
// reason.
func TestWrongAnswer(t *testing.T) {
	for _, w := range Suite(Tiny()) {
		if w.calls == nil {
			continue
		}
		for _, tc := range []struct {
			name   string
			client fakeClient
			want   error
		}{
			{"right", fakeClient{bad: -1}, nil},
			{"first is wrong", fakeClient{bad: 0}, errWrong},
			{"later one is wrong", fakeClient{bad: 2}, errWrong},
			{"error", fakeClient{bad: 1, fail: errFake}, errFake},
		} {
			t.Run(w.Name+"/"+tc.name, func(t *testing.T) {
				p := &Peer{Name: refSocket, start: func(int) (remote.Client, error) { return &tc.client, nil }}
				_, err := w.Benchmark(p, nil).Measure(t.Context(), 1, 1, nil)
				if !errors.Is(err, tc.want) || tc.want != nil && !strings.Contains(err.Error(), "call ") {
					t.Errorf("error = %v, want %v with the number of the call", err, tc.want)
				}
			})
		}
	}
}

// TestStartFails checks that the error of the start of a process is that of the measurement.
func TestStartFails(t *testing.T) {
	for _, name := range []string{refSocket, "other"} {
		p := &Peer{Name: name, start: func(int) (remote.Client, error) { return nil, errFake }}
		w := Pick(Suite(Tiny()), "process/call")
		if _, err := w.Benchmark(p, nil).Measure(t.Context(), 1, 1, nil); !errors.Is(err, errFake) {
			t.Errorf("%s: error = %v, want %v", name, err, errFake)
		}
	}
}
