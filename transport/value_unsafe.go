package transport

import "unsafe"

// memory returns the bytes of *v.
func memory[T any](v *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
}

// textOf returns v as a pointer to a string. T is a string type.
func textOf[T any](v *T) *string { return (*string)(unsafe.Pointer(v)) }

// bytesOf returns v as a pointer to a slice of bytes. T is a slice type. If its
// elements are larger than a byte, only the address and the number of elements have a
// meaning.
func bytesOf[T any](v *T) *[]byte { return (*[]byte)(unsafe.Pointer(v)) }

// elements returns the memory of the elements of *v, a slice whose elements have size
// bytes each.
func elements[T any](v *T, size int) []byte {
	s := *bytesOf(v)
	return unsafe.Slice(unsafe.SliceData(s), len(s)*size)
}

// makeElements makes *v a slice of n elements of size bytes each and returns their
// memory. The elements contain no pointers. The memory is allocated as words, which are
// aligned for any such element.
func makeElements[T any](v *T, n, size int) []byte {
	first := (*byte)(unsafe.Pointer(unsafe.SliceData(make([]uint64, (n*size+7)/8))))
	*bytesOf(v) = unsafe.Slice(first, n) // length and capacity are in elements
	return unsafe.Slice(first, n*size)
}
