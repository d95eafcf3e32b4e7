//go:build !(amd64 || arm64 || ppc64 || ppc64le || s390x)

package sync

// CacheLine is the distance in bytes that keeps two words from false sharing. It is
// one line of 64 bytes or a shorter one.
const CacheLine = 64
