//go:build !(amd64 || arm64 || ppc64 || ppc64le || s390x)

package sync

// CacheLine is the distance, in bytes, at which two words do not disturb each
// other: one line of 64, or a shorter one.
const CacheLine = 64
