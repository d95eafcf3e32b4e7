//go:build amd64 || arm64 || ppc64 || ppc64le

package sync

// CacheLine is the distance, in bytes, at which two words do not disturb each
// other: a line of 128, or two lines of 64 that are fetched as a pair.
const CacheLine = 128
