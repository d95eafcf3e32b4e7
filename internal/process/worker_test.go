//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package process_test

import (
	"testing"

	"github.com/lanewright/lanewright/transport"
)

// TestCallCrosses makes calls with payloads of every tier over regions of every kind. The worker gets the generation and
// the digest of the host, and ends when the host closes its end.
func TestCallCrosses(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.String(), func(t *testing.T) {
			c := config(t, "echoes", k)
			c.Link.Generation, c.Link.Digest = 3, transport.Digest{7}
			w := start(t, c)
			for i, n := range []int{0, 8, 24, 100, 512, 1000, 5000} {
				for generation := range uint32(20) {
					call(t, w, transport.CallID(i, generation+1), n)
				}
			}
			if d, ok, err := w.Host().Greeting(); d != (transport.Digest{7, 3}) || !ok || err != nil {
				t.Errorf("Greeting = %x, %t, %v", d, ok, err)
			}
			if w.IsDead() || w.State() != nil {
				t.Errorf("the worker runs; IsDead = %t, State = %v", w.IsDead(), w.State())
			}
			w.Host().Close()
			if s := ended(t, w); !s.Success() {
				t.Errorf("%v: %s", s, w.Tail())
			}
			if !w.Host().PeerClosed() || !w.IsDead() {
				t.Errorf("after the end PeerClosed = %t, IsDead = %t", w.Host().PeerClosed(), w.IsDead())
			}
		})
	}
}
