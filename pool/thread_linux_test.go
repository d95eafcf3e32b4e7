package pool_test

import (
	"context"
	"runtime"
	"syscall"
	"testing"

	"github.com/lanewright/lanewright/pool"
)

// TestLanesAreGoroutines checks that the workers of a pool are goroutines. They share the
// threads of the program. With Config.LockOSThread a worker keeps a thread of its own. K-005.
func TestLanesAreGoroutines(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, locked := range []bool{false, true} {
		var h pool.Handlers
		thread := pool.Register(&h, "thread", func(context.Context, int) (int, error) {
			runtime.Gosched()
			return syscall.Gettid(), nil
		}, pool.TaskOptions{Remote: true})
		p := newPool(t, &h, pool.Config{Lanes: 1, LockOSThread: locked})
		// The runtime may move the goroutines to another thread between two calls. It does not do so
		// each time.
		const calls = 1000
		shared := 0
		for range calls {
			tid, err := thread.Call(bg, 0)
			must(t, err)
			if tid == syscall.Gettid() {
				shared++
			}
		}
		if locked != (shared == 0) {
			t.Errorf("locked: %t, and %d of %d handlers ran on the thread of the caller", locked, shared, calls)
		}
		balanced(t, p)
	}
}
