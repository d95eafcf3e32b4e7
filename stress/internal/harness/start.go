package harness

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Start runs each function on a goroutine of its own. The functions begin together,
// because the first could otherwise end before the last begins. The channel is closed
// when all of them have returned.
func Start(fns ...func()) (done chan struct{}) {
	var ready, wg sync.WaitGroup
	ready.Add(len(fns))
	for _, fn := range fns {
		wg.Go(func() {
			ready.Done()
			ready.Wait()
			fn()
		})
	}
	done = make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	return done
}

// AwaitStable returns when a count has not changed during 100 yields and 5 ms. That is
// chosen as long enough for a goroutine that shares its processor.
func AwaitStable(count *atomic.Int64) {
	n, since := count.Load(), time.Now()
	for i := 0; i < 100 || time.Since(since) < 5*time.Millisecond; i++ {
		runtime.Gosched()
		if now := count.Load(); now != n {
			n, i, since = now, 0, time.Now()
		}
	}
}

// Divide calls do for at most parts consecutive ranges of [lo, hi), of about the same
// length.
func Divide(lo, hi, parts int, do func(lo, hi int)) {
	for ; lo < hi && parts > 0; parts-- {
		mid := lo + (hi-lo+parts-1)/parts
		do(lo, mid)
		lo = mid
	}
}
