//go:build s390x

package sync

// CacheLine is the distance in bytes that keeps two words from false sharing. It is
// one line of 256 bytes.
const CacheLine = 256
