//go:build amd64 || arm64 || ppc64 || ppc64le

package sync

// CacheLine is the distance in bytes that keeps two words from false sharing. It is
// one line of 128 bytes or two lines of 64 bytes that are fetched as a pair.
const CacheLine = 128
