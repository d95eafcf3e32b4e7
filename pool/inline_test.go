package pool_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/lanewright/lanewright/pool"
)

// TestInlineBreaks: a handler of the inline lane that panics, or ends its goroutine, is
// entered once, and its call has ended.
func TestInlineBreaks(t *testing.T) {
	var h pool.Handlers
	entered := 0
	f := pool.Register(&h, "breaks", func(_ context.Context, exit bool) (int, error) {
		entered++
		if exit {
			runtime.Goexit()
		}
		panic(errTask)
	})
	p := newPool(t, &h, inlineOnly())
	_, err := f.Call(bg, false)
	var remote *pool.RemoteError
	if !errors.As(err, &remote) || !errors.Is(err, errTask) || remote.Stack == "" || entered != 1 {
		t.Errorf("Call = %v, and the handler was entered %d times", err, entered)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = f.Call(bg, true)
		t.Error("the goroutine goes on")
	}()
	<-gone
	if entered != 2 {
		t.Errorf("the handler was entered %d times", entered)
	}
	must(t, p.Wait(within(t)))
	balanced(t, p)
}
