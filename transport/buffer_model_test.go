//go:build interleave

package transport_test

import (
	"strings"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/transport"
)

// TestModelMove lets two goroutines move one buffer or take one moved buffer. One of
// them succeeds and the other one panics. K-063.
func TestModelMove(t *testing.T) {
	misused := func(f func()) (yes bool) {
		defer func() {
			if r := recover(); r != nil {
				text, ok := r.(string)
				if !ok || !strings.HasPrefix(text, "transport: ") {
					panic(r) // a panic of the explorer
				}
				yes = true
			}
		}()
		f()
		return false
	}
	model := func(try func(b *transport.Buffer, m transport.Moved)) func(m *interleave.M) {
		return func(m *interleave.M) {
			b, moved := transport.NewBuffer(1), transport.Move(transport.NewBuffer(1))
			var wins atomix.Uint32
			for range 2 {
				m.Go("owner", func() {
					if !misused(func() { try(b, moved) }) {
						wins.Add(1)
					}
				})
			}
			m.Final(func() {
				if n := wins.Load(); n != 1 {
					m.Fatalf("%d goroutines have the buffer", n)
				}
			})
		}
	}
	o := interleave.Options{Preemptions: interleave.All}
	interleave.Check(t, "buffer-move", o, model(func(b *transport.Buffer, _ transport.Moved) { transport.Move(b).Take() }))
	interleave.Check(t, "buffer-take", o, model(func(_ *transport.Buffer, m transport.Moved) { m.Take().Bytes() }))
}
