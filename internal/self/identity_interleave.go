//go:build interleave

// This file replaces identity.go in models. The record of a thread is in the variable that
// the explorer keeps for that thread: a key would depend on the addresses of goroutines, and
// each access to the table would be a step, although no other thread can see its result.
// Outside an exploration the table is used.

package self

import (
	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
)

// lookup returns the record of the calling thread or goroutine, or nil.
func lookup() *record {
	if local := interleave.Local(); local != nil {
		r, _ := (*local).(*record)
		return r
	}
	return process.find(park.Self())
}

// claim returns a record for the calling thread or goroutine, which has none.
func claim() *record {
	if local := interleave.Local(); local != nil {
		r := new(record)
		*local = r
		return r
	}
	return process.claim(park.Self())
}

// release frees the record of the calling thread or goroutine.
func release(r *record) {
	if local := interleave.Local(); local != nil {
		*local = nil
		return
	}
	r.release()
}
