package transport_test

import (
	"fmt"
	"testing"

	"github.com/lanewright/lanewright/transport"
)

// TestTags checks that the numbers are fixed on which both sides of a Link rely. All
// other numbers are invalid. K-015.
func TestTags(t *testing.T) {
	names := map[transport.Tag]string{
		1: "nil", 2: "bool",
		3: "int", 4: "int8", 5: "int16", 6: "int32", 7: "int64",
		8: "uint", 9: "uint8", 10: "uint16", 11: "uint32", 12: "uint64",
		13: "float32", 14: "float64", 15: "complex64", 16: "complex128",
		17: "time.Duration", 18: "time.Time", 19: "*big.Int", 20: "string", 21: "[]byte",
		32: "[]int", 33: "[]int8", 34: "[]int16", 35: "[]int32", 36: "[]int64",
		37: "[]uint", 38: "[]uint16", 39: "[]uint32", 40: "[]uint64",
		41: "[]float32", 42: "[]float64", 43: "[]complex64", 44: "[]complex128", 45: "[]bool",
		64: "fixed", 65: "slice of fixed", 66: "binary", 67: "coded", 68: "error",
	}
	for _, tag := range []transport.Tag{19, 21, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 65, 66} {
		names[tag+256] = "nil " + names[tag]
	}
	check := func(tag transport.Tag) {
		want, valid := names[tag]
		if !valid {
			want = fmt.Sprintf("tag(%d)", uint32(tag))
		}
		if tag.Valid() != valid || tag.String() != want {
			t.Errorf("Tag(%d) is %q, valid: %v; want %q, %v", uint32(tag), tag, tag.Valid(), want, valid)
		}
	}
	for tag := range transport.Tag(1 << 10) {
		check(tag)
		check(tag << 10)
		check(1<<32 - 1 - tag)
	}
}
