package workload

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Crowd makes n calls from that many callers, each on a goroutine of its own. call reports
// whether its answer is right. Crowd returns the error of CheckAnswers.
func Crowd(callers, n int, call func(caller, n int) bool) error {
	var wrong atomic.Int64
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := n * c / callers; i < n*(c+1)/callers; i++ {
				if !call(c, i) {
					wrong.Add(1)
				}
			}
		})
	}
	all.Wait()
	return CheckAnswers(int(wrong.Load()))
}

// CheckAnswers returns an error unless the number of wrong answers is 0.
func CheckAnswers(wrong int) error {
	if wrong != 0 {
		return fmt.Errorf("%d answers are wrong", wrong)
	}
	return nil
}
