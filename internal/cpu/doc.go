// Package cpu holds the one instruction that Go has no name for: the hint that
// the calling thread spins.
//
// Assembly exists for 386, amd64 and arm64. The portable form in
// pause_generic.go is the reference; it is what other architectures, the tag
// purego, and the race detector (which cannot see into assembly) get.
package cpu
