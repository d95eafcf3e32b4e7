package transport_test

import (
	"runtime"
	"sync"
	"testing"
)

// TestArenaStress has goroutines that allocate and fill blocks. Other goroutines check
// and free them, as the reader of acknowledgements does. Each byte of a block has one
// owner. An overlap is a finding of the race detector or of the checks. The arena has
// enough space for the blocks in the worst order, so no Alloc fails. K-140.
func TestArenaStress(t *testing.T) {
	const (
		allocators, readers, longest = 4, 2, 5

		held  = 2*allocators + readers              // blocks, including those in the channel
		units = held*longest + (held+1)*(longest-1) // all blocks, and gaps that are too small
	)
	rnd := newRand(t)
	each := rounds(50_000)
	a := newArena(t, units)
	memory := make([]byte, units*unit)
	type block struct {
		off   uint32
		n     int
		stamp byte
	}
	within(t, "allocating and freeing", func() {
		var wg, reading sync.WaitGroup
		acked := make(chan block, allocators)
		for g := range allocators {
			rng := rnd(g)
			wg.Go(func() {
				for i := range each {
					n := 1 + rng.IntN(longest*unit)
					off, err := a.Alloc(n)
					if err != nil {
						t.Errorf("Alloc(%d): %v, with %d bytes in use", n, err, a.InUse())
						return
					}
					b := block{off, n, byte(i)}
					for j := range n {
						memory[int(off)+j] = b.stamp
					}
					if rng.IntN(2) == 0 {
						b.n = 1 + rng.IntN(n)
						a.Shrink(off, b.n)
					}
					if rng.IntN(64) == 0 {
						runtime.Gosched()
					}
					acked <- b
				}
			})
		}
		for range readers {
			reading.Go(func() {
				for b := range acked {
					for j := range b.n {
						if got := memory[int(b.off)+j]; got != b.stamp {
							t.Errorf("byte %d of the block at %d is %d, want %d", j, b.off, got, b.stamp)
							break
						}
					}
					a.Free(b.off)
				}
			})
		}
		wg.Wait()
		close(acked)
		reading.Wait()
	})
	if n := a.InUse(); n != 0 {
		t.Errorf("%d bytes are in use at the end", n)
	}
	if off, err := a.Alloc(1); off != 0 || err != nil {
		t.Errorf("Alloc in an empty arena = %d, %v", off, err)
	}
}
