package bench

import "encoding/binary"

// fillStep is the difference between the words of a payload. Each byte of a word differs for adjacent words.
const fillStep = 0x9E3779B97F4A7C15

// Fill writes all bytes of b, which depend on n. The size of b is a multiple of 8.
func Fill(b []byte, n int) {
	x := uint64(n)
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, x)
		x += fillStep
	}
}

// Filled reads all bytes of b, and reports whether b has that size and holds what Fill writes.
func Filled(b []byte, size, n int) bool {
	if len(b) != size {
		return false
	}
	x, wrong := uint64(n), uint64(0)
	for ; len(b) >= 8; b = b[8:] {
		wrong |= binary.LittleEndian.Uint64(b) ^ x
		x += fillStep
	}
	return wrong == 0
}
