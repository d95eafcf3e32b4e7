package workload

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Crowd makes n calls of ask, from as many goroutines as there are callers.
func Crowd(callers, n int, ask func(caller, n int) bool) error {
	var wrong atomic.Int64
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := n * c / callers; i < n*(c+1)/callers; i++ {
				if !ask(c, i) {
					wrong.Add(1)
				}
			}
		})
	}
	all.Wait()
	return CheckAnswers(int(wrong.Load()))
}

// CheckAnswers returns an error unless wrong is 0.
func CheckAnswers(wrong int) error {
	if wrong != 0 {
		return fmt.Errorf("%d answers are wrong", wrong)
	}
	return nil
}
