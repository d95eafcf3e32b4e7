//go:build s390x

package sync

// CacheLine is the distance, in bytes, at which two words do not disturb each
// other: one line of 256.
const CacheLine = 256
