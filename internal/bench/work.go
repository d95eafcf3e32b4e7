package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// spin computes a chain of multiplications. Each needs the result of the one before, so
// the time is proportional to steps and depends on the clock rate only.
//
//go:noinline
func spin(steps uint32) uint32 {
	x := steps
	for range steps {
		x = x*1664525 + 1013904223
	}
	return x
}

// Work is a computation that takes a known time on one processor. It accesses no memory
// and calls no function. The zero Work does nothing.
type Work struct {
	steps uint32
	want  uint32
}

// NewWork returns work that takes d on this processor, according to the fastest of several
// measurements.
func NewWork(d time.Duration) Work {
	const probe = 1 << 20
	best := int64(1 << 62)
	for range 9 {
		t := now()
		x := spin(probe)
		best = min(best, now()-t)
		runtime.KeepAlive(x)
	}
	steps := max(1, uint32(float64(d)*probe/float64(max(best, 1))))
	return Work{steps: steps, want: spin(steps)}
}

// Steps returns the number of steps of the work: see [Chain].
func (w Work) Steps() uint32 { return w.steps }

// Chain does that many steps of the computation of a [Work], and returns their result. It is for a process that does the
// work which another process has measured.
func Chain(steps uint32) uint32 { return spin(steps) }

// Do does the work and reports whether its result is right.
func (w Work) Do() bool { return spin(w.steps) == w.want }

// Calibration shows how much a second processor contributed at one time.
type Calibration struct {
	CPUs int           // logical processors that the process may use
	One  time.Duration // the time of a loop on one processor
	Two  time.Duration // the time of the same loop on two processors at once, until both have ended

	// Ratio is the median of Two/One. It is 1 if a second processor was free, and 2 if
	// there is none.
	Ratio float64
}

// freeRatio is the ratio from which a second processor is considered not free.
const freeRatio = 1.15

// Calibrate measures the same loop on one processor and on two. It takes about 0.4 s.
func Calibrate(ctx context.Context) Calibration { return calibrate(ctx, 15*time.Millisecond, 9) }

// Check is a short Calibrate: about 30 ms.
func Check(ctx context.Context) Calibration { return calibrate(ctx, 3*time.Millisecond, 3) }

func calibrate(ctx context.Context, d time.Duration, rounds int) Calibration {
	prev := runtime.GOMAXPROCS(0)
	if prev < 2 {
		runtime.GOMAXPROCS(2)
		defer runtime.GOMAXPROCS(prev)
	}
	w := NewWork(d)
	var ones, twos, ratios []float64
	for i := 0; i < rounds && ctx.Err() == nil; i++ {
		one, two := float64(concurrently(w, 1)), float64(concurrently(w, 2))
		ones, twos, ratios = append(ones, one), append(twos, two), append(ratios, two/one)
	}
	if len(ones) == 0 {
		return Calibration{CPUs: runtime.NumCPU()}
	}
	return Calibration{
		CPUs:  runtime.NumCPU(),
		One:   time.Duration(Median(ones)),
		Two:   time.Duration(Median(twos)),
		Ratio: Median(ratios),
	}
}

// concurrently does w on n goroutines that begin at the same time, and returns the time
// until all of them have ended.
func concurrently(w Work, n int) time.Duration {
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	began, ended := make([]int64, n), make([]int64, n)
	right := make([]bool, n) // a use of the result: otherwise the compiler may remove the work
	for i := range n {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-gate
			began[i] = now()
			right[i] = w.Do()
			ended[i] = now()
		})
	}
	ready.Wait()
	close(gate)
	done.Wait()
	if slices.Contains(right, false) {
		panic("bench: the same work gave two results")
	}
	return time.Duration(slices.Max(ended) - slices.Min(began))
}

// Free reports whether a second processor was free.
func (c Calibration) Free() bool { return c.Ratio > 0 && c.Ratio < freeRatio }

// String returns one line for people.
func (c Calibration) String() string {
	line := fmt.Sprintf("calibration: a loop takes %.1f ms on one processor and %.1f ms on two at once (ratio %.2f; 1 is ideal)",
		c.One.Seconds()*1e3, c.Two.Seconds()*1e3, c.Ratio)
	switch {
	case c.Free():
		return line
	case c.CPUs < 2:
		return line + "; this machine has one processor, so figures for more than one worker mean little"
	default:
		return line + "; the second processor was not free, so figures for more than one worker mean little"
	}
}
