package pool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lanewright/lanewright/pool"
)

// A failure that no goroutine waits for reaches Config.OnEnd.
func ExampleEnded() {
	var h pool.Handlers
	mail := pool.Register(&h, "mail", func(context.Context, string) (int, error) {
		return 0, errors.New("no such mailbox")
	})
	ends := make(chan pool.Ended, 1)
	p := open(&h, pool.Config{Lanes: 1, OnEnd: func(e pool.Ended) { ends <- e }})
	defer p.Close()
	mail.Go(context.Background(), "to a closed account") // its future is dropped
	e := <-ends
	fmt.Println(e.Task, e.Lane, e.Cause, e.Err)
	// Output: mail 0 failed no such mailbox
}

func ExampleCause() {
	for k := pool.CauseReturned; k <= pool.CauseExited; k++ {
		fmt.Println(k)
	}
	// Output:
	// returned
	// failed
	// panicked
	// exited
}

func ExampleTaskInfo() {
	var h pool.Handlers
	half := pool.Register(&h, "half", func(_ context.Context, n int) (int, error) { return n / 2, nil })
	pool.Register(&h, "other", func(_ context.Context, n int) (int, error) { return n, nil })
	p := open(&h, pool.Config{Lanes: 1})
	defer p.Close()
	for n := range 5 {
		_, _ = half.Call(context.Background(), n)
	}
	for _, t := range p.Metrics().Tasks {
		fmt.Println(t.Task, t.Ends.Of(pool.CauseReturned))
	}
	// Output:
	// half 5
	// other 0
}

func ExampleEnds() {
	var h pool.Handlers
	half := pool.Register(&h, "half", func(_ context.Context, n int) (int, error) {
		if n%2 != 0 {
			return 0, errors.New("odd")
		}
		return n / 2, nil
	})
	p := open(&h, pool.Config{Lanes: 1})
	defer p.Close()
	for n := range 5 {
		_, _ = half.Call(context.Background(), n)
	}
	data, err := json.Marshal(p.Metrics().Ends)
	fmt.Println(string(data), err)
	// Output: {"returned":3,"failed":2} <nil>
}
