//go:build !interleave

package transport_test

import (
	"fmt"
	"sync/atomic"

	"github.com/lanewright/lanewright/transport"
)

func ExampleAbortSet() {
	words := make([]atomic.Uint32, 1) // 32 flags, which the other side may read
	s, err := transport.NewAbortSet(2, words)
	if err != nil {
		fmt.Println(err)
		return
	}
	id, _ := s.Acquire() // for a call that is sent now
	s.Abort(id)          // its caller gives up
	fmt.Println("worker:", s.Aborted(id))
	s.Release(id) // its response has come

	next, _ := s.Acquire()
	fmt.Println("next call:", next == id, s.Aborted(next))
	// Output:
	// worker: true
	// next call: true false
}

func ExampleAbortID() {
	s, err := transport.NewAbortSet(transport.DefaultAborts, make([]atomic.Uint32, 9))
	if err != nil {
		fmt.Println(err)
		return
	}
	first, _ := s.Acquire()
	second, _ := s.Acquire()
	fmt.Println(first, second)
	// Output: 0 1
}
