//go:build !interleave

// This file is the build without models: the identity of a goroutine is its key. In models,
// identity_interleave.go replaces it.

package self

import "github.com/lanewright/lanewright/internal/park"

// lookup returns the record of the calling goroutine, or nil.
func lookup() *record { return process.find(park.Self()) }

// claim returns a record for the calling goroutine, which has none.
func claim() *record { return process.claim(park.Self()) }

// release frees the record of the calling goroutine.
func release(r *record) { r.release() }
