package transport

import "fmt"

// Tag is the encoding of a payload. The numbers are fixed: both sides of a Link must
// give them the same meaning, also when the sides are two programs.
//
// The table of the encodings is the comment of the constants, from [TagInvalid] on.
type Tag uint32

// The tags. This is the table of the encodings:
//
//	tag     payload                                      bytes
//	0       none: no payload has it
//	1       nil                                          0
//	2       bool                                         1: 0 or 1
//	3-7     int, int8, int16, int32, int64               as in memory
//	8-12    uint, uint8, uint16, uint32, uint64          as in memory
//	13-16   float32, float64, complex64, complex128      as in memory
//	17      time.Duration                                8, as in memory
//	18      time.Time                                    16, see below
//	19      *big.Int                                     sign (0, or 1 for minus), magnitude, high byte first
//	20      string, also of a named type                 its bytes
//	21      []byte, also of a named type                 its bytes
//	32-44   []int, []int8, []int16, []int32, []int64,    its elements, as in memory
//	        []uint, []uint16, []uint32, []uint64,
//	        []float32, []float64, []complex64,
//	        []complex128
//	45      []bool                                       a byte each: 0 or 1
//	64      another type without pointers                as in memory, padding zero
//	65      a slice of such a type                       its elements, as in memory
//	66      a type that marshals itself                  the result of its method, see [Type]
//	67      any other type                               the result of the [Codec]
//	68      an error                                     the record of package pool
//	+256    nil of a type of 19, 21, 32-45, 65 or 66     0
//
// "As in memory" means the size and the byte order of the machine. Both sides of a Link
// are on one machine. A Link to a program with another word size must be refused when
// it is made. A time is three numbers: the seconds since 1970 (8 bytes), the nanosecond
// in that second (4), and the seconds east of UTC (4). The lowest number of the last
// one stands for UTC itself. The reading of the monotonic clock and the name of the
// zone do not cross.
const (
	TagInvalid Tag = iota
	TagNil
	TagBool
	TagInt
	TagInt8
	TagInt16
	TagInt32
	TagInt64
	TagUint
	TagUint8
	TagUint16
	TagUint32
	TagUint64
	TagFloat32
	TagFloat64
	TagComplex64
	TagComplex128
	TagDuration
	TagTime
	TagBigInt
	TagString
	TagBytes
)

// The tags of slices.
const (
	TagInts Tag = iota + 32
	TagInt8s
	TagInt16s
	TagInt32s
	TagInt64s
	TagUints
	TagUint16s
	TagUint32s
	TagUint64s
	TagFloat32s
	TagFloat64s
	TagComplex64s
	TagComplex128s
	TagBools
)

// The tags of payloads that can be decoded only by a reader that knows their type,
// except [TagCoded].
const (
	TagFixed Tag = iota + 64
	TagFixedSlice
	TagBinary
	TagCoded
	TagError
)

// TagNilBit is added to the tag of a type that has a nil, when the value is nil.
const TagNilBit Tag = 1 << 8

var tagNames = map[Tag]string{
	TagNil: "nil", TagBool: "bool",
	TagInt: "int", TagInt8: "int8", TagInt16: "int16", TagInt32: "int32", TagInt64: "int64",
	TagUint: "uint", TagUint8: "uint8", TagUint16: "uint16", TagUint32: "uint32", TagUint64: "uint64",
	TagFloat32: "float32", TagFloat64: "float64", TagComplex64: "complex64", TagComplex128: "complex128",
	TagDuration: "time.Duration", TagTime: "time.Time", TagBigInt: "*big.Int",
	TagString: "string", TagBytes: "[]byte",
	TagInts: "[]int", TagInt8s: "[]int8", TagInt16s: "[]int16", TagInt32s: "[]int32", TagInt64s: "[]int64",
	TagUints: "[]uint", TagUint16s: "[]uint16", TagUint32s: "[]uint32", TagUint64s: "[]uint64",
	TagFloat32s: "[]float32", TagFloat64s: "[]float64", TagComplex64s: "[]complex64", TagComplex128s: "[]complex128",
	TagBools: "[]bool",
	TagFixed: "fixed", TagFixedSlice: "slice of fixed", TagBinary: "binary", TagCoded: "coded", TagError: "error",
}

// String returns the name of the type that t stands for.
func (t Tag) String() string {
	name := tagNames[t&^TagNilBit]
	switch {
	case !t.Valid():
		return fmt.Sprintf("tag(%d)", uint32(t))
	case t&TagNilBit != 0:
		return "nil " + name
	}
	return name
}

// Valid reports whether t is in the table. A broken or hostile peer may send a tag that
// is not.
func (t Tag) Valid() bool {
	base := t &^ TagNilBit
	return between(base, TagNil, TagBytes) && t == base ||
		between(base, TagFixed, TagError) && t == base ||
		between(base, TagInts, TagBools) || base.nilable()
}

// nilable reports whether the types of this tag have a nil.
func (t Tag) nilable() bool {
	return between(t, TagInts, TagBools) || t == TagBigInt || t == TagBytes || t == TagFixedSlice || t == TagBinary
}

func between(t, first, last Tag) bool { return first <= t && t <= last }
