package transport

import "math/big"

// bigBytes returns the number of bytes that appendBig appends.
func bigBytes(x *big.Int) int {
	if x == nil {
		return 0
	}
	return 1 + (x.BitLen()+7)/8
}

// appendBig appends the sign of x and its magnitude, high byte first and without
// leading zeros.
func appendBig(dst []byte, x *big.Int) ([]byte, Tag, error) {
	if x == nil {
		return dst, TagBigInt | TagNilBit, nil
	}
	dst, room := extend(dst, bigBytes(x))
	if x.Sign() < 0 {
		room[0] = 1
	}
	x.FillBytes(room[1:])
	return dst, TagBigInt, nil
}

// decodeBig reads an integer into a new *x. It accepts only the bytes that appendBig
// makes.
func decodeBig(src []byte, x **big.Int) bool {
	if len(src) == 0 || src[0] > 1 || len(src) == 1 && src[0] != 0 || len(src) > 1 && src[1] == 0 {
		return false
	}
	n := new(big.Int).SetBytes(src[1:])
	if src[0] == 1 {
		n.Neg(n)
	}
	*x = n
	return true
}
